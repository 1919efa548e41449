#include "tests/proof/proof_case.h"

/// Reductions over some or all dimensions.
namespace drydock::strategies::proof {
namespace {

/// Axes counted from either end; sometimes all, given by an empty list or not at all.
ProofCase ReduceCase(Draw& draw) {
  const std::int64_t rank = draw.Uniform(0, 4);
  // Products of many numbers near 1 stay near 1.
  const bool product = draw.op() == "ReduceProd";
  ProofCase one{
      .operands = {Floats(draw.ShapeOfRank(rank), product ? 0.8 : -2.0, product ? 1.25 : 2.0)}};
  std::vector<std::int64_t> axes = draw.SomeDimensions(rank, 0);
  for (std::int64_t& axis : axes) {
    axis -= draw.Chance(2) ? rank : 0;
  }
  if (!draw.Chance(6)) {
    one.attrs["axis"] = axes;
  }
  one.attrs["keep_dims"] = draw.Chance(2);
  return one;
}

ProofCase ExtremeCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  const std::int64_t axis = draw.Axis(std::ssize(shape));
  return {.operands = {Floats(shape)}, .attrs = {{"axis", axis}, {"keep_dims", draw.Chance(2)}}};
}

PROOF_CASES_OF(Reduce, ReduceCase, "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin",
               "ReduceProd");
PROOF_CASES_OF(Extreme, ExtremeCase, "ArgMaxWithValue", "ArgMinWithValue");

}  // namespace
}  // namespace drydock::strategies::proof
