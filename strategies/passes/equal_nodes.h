#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Finds nodes that ask the same of a sharding rule as an earlier one: same operator, attributes,
/// operand and result types and strategies. Layers that repeat do so again and again.
///
/// The most recent different nodes of each operator are remembered, so that networks without
/// repetition cost neither memory nor time.
class EqualNodes {
 public:
  explicit EqualNodes(const Graph& graph) : graph_(graph) {}

  /// An earlier node equal to `id`, if one is remembered; else `id` is remembered.
  [[nodiscard]] std::optional<NodeId> FindOrAdd(NodeId id);

 private:
  struct Ring {
    std::vector<NodeId> nodes = {};
    std::size_t oldest = 0;  ///< Overwritten next once the ring is full.
  };
  [[nodiscard]] bool SameTypes(const std::vector<ValueId>& a, const std::vector<ValueId>& b) const;
  [[nodiscard]] bool AskTheSame(const Node& a, const Node& b) const;

  const Graph& graph_;
  std::map<const OpEntry*, Ring> rings_;  ///< Look-up only: the order of addresses does not matter.
};

}  // namespace drydock::strategies
