#pragma once

#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// The kernels of a step at jit_level O1, where neighbours are fused; without the order of kernels.
[[nodiscard]] KernelGraph FuseGraphKernels(KernelGraph graph);

}  // namespace drydock::strategies
