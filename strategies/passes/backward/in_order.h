#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// The graph with operands before users again, after nodes were appended that earlier ones read;
/// nodes move as little as that takes.
///
/// @param before  per node: others to be placed before it that it does not read
[[nodiscard]] Graph InOrder(Graph graph,
                            const std::map<std::size_t, std::vector<std::size_t>>& before = {});

}  // namespace drydock::strategies
