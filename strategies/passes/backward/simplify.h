#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// The program with simpler forms of its nodes: constants are worked out, nodes that change nothing
/// are gone, sums of sums are one. Computes the same; inputs, outputs and their
/// order stay.
[[nodiscard]] Graph SimplifyGraph(Graph graph);

}  // namespace drydock::strategies
