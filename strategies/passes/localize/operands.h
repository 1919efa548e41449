#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

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

/// Where LocalDraft::redistributed keeps a value in another layout.
using ExchangeKey = std::pair<ValueId, std::string>;

/// The key that equal values share: what stands behind the Casts and Reshapes of `local`, if any,
/// and these, both layouts and the stage of the user as text.
///
/// Query, key and value of attention each begin with Reshape(Cast(x)), or with Reshape(x) and a
/// Cast behind it: where that is exchanged, it is exchanged once, and the gradient comes back once.
/// Chains that nothing exchanges stay apart until gradients are there, as recorded.
[[nodiscard]] ExchangeKey KeyOfEqual(const LocalDraft& draft, ValueId local, NodeId user,
                                     const TensorLayout& from, const TensorLayout& to);

/// True if one of the local nodes from `first` on exchanges something with other ranks.
[[nodiscard]] bool Communicates(const LocalDraft& draft, std::size_t first);

}  // namespace drydock::strategies
