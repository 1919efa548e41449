#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// The program with weights gathered once more where the backward pass reads them, so that what the
/// forward pass gathered need not be kept. See regather.cc.
[[nodiscard]] Graph RegatherWeights(Graph local);

}  // namespace drydock::strategies
