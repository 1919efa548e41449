#include "tests/proof/proof_case.h"

/// One-hot codes and losses.
namespace drydock::strategies::proof {
namespace {

ProofCase OneHotCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 2);
  const std::int64_t depth = draw.Extent();
  return {.operands = {Indices(shape, depth), Scalar(1.5), Scalar(-0.5)},
          .attrs = {{"depth", depth}, {"axis", shape.size() == 1 ? draw.Pick({-1, 0}) : -1}}};
}

ProofCase CrossEntropyCase(Draw& draw) {
  const Shape shape = {draw.Extent(), draw.Extent()};
  return {.operands = {Floats(shape), NoGradient(WithValues(Floats(shape), Values::kProbability))},
          .weighed = {true, false}};
}

/// Every rank takes the mean over its own samples (mindspore ops_info/loss_info.cc): only together
/// they are the whole's.
ProofCase SparseCrossEntropyCase(Draw& draw) {
  const Shape shape = {draw.Extent(), draw.Extent()};
  return {.operands = {Floats(shape), Indices({shape[0]}, shape[1])}, .per_rank = {true}};
}

ProofCase NllCase(Draw& draw) {
  const Shape shape = {draw.Extent(), draw.Extent()};
  return {
      .operands = {Floats(shape), Indices({shape[0]}, shape[1]), NoGradient(Positive({shape[1]}))},
      .attrs = {{"reduction", draw.Pick({"mean", "sum", "none"})}},
      .weighed = {true, false}};
}

/// Targets are no weights; probabilities stay away from 0 and 1. These losses have no rule: ranks
/// compute a reduced one whole, but an unreduced one batch parallel where the batch divides, which
/// cuts the input and not the target. That is refused as in MindSpore, where the shapes have to be
/// the same, so the batch is one that no world divides.
ProofCase ElementLossCase(Draw& draw) {
  const std::string_view reduction = draw.Pick<std::string_view>({"mean", "sum", "none"});
  Shape shape = draw.AnyShape(1, 3);
  if (reduction == "none") {
    shape.front() = draw.Pick<std::int64_t>({1, 5, 7});
  }
  const bool probabilities = draw.op() == "BinaryCrossEntropy";
  ProofCase one{.operands = {probabilities ? Floats(shape, 0.1, 0.9) : Floats(shape),
                             NoGradient(Floats(shape, 0.0, 1.0))},
                .attrs = {{"reduction", std::string(reduction)}}};
  if (draw.op() == "SmoothL1Loss") {
    one.attrs["beta"] = 0.75;
  } else if (draw.op() != "SoftMarginLoss") {
    one.operands.push_back(draw.Chance(2) ? NoGradient(Positive(shape)) : Absent());
  }
  if (draw.op() == "BCEWithLogitsLoss") {
    one.operands.push_back(draw.Chance(2) ? NoGradient(Positive({shape.back()})) : Absent());
  }
  return one;
}

PROOF_CASES_OF(ElementLoss, ElementLossCase, "BCEWithLogitsLoss", "BinaryCrossEntropy",
               "SmoothL1Loss", "SoftMarginLoss");
PROOF_CASES(OneHot, OneHotCase);
PROOF_CASES(SoftmaxCrossEntropyWithLogits, CrossEntropyCase);
PROOF_CASES(SparseSoftmaxCrossEntropyWithLogits, SparseCrossEntropyCase);
PROOF_CASES(NLLLoss, NllCase);

}  // namespace
}  // namespace drydock::strategies::proof
