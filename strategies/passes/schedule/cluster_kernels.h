#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace drydock::strategies {

/// What clustering sees of a graph: positions in an order in which inputs come first.
struct ClusterGraph {
  std::vector<std::vector<std::uint32_t>> inputs = {};
  std::vector<bool> joins = {};    ///< May be part of a fused kernel.
  std::vector<bool> is_item = {};  ///< A result that is taken out of several: follows its kernel.
  /// Only kernels of one part are grouped; empty: all are of one.
  std::vector<std::int32_t> part = {};
};

/// Groups of positions that become one kernel, single ones that might be part of one included, by
/// their first position; each in order.
[[nodiscard]] std::vector<std::vector<std::size_t>> ClusterKernels(ClusterGraph graph);

}  // namespace drydock::strategies
