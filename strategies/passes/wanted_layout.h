#pragma once

#include <optional>
#include <vector>

#include "strategies/passes/program.h"
#include "strategies/passes/rewrite.h"

namespace drydock::strategies {

/// Answers which layout the consumers of a value want.
class WantedLayouts {
 public:
  WantedLayouts(const Graph& traced, const std::vector<NodePlan>& plans);

  /// Layout in which the first consumer with a strategy wants `value`, looking through operators
  /// that keep the shape and pass layouts on (Cast, Depend); nullopt if there is none.
  [[nodiscard]] std::optional<TensorLayout> Of(ValueId value) const;

  /// Layout in which operand `operand` of `node` is wanted; nullopt if the node has no plan.
  [[nodiscard]] std::optional<TensorLayout> AtOperand(NodeId node, std::size_t operand) const;

 private:
  const Graph& traced_;
  const std::vector<NodePlan>& plans_;
  std::vector<std::vector<NodeId>> users_;
};

/// Index of operand `operand` among the operands that are present.
[[nodiscard]] std::size_t TensorIndex(const Node& node, std::size_t operand);

/// True for operators that take over the layout of their first operand.
[[nodiscard]] bool PassesLayoutOn(const Node& node);

}  // namespace drydock::strategies
