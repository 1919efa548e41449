#pragma once

#include <cstdint>
#include <vector>

#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {

/// Small dense array of numbers, row major; element types other than float64 are held as doubles.
struct NdArray {
  Shape shape = {};
  std::vector<double> data = {};
  friend bool operator==(const NdArray&, const NdArray&) = default;
};

/// Array of `shape` filled with `value`.
[[nodiscard]] NdArray FilledArray(Shape shape, double value);

/// Part of `array` given by one range per dimension.
[[nodiscard]] NdArray SliceArray(const NdArray& array, const std::vector<Range>& ranges);

/// Arrays joined on `axis`.
[[nodiscard]] NdArray ConcatArrays(const std::vector<NdArray>& parts, std::size_t axis);

/// `array` cut into `parts` equal pieces on `axis`.
[[nodiscard]] std::vector<NdArray> SplitArray(const NdArray& array, std::size_t axis,
                                              std::int64_t parts);

/// Row-major strides of a shape, elements.
[[nodiscard]] std::vector<std::int64_t> StridesOf(const Shape& shape);

}  // namespace drydock::strategies
