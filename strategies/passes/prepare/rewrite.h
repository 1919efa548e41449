#pragma once

#include <cstdint>
#include <vector>

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Part of a training step a node belongs to, by data dependence.
enum class Region : std::uint8_t {
  kForward,   ///< Feeds the loss or is independent of gradients: gets a strategy.
  kGradient,  ///< The gradient node itself.
  kPost,      ///< Reducers and optimizer updates: run on local values.
};

/// Region of every node.
[[nodiscard]] std::vector<Region> ClassifyNodes(const Graph& graph);

/// Removes the nodes with keep[n] == false, replaces operands by `replacement[v]` (kNoValue =
/// itself, chains are followed), and drops values, parameters and constants that nothing uses.
/// Graph inputs stay.
[[nodiscard]] Graph Rewrite(Graph graph, const std::vector<bool>& keep,
                            const std::vector<ValueId>& replacement);

/// Removes nodes whose results reach neither an output nor a node that writes a parameter.
[[nodiscard]] Graph RemoveDeadNodes(Graph graph);

/// Removes the helpers that only steer what is done (mirror, virtual division, virtual output) and
/// dead nodes.
///
/// @param all  false leaves those in recomputed Cells, which steer recomputation, too
[[nodiscard]] Graph CleanLocal(Graph graph, bool all = true);

/// Puts a data-set node in front of everything that reads a graph input.
[[nodiscard]] Graph InsertDatasetNode(Graph graph);

/// Puts a node that asks for data parallel (for whole tensors with `full_batch`) behind every
/// forward result whose first dimension divides by `device_count` (by 1 with `full_batch`). The new
/// nodes come last. Source: mindspore ops_info/virtual_dataset_info.cc.
[[nodiscard]] Graph AppendOutputNodes(Graph graph, const std::vector<Region>& regions,
                                      std::int64_t device_count, bool full_batch);

}  // namespace drydock::strategies
