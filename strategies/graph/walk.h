#pragma once

#include <span>
#include <vector>

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Nodes that `roots` need, each once, as a depth-first walk leaves them: operands first, from the
/// left. Example: Add(MatMul(x, Neg(w)), b) gives Neg, MatMul, Add.
[[nodiscard]] std::vector<NodeId> OperandsFirst(const Graph& graph, std::span<const NodeId> roots);

}  // namespace drydock::strategies
