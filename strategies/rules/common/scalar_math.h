#pragma once

#include <algorithm>
#include <cmath>

namespace drydock::strategies {

// Arithmetic of two numbers, for MapArrays and ReduceArray; SumOf stands beside those.

inline double DifferenceOf(double a, double b) {
  return a - b;
}
inline double ProductOf(double a, double b) {
  return a * b;
}
inline double QuotientOf(double a, double b) {
  return a / b;
}
inline double MaxOf(double a, double b) {
  return std::max(a, b);
}
inline double MinOf(double a, double b) {
  return std::min(a, b);
}
inline double SigmoidOf(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

}  // namespace drydock::strategies
