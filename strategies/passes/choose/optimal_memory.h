#pragma once

#include <vector>

#include "strategies/passes/choose/propagation_graph.h"

namespace drydock::strategies {

/// What a rank keeps because of an operator, as far as its strategy decides it: an estimate.
///
/// Weights with their gradients and optimizer states, divided among their replicas where the
/// optimizer is sharded; in training the results of the operator for every micro batch in flight,
/// unless they are made again.
class KeptBytes {
 public:
  KeptBytes(const Graph& graph, const JobConfig& config);

  /// @param counts_weights  per operand: false for weights that are counted elsewhere
  [[nodiscard]] double Of(const Node& node, const OpSharding& sharding,
                          const std::vector<bool>& counts_weights) const;

  /// What is kept beside each element of a weight, bytes.
  [[nodiscard]] double StateBytes(ValueId weight) const { return state_bytes_[ToIndex(weight)]; }

  /// The weight that an operand is, behind what only passes it on; kNoValue if it is none.
  [[nodiscard]] ValueId WeightOf(ValueId operand) const;

 private:
  [[nodiscard]] double WeightBytes(ValueId weight, const TensorLayout& layout) const;

  const Graph& graph_;
  const JobConfig& config_;
  std::vector<double> state_bytes_;  ///< Per value: of all that is kept beside each element.
};

}  // namespace drydock::strategies
