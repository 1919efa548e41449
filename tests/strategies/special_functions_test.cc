#include "strategies/rules/elementwise/special_functions.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

/// Special functions against identities and closed forms.
namespace drydock::strategies {
namespace {

constexpr double kTolerance = 1e-11;

TEST(Digamma, AtOneIsMinusEulersConstant) {
  EXPECT_NEAR(DigammaOf(1.0), -std::numbers::egamma, kTolerance);
}

TEST(Digamma, AtOneHalfIsKnown) {
  // psi(1/2) = -gamma - 2 log 2.
  EXPECT_NEAR(DigammaOf(0.5), -std::numbers::egamma - 2 * std::numbers::ln2, kTolerance);
}

TEST(Digamma, FollowsTheRecurrenceBelowZero) {
  // psi(x + 1) = psi(x) + 1 / x.
  EXPECT_NEAR(DigammaOf(-0.3), DigammaOf(-1.3) - 1.0 / 1.3, kTolerance);
}

TEST(Digamma, HasNoValueAtPoles) {
  EXPECT_TRUE(std::isnan(DigammaOf(0.0)));
  EXPECT_TRUE(std::isnan(DigammaOf(-2.0)));
}

TEST(Erfinv, InvertsErf) {
  for (const double x : {-2.5, -0.4, 0.0, 0.1, 1.7}) {
    EXPECT_NEAR(ErfinvOf(std::erf(x)), x, kTolerance) << x;
  }
}

TEST(Erfinv, IsInfiniteAtTheEndsAndNothingBeyond) {
  EXPECT_EQ(ErfinvOf(1.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(ErfinvOf(-1.0), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(ErfinvOf(1.5)));
}

TEST(BesselI, FollowsTheDerivativeOfOrderZero) {
  // I0' = I1, an odd function; central difference with step 1e-5.
  for (const double x : {-1.5, 0.7}) {
    EXPECT_NEAR((BesselI0Of(x + 1e-5) - BesselI0Of(x - 1e-5)) / 2e-5, BesselI1Of(x), 1e-9) << x;
  }
}

TEST(LowerGamma, OfShapeOneIsTheExponentialDistribution) {
  EXPECT_NEAR(LowerGammaOf(1.0, 0.8), 1.0 - std::exp(-0.8), kTolerance);
}

TEST(LowerGamma, OfShapeOneHalfIsTheErrorFunction) {
  EXPECT_NEAR(LowerGammaOf(0.5, 2.0), std::erf(std::sqrt(2.0)), kTolerance);
}

TEST(LowerGamma, SlopeByShapeAgreesWithDifferences) {
  for (const double x : {0.2, 1.7, 6.0}) {
    const double slope = (LowerGammaOf(2.5 + 1e-5, x) - LowerGammaOf(2.5 - 1e-5, x)) / 2e-5;
    EXPECT_NEAR(LowerGammaSlopeOf(2.5, x), slope, 1e-9) << x;
  }
}

TEST(HurwitzZeta, OfOneIsRiemanns) {
  EXPECT_NEAR(HurwitzZetaOf(2.0, 1.0), std::pow(std::numbers::pi, 2) / 6, kTolerance);
  EXPECT_NEAR(HurwitzZetaOf(4.0, 1.0), std::pow(std::numbers::pi, 4) / 90, kTolerance);
}

TEST(HurwitzZeta, LosesItsFirstTermWithTheNextOffset) {
  EXPECT_NEAR(HurwitzZetaOf(1.5, 0.4) - HurwitzZetaOf(1.5, 1.4), std::pow(0.4, -1.5), 1e-10);
}

TEST(HurwitzZeta, HasNoValueOutsideItsDomain) {
  EXPECT_TRUE(std::isnan(HurwitzZetaOf(1.0, 1.0)));
  EXPECT_TRUE(std::isnan(HurwitzZetaOf(2.0, 0.0)));
}

TEST(IncompleteBeta, OfWholeNumbersIsABinomialSum) {
  // I_x(3, 4): at least 3 successes in 6 trials; 1 - q^6 - 6 x q^5 - 15 x^2 q^4 with q = 1 - x.
  const double x = 0.35;
  const double q = 1 - x;
  const double expected = 1 - std::pow(q, 6) - 6 * x * std::pow(q, 5) - 15 * x * x * std::pow(q, 4);
  EXPECT_NEAR(IncompleteBetaOf(3, 4, x), expected, kTolerance);
}

TEST(IncompleteBeta, IsSymmetric) {
  EXPECT_NEAR(IncompleteBetaOf(0.7, 2.2, 0.9), 1 - IncompleteBetaOf(2.2, 0.7, 0.1), kTolerance);
}

TEST(IncompleteBeta, OfSquareRootsIsTheArcsineLaw) {
  // I_x(1/2, 1/2) = 2 / pi * asin(sqrt(x)).
  EXPECT_NEAR(IncompleteBetaOf(0.5, 0.5, 0.3), 2 / std::numbers::pi * std::asin(std::sqrt(0.3)),
              1e-10);
}

}  // namespace
}  // namespace drydock::strategies
