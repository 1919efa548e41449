#include <algorithm>
#include <string>

#include "tests/proof/proof_case.h"

namespace drydock::strategies::proof {
namespace {

/// Extents of one attention, small: every query meets every key.
struct Attention {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t q_length = 1;
  std::int64_t kv_length = 1;
  std::int64_t dim = 1;
};

Attention DrawAttention(Draw& draw) {
  Attention one{.batch = draw.Extent(4),
                .heads = draw.Pick<std::int64_t>({1, 2, 3, 4, 6}),
                .q_length = draw.Pick<std::int64_t>({1, 2, 4, 6, 8}),
                .kv_length = draw.Pick<std::int64_t>({2, 4, 6, 8}),
                .dim = draw.Uniform(1, 2)};
  one.kv_heads = one.heads;
  if (draw.Chance(3)) {
    one.kv_heads = one.heads % 2 == 0 && draw.Chance(2) ? one.heads / 2 : 1;
  }
  return one;
}

Shape Laid(const std::string& layout, std::int64_t b, std::int64_t n, std::int64_t s,
           std::int64_t d) {
  if (layout == "BSH") {
    return {b, s, n * d};
  }
  if (layout == "SBH") {
    return {s, b, n * d};
  }
  if (layout == "BNSD") {
    return {b, n, s, d};
  }
  if (layout == "BSND") {
    return {b, s, n, d};
  }
  return layout == "TND" ? Shape{b * s, n, d} : Shape{b * s, n * d};
}

Operand HiddenKeys(Shape shape) {
  return OfType(Integers(std::move(shape), 0, 1), DType::kUInt8);
}

/// Ends of equally long packed sequences: every rank's slice ends with one.
Operand Ends(std::int64_t batch, std::int64_t length) {
  std::vector<double> ends;
  for (std::int64_t b = 1; b <= batch; ++b) {
    ends.push_back(static_cast<double>(b * length));
  }
  return FedAs(Fixed({batch}, ends, DType::kInt64), Feed::kInput);
}

ProofCase FlashCase(Draw& draw) {
  const std::string layout =
      draw.Pick<const char*>({"BSH", "BSH", "SBH", "BNSD", "BSND", "TND", "TH"});
  const bool packed = layout[0] == 'T';
  Attention a = DrawAttention(draw);
  const std::int64_t mode = draw.Pick<std::int64_t>({0, 0, 1, 2, 3, 4, 8});
  if (mode == 3) {
    a.kv_length = std::max(a.kv_length, a.q_length);
  }
  const auto laid = [&](std::int64_t heads, std::int64_t length) {
    return Floats(Laid(layout, a.batch, heads, length, a.dim), -1.5, 1.5);
  };
  ProofCase one{.operands = {laid(a.heads, a.q_length), laid(a.kv_heads, a.kv_length),
                             laid(a.kv_heads, a.kv_length), Absent(), Absent(), Absent(), Absent(),
                             Absent(), Absent(), Absent()},
                .attrs = {{"head_num", a.heads},
                          {"scale_value", 0.7},
                          {"input_layout", layout},
                          {"sparse_mode", mode}},
                .weighed = {false, false, false, true}};
  if (packed) {
    one.operands[8] = Ends(a.batch, a.q_length);
    one.operands[9] = Ends(a.batch, a.kv_length);
    // Sequences whose keys a rank does not hold would be cut apart.
    return one;
  }
  if (draw.Chance(3)) {
    one.operands[3] = Floats(
        {draw.Chance(2) ? 1 : a.batch, a.heads, draw.Chance(2) ? 1 : a.q_length, a.kv_length}, -1.0,
        1.0);
  }
  if (a.kv_length == 8 && draw.Chance(2)) {
    one.operands[4] = OfType(Integers({a.batch, a.heads, a.q_length, 1}, 0, 255), DType::kUInt8);
    one.attrs["keep_prob"] = 0.8;
  }
  if (mode == 1 || (mode == 0 && draw.Chance(2))) {
    one.operands[6] = draw.Chance(2)
                          ? HiddenKeys({a.q_length, a.kv_length})
                          : HiddenKeys({draw.Chance(2) ? 1 : a.batch, draw.Chance(2) ? 1 : a.heads,
                                        a.q_length, a.kv_length});
  }
  if (mode == 0 || mode == 4) {
    one.attrs["pre_tokens"] = draw.Uniform(0, 5);
    one.attrs["next_tokens"] = draw.Uniform(0, 5);
  }
  return one;
}
PROOF_CASES(FlashAttentionScore, FlashCase);

}  // namespace
}  // namespace drydock::strategies::proof
