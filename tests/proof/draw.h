#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string_view>
#include <vector>

#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies::proof {

/// Elements of the largest tensor that the shape helpers of Draw make.
inline constexpr std::int64_t kMaxElements = 192;

/// Random choices of one proof program; the same seed gives the same choices everywhere.
///
/// Extents are mostly 1, 2, 3, 4, 6, 8 and 12 (what the worlds 2, 3, 4, 6, 8 and 12 divide), with
/// primes now and then.
class Draw {
 public:
  Draw(std::string_view op, std::uint64_t seed) : op_(op), random_(seed) {}

  /// Operator the case is for: one generator may serve a family.
  [[nodiscard]] std::string_view op() const { return op_; }

  /// True once in `one_in` times.
  bool Chance(std::int64_t one_in) { return Uniform(1, one_in) == 1; }
  /// Whole number in [low, high].
  std::int64_t Uniform(std::int64_t low, std::int64_t high);
  /// Number in [low, high).
  double Real(double low, double high);
  /// One of the values.
  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return values.begin()[Uniform(0, static_cast<std::int64_t>(values.size()) - 1)];
  }

  /// Extent of one dimension, at most `most`.
  std::int64_t Extent(std::int64_t most = 12);
  /// The same, without 1.
  std::int64_t ExtentAboveOne(std::int64_t most = 12);
  /// Shape of `rank` dimensions with at most kMaxElements elements.
  Shape ShapeOfRank(std::int64_t rank);
  /// Shape of min_rank to max_rank dimensions.
  Shape AnyShape(std::int64_t min_rank, std::int64_t max_rank) {
    return ShapeOfRank(Uniform(min_rank, max_rank));
  }
  /// `count` shapes that broadcast together: lower ranks, extents of 1. The first has the full rank
  /// and, if `first_is_whole`, the broadcast shape.
  std::vector<Shape> BroadcastShapes(std::size_t count, std::int64_t min_rank,
                                     std::int64_t max_rank, bool first_is_whole = false);
  /// A dimension of `rank` >= 1, counted from the back (negative) half of the time.
  std::int64_t Axis(std::int64_t rank);
  /// A dimension of `rank` >= 1, never negative.
  std::int64_t Dimension(std::int64_t rank) { return Uniform(0, rank - 1); }
  /// Some dimensions of `rank` in ascending order, at least `at_least` of them.
  std::vector<std::int64_t> SomeDimensions(std::int64_t rank, std::int64_t at_least = 1);
  /// 0 .. count - 1 in random order.
  std::vector<std::int64_t> Permutation(std::int64_t count);

  [[nodiscard]] std::mt19937_64& random() { return random_; }

 private:
  std::string_view op_;
  std::mt19937_64 random_;
};

}  // namespace drydock::strategies::proof
