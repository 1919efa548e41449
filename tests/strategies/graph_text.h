#pragma once

#include <string>

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Text form of a graph, one node a line, for people who look at a test that failed.
[[nodiscard]] std::string GraphText(const Graph& graph);

}  // namespace drydock::strategies
