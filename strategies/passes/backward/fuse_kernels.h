#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// The program with one kernel in place of two wherever an entry knows such a kernel
/// (OpEntry::fusion). Computes the same; inputs, outputs and their order stay.
[[nodiscard]] Graph FuseKernels(Graph graph);

}  // namespace drydock::strategies
