#pragma once

#include "base/result.h"
#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// The kernels that a rank launches for its local program, in order. With `data_sink` the inputs of
/// a step are fetched by the first of them instead of being there.
/// @error kInternal  an operator's lowering returned another number of results than it has
[[nodiscard]] Result<KernelGraph> ScheduleKernels(const Graph& local, bool data_sink = false);

}  // namespace drydock::strategies
