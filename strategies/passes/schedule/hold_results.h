#pragma once

#include <cstddef>

#include "strategies/graph/graph.h"
#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// Lets what follows the last Cell of a micro batch that reads parameters wait for these reads, in
/// the stage that makes the loss. See hold_results.cc.
void HoldResults(KernelGraph& graph, const Graph& local, std::size_t micros);

}  // namespace drydock::strategies
