#include "tests/proof/proof_case.h"

/// Normalisation layers and what belongs to them.
namespace drydock::strategies::proof {
namespace {

Shape From(const Shape& shape, std::int64_t begin) {
  return {shape.begin() + begin, shape.end()};
}

/// Statistics over few elements make steep slopes; rows have at least two.
ProofCase LayerNormCase(Draw& draw) {
  Shape shape = draw.AnyShape(1, 4);
  shape.back() = draw.ExtentAboveOne(8);
  const auto rank = std::ssize(shape);
  const std::int64_t norm = draw.Dimension(rank);
  const std::int64_t params = draw.Dimension(rank);
  return {.operands = {Floats(shape), Floats(From(shape, params)), Floats(From(shape, params))},
          .attrs = {{"begin_norm_axis", norm == rank - 1 && draw.Chance(2) ? -1 : norm},
                    {"begin_params_axis", params == rank - 1 && draw.Chance(2) ? -1 : params},
                    {"epsilon", 1e-3}},
          .weighed = {true, false, false}};
}

ProofCase RmsNormCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  const std::int64_t begin = draw.Dimension(std::ssize(shape));
  return {.operands = {Floats(shape), Floats(From(shape, begin))},
          .attrs = {{"epsilon", 1e-3}},
          .weighed = {true, false}};
}

ProofCase BiasAddCase(Draw& draw) {
  const Shape shape = draw.AnyShape(2, 4);
  return {.operands = {Floats(shape), Floats({shape[1]})}};
}

ProofCase DropoutCase(Draw& draw) {
  // Nothing is dropped: masks of different ranks differ from the whole mask (mindspore
  // ops_info/scatter_math_ops_info.cc).
  return {.operands = {Floats(draw.AnyShape(1, 4))}, .attrs = {{"keep_prob", 1.0}}};
}

PROOF_CASES(LayerNorm, LayerNormCase);
PROOF_CASES(RmsNorm, RmsNormCase);
PROOF_NONE(FusedNorms, "made of Add and RmsNorm by the compiler; simplify_test.cc runs it",
           "AddRmsNorm");
PROOF_CASES(BiasAdd, BiasAddCase);
PROOF_CASES(Dropout, DropoutCase);

}  // namespace
}  // namespace drydock::strategies::proof
