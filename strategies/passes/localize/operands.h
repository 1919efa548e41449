#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"
#include "strategies/passes/localize/redistribute.h"

namespace drydock::strategies {

/// Step: the value in the layout that operand `operand` of a forward node wants: a slice of a
/// constant, a weight behind its mirror, anything else redistributed if need be. See operands.cc.
/// @error kInvalidArgument  a parameter is wanted in two layouts
[[nodiscard]] Result<ValueId> BringOperand(LocalDraft& draft, NodeId user, std::size_t operand,
                                           const TensorLayout& wanted);

/// The part of a constant that a layout gives to a rank.
[[nodiscard]] Result<ValueId> SliceConstant(LocalDraft& draft, ValueId value,
                                            const TensorLayout& wanted, const NodeSpec& base);

/// What the redistribution of a traced value is called.
[[nodiscard]] RedistributionLabel LabelOf(const LocalDraft& draft, ValueId value,
                                          std::string reason_text);

}  // namespace drydock::strategies
