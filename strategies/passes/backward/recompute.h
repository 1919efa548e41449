#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// True if the script asks for recomputation anywhere.
[[nodiscard]] bool AsksForRecomputation(const Graph& local);

/// The program in which backward reads second runs of what is recomputed in place of activations
/// that are kept. Computes the same.
///
/// @param keeps_casts  casts of weights run once, as where operators are cut
[[nodiscard]] Graph RecomputeActivations(Graph local, bool keeps_casts);

}  // namespace drydock::strategies
