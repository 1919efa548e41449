#pragma once

#include <cstdint>
#include <vector>

#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// The kernels in `order`, those first that branches in front of a conditional update wait for.
[[nodiscard]] std::vector<KernelId> BranchesFirst(const KernelGraph& graph, const Graph& local,
                                                  const std::vector<KernelId>& order);

/// Per node of `graph` which graph of a network with branches it is in: 0 what branches wait for, 1
/// what they guard, 2 all else, if `rest_behind`
/// says that it runs behind the branches. Empty: there is one graph.
[[nodiscard]] std::vector<std::int32_t> GraphParts(const KernelGraph& graph, const Graph& local,
                                                   bool rest_behind);

}  // namespace drydock::strategies
