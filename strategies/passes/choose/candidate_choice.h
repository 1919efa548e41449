#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "strategies/passes/choose/propagation_graph.h"

namespace drydock::strategies {

/// The best candidate by one connection: least communication, then computation on the connection,
/// then the operator's own communication, then more cuts, then the lexicographically larger
/// strategy. nullopt if none is possible.
///
/// @param costs  of the connection, one per candidate
/// @param old_chooser  releases up to 2.0 look at communication alone where there is some
/// Source: mindspore ccsrc/frontend/parallel/auto_parallel/graph_costmodel.cc.
[[nodiscard]] std::optional<std::size_t> BestByOneConnection(
    const std::vector<Candidate>& candidates, const std::vector<EdgeCost>& costs, bool old_chooser);

/// The best candidate by several connections: their communication, their computation, the
/// operator's computation and its communication; of equal ones the first.
///
/// @param costs  sums over the connections, one per candidate
/// Source: mindspore ccsrc/frontend/parallel/auto_parallel/graph_costmodel.cc.
[[nodiscard]] std::optional<std::size_t> BestByAllConnections(
    const std::vector<Candidate>& candidates, const std::vector<EdgeCost>& costs);

}  // namespace drydock::strategies
