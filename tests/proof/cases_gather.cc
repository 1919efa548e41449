#include "tests/proof/proof_case.h"

/// Look-ups by index and their reverse.
namespace drydock::strategies::proof {
namespace {

ProofCase GatherCase(Draw& draw) {
  const Shape table = draw.AnyShape(1, 3);
  const auto rank = std::ssize(table);
  const std::int64_t axis = draw.Chance(2) ? 0 : draw.Dimension(rank);
  Shape indices = draw.AnyShape(0, 2);
  ProofCase one;
  if (axis > 0 && draw.Chance(3)) {
    const std::int64_t batch = draw.Uniform(1, axis);
    indices.assign(table.begin(), table.begin() + batch);
    indices.push_back(draw.Extent(4));
    one.attrs["batch_dims"] = batch;
  }
  one.operands = {Floats(table), Indices(indices, table[static_cast<std::size_t>(axis)])};
  one.attrs["axis"] = draw.Chance(4) ? axis - rank : axis;
  return one;
}

ProofCase GatherDCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  const std::int64_t dim = draw.Dimension(std::ssize(shape));
  Shape index = shape;
  index[static_cast<std::size_t>(dim)] = draw.Extent(6);
  return {.operands = {Floats(shape), Indices(index, shape[static_cast<std::size_t>(dim)])},
          .attrs = {{"dim", draw.Chance(2) ? dim : dim - std::ssize(shape)}}};
}

ProofCase SegmentSumCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  const Shape segments(shape.begin(), shape.begin() + draw.Uniform(1, std::ssize(shape)));
  const std::int64_t count = draw.Uniform(1, 6);
  return {.operands = {Floats(shape), Indices(segments, count)},
          .attrs = {{"num_segments", count}}};
}

PROOF_CASES(Gather, GatherCase);
PROOF_CASES(GatherD, GatherDCase);
PROOF_CASES(UnsortedSegmentSum, SegmentSumCase);

}  // namespace
}  // namespace drydock::strategies::proof
