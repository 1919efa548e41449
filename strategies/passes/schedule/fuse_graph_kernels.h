#pragma once

#include <cstdint>
#include <vector>

#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// The kernels of a step at jit_level O1, where neighbours are fused; without the order of kernels.
/// @param parts  per node of `graph` which of several graphs it is in, which are not fused with
/// each
///               other; empty: there is one
[[nodiscard]] KernelGraph FuseGraphKernels(KernelGraph graph, std::vector<std::int32_t> parts = {});

}  // namespace drydock::strategies
