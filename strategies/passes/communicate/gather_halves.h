#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Rows of a weight that are only wanted in half precision are cast before they are gathered. See
/// gather_halves.cc.
[[nodiscard]] Graph GatherHalves(Graph local);

}  // namespace drydock::strategies
