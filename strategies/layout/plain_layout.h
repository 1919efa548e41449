#pragma once

#include <cstdint>
#include <vector>

#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {

/// A layout in which at most one device axis cuts each dimension: the form the redistribution
/// algorithms work on. `tensor_map[d]` counts axes from the right, -1 = not cut.
///
/// Values of this type come from valid layouts and are valid themselves.
struct PlainLayout {
  std::vector<std::int64_t> device_matrix = {};
  std::vector<std::int64_t> tensor_map = {};
  Shape shape = {};
  friend bool operator==(const PlainLayout&, const PlainLayout&) = default;
};

/// The layout with every dimension that k > 1 axes cut written as k dimensions, outermost cut
/// first.
///
/// Example: shape {8}, axes {2, 1} of extents 2 and 2 -> shape {2, 4}, map {2, 1}.
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/tensor_layout.cc.
[[nodiscard]] PlainLayout ExtendedForm(const TensorLayout& layout);

/// Without device axes of size 1. Source: mindspore tensor_layout/tensor_layout.cc.
[[nodiscard]] PlainLayout StandardForm(const PlainLayout& layout);

/// Without dimensions of size 1; shape {1} if nothing else is left.
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/redistribution_layout_transfer.cc.
[[nodiscard]] PlainLayout Squeezed(const PlainLayout& layout);

/// Shape of the slice each rank holds, elements.
[[nodiscard]] Shape SliceShape(const PlainLayout& layout);

}  // namespace drydock::strategies
