#pragma once

#include <map>
#include <optional>
#include <vector>

#include "strategies/graph/graph.h"
#include "strategies/passes/choose/recent.h"

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
  [[nodiscard]] bool SameTypes(const std::vector<ValueId>& a, const std::vector<ValueId>& b) const;
  [[nodiscard]] bool AskTheSame(const Node& a, const Node& b) const;

  const Graph& graph_;
  std::map<const OpEntry*, Recent<NodeId>>
      nodes_;  ///< Look-up only: the order of addresses does not matter.
};

}  // namespace drydock::strategies
