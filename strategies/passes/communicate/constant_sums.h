#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Sums over ranks whose operand is known when the graph is built become products with the number
/// of ranks; extremes become their operand.
[[nodiscard]] Graph FoldConstantSums(Graph local);

}  // namespace drydock::strategies
