#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "strategies/layout/rank_pattern.h"

namespace drydock::strategies {

using Shape = std::vector<std::int64_t>;

/// Device grid of a stage and where each tensor dimension lies on it.
///
/// `device_matrix` is outermost first and multiplies to the ranks of the stage. `tensor_map[d]`
/// lists the device axes that cut dimension d, outermost cut first, counted from the right (0 =
/// innermost); an empty list means "not cut". Most dimensions have at most one axis; several come
/// from `Layout`. Example: shape {64, 32} cut {2, 4} on 8 devices: device_matrix {2, 4}, tensor_map
/// {{1}, {0}}. Source: mindspore ccsrc/frontend/parallel/tensor_layout/tensor_layout.cc.
struct TensorLayout {
  std::vector<std::int64_t> device_matrix = {};
  std::vector<std::vector<std::int64_t>> tensor_map = {};
  Shape shape = {};  ///< Global shape, elements.
  /// Cut dimensions (ascending) that the user wrote as a tuple ending in "None". Ownership is the
  /// same without; redistribution treats the uncut rest as a dimension of its own (section 2).
  std::vector<std::size_t> trailing_none = {};
  /// Above 1: the last device axis has this extent and stands for copies inside each rank. The
  /// layout then speaks of virtual ranks: rank r is the virtual ranks r * interleave + 0, 1, ...
  std::int64_t interleave = 1;
  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;
};

/// Half-open range of one dimension, elements.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// Layout from a map with one axis per dimension (-1 = not cut), the reference's usual form.
[[nodiscard]] TensorLayout MakeLayout(std::vector<std::int64_t> device_matrix,
                                      std::span<const std::int64_t> tensor_map, Shape shape);

/// Layout of a tensor that every one of `device_count` ranks holds whole.
[[nodiscard]] TensorLayout ReplicatedLayout(std::int64_t device_count, Shape shape);

/// Sets the tensor map from lists of axes in which -1 stands for "None": alone for a dimension that
/// is not cut, at the end of a list for an uncut rest that counts as a dimension of its own.
/// @error kInvalidArgument  -1 in front of another axis
[[nodiscard]] Status SetTensorMap(TensorLayout& layout, std::vector<std::vector<std::int64_t>> map);

/// Checks that extents, axes and maps fit together (several axes per dimension, too).
/// @error kInvalidArgument  which rule is broken, with the numbers
[[nodiscard]] Status ValidateLayout(const TensorLayout& layout);

/// The same layout without device axes of size 1 (standard form); equal ownership.
[[nodiscard]] TensorLayout Standardize(const TensorLayout& layout);

/// True if every rank owns the same slice under both (same shape, same ownership).
[[nodiscard]] bool SameOwnership(const TensorLayout& a, const TensorLayout& b);

/// Into how many parts each dimension is cut.
[[nodiscard]] std::vector<std::int64_t> CutsOf(const TensorLayout& layout);

/// Shape of the slice each rank holds (base slice shape), elements.
[[nodiscard]] Shape SliceShape(const TensorLayout& layout);

/// Where the slice of a rank begins in each dimension, as a function of the rank.
[[nodiscard]] std::vector<RankExpr> SliceBegin(const TensorLayout& layout);

/// Slice owned by the rank at `position` in the stage: one range per dimension.
[[nodiscard]] std::vector<Range> SliceOf(const TensorLayout& layout, std::int64_t position);

/// Ranks that hold the same slice (mirror group of a parameter with this layout).
[[nodiscard]] GroupPattern ReplicaPattern(const TensorLayout& layout);

/// Ranks that differ only in the given device axes, counted from the left.
[[nodiscard]] GroupPattern AxesPattern(const std::vector<std::int64_t>& device_matrix,
                                       std::span<const std::size_t> axes);

}  // namespace drydock::strategies
