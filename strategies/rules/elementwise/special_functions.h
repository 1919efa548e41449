#pragma once

/// Special functions of real numbers that the reference evaluations need and the standard library
/// lacks. Written for small, well-conditioned arguments: clear, not fast; relative error about
/// 1e-12.
namespace drydock::strategies {

/// Derivative of log(gamma(x)); NaN at 0 and the negative integers.
[[nodiscard]] double DigammaOf(double x);

/// Inverse of erf on (-1, 1); infinite at the ends, NaN outside.
[[nodiscard]] double ErfinvOf(double y);

/// Modified Bessel functions of the first kind, orders 0 and 1; odd orders are odd functions.
[[nodiscard]] double BesselI0Of(double x);
[[nodiscard]] double BesselI1Of(double x);

/// Regularised lower incomplete gamma function P(a, x), a > 0, x >= 0.
[[nodiscard]] double LowerGammaOf(double a, double x);

/// Derivative of P(a, x) by a.
[[nodiscard]] double LowerGammaSlopeOf(double a, double x);

/// Hurwitz zeta function: sum over n >= 0 of (q + n)^-x, for x > 1 and q > 0; NaN elsewhere.
[[nodiscard]] double HurwitzZetaOf(double x, double q);

/// Regularised incomplete beta function I_x(a, b), a > 0, b > 0, 0 <= x <= 1; NaN elsewhere.
[[nodiscard]] double IncompleteBetaOf(double a, double b, double x);

}  // namespace drydock::strategies
