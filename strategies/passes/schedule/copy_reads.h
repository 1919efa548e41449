#pragma once

#include "strategies/graph/graph.h"
#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// Copies what a step reads of a parameter more than once with a write in between. See
/// copy_reads.cc. @pre the graph, that of `local`, has no launches yet
void CopyReads(const Graph& local, KernelGraph& graph);

}  // namespace drydock::strategies
