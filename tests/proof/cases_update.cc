#include "base/checked.h"
#include "tests/proof/proof_case.h"

/// Operators that write parameters: operand 0 is a weight, others its state, its gradient, numbers.
namespace drydock::strategies::proof {
namespace {

Operand State(const Shape& shape) {
  return FedAs(Positive(shape), Feed::kParameter);
}

Operand Number(double value) {
  return FedAs(Fixed({}, {value}), Feed::kParameter);
}

Operand GradientOperand(const Shape& shape) {
  return FedAs(Floats(shape), Feed::kGradient);
}

Shape WeightShape(Draw& draw) {
  return draw.AnyShape(1, 3);
}

ProofCase AssignCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {.operands = {Floats(shape), GradientOperand(shape)}};
}

ProofCase MomentumCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {
      .operands = {Floats(shape), State(shape), Number(0.1), GradientOperand(shape), Number(0.9)},
      .attrs = {{"use_nesterov", draw.Chance(2)}}};
}

ProofCase SgdCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {
      .operands = {Floats(shape), GradientOperand(shape), Number(0.1), State(shape), Number(0.9),
                   FedAs(Integers(shape, 0, 1, DType::kFloat32), Feed::kParameter)},
      .attrs = {{"nesterov", draw.Chance(2)}, {"weight_decay", 0.01}}};
}

ProofCase AdamCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {
      .operands = {Floats(shape), State(shape), State(shape), Number(0.9), Number(0.99),
                   Number(0.1), Number(0.9), Number(0.99), Number(1e-6), GradientOperand(shape)},
      .attrs = {{"use_nesterov", draw.Chance(2)}}};
}

ProofCase AdamWeightDecayCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {.operands = {Floats(shape), State(shape), State(shape), Number(0.1), Number(0.9),
                       Number(0.99), Number(1e-6), Number(0.01), GradientOperand(shape)}};
}

/// The step is scaled by norms that every rank takes over its own slice (docs/differences.md). A
/// weight of zeros is not scaled, so it may be cut; any other is proven whole.
ProofCase LambCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  const bool zeros = draw.Chance(2);
  const auto count = static_cast<std::size_t>(Product(shape));
  return {.operands = {zeros ? Fixed(shape, std::vector<double>(count, 0.0)) : Floats(shape),
                       FedAs(Floats(shape), Feed::kParameter), State(shape), Number(0.1),
                       Number(0.9), Number(0.99), Number(1e-6), Number(0.01),
                       Number(static_cast<double>(draw.Uniform(0, 3))), GradientOperand(shape)},
          .whole = !zeros};
}

ProofCase FtrlCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {.operands = {Floats(shape), State(shape), FedAs(Floats(shape), Feed::kParameter),
                       GradientOperand(shape), Number(0.1), Number(0.3), Number(0.05),
                       Number(-0.5)}};
}

ProofCase AdagradCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {.operands = {Floats(shape), State(shape), Number(0.1), GradientOperand(shape)},
          .attrs = {{"update_slots", draw.Chance(2)}}};
}

ProofCase RmsPropCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {.operands = {Floats(shape), State(shape), State(shape), Number(0.1),
                       GradientOperand(shape), Number(0.9), Number(0.5), Number(1e-6)}};
}

/// The mean square exceeds the square of the mean, as it does in training.
ProofCase CenteredRmsPropCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {.operands = {Floats(shape), FedAs(Floats(shape, -0.5, 0.5), Feed::kParameter),
                       State(shape), State(shape), GradientOperand(shape), Number(0.1), Number(0.9),
                       Number(0.5), Number(1e-3)}};
}

ProofCase AdaMaxCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {.operands = {Floats(shape), State(shape), State(shape), Number(0.9), Number(0.1),
                       Number(0.9), Number(0.99), Number(1e-6), GradientOperand(shape)}};
}

ProofCase AdadeltaCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {.operands = {Floats(shape), State(shape), State(shape), Number(0.1), Number(0.9),
                       Number(1e-6), GradientOperand(shape)}};
}

ProofCase ProximalAdagradCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {.operands = {Floats(shape), State(shape), Number(0.1), Number(0.2), Number(0.3),
                       GradientOperand(shape)}};
}

ProofCase AmsgradCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {.operands = {Floats(shape), State(shape), State(shape), State(shape), Number(0.9),
                       Number(0.99), Number(0.1), Number(0.9), Number(0.99), Number(1e-6),
                       GradientOperand(shape)}};
}

ProofCase AdamWCase(Draw& draw) {
  const Shape shape = WeightShape(draw);
  return {
      .operands = {Floats(shape), State(shape), State(shape), State(shape), GradientOperand(shape),
                   Number(2), Number(0.1), Number(0.9), Number(0.99), Number(0.1), Number(1e-6)},
      .attrs = {{"amsgrad", draw.Chance(2)}}};
}

PROOF_CASES_OF(Assign, AssignCase, "Assign", "AssignAdd", "AssignSub", "InplaceMul");
PROOF_CASES(ApplyRMSProp, RmsPropCase);
PROOF_CASES(ApplyCenteredRMSProp, CenteredRmsPropCase);
PROOF_CASES(ApplyAdaMax, AdaMaxCase);
PROOF_CASES(ApplyAdadelta, AdadeltaCase);
PROOF_CASES(ApplyProximalAdagrad, ProximalAdagradCase);
PROOF_CASES(ApplyAdamWithAmsgradV2, AmsgradCase);
PROOF_CASES(AdamW, AdamWCase);
PROOF_NONE(Lars, "stands between gradients and an update, with norms that the ranks take of slices",
           "LARSUpdate");
PROOF_NONE(SaveCheckpoint, "gathers what of the parameters is cut; it has no kernel",
           "_SaveCheckpoint");
PROOF_CASES(ApplyMomentum, MomentumCase);
PROOF_CASES(SGD, SgdCase);
PROOF_CASES(Adam, AdamCase);
PROOF_CASES(AdamWeightDecay, AdamWeightDecayCase);
PROOF_CASES(Lamb, LambCase);
PROOF_CASES(ApplyFtrl, FtrlCase);
PROOF_CASES(ApplyAdagrad, AdagradCase);

}  // namespace
}  // namespace drydock::strategies::proof
