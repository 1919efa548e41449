#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_contexts.h"

namespace drydock::strategies {

/// Types of the results of an optimizer step: its first `written` operands, which it writes.
///
/// Operand 0 is the weight; those at the positions `like_weight` have its shape, all others of the
/// `count` operands are one number each.
/// @error kInvalidArgument  "<op>:shape-mismatch"
[[nodiscard]] Result<std::vector<TensorType>> InferUpdate(
    const OpView& op, std::size_t count, const std::vector<std::size_t>& like_weight,
    std::size_t written);

/// Operand `input`, which is one number.
[[nodiscard]] double NumberOperand(const EvaluateContext& context, std::size_t input);

}  // namespace drydock::strategies
