#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {

/// The user's `Layout(device_matrix, alias_name, rank_list)`: a device matrix with named axes.
///
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/tensor_layout.cc.
struct NamedLayout {
  std::vector<std::int64_t> device_matrix = {};
  std::vector<std::string> alias_name = {};
  std::vector<std::int64_t> rank_list = {};
  /// The last axis is called "interleaved_parallel": copies inside one device, not devices.
  bool interleaved = false;
  friend bool operator==(const NamedLayout&, const NamedLayout&) = default;
};

/// Axes of one dimension as the user wrote them: {"dp"}, {"None"}, {"sp", "dp"}, {"sp", "None"}.
using NamedDimension = std::vector<std::string>;

/// Checks the constructor's arguments. An empty `rank_list` means 0 .. product - 1.
/// @error kInvalidArgument  lengths differ; an alias is empty, "None", repeated or a misplaced
///     "interleaved_parallel"; an entry of the matrix is below 1; rank_list has the wrong length
[[nodiscard]] Result<NamedLayout> MakeNamedLayout(std::vector<std::int64_t> device_matrix,
                                                  std::vector<std::string> alias_name,
                                                  std::vector<std::int64_t> rank_list = {});

/// What calling the layout gives: per dimension the axes counted from the right, -1 for "None".
/// @error kInvalidArgument  an alias is unknown, used twice, or a dimension names nothing
[[nodiscard]] Result<std::vector<std::vector<std::int64_t>>> TensorMapOf(
    const NamedLayout& layout, const std::vector<NamedDimension>& dimensions);

/// Sets the tensor map from lists of axes in which -1 stands for "None": alone for a dimension that
/// is not cut, at the end of a list for an uncut rest that counts as a dimension of its own.
/// @error kInvalidArgument  -1 in front of another axis
[[nodiscard]] Status SetTensorMap(TensorLayout& layout, std::vector<std::vector<std::int64_t>> map);

/// The layout of a tensor of `shape` whose dimensions are cut as named.
///
/// Where the axis "interleaved_parallel" cuts a dimension, the layout is one over virtual ranks.
/// @error kInvalidArgument  as TensorMapOf; "None" in front of another axis; invalid layout
[[nodiscard]] Result<TensorLayout> ToTensorLayout(const NamedLayout& layout,
                                                  const std::vector<NamedDimension>& dimensions,
                                                  Shape shape);

}  // namespace drydock::strategies
