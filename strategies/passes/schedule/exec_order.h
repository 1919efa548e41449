#pragma once

#include <cstdint>
#include <vector>

#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// How users of what is ready are visited (context exec_order).
enum class VisitOrder : std::uint8_t { kBreadthFirst, kDepthFirst };

/// Order in which MindSpore launches the kernels of a graph: breadth first, or depth first, from
/// the kernels that wait for nothing. Kernels that the return node does not reach are left out.
/// Linear in the edges.
///
/// Source: mindspore/ccsrc/backend/common/session/exec_order_builder.cc
[[nodiscard]] std::vector<KernelId> ExecOrder(const KernelGraph& graph,
                                              VisitOrder visit = VisitOrder::kBreadthFirst);

}  // namespace drydock::strategies
