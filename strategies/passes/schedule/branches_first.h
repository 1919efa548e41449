#pragma once

#include <vector>

#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// The kernels in `order`, those first that branches in front of a conditional update wait for.
[[nodiscard]] std::vector<KernelId> BranchesFirst(const KernelGraph& graph, const Graph& local,
                                                  const std::vector<KernelId>& order);

}  // namespace drydock::strategies
