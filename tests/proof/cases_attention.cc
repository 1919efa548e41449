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

/// Keys are cut like queries; masks and shifts have a column for each key.
void AddRing(Draw& draw, const Attention& a, ProofCase& one) {
  one.attrs["enable_ring_attention"] = true;
  one.attrs["enable_ra_send_recv"] = draw.Chance(2);
  const std::int64_t batch = draw.Chance(2) ? 1 : a.batch;
  if (draw.Chance(3)) {
    one.operands[3] =
        Floats({batch, a.heads, draw.Chance(2) ? 1 : a.q_length, a.kv_length}, -1.0, 1.0);
  }
  if (draw.Chance(3)) {
    one.operands[6] = draw.Chance(2) ? HiddenKeys({a.q_length, a.kv_length})
                                     : HiddenKeys({batch, a.heads, a.q_length, a.kv_length});
  }
  if (draw.Chance(4) && a.kv_length % 8 == 0) {
    one.operands[4] =
        OfType(Integers({a.batch, a.heads, a.q_length, a.kv_length / 8}, 0, 255), DType::kUInt8);
    one.attrs["keep_prob"] = 0.8;
  }
}

ProofCase FlashCase(Draw& draw) {
  const std::string layout =
      draw.Pick<const char*>({"BSH", "BSH", "SBH", "BNSD", "BSND", "TND", "TH"});
  const bool packed = layout[0] == 'T';
  const bool ring = (layout == "BSH" || layout == "BNSD") && draw.Chance(3);
  Attention a = DrawAttention(draw);
  const std::int64_t mode = ring ? 0 : draw.Pick<std::int64_t>({0, 0, 1, 2, 3, 4, 8});
  if (ring && draw.Chance(2)) {
    a.kv_length = 16;  // Two bytes of dropped weights.
  }
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
  if (ring) {
    AddRing(draw, a, one);
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

// ---- Inference: no gradients -------------------------------------------------------------------

Operand Fixture(Shape shape, double low = -1.5, double high = 1.5) {
  return NoGradient(Floats(std::move(shape), low, high));
}

/// Lengths of the samples, between 1 and `most`.
Operand Lengths(std::int64_t batch, std::int64_t most) {
  return Integers({batch}, 1, most, DType::kInt64);
}

ProofCase PromptCase(Draw& draw) {
  const bool fused = draw.op() == "FusedInferAttentionScore";
  const std::string layout = draw.Chance(2) ? "BSH" : "BNSD";
  const Attention a = DrawAttention(draw);
  const std::int64_t mode = draw.Pick<std::int64_t>({0, 0, 1, 2, 3, 4});
  const auto laid = [&](std::int64_t heads, std::int64_t length) {
    return Fixture(Laid(layout, a.batch, heads, length, a.dim));
  };
  ProofCase one{.operands = {laid(a.heads, a.q_length), laid(a.kv_heads, a.kv_length),
                             laid(a.kv_heads, a.kv_length)},
                .attrs = {{"num_heads", a.heads},
                          {"num_key_value_heads", draw.Chance(2) ? a.kv_heads : 0},
                          {"scale_value", 0.7},
                          {"input_layout", layout},
                          {"sparse_mode", mode},
                          {"pre_tokens", draw.Uniform(0, 5)},
                          {"next_tokens", draw.Uniform(0, 5)}}};
  Operand mask = Absent();
  if (mode == 1 || (mode == 0 && draw.Chance(2))) {
    mask = draw.Chance(2) ? HiddenKeys({a.q_length, a.kv_length})
                          : HiddenKeys({draw.Chance(2) ? 1 : a.batch, a.q_length, a.kv_length});
  }
  const Operand shift =
      draw.Chance(3) ? Fixture({a.batch, a.heads, a.q_length, a.kv_length}) : Absent();
  if (fused) {
    one.operands.insert(one.operands.end(), {shift, mask});
    one.operands.push_back(Absent());
    one.operands.push_back(draw.Chance(3) ? Lengths(a.batch, a.kv_length) : Absent());
    one.attrs["softmax_lse_flag"] = draw.Chance(2);
  } else {
    one.operands.insert(one.operands.end(), {mask, Absent(), Absent(), shift});
  }
  return one;
}
PROOF_CASES_OF(Prompt, PromptCase, "PromptFlashAttention", "FusedInferAttentionScore");

ProofCase IncrementCase(Draw& draw) {
  const std::string layout = draw.Chance(2) ? "BSH" : "BNSD";
  const Attention a = DrawAttention(draw);
  ProofCase one{
      .operands = {Fixture(Laid(layout, a.batch, a.heads, 1, a.dim)),
                   Fixture(Laid(layout, a.batch, a.kv_heads, a.kv_length, a.dim)),
                   Fixture(Laid(layout, a.batch, a.kv_heads, a.kv_length, a.dim))},
      .attrs = {
          {"num_heads", a.heads}, {"num_key_value_heads", a.kv_heads}, {"input_layout", layout}}};
  one.operands.push_back(draw.Chance(2) ? HiddenKeys({a.batch, a.kv_length}) : Absent());
  one.operands.push_back(draw.Chance(2) ? Lengths(a.batch, a.kv_length) : Absent());
  return one;
}
PROOF_CASES(IncreFlashAttention, IncrementCase);

ProofCase PagedCase(Draw& draw) {
  const bool with_mask = draw.op() == "PagedAttentionMask";
  const Attention a = DrawAttention(draw);
  const std::int64_t blocks = draw.Uniform(2, 4);
  const std::int64_t block_size = draw.Uniform(1, 3);
  const std::int64_t per_sample = draw.Uniform(1, 3);
  const Shape cache = with_mask ? Shape{blocks, block_size, a.kv_heads, a.dim}
                                : Shape{blocks, block_size, a.kv_heads * a.dim};
  ProofCase one{
      .operands = {Fixture({a.batch, 1, a.heads * a.dim}), Fixture(cache), Fixture(cache),
                   Indices({a.batch, per_sample}, blocks),
                   Lengths(a.batch, per_sample * block_size)},
      .attrs = {{"head_num", a.heads}, {"kv_head_num", a.kv_heads}, {"scale_value", 0.7}}};
  if (with_mask) {
    one.operands.push_back(Fixture({a.batch, a.heads, 1, per_sample * block_size}));
  }
  return one;
}
PROOF_CASES_OF(Paged, PagedCase, "PagedAttention", "PagedAttentionMask");

ProofCase CacheManagerCase(Draw& draw) {
  const std::int64_t batch = draw.Extent(4);
  const std::int64_t heads = draw.Extent(4);
  const std::int64_t length = draw.Uniform(3, 6);
  return {.operands = {Fixture({batch, heads, length, 2}), Fixture({batch, heads, 1, 2}),
                       Integers({draw.Chance(4) ? 1 : batch}, 0, length - 1, DType::kInt64)}};
}
PROOF_CASES(KVCacheMgr, CacheManagerCase);

ProofCase ScatterUpdateCase(Draw& draw) {
  Shape var = {draw.Extent(4), draw.Extent(4), draw.Uniform(3, 6), draw.Extent(4)};
  const std::int64_t rank = draw.Uniform(2, 4);
  std::int64_t axis = 2;
  if (rank < 4) {
    var = rank == 3 ? Shape{var[0], var[2], var[3]} : Shape{var[0], var[2]};
    axis = 1;
  }
  Shape updates = var;
  updates[static_cast<std::size_t>(axis)] = draw.Uniform(1, 2);
  const std::int64_t last =
      var[static_cast<std::size_t>(axis)] - updates[static_cast<std::size_t>(axis)];
  return {.operands = {FedAs(Fixture(var), Feed::kParameter),
                       Integers({var[0]}, 0, last, DType::kInt64), Fixture(updates)},
          .attrs = {{"axis", draw.Chance(2) ? axis : axis - rank},
                    {"reduce", draw.Chance(3) ? "add" : "none"}}};
}
PROOF_CASES(KVCacheScatterUpdate, ScatterUpdateCase);

ProofCase ReshapeAndCacheCase(Draw& draw) {
  const std::int64_t tokens = draw.Uniform(1, 4);
  const std::int64_t hidden = draw.Extent(12);
  const Shape cache = {draw.Uniform(2, 3), draw.Uniform(2, 3), hidden};
  const Shape rows = draw.Chance(2) ? Shape{tokens, hidden} : Shape{tokens, 1, hidden};
  ProofCase one{
      .operands = {Fixture(rows), Fixture(rows), FedAs(Fixture(cache), Feed::kParameter),
                   FedAs(Fixture(cache), Feed::kParameter),
                   WithValues(Integers({tokens}, 0, cache[0] * cache[1] - 1), Values::kDistinct)}};
  if (draw.Chance(3)) {  // One cache only.
    one.operands[1] = one.operands[3] = Absent();
  }
  return one;
}
PROOF_CASES(ReshapeAndCache, ReshapeAndCacheCase);

// ---- Position embeddings and recurrences --------------------------------------------------------

ProofCase RotaryCase(Draw& draw) {
  Shape x = draw.AnyShape(1, 3);
  x.push_back(2 * draw.Uniform(1, 3));
  Shape table = x;
  for (std::size_t d = 0; d + 1 < table.size(); ++d) {
    table[d] = draw.Chance(2) ? 1 : table[d];
  }
  return {.operands = {Floats(x), Fixture(table), Fixture(table)},
          .attrs = {{"mode", draw.Uniform(0, 1)}}};
}
PROOF_CASES(RotaryPositionEmbedding, RotaryCase);

ProofCase ApplyRotaryCase(Draw& draw) {
  const std::int64_t batch = draw.Extent(4);
  const std::int64_t length = draw.Uniform(1, 3);
  const std::int64_t dim = 2 * draw.Uniform(1, 2);
  const std::int64_t heads = draw.Extent(4);
  const std::int64_t key_heads = draw.Chance(2) ? heads : 2 * heads;
  const AttrMap attrs = {{"cos_format", draw.Uniform(0, 3)}};
  if (draw.Chance(2)) {
    const Shape table = {batch, length, 1, dim};
    return {
        .operands = {Fixture({batch, length, heads, dim}), Fixture({batch, length, key_heads, dim}),
                     Fixture(table), Fixture(table), Indices({batch}, 5)},
        .attrs = attrs};
  }
  if (draw.Chance(3)) {  // Tokens behind each other, each with its position or none.
    return {.operands = {Fixture({length, heads * dim}), Fixture({1, length, key_heads * dim}),
                         Fixture({5, dim}), Fixture({5, dim}),
                         Indices({draw.Chance(2) ? length : length + 1}, 5)},
            .attrs = attrs};
  }
  return {
      .operands = {Fixture({batch, length, heads * dim}), Fixture({batch, length, key_heads * dim}),
                   Fixture({5, dim}), Fixture({5, dim}), Indices({batch}, 5)},
      .attrs = attrs};
}
PROOF_CASES(ApplyRotaryPosEmb, ApplyRotaryCase);

/// From an empty state, as the gradient assumes.
ProofCase WkvCase(Draw& draw) {
  const Shape k = {draw.Extent(4), draw.Uniform(1, 4), draw.Extent(6)};
  const auto count = static_cast<std::size_t>(k[0] * k[2]);
  const auto state = [&](double value) {
    return NoGradient(FedAs(Fixed({k[0], k[2]}, std::vector<double>(count, value)), Feed::kInput));
  };
  return {.operands = {Floats({k[2]}, -1.5, -0.2), Floats({k[2]}, -1.0, 1.0), Floats(k, -1.0, 1.0),
                       Floats(k), state(0), state(0), state(-1e30)},
          .weighed = {true, false, false, false}};
}
PROOF_CASES(WKV, WkvCase);

PROOF_NONE(EodMask, "injects faults: it computes nothing that a dry run could compare",
           "GenerateEodMaskV2");

}  // namespace
}  // namespace drydock::strategies::proof
