#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Clean-up before strategies are looked at: operators that change no number, Reshape of Reshape,
/// Cast of Cast, and what then reaches neither a result nor a parameter.
[[nodiscard]] Graph CleanTraced(Graph graph);

}  // namespace drydock::strategies
