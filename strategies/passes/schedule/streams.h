#pragma once

#include <vector>

#include "strategies/graph/graph.h"
#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// The kernels of `order` on their streams, with the events between streams.
///
/// @param local  the program that the kernels come from
///
/// Source: mindspore/ccsrc/plugin/device/ascend/hal/hardware/acl_stream_assign.cc
[[nodiscard]] std::vector<Launch> AssignStreams(const KernelGraph& graph,
                                                const std::vector<KernelId>& order,
                                                const Graph& local);

}  // namespace drydock::strategies
