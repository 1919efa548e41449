#pragma once

#include "strategies/graph/kernel_graph.h"
#include "strategies/passes/schedule/call_order.h"
#include "strategies/passes/schedule/pipeline_borders.h"

namespace drydock::strategies {

/// Makes the passes of micro batches calls of one graph per part of the network, one behind the
/// other, in the order that is given. See shared_calls.cc.
///
/// @param graph    of a stage whose micro batches are unrolled
/// @param borders  of that stage
void FormCalls(KernelGraph& graph, const Graph& local, const Borders& borders, std::size_t micros,
               const CallOrder& order);

}  // namespace drydock::strategies
