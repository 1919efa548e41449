#include "tests/proof/proof_case.h"

// Element-wise operators of several tensors that broadcast. Source: mindspore
// ops_info/arithmetic_info.cc.
namespace drydock::strategies::proof {
namespace {

/// Operands of shapes that broadcast together, numbers in (low, high).
ProofCase Broadcasting(Draw& draw, std::size_t count, double low, double high) {
  ProofCase one = {};
  for (const Shape& shape : draw.BroadcastShapes(count, 0, 4)) {
    one.operands.push_back(Floats(shape, low, high));
  }
  return one;
}

ProofCase AnyPairCase(Draw& draw) {
  return Broadcasting(draw, 2, -2.0, 2.0);
}
PROOF_CASES_OF(AnyPair, AnyPairCase, "MulNoNan", "ApproximateEqual", "IsClose");

ProofCase PositivePairCase(Draw& draw) {
  return Broadcasting(draw, 2, 0.3, 2.3);
}
PROOF_CASES_OF(PositivePair, PositivePairCase, "Hypot", "Igamma", "Igammac", "NextAfter");

/// Dividends in (4.1, 5.7), divisors in (3.0, 3.9) or their negatives: quotients stay away from
/// whole numbers, where remainders jump.
ProofCase RemainderCase(Draw& draw) {
  ProofCase one = Broadcasting(draw, 2, 4.1, 5.7);
  const bool negative = draw.Chance(2);
  one.operands[1].low = negative ? -3.9 : 3.0;
  one.operands[1].high = negative ? -3.0 : 3.9;
  return one;
}
PROOF_CASES_OF(Remainders, RemainderCase, "Mod", "TruncateMod", "TruncateDiv", "FmodTensor",
               "RemainderTensorTensor");

ProofCase DivModCase(Draw& draw) {
  ProofCase one = RemainderCase(draw);
  one.attrs["rounding_mode"] = draw.Pick({Attr(), Attr("floor"), Attr("trunc")});
  return one;
}
PROOF_CASES(DivMod, DivModCase);

ProofCase AlphaCase(Draw& draw) {
  ProofCase one = AnyPairCase(draw);
  one.attrs["alpha"] = draw.Pick({Attr(1), Attr(3), Attr(-0.5)});
  return one;
}
PROOF_CASES_OF(Alpha, AlphaCase, "AddExt", "SubExt");

ProofCase AddcmulCase(Draw& draw) {
  ProofCase one = Broadcasting(draw, 3, -2.0, 2.0);
  one.attrs["value"] = draw.Pick({Attr(1), Attr(0.5)});
  return one;
}
PROOF_CASES(AddcmulExt, AddcmulCase);

/// Divisors stay away from zero.
ProofCase AddQuotientCase(Draw& draw) {
  return Broadcasting(draw, 4, 0.5, 2.0);
}
PROOF_CASES_OF(Addcmul, AddQuotientCase, "Addcmul", "Addcdiv");

ProofCase LerpCase(Draw& draw) {
  ProofCase one = Broadcasting(draw, 3, -2.0, 2.0);
  if (draw.Chance(3)) {
    one.operands[2] = Scalar(0.3);
  }
  return one;
}
PROOF_CASES(Lerp, LerpCase);

ProofCase MaskedFillCase(Draw& draw) {
  const std::vector<Shape> shapes = draw.BroadcastShapes(2, 0, 4);
  return {
      .operands = {Floats(shapes[0]), Bools(shapes[1]), draw.Chance(2) ? Scalar(0.7) : Floats({})}};
}
PROOF_CASES(MaskedFill, MaskedFillCase);

ProofCase OuterCase(Draw& draw) {
  return {.operands = {Floats({draw.Extent()}), Floats({draw.Extent()})}};
}
PROOF_CASES(Outer, OuterCase);

/// The slope by the exponent is not defined in the reference.
ProofCase ZetaCase(Draw& draw) {
  ProofCase one = Broadcasting(draw, 2, 1.4, 3.4);
  one.operands[0] = NoGradient(one.operands[0]);
  return one;
}
PROOF_CASES(Zeta, ZetaCase);

ProofCase BetaincCase(Draw& draw) {
  const Shape shape = draw.AnyShape(0, 4);
  return {.operands = {NoGradient(Positive(shape)), NoGradient(Positive(shape)),
                       Floats(shape, 0.05, 0.95)}};
}
PROOF_CASES(Betainc, BetaincCase);

ProofCase CrossEntropyCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  return {.operands = {Floats(shape), NoGradient(Floats(shape, 0.0, 1.0))}};
}
PROOF_CASES(SigmoidCrossEntropyWithLogits, CrossEntropyCase);

ProofCase IntegerPairCase(Draw& draw) {
  const bool shift = draw.op() == "LeftShift" || draw.op() == "RightShift";
  const std::vector<Shape> shapes = draw.BroadcastShapes(2, 0, 4);
  return {.operands = {Integers(shapes[0], -40, 40),
                       shift ? Integers(shapes[1], 0, 6) : Integers(shapes[1], -40, 40)}};
}
PROOF_CASES_OF(IntegerPair, IntegerPairCase, "BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift",
               "RightShift", "Gcd");

/// Writes the gradient of a parameter over the parameter.
ProofCase InplaceCopyCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  return {.operands = {Floats(shape), FedAs(Floats(shape), Feed::kGradient)}};
}
PROOF_CASES(InplaceCopy, InplaceCopyCase);

}  // namespace
}  // namespace drydock::strategies::proof
