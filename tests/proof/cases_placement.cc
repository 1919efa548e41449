#include "tests/proof/proof_case.h"

// Operators that move elements: padding, repeating, splitting, stacking, triangles. Source:
// mindspore ops_info/reshape_info.cc.
namespace drydock::strategies::proof {
namespace {

using List = std::vector<std::int64_t>;

ProofCase PadCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  const std::int64_t pairs = draw.Uniform(1, std::ssize(shape));
  List paddings = {};
  for (std::int64_t i = 0; i < pairs; ++i) {
    const bool padded = draw.Chance(2);
    paddings.push_back(padded ? draw.Uniform(0, 2) : 0);
    paddings.push_back(padded ? draw.Uniform(0, 2) : 0);
  }
  return {.operands = {Floats(shape), Scalar(0.3)}, .attrs = {{"paddings", paddings}}};
}
PROOF_CASES(PadV3, PadCase);
PROOF_NONE(PadKernel, "modes other than constant cannot be cut; see operator_values_test.cc",
           "PadV3Grad");

ProofCase RepeatCase(Draw& draw) {
  const bool elements = draw.op() == "RepeatElements";
  const Shape shape = draw.AnyShape(1, 3);
  ProofCase one{.operands = {Floats(shape)}};
  one.attrs[elements ? "rep" : "repeats"] = draw.Uniform(1, 3);
  if (elements || !draw.Chance(4)) {
    one.attrs[elements ? "axis" : "dim"] = draw.Axis(std::ssize(shape));
  }
  return one;
}
PROOF_CASES_OF(Repeats, RepeatCase, "RepeatElements", "RepeatInterleave", "RepeatInterleaveInt");

ProofCase RepeatTensorCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  const std::int64_t dim = draw.Axis(std::ssize(shape));
  const auto normal = static_cast<std::size_t>(dim < 0 ? dim + std::ssize(shape) : dim);
  std::vector<double> counts = {};
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < shape[normal]; ++i) {
    const std::int64_t count = draw.Uniform(i == 0 ? 1 : 0, 3);
    counts.push_back(static_cast<double>(count));
    total += count;
  }
  return {.operands = {Floats(shape), NoGradient(Fixed({shape[normal]}, counts, DType::kInt32))},
          .attrs = {{"dim", dim}, {"output_size", total}}};
}
PROOF_CASES(RepeatInterleaveTensor, RepeatTensorCase);

ProofCase SliceExtCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  const std::int64_t dim = draw.Dimension(std::ssize(shape));
  const std::int64_t extent = shape[static_cast<std::size_t>(dim)];
  const std::int64_t start = draw.Uniform(0, extent - 1);
  return {.operands = {Floats(shape)},
          .attrs = {{"dim", draw.Chance(2) ? dim : dim - std::ssize(shape)},
                    {"start", draw.Chance(2) ? start : start - extent},
                    {"end", draw.Uniform(start + 1, extent + 2)},
                    {"step", draw.Uniform(1, 2)}}};
}
PROOF_CASES(SliceExt, SliceExtCase);

/// Parts of a dimension of extent 2 to 12.
ProofCase SplitCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  const std::int64_t dim = draw.Axis(std::ssize(shape));
  const std::int64_t extent =
      shape[static_cast<std::size_t>(dim < 0 ? dim + std::ssize(shape) : dim)];
  ProofCase one{.operands = {Floats(shape)}};
  const bool by_size = draw.op() == "SplitTensor";
  const bool primitive = draw.op() == "SplitV";
  const std::int64_t first = draw.Uniform(1, extent);
  const List sizes = first == extent ? List{extent} : List{first, extent - first};
  one.attrs[primitive ? "split_dim" : "dim"] = dim;
  one.attrs[primitive ? "size_splits" : "split_size"] = by_size ? Attr(first) : Attr(sizes);
  if (primitive) {
    one.attrs["num_split"] = std::ssize(sizes);
  }
  return one;
}
PROOF_CASES_OF(Splits, SplitCase, "SplitTensor", "SplitWithSize", "SplitV");

ProofCase StackCase(Draw& draw) {
  const Shape shape = draw.AnyShape(0, 3);
  ProofCase one = {};
  for (std::int64_t n = draw.Uniform(1, 3); n > 0; --n) {
    one.operands.push_back(Floats(shape));
  }
  one.attrs[draw.op() == "Stack" ? "axis" : "dim"] = draw.Axis(std::ssize(shape) + 1);
  return one;
}
PROOF_CASES_OF(Stacks, StackCase, "Stack", "StackExt");

ProofCase TriangleCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(2, 4))}, .attrs = {{"diagonal", draw.Uniform(-3, 3)}}};
}
PROOF_CASES_OF(Triangles, TriangleCase, "Tril", "Triu");

}  // namespace
}  // namespace drydock::strategies::proof
