#pragma once

#include <vector>

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Forward nodes that run a second time because backward reads them.
struct RecomputedBlock {
  std::vector<NodeId> again = {};    ///< What runs a second time, in node order.
  std::vector<NodeId> readers = {};  ///< Backward nodes that read its results.
  /// Gradients that arrive at the block: not before them does it run.
  std::vector<ValueId> first_gradients = {};
};

/// Blocks of a program that has its derivative; none share a node.
///
/// @param keeps_casts  casts of weights run once, as where operators are cut
/// @param gathers_again  gathers of sharded weights are repeated (level 3)
[[nodiscard]] std::vector<RecomputedBlock> FindRecomputedBlocks(const Graph& local,
                                                                bool keeps_casts,
                                                                bool gathers_again);

}  // namespace drydock::strategies
