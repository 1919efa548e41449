#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategies/operators/recursive_facts.h"

namespace drydock::strategies {

/// Extents or cuts of a tensor seen with four dimensions, its last ones aligned to the right.
using Four = std::array<std::int64_t, 4>;
inline constexpr Four kOnes = {1, 1, 1, 1};

/// Where the dimensions of a tensor behind a Reshape come from: per dimension, those in front.
/// Empty: no Reshape in between.
using DimensionSources = std::vector<std::vector<std::int64_t>>;

/// An operator that the recursive search cuts.
struct RecursiveNode {
  struct Consumer {
    std::size_t node = 0;
    DimensionSources reshape = {};
  };
  /// A producer whose result reaches this operator through others only, and at which argument.
  struct Auxiliary {
    std::size_t node = 0;
    std::size_t argument = 0;
  };

  RecursiveRole role = RecursiveRole::kUnknown;
  std::vector<Four> arguments = {};
  Four result = kOnes;
  /// Nodes whose results are arguments; the k-th one is taken for argument k.
  std::vector<std::size_t> producers = {};
  std::vector<Auxiliary> auxiliaries = {};
  std::vector<Consumer> consumers = {};
  DimensionSources reshape = {};  ///< Its own, if it is a Reshape.
  bool pinned = false;            ///< The user said how it is cut.

  // Into how many parts.
  std::array<Four, 2> argument_cuts = {kOnes, kOnes};
  Four result_cuts = kOnes;
};

struct RecursiveJob {
  std::int64_t devices = 1;  ///< Of the whole job.
  std::int64_t stages = 1;
  std::int64_t micro_batch_size = 1;
  double batch_cut_weight = 0.1;  ///< What cutting rows of a MatMul costs beside other cuts.
};

/// Cuts all nodes for a job, round by round. Positions count from the loss. See the source.
void PartitionRecursively(std::vector<RecursiveNode>& nodes, const RecursiveJob& job);

}  // namespace drydock::strategies
