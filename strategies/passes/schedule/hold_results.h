#pragma once

#include <cstddef>

#include "strategies/graph/graph.h"
#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// Lets what follows the last recomputed cell of a micro batch wait for the state behind the loads.
/// See hold_results.cc.
void HoldResults(KernelGraph& graph, const Graph& local, std::size_t micros);

}  // namespace drydock::strategies
