#pragma once

#include <vector>

#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// The orders in which the kernels of a graph without collectives run.
struct DataflowOrders {
  std::vector<KernelId> first_step = {};
  std::vector<KernelId> later_steps = {};  ///< Empty = as the first one.
};

/// Whether kernels run as soon as what they need is there (else in the order that was chosen when
/// the graph was compiled): no kernel communicates.
[[nodiscard]] bool RunsAsDataflow(const KernelGraph& graph, const std::vector<KernelId>& order);

/// Kernels of `order` as they run when each is an actor of its own.
///
/// @param data_sink  the device takes many steps without the script in between
/// Source: mindspore/ccsrc/runtime/graph_scheduler/graph_scheduler.cc
[[nodiscard]] DataflowOrders DataflowOrder(const KernelGraph& graph,
                                           const std::vector<KernelId>& order, bool data_sink);

}  // namespace drydock::strategies
