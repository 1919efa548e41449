#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Nodes that compute the same from the same values become one, collectives included.
[[nodiscard]] Graph MergeEqualNodes(Graph local);

}  // namespace drydock::strategies
