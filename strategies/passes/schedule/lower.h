#pragma once

#include <map>
#include <vector>

#include "base/result.h"
#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// Kernels of a program, of one micro batch if its batch is cut into several.
struct LoweredProgram {
  KernelGraph graph = {};
  /// Kernels that are there for each micro batch already: per first of them all, in order.
  std::map<KernelId, std::vector<KernelId>> copies = {};
  /// The next micro batch begins when these are done.
  std::vector<KernelId> micro_batch_ends = {};
};

/// Kernel graph of a local program, without the order of its kernels. With `data_sink` the inputs
/// are results of a kernel.
/// @error kInternal  an operator's lowering returned another number of results than it has
[[nodiscard]] Result<LoweredProgram> LowerProgram(const Graph& local, bool data_sink = false);

}  // namespace drydock::strategies
