#pragma once

#include "base/result.h"
#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// Kernel graph of a local program, without the order of its kernels. With `data_sink` the inputs
/// are results of a kernel.
/// @error kInternal  an operator's lowering returned another number of results than it has
[[nodiscard]] Result<KernelGraph> LowerProgram(const Graph& local, bool data_sink = false);

}  // namespace drydock::strategies
