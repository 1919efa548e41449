#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

/// What a strided slice does with one position of its begin/end/strides lists or one input
/// dimension.
struct SliceStep {
  enum class Kind : std::uint8_t {
    kTake,     ///< `length` elements from `begin` in steps of `stride`: one output dimension.
    kNewAxis,  ///< An output dimension of extent 1, no input dimension.
    kShrink,   ///< The element at `begin`: an input dimension, no output dimension.
  };
  Kind kind = Kind::kTake;
  std::int64_t begin = 0;
  std::int64_t stride = 1;
  std::int64_t length = 0;
  friend bool operator==(const SliceStep&, const SliceStep&) = default;
};

/// The steps of a StridedSlice of a tensor of `shape`, in output order, from the attributes begin,
/// end, strides and the five masks.
/// @error kInvalidArgument  lists of unequal or too great length, stride 0, shrunk index out of
/// range Source: mindspore ops/infer, StridedSlice.
[[nodiscard]] Result<std::vector<SliceStep>> PlanStridedSlice(const OpView& op, const Shape& shape);

/// Bit i of a mask attribute; bits beyond 62 are never set.
[[nodiscard]] bool MaskBit(std::int64_t mask, std::size_t i);

/// Shape of the result of a plan.
[[nodiscard]] Shape SlicedShape(const std::vector<SliceStep>& plan);

}  // namespace drydock::strategies
