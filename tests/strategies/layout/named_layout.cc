#include "tests/strategies/layout/named_layout.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "strategies/layout/interleave.h"

namespace drydock::strategies {
namespace {

/// Counted from the right; -1 for "None".
std::int64_t AxisCalled(const NamedGrid& grid, const std::string& name) {
  if (name == "None") {
    return -1;
  }
  const auto found = std::ranges::find(grid.alias_name, name);
  EXPECT_NE(found, grid.alias_name.end()) << name;
  return grid.alias_name.end() - found - 1;
}

}  // namespace

TensorLayout LayoutOnGrid(const NamedGrid& grid, const std::vector<NamedDimension>& dimensions,
                          Shape shape) {
  std::vector<std::vector<std::int64_t>> map;
  for (const NamedDimension& dimension : dimensions) {
    auto& axes = map.emplace_back();
    for (const std::string& name : dimension) {
      axes.push_back(AxisCalled(grid, name));
    }
  }
  TensorLayout layout{.device_matrix = grid.device_matrix, .shape = std::move(shape)};
  if (grid.alias_name.back() == "interleaved_parallel") {
    layout.interleave = layout.device_matrix.back();
  }
  if (!SetTensorMap(layout, std::move(map)).has_value() || !ValidateLayout(layout).has_value()) {
    ADD_FAILURE() << "not a layout";
    return {};
  }
  // Copies inside a device that hold equal slices are no devices and no copies.
  return CopiesDiffer(layout) ? layout : WithoutCopies(layout);
}

}  // namespace drydock::strategies
