#include "strategies/rules/elementwise/random_numbers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace drydock::strategies {
namespace {

/// Final mixing of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t Mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Most rejections of one gamma number; each is refused in less than 5 % of the cases.
constexpr std::uint64_t kMostTries = 64;

}  // namespace

double UniformNumber(const Seeds& seeds, std::uint64_t index, std::uint64_t stream) {
  std::uint64_t state = Mixed(static_cast<std::uint64_t>(seeds.first));
  state = Mixed(state ^ static_cast<std::uint64_t>(seeds.second));
  state = Mixed(state ^ stream);
  state = Mixed(state ^ index);
  return static_cast<double>(state >> 11U) * 0x1.0p-53;
}

double NormalNumber(const Seeds& seeds, std::uint64_t index) {
  // Box and Muller, 1958.
  const double radius = std::sqrt(-2 * std::log(1 - UniformNumber(seeds, index, 1)));
  return radius * std::cos(2 * std::numbers::pi * UniformNumber(seeds, index, 2));
}

double GammaNumber(const Seeds& seeds, std::uint64_t index, double alpha, double beta) {
  // Marsaglia and Tsang, 2000; alpha below 1 by a power of a uniform number.
  const double shape = std::max(alpha, 1.0);
  const double d = alpha < 1 ? alpha + 2.0 / 3 : shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  double sample = d;
  for (std::uint64_t attempt = 0; attempt < kMostTries; ++attempt) {
    const std::uint64_t at = index * kMostTries + attempt;
    const double x = NormalNumber(seeds, at);
    const double v = std::pow(1 + c * x, 3);
    const double u = UniformNumber(seeds, at, 3);
    if (v > 0 && std::log(1 - u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      sample = d * v;
      break;
    }
  }
  if (alpha < 1) {
    sample *= std::pow(1 - UniformNumber(seeds, index, 4), 1 / alpha);
  }
  return sample / beta;
}

Result<Seeds> SeedsOf(const AttrMap& attrs, std::string_view first, std::string_view second) {
  Seeds seeds = {};
  DRYDOCK_TRY(seeds.first, IntAttr(attrs, first, 0));
  DRYDOCK_TRY(seeds.second, IntAttr(attrs, second, 0));
  return seeds;
}

std::int64_t FreshSeed(const LocalizeContext& context) {
  return static_cast<std::int64_t>(context.builder.graph().nodes.size()) + 1;
}

}  // namespace drydock::strategies
