#pragma once

#include <vector>

#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// `order` with the kernels that run late (KernelNode::runs_late) just before their first user.
///
/// Source: mindspore/ccsrc/utils/anfalgo.cc (ReorderExecList, DelayExecNode)
[[nodiscard]] std::vector<KernelId> DelayKernels(const KernelGraph& graph,
                                                 const std::vector<KernelId>& order);

}  // namespace drydock::strategies
