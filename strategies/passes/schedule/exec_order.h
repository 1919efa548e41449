#pragma once

#include <vector>

#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// Order in which MindSpore launches the kernels of a graph: breadth first from the kernels that
/// wait for nothing. Kernels that the return node does not reach are left out. Linear in the edges.
///
/// Source: mindspore/ccsrc/backend/common/session/exec_order_builder.cc
[[nodiscard]] std::vector<KernelId> ExecOrder(const KernelGraph& graph);

}  // namespace drydock::strategies
