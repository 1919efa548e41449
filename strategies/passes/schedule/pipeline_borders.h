#pragma once

#include <cstddef>
#include <vector>

#include "strategies/graph/graph.h"
#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// Kernels at one border, per micro batch and part of the stage: number micro * parts + part.
using Border = std::vector<std::vector<KernelId>>;

/// Where the micro batches of a stage begin and end.
struct Borders {
  Border forward_start = {};
  Border forward_end = {};
  Border backward_start = {};
  Border backward_end = {};
  std::vector<KernelId> weights_passed = {};    ///< Weights of several stages, sent or received.
  std::vector<KernelId> gradients_passed = {};  ///< Their gradients.
  std::size_t parts = 1;                        ///< Of the network that this stage has.
};

/// The borders of a stage whose micro batches are unrolled. See pipeline_borders.cc.
///
/// @param first  it is the first stage, which reads the pieces of the batch in its first part;
/// others
///               read labels, in their last one
/// @param ends   per micro batch the kernels that end its backward pass where nothing is sent back
[[nodiscard]] Borders FindBorders(const KernelGraph& graph, const Graph& local, std::size_t micros,
                                  bool first, const std::vector<std::vector<KernelId>>& ends);

}  // namespace drydock::strategies
