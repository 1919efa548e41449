#include "strategies/rules/elementwise/special_functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace drydock::strategies {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// Series stop when a term no longer changes the sum, or here.
constexpr int kMaxTerms = 2000;

/// Sum of x^n / ((a+1)(a+2)...(a+n)) over n >= 0, and its derivative by a.
struct GammaSeries {
  double sum = 1.0;
  double slope = 0.0;
};

GammaSeries SumGammaSeries(double a, double x) {
  GammaSeries series = {};
  double term = 1.0;
  double log_slope = 0.0;
  for (int n = 1; n < kMaxTerms; ++n) {
    term *= x / (a + n);
    log_slope -= 1.0 / (a + n);
    series.sum += term;
    series.slope += term * log_slope;
    if (n > x && std::fabs(term * log_slope) < 1e-18 * series.sum) {
      break;
    }
  }
  return series;
}

/// Continued fraction of the incomplete beta function, evaluated from the far end.
double BetaFraction(double a, double b, double x) {
  constexpr int kDepth = 400;
  double fraction = 1.0;
  for (int m = kDepth; m >= 1; --m) {
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    fraction = 1.0 + even / (1.0 + odd / fraction);
  }
  return 1.0 + (-(a + b) * x / (a + 1.0)) / fraction;
}

}  // namespace

double DigammaOf(double x) {
  if (x <= 0 && x == std::floor(x)) {
    return kNaN;
  }
  if (x < 0) {
    return DigammaOf(1.0 - x) - std::numbers::pi / std::tan(std::numbers::pi * x);
  }
  double shift = 0.0;
  while (x < 12.0) {
    shift -= 1.0 / x;
    x += 1.0;
  }
  const double y = 1.0 / (x * x);
  // Asymptotic series: the coefficients are B(2n) / (2n).
  const double tail =
      y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132)))));
  return shift + std::log(x) - 0.5 / x - tail;
}

double ErfinvOf(double y) {
  if (!(y >= -1.0 && y <= 1.0)) {
    return kNaN;
  }
  if (std::fabs(y) == 1.0) {
    return std::copysign(std::numeric_limits<double>::infinity(), y);
  }
  // Bisection is enough for a start, Newton for the last digits.
  double low = -6.0;
  double high = 6.0;
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (low + high);
    (std::erf(middle) < y ? low : high) = middle;
  }
  double x = 0.5 * (low + high);
  for (int i = 0; i < 3; ++i) {
    x -= (std::erf(x) - y) * 0.5 * std::sqrt(std::numbers::pi) * std::exp(x * x);
  }
  return x;
}

double BesselI0Of(double x) {
  return std::cyl_bessel_i(0.0, std::fabs(x));
}

double BesselI1Of(double x) {
  return std::copysign(std::cyl_bessel_i(1.0, std::fabs(x)), x);
}

double LowerGammaOf(double a, double x) {
  if (!(a > 0) || !(x >= 0)) {
    return kNaN;
  }
  return x == 0 ? 0.0
                : std::exp(a * std::log(x) - x - std::lgamma(a + 1.0)) * SumGammaSeries(a, x).sum;
}

double LowerGammaSlopeOf(double a, double x) {
  if (!(a > 0) || !(x >= 0)) {
    return kNaN;
  }
  if (x == 0) {
    return 0.0;
  }
  const GammaSeries series = SumGammaSeries(a, x);
  const double scale = std::exp(a * std::log(x) - x - std::lgamma(a + 1.0));
  return scale * (series.sum * (std::log(x) - DigammaOf(a + 1.0)) + series.slope);
}

double HurwitzZetaOf(double x, double q) {
  if (!(x > 1) || !(q > 0)) {
    return kNaN;
  }
  constexpr int kDirect = 12;
  double sum = 0.0;
  for (int n = 0; n < kDirect; ++n) {
    sum += std::pow(q + n, -x);
  }
  // The rest by Euler and Maclaurin.
  const double w = q + kDirect;
  const double power = std::pow(w, -x);
  sum += w * power / (x - 1.0) + 0.5 * power;
  constexpr double kBernoulli[] = {1.0 / 6,   -1.0 / 30, 1.0 / 42,
                                   -1.0 / 30, 5.0 / 66,  -691.0 / 2730};
  double factor = power * x / (2.0 * w);
  for (int k = 1; k <= 6; ++k) {
    sum += kBernoulli[k - 1] * factor;
    factor *= (x + 2.0 * k - 1.0) * (x + 2.0 * k) / ((2.0 * k + 1.0) * (2.0 * k + 2.0) * w * w);
  }
  return sum;
}

double IncompleteBetaOf(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) {
    return kNaN;
  }
  if (x == 0 || x == 1) {
    return x;
  }
  if (x > (a + 1.0) / (a + b + 2.0)) {
    return 1.0 - IncompleteBetaOf(b, a, 1.0 - x);
  }
  const double log_scale =
      a * std::log(x) + b * std::log1p(-x) + std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b);
  return std::exp(log_scale) / (a * BetaFraction(a, b, x));
}

}  // namespace drydock::strategies
