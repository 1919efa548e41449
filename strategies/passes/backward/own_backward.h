#pragma once

#include <span>
#include <vector>

#include "strategies/operators/builder.h"

namespace drydock::strategies {

/// True for the last of the nodes that a cell gives as its own backward pass.
[[nodiscard]] bool EndsOwnBackward(const Node& node);

/// The first of them.
[[nodiscard]] NodeId BeginOfOwnBackward(const Graph& graph, NodeId end);

/// Appends what a cell gives as its own backward pass, the nodes from `begin` to `end`, for the
/// gradients of its results.
/// @return the gradient of each operand of the cell, kNoValue where it gives none
[[nodiscard]] std::vector<ValueId> EmitOwnBackward(GraphBuilder& builder, NodeId begin, NodeId end,
                                                   std::span<const ValueId> arriving);

}  // namespace drydock::strategies
