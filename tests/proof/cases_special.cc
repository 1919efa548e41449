#include <cmath>
#include <limits>

#include "tests/proof/proof_case.h"

// Element-wise operators of one tensor. Source: mindspore ops_info/elementary_function_info.cc.
namespace drydock::strategies::proof {
namespace {

ProofCase AnyFloatsCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(0, 4))}};
}

ProofCase PositiveCase(Draw& draw) {
  return {.operands = {Positive(draw.AnyShape(0, 4))}};
}

/// Inside (-1, 1): inverse functions.
ProofCase FractionCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(0, 4), -0.9, 0.9)}};
}

PROOF_CASES_OF(Plain, AnyFloatsCase, "SeLU", "Mish", "Softsign", "BesselI0", "BesselI0e",
               "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1");
PROOF_CASES_OF(OfPositive, PositiveCase, "Inv", "Lgamma");
PROOF_CASES_OF(OfFraction, FractionCase, "Erfinv");

ProofCase ActivationCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(1, 3), -3.0, 8.0)},
          .attrs = {{"activation_type", draw.Pick({"relu", "relu6", "sigmoid"})}}};
}
PROOF_CASES(Activation, ActivationCase);

// ---- Numbers beside the tensor

ProofCase EluCase(Draw& draw) {
  const bool free = draw.op() == "EluExt";
  return {.operands = {Floats(draw.AnyShape(0, 4))},
          .attrs = {{"alpha", free ? draw.Real(0.5, 2.0) : 1.0}}};
}
PROOF_CASES_OF(Elus, EluCase, "Elu", "EluExt");

ProofCase ShrinkCase(Draw& draw) {
  ProofCase one{.operands = {Floats(draw.AnyShape(0, 4))}};
  if (draw.Chance(2)) {
    one.attrs["lambd"] = 1.0;
  }
  return one;
}
PROOF_CASES_OF(Shrinks, ShrinkCase, "HShrink", "SoftShrink");

ProofCase LeakyCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(0, 4))},
          .attrs = {{"negative_slope", draw.Real(0.0, 0.4)}}};
}
PROOF_CASES(LeakyReLUExt, LeakyCase);

ProofCase SoftplusExtCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(0, 4))},
          .attrs = {{"beta", draw.Pick({0.5, 1.0, 3.0})}, {"threshold", 20}}};
}
PROOF_CASES(SoftplusExt, SoftplusExtCase);

ProofCase ClampCase(Draw& draw) {
  ProofCase one{.operands = {Floats(draw.AnyShape(0, 4))}};
  if (!draw.Chance(3)) {
    one.attrs["min"] = -1.0;
  }
  if (!draw.Chance(3)) {
    one.attrs["max"] = 1.0;
  }
  return one;
}
PROOF_CASES(ClampScalar, ClampCase);

/// Quotients stay away from whole numbers, where remainders jump.
ProofCase NumberCase(Draw& draw) {
  const bool first = draw.op() == "RemainderScalarTensor";
  return {.operands = {Floats(draw.AnyShape(0, 4), 2.02, 3.98)},
          .attrs = {{first ? "input" : "other", first ? 7.9 : draw.Pick({-4.0, 4.0})}},
          .check_slope = !first};  // It has no gradient (docs/differences.md).
}
PROOF_CASES_OF(Numbers, NumberCase, "Muls", "Divs", "AddScalar", "SubScalar", "FmodScalar",
               "RemainderTensorScalar", "RemainderScalarTensor");

ProofCase PowerCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(0, 4), 0.5, 2.0)},
          .attrs = {{"exponent", draw.Pick({-1.0, 0.5, 1.0, 2.0, 3.0})}}};
}
PROOF_CASES(PowTensorScalar, PowerCase);

ProofCase NanToNumCase(Draw& draw) {
  Operand operand = Floats(draw.AnyShape(1, 4));
  if (draw.Chance(2)) {
    const double infinity = std::numeric_limits<double>::infinity();
    operand = NoGradient(Fixed({4}, {infinity, -infinity, 0.5, std::nan("")}));
  }
  return {.operands = {operand}, .attrs = {{"nan", 0.25}, {"posinf", 3.0}, {"neginf", -3.0}}};
}
PROOF_CASES(NanToNum, NanToNumCase);

ProofCase BitsCase(Draw& draw) {
  const bool narrow = draw.op() == "PopulationCount";
  return {
      .operands = {Integers(draw.AnyShape(0, 4), -40, 40, narrow ? DType::kInt16 : DType::kInt32)}};
}
PROOF_CASES_OF(Bits, BitsCase, "Invert", "PopulationCount");

}  // namespace
}  // namespace drydock::strategies::proof
