#pragma once

#include "base/result.h"
#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// That no kernel waits for itself, over data and the order of the schedule together.
///
/// @return kInternal with a kernel of the ring: whoever orders kernels would leave the ring out.
[[nodiscard]] Status CheckWaits(const KernelGraph& graph);

}  // namespace drydock::strategies
