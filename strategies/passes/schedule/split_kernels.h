#pragma once

#include "strategies/passes/schedule/fused_graph.h"

namespace drydock::strategies {

/// Fused kernels fall apart into what can really be one kernel.
void SplitKernels(FusedGraph& graph);

}  // namespace drydock::strategies
