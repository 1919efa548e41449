#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {

/// Device axes with names, as tests write them; a last one called "interleaved_parallel" stands for
/// copies inside one device.
struct NamedGrid {
  std::vector<std::int64_t> device_matrix = {};
  std::vector<std::string> alias_name = {};
};

/// Axes of one dimension: {"dp"}, {"None"}, {"sp", "dp"}, {"sp", "None"}.
using NamedDimension = std::vector<std::string>;

/// The layout of a tensor of `shape` whose dimensions are cut as named; a failure of the test, and
/// an empty one, if an axis has no such name or the layout is invalid.
[[nodiscard]] TensorLayout LayoutOnGrid(const NamedGrid& grid,
                                        const std::vector<NamedDimension>& dimensions, Shape shape);

}  // namespace drydock::strategies
