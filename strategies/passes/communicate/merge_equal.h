#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Nodes that compute the same from the same values become one, collectives included.
///
/// @param recomputed  false leaves the nodes of recomputed Cells as they are: they are merged when
/// their second runs are there
[[nodiscard]] Graph MergeEqualNodes(Graph local, bool recomputed = true);

}  // namespace drydock::strategies
