#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// True if the script asks for recomputation anywhere.
[[nodiscard]] bool AsksForRecomputation(const Graph& local);

/// The program in which backward reads second runs of what is recomputed in place of activations
/// that are kept. Computes the same.
///
/// @param keeps_casts  casts of weights run once, as where operators are cut
/// @param gathers_again  gathers of sharded weights are repeated (level 3)
[[nodiscard]] Graph RecomputeActivations(Graph local, bool keeps_casts, bool gathers_again);

}  // namespace drydock::strategies
