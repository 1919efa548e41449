#pragma once

#include <cstddef>
#include <vector>

namespace drydock::strategies {

/// What clustering sees of a graph: positions in an order in which inputs come first.
struct ClusterGraph {
  std::vector<std::vector<std::size_t>> inputs = {};
  std::vector<bool> joins = {};    ///< May be part of a fused kernel.
  std::vector<bool> is_item = {};  ///< A result that is taken out of several: follows its kernel.
};

/// Groups of positions that become one kernel, single ones included, by their first position; each
/// in order.
[[nodiscard]] std::vector<std::vector<std::size_t>> ClusterKernels(const ClusterGraph& graph);

}  // namespace drydock::strategies
