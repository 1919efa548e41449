#include "strategies/operators/nd_array.h"

#include <algorithm>

#include "base/checked.h"
#include "base/result.h"

namespace drydock::strategies {

NdArray FilledArray(Shape shape, double value) {
  const auto count = static_cast<std::size_t>(Product(shape));
  return {.shape = std::move(shape), .data = std::vector<double>(count, value)};
}

std::vector<std::int64_t> StridesOf(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * shape[d];
  }
  return strides;
}

NdArray SliceArray(const NdArray& array, const std::vector<Range>& ranges) {
  DRYDOCK_CHECK(ranges.size() == array.shape.size());
  Shape shape;
  for (const Range& range : ranges) {
    shape.push_back(range.end - range.begin);
  }
  NdArray slice = FilledArray(shape, 0.0);
  const std::vector<std::int64_t> strides = StridesOf(array.shape);
  const std::vector<std::int64_t> slice_strides = StridesOf(shape);
  for (std::size_t i = 0; i < slice.data.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i);
    std::int64_t source = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      source += (ranges[d].begin + rest / slice_strides[d]) * strides[d];
      rest %= slice_strides[d];
    }
    slice.data[i] = array.data[static_cast<std::size_t>(source)];
  }
  return slice;
}

NdArray ConcatArrays(const std::vector<NdArray>& parts, std::size_t axis) {
  DRYDOCK_CHECK(!parts.empty() && axis < parts.front().shape.size());
  Shape shape = parts.front().shape;
  shape[axis] = 0;
  for (const NdArray& part : parts) {
    shape[axis] += part.shape[axis];
  }
  NdArray joined{.shape = shape, .data = {}};
  const auto outer = static_cast<std::size_t>(Product(std::span(shape).first(axis)));
  for (std::size_t o = 0; o < outer; ++o) {
    for (const NdArray& part : parts) {
      const std::size_t block = part.data.size() / std::max<std::size_t>(outer, 1);
      const auto begin = part.data.begin() + static_cast<std::ptrdiff_t>(o * block);
      joined.data.insert(joined.data.end(), begin, begin + static_cast<std::ptrdiff_t>(block));
    }
  }
  return joined;
}

std::vector<NdArray> SplitArray(const NdArray& array, std::size_t axis, std::int64_t parts) {
  DRYDOCK_CHECK(axis < array.shape.size() && parts > 0 && array.shape[axis] % parts == 0);
  std::vector<Range> ranges;
  for (const std::int64_t extent : array.shape) {
    ranges.push_back({.begin = 0, .end = extent});
  }
  const std::int64_t width = array.shape[axis] / parts;
  std::vector<NdArray> pieces;
  for (std::int64_t i = 0; i < parts; ++i) {
    ranges[axis] = {.begin = i * width, .end = (i + 1) * width};
    pieces.push_back(SliceArray(array, ranges));
  }
  return pieces;
}

}  // namespace drydock::strategies
