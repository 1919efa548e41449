#pragma once

#include <set>
#include <string>

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Changes a traced graph as if its script called recompute() on each of its layers.
/// @return which they are: "the 96 Blocks in 'Default/layers'"; empty if there are none, or all of
///         them recompute already
std::string RecomputeLayers(Graph& graph);

/// Marks what is applied in the scopes `outer` and below as recomputed, except in those of `apart`.
void RecomputeScopes(Graph& graph, const std::set<std::string>& outer,
                     const std::set<std::string>& apart);

}  // namespace drydock::strategies
