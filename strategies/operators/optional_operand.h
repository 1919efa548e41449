#pragma once

#include <cstddef>

#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

/// Numbers of tensor `operand` of the call; null if it was not given.
[[nodiscard]] inline const NdArray* OptionalArray(const EvaluateContext& context,
                                                  std::size_t operand) {
  const std::ptrdiff_t index = PresentIndex(context.View(), operand);
  return index < 0 ? nullptr : &context.inputs[static_cast<std::size_t>(index)];
}

/// Type of an operand, null if it was not given.
[[nodiscard]] inline const TensorType* OptionalType(const OpView& op, std::size_t operand) {
  const std::ptrdiff_t index = PresentIndex(op, operand);
  return index < 0 ? nullptr : &op.inputs[static_cast<std::size_t>(index)];
}

}  // namespace drydock::strategies
