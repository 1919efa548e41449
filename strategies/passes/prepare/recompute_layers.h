#pragma once

#include <string>

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Changes a traced graph as if its script called recompute() on each of its layers.
/// @return which they are: "the 96 Blocks in 'Default/layers'"; empty if there are none, or all of
///         them recompute already
std::string RecomputeLayers(Graph& graph);

}  // namespace drydock::strategies
