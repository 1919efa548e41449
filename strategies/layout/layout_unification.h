#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strategies/layout/plain_layout.h"

namespace drydock::strategies {

/// Products of the first 1, 2, .. entries: {2, 8, 32} -> {2, 16, 512}.
[[nodiscard]] std::vector<std::int64_t> PrefixProducts(const std::vector<std::int64_t>& values);

/// Products from each entry to the last: {2, 8, 32} -> {512, 256, 32}.
[[nodiscard]] std::vector<std::int64_t> SuffixProducts(const std::vector<std::int64_t>& values);

/// Inverse of SuffixProducts; nullopt if an entry does not divide the one before it.
[[nodiscard]] std::optional<std::vector<std::int64_t>> FromSuffixProducts(
    const std::vector<std::int64_t>& products);

/// Union of two descending lists, descending and without repetitions.
[[nodiscard]] std::vector<std::int64_t> MergeDescending(const std::vector<std::int64_t>& a,
                                                        const std::vector<std::int64_t>& b);

/// Coarsest shape that both refine to by splitting entries; nullopt if there is none.
///
/// Example: {8, 4} and {2, 16} -> {2, 4, 4}; {2, 3} and {3, 2} have none.
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/redistribution_layout_transfer.cc.
[[nodiscard]] std::optional<std::vector<std::int64_t>> UnifyShape(
    const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b);

/// `shape` with the cuts of `other` added, both seen from the last dimension; nullopt if they do
/// not divide each other or `other` has more elements.
///
/// Example: {2, 8, 32} by {16, 4, 8} -> {2, 8, 4, 8}.
[[nodiscard]] std::optional<Shape> ExpandShape(const Shape& shape, const Shape& other);

/// The same ownership on the finer device matrix `device_matrix`; nullopt if it does not refine the
/// layout's own by splitting axes.
[[nodiscard]] std::optional<PlainLayout> ExpandDevices(
    const PlainLayout& layout, const std::vector<std::int64_t>& device_matrix);

/// The same ownership of the tensor seen as the finer `shape`; the device matrix is refined where
/// one cut covers several new dimensions. nullopt if that is impossible.
[[nodiscard]] std::optional<PlainLayout> ExpandTensor(const PlainLayout& layout,
                                                      const Shape& shape);

/// Two layouts on one device matrix and one shape.
struct UnifiedLayouts {
  PlainLayout from = {};
  PlainLayout to = {};
};

/// Both layouts refined to a common device matrix and shape; nullopt if they are not expandable.
///
/// Expects squeezed layouts of equal device and element counts.
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/redistribution_layout_transfer.cc.
[[nodiscard]] std::optional<UnifiedLayouts> UnifyLayouts(const PlainLayout& from,
                                                         const PlainLayout& to);

}  // namespace drydock::strategies
