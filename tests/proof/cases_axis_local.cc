#include "tests/proof/proof_case.h"

/// Operators along one or more dimensions that stay whole.
namespace drydock::strategies::proof {
namespace {

ProofCase SoftmaxCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  const auto rank = std::ssize(shape);
  ProofCase one{.operands = {Floats(shape)}};
  if (draw.op() == "Softmax" && draw.Chance(3)) {
    one.attrs["axis"] = draw.SomeDimensions(rank);
  } else {
    one.attrs["axis"] = draw.Axis(rank);
  }
  return one;
}

ProofCase CumSumCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  return {.operands = {Floats(shape)},
          .attrs = {{"axis", draw.Axis(std::ssize(shape))},
                    {"exclusive", draw.Chance(2)},
                    {"reverse", draw.Chance(2)}}};
}

ProofCase TopKCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  return {.operands = {Floats(shape)}, .attrs = {{"k", draw.Uniform(1, shape.back())}}};
}

PROOF_CASES_OF(Softmax, SoftmaxCase, "Softmax", "LogSoftmax");
PROOF_CASES(CumSum, CumSumCase);
PROOF_CASES(TopK, TopKCase);

}  // namespace
}  // namespace drydock::strategies::proof
