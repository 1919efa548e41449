#include "tests/proof/proof_case.h"

// Operators that work along dimensions: sorting, running sums, unit lengths, Cholesky factors, and
// reductions of the newer kind. Source: mindspore ops_info/activation_info.cc.
namespace drydock::strategies::proof {
namespace {

using List = std::vector<std::int64_t>;

/// Positive floats and one dimension, named `name`.
ProofCase AlongOne(Draw& draw, const char* name) {
  const Shape shape = draw.AnyShape(1, 3);
  return {.operands = {Positive(shape)}, .attrs = {{name, draw.Axis(std::ssize(shape))}}};
}

ProofCase SortCase(Draw& draw) {
  ProofCase one = AlongOne(draw, draw.op() == "Sort" ? "axis" : "dim");
  one.attrs["descending"] = draw.Chance(2);
  return one;
}
PROOF_CASES_OF(Sorts, SortCase, "Sort", "SortExt");

ProofCase TopkCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  const std::int64_t dim = draw.Dimension(std::ssize(shape));
  return {.operands = {Floats(shape)},
          .attrs = {{"k", draw.Uniform(1, shape[static_cast<std::size_t>(dim)])},
                    {"dim", dim},
                    {"largest", draw.Chance(2)}}};
}
PROOF_CASES(TopkExt, TopkCase);

ProofCase RunCase(Draw& draw) {
  ProofCase one = AlongOne(draw, "axis");
  one.attrs["exclusive"] = draw.Chance(2);
  one.attrs["reverse"] = draw.Chance(2);
  return one;
}
PROOF_CASES(CumProd, RunCase);

ProofCase RunningExtremeCase(Draw& draw) {
  return AlongOne(draw, "axis");
}
PROOF_CASES_OF(RunningExtremes, RunningExtremeCase, "Cummax", "Cummin");

ProofCase CumsumExtCase(Draw& draw) {
  return AlongOne(draw, "dim");
}
PROOF_CASES(CumsumExt, CumsumExtCase);

ProofCase AxesCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  return {.operands = {Floats(shape)}, .attrs = {{"axis", draw.SomeDimensions(std::ssize(shape))}}};
}
PROOF_CASES_OF(Axes, AxesCase, "L2Normalize", "ReverseV2");

/// Without a rule the first dimension may be cut, so nothing moves along it.
ProofCase RollCase(Draw& draw) {
  const Shape x = draw.AnyShape(2, 3);
  const std::int64_t dim = draw.Uniform(1, static_cast<std::int64_t>(x.size()) - 1);
  return {.operands = {Floats(x)},
          .attrs = {{"shifts", Shape{draw.Uniform(-3, 3)}}, {"dims", Shape{dim}}}};
}
PROOF_CASES(Roll, RollCase);

ProofCase SwigluCase(Draw& draw) {
  Shape shape = draw.AnyShape(1, 3);
  const std::int64_t dim = draw.Dimension(std::ssize(shape));
  shape[static_cast<std::size_t>(dim)] *= 2;
  return {.operands = {Floats(shape)},
          .attrs = {{"dim", draw.Chance(2) ? dim : dim - std::ssize(shape)}}};
}
PROOF_CASES(Swiglu, SwigluCase);

/// Diagonally dominant matrices are positive definite.
ProofCase CholeskyCase(Draw& draw) {
  const std::int64_t batch = draw.Extent(6);
  const std::int64_t n = draw.Uniform(1, 4);
  std::vector<double> data = {};
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < n * n; ++i) {
      data.push_back(i % (n + 1) == 0 ? 4.0 + draw.Real(0.0, 1.0) : draw.Real(-0.9, 0.9));
    }
  }
  return {.operands = {Fixed({batch, n, n}, std::move(data))},
          .attrs = {{"upper", draw.Chance(2)}}};
}
PROOF_CASES(Cholesky, CholeskyCase);

// ---- Reductions
// ---------------------------------------------------------------------------------

ProofCase MintReductionCase(Draw& draw) {
  const Shape shape = draw.AnyShape(0, 3);
  ProofCase one{.operands = {Floats(shape)}, .attrs = {{"keepdim", draw.Chance(2)}}};
  if (!shape.empty() && !draw.Chance(4)) {
    one.attrs["dim"] = draw.SomeDimensions(std::ssize(shape));
  }
  return one;
}
PROOF_CASES_OF(MintReductions, MintReductionCase, "SumExt", "MeanExt");

ProofCase WholeCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(0, 3))}};
}
PROOF_CASES_OF(Whole, WholeCase, "Max", "L2Loss");

ProofCase MaxDimCase(Draw& draw) {
  ProofCase one = AlongOne(draw, "dim");
  one.attrs["keepdim"] = draw.Chance(2);
  return one;
}
PROOF_CASES(MaxDim, MaxDimCase);

ProofCase IndexCase(Draw& draw) {
  return AlongOne(draw, "axis");
}
PROOF_CASES_OF(Indices, IndexCase, "Argmax", "Argmin");

ProofCase LogicCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  ProofCase one{.operands = {Bools(shape)}, .attrs = {{"keep_dims", draw.Chance(2)}}};
  if (!draw.Chance(4)) {
    one.attrs["axis"] = draw.SomeDimensions(std::ssize(shape));
  }
  return one;
}
PROOF_CASES_OF(Logic, LogicCase, "ReduceAny", "ReduceAll");

ProofCase SquareSumCase(Draw& draw) {
  const Shape shape = draw.AnyShape(0, 3);
  return {.operands = {Floats(shape), Floats(shape)}};
}
PROOF_CASES(SquareSumAll, SquareSumCase);

ProofCase PReLUCase(Draw& draw) {
  const Shape shape = draw.AnyShape(2, 4);
  return {.operands = {Floats(shape), Floats({draw.Chance(3) ? 1 : shape[1]}, 0.1, 0.6)}};
}
PROOF_CASES(PReLU, PReLUCase);

}  // namespace
}  // namespace drydock::strategies::proof
