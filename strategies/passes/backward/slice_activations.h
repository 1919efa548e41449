#pragma once

#include "strategies/graph/graph.h"
#include "strategies/program/traced_plan.h"

namespace drydock::strategies {

/// The program in which activations between recomputed Cells are kept as slices where the script
/// says so (recompute_slice_activation) and gathered for the second run. Computes the same.
///
/// @param local  with the second runs, of the plan's network
/// @error  what building collectives gives
[[nodiscard]] Result<Graph> SliceActivations(Graph local, const TracedPlan& plan);

}  // namespace drydock::strategies
