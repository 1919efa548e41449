#include "strategies/layout/plain_layout.h"

#include <algorithm>
#include <cstddef>

namespace drydock::strategies {
namespace {

std::int64_t ExtentOf(const std::vector<std::int64_t>& device_matrix, std::int64_t axis) {
  return axis < 0 ? 1 : device_matrix[device_matrix.size() - 1 - static_cast<std::size_t>(axis)];
}

}  // namespace

PlainLayout ExtendedForm(const TensorLayout& layout) {
  PlainLayout plain{.device_matrix = layout.device_matrix};
  plain.tensor_map.reserve(layout.shape.size());
  plain.shape.reserve(layout.shape.size());
  auto trailing = layout.trailing_none.begin();
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    const auto& axes = layout.tensor_map[d];
    const bool has_none = trailing != layout.trailing_none.end() && *trailing == d;
    if (has_none) {
      ++trailing;
    }
    std::int64_t rest = layout.shape[d];
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const bool takes_rest = !has_none && i + 1 == axes.size();
      const std::int64_t extent = takes_rest ? rest : ExtentOf(layout.device_matrix, axes[i]);
      plain.tensor_map.push_back(axes[i]);
      plain.shape.push_back(extent);
      rest /= extent;
    }
    if (axes.empty() || has_none) {
      plain.tensor_map.push_back(-1);
      plain.shape.push_back(rest);
    }
  }
  return plain;
}

PlainLayout StandardForm(const PlainLayout& layout) {
  const auto& matrix = layout.device_matrix;
  if (std::find(matrix.begin(), matrix.end(), 1) == matrix.end()) {
    return layout;
  }
  PlainLayout standard{.tensor_map = layout.tensor_map, .shape = layout.shape};
  std::copy_if(matrix.begin(), matrix.end(), std::back_inserter(standard.device_matrix),
               [](std::int64_t extent) { return extent != 1; });
  if (standard.device_matrix.empty()) {
    standard.device_matrix = {1};
  }
  for (std::int64_t& axis : standard.tensor_map) {
    if (ExtentOf(matrix, axis) == 1) {
      axis = -1;
    } else {
      // Axes of size 1 to the right of this one no longer count.
      axis -= std::count(matrix.end() - axis, matrix.end(), 1);
    }
  }
  return standard;
}

PlainLayout Squeezed(const PlainLayout& layout) {
  if (std::find(layout.shape.begin(), layout.shape.end(), 1) == layout.shape.end() &&
      !layout.shape.empty()) {
    return layout;
  }
  PlainLayout squeezed{.device_matrix = layout.device_matrix};
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    if (layout.shape[d] != 1) {
      squeezed.shape.push_back(layout.shape[d]);
      squeezed.tensor_map.push_back(layout.tensor_map[d]);
    }
  }
  if (squeezed.shape.empty()) {
    squeezed.shape = {1};
    squeezed.tensor_map = {-1};
  }
  return squeezed;
}

Shape SliceShape(const PlainLayout& layout) {
  Shape slice = layout.shape;
  for (std::size_t d = 0; d < slice.size(); ++d) {
    slice[d] /= ExtentOf(layout.device_matrix, layout.tensor_map[d]);
  }
  return slice;
}

}  // namespace drydock::strategies
