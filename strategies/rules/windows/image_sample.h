#pragma once

#include <cstdint>

#include "base/result.h"
#include "strategies/operators/op_entry.h"

/// What operators that sample parts of images share.
namespace drydock::strategies {

/// A sample between four pixels.
struct Sample {
  std::int64_t top = 0;
  std::int64_t bottom = 0;
  std::int64_t left = 0;
  std::int64_t right = 0;
  double down = 0;    ///< Weight of the bottom row.
  double across = 0;  ///< Weight of the right column.
};

/// Sample at (y, x), which lie inside an image of `height` times `width` pixels.
[[nodiscard]] Sample SampleAt(double y, double x, std::int64_t height, std::int64_t width);

/// Calls f(row, column, weight) for the pixels of a sample.
template <typename F>
void ForPixels(const Sample& sample, F f) {
  f(sample.top, sample.left, (1 - sample.down) * (1 - sample.across));
  f(sample.top, sample.right, (1 - sample.down) * sample.across);
  f(sample.bottom, sample.left, sample.down * (1 - sample.across));
  f(sample.bottom, sample.right, sample.down * sample.across);
}

/// `value` [b, .., .., ..] with the entries zeroed that `is_own` [b] is false for.
[[nodiscard]] Result<ValueId> EmitOwnEntries(const LocalizeContext& context, ValueId value,
                                             ValueId is_own);

}  // namespace drydock::strategies
