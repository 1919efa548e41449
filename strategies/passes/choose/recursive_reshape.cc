#include "strategies/passes/choose/recursive_reshape.h"

#include <algorithm>
#include <numeric>

namespace drydock::strategies {
namespace {

/// Walks through both shapes side by side and calls `meet(from, to)` for dimensions that meet, with
/// what is left of their extents.
template <typename Meet>
void WalkShapes(Shape from, Shape to, Meet meet) {
  std::size_t f = 0;
  std::size_t t = 0;
  while (f < from.size() && t < to.size()) {
    if (from[f] <= 0 || to[t] <= 0) {
      return;
    }
    meet(f, t, from[f], to[t]);
    if (from[f] > to[t]) {
      from[f] /= to[t];
      ++t;
    } else if (from[f] < to[t]) {
      to[t] /= from[f];
      ++f;
    } else {
      ++f;
      ++t;
    }
  }
}

}  // namespace

/// Source: mindspore/ccsrc/frontend/parallel/auto_parallel/rec_core/rec_generate_strategy.cc
/// (PrepareReshape)
std::vector<std::int64_t> CutsThroughReshape(const Shape& from, const Shape& to,
                                             std::vector<std::int64_t> cuts) {
  cuts.resize(from.size(), 1);
  std::vector<std::int64_t> result(to.size(), 1);
  WalkShapes(from, to, [&](std::size_t f, std::size_t t, std::int64_t left, std::int64_t extent) {
    if (left >= extent && extent % cuts[f] == 0) {
      result[t] *= cuts[f];
      cuts[f] = 1;
    }
  });
  WalkShapes(from, to, [&](std::size_t f, std::size_t t, std::int64_t left, std::int64_t extent) {
    const std::int64_t taken = left > extent ? std::gcd(cuts[f], extent) : cuts[f];
    result[t] *= taken;
    // What was taken of a dimension that is used up is not asked for again.
    cuts[f] = left > extent ? cuts[f] / taken : cuts[f];
  });
  return result;
}

/// Source: the same file (GenGatherStra)
std::vector<std::int64_t> CutsOfShape(const Shape& shape, std::int64_t ranks) {
  std::vector<std::int64_t> cuts(shape.size(), 1);
  if (shape.empty()) {
    return cuts;
  }
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin() + 1, order.end(),
                   [&](std::size_t a, std::size_t b) { return shape[a] > shape[b]; });
  Shape left = shape;
  std::int64_t used = 1;
  for (const std::size_t d : order) {
    while (left[d] > 0 && left[d] % 2 == 0 && used < ranks) {
      left[d] /= 2;
      used *= 2;
      cuts[d] *= 2;
    }
  }
  return cuts;
}

}  // namespace drydock::strategies
