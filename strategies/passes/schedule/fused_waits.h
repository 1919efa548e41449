#pragma once

#include "strategies/passes/schedule/fused_graph.h"

namespace drydock::strategies {

/// States wait for kernels and results, not for tuples of them; members of tuples are read as such.
void SpreadWaits(FusedGraph& graph);

/// States wait for results that are read anyway, so that what lies inside of a fused kernel need
/// not come out of it.
void ExtendWaits(FusedGraph& graph);

/// Each state waits for one tuple.
void JoinWaits(FusedGraph& graph);

}  // namespace drydock::strategies
