#include "tests/proof/proof_case.h"

/// Operators of operands that broadcast.
namespace drydock::strategies::proof {
namespace {

std::vector<Shape> PairOfShapes(Draw& draw) {
  return draw.BroadcastShapes(2, 0, 4);
}

/// The ranges differ so that no two elements of the operands tie.
ProofCase AnyNumbersCase(Draw& draw) {
  const std::vector<Shape> shapes = PairOfShapes(draw);
  return {.operands = {Floats(shapes[0]), Floats(shapes[1], -1.93, 2.11)}};
}

ProofCase DivisionCase(Draw& draw) {
  const std::vector<Shape> shapes = PairOfShapes(draw);
  const bool negative = draw.Chance(2);
  return {.operands = {Floats(shapes[0]),
                       negative ? Floats(shapes[1], -2.3, -0.4) : Floats(shapes[1], 0.4, 2.3)}};
}

ProofCase PositiveNumbersCase(Draw& draw) {
  const std::vector<Shape> shapes = PairOfShapes(draw);
  return {.operands = {Positive(shapes[0]), Positive(shapes[1])}};
}

/// Few different values: equal ones occur.
ProofCase ComparisonCase(Draw& draw) {
  const std::vector<Shape> shapes = PairOfShapes(draw);
  const DType dtype = draw.Pick({DType::kInt32, DType::kFloat32});
  return {.operands = {Integers(shapes[0], -1, 1, dtype), Integers(shapes[1], -1, 1, dtype)}};
}

ProofCase LogicCase(Draw& draw) {
  const std::vector<Shape> shapes = PairOfShapes(draw);
  return {.operands = {Bools(shapes[0]), Bools(shapes[1])}};
}

/// Quotients away from zero: rounding to whole numbers.
ProofCase WholeQuotientCase(Draw& draw) {
  const std::vector<Shape> shapes = PairOfShapes(draw);
  return {.operands = {Floats(shapes[0], -5.0, 5.0), Floats(shapes[1], 0.41, 2.3)}};
}

PROOF_CASES_OF(AnyNumbers, AnyNumbersCase, "Add", "Sub", "Mul", "Maximum", "Minimum",
               "SquaredDifference", "Atan2");
PROOF_CASES_OF(Division, DivisionCase, "Div", "RealDiv", "DivNoNan", "Xdivy");
PROOF_CASES_OF(PositiveNumbers, PositiveNumbersCase, "Pow", "Xlogy");
PROOF_CASES_OF(Comparison, ComparisonCase, "Equal", "NotEqual", "Greater", "GreaterEqual", "Less",
               "LessEqual");
PROOF_CASES_OF(Logic, LogicCase, "LogicalAnd", "LogicalOr");
PROOF_CASES_OF(WholeQuotient, WholeQuotientCase, "FloorDiv", "FloorMod");

}  // namespace
}  // namespace drydock::strategies::proof
