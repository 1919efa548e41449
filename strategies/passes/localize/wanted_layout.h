#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strategies/passes/prepare/rewrite.h"
#include "strategies/program/traced_plan.h"

namespace drydock::strategies {

/// Answers which layout the consumers of a value want.
class WantedLayouts {
 public:
  WantedLayouts(const Graph& traced, const std::vector<NodePlan>& plans);

  /// Layout in which the first consumer with a strategy wants `value`, looking through operators
  /// that keep the shape and pass layouts on (Cast, Depend); nullopt if there is none.
  [[nodiscard]] std::optional<TensorLayout> Of(ValueId value) const;

  /// The same for a parameter. One that the forward part only reshapes is cut into all devices
  /// along its first dimension if that divides, whatever the result is wanted in. Source:
  /// mindspore/ccsrc/frontend/parallel/parameter_manager.cc (CreateParameterLayout)
  [[nodiscard]] std::optional<TensorLayout> OfParameter(ValueId value,
                                                        const std::vector<Region>& regions,
                                                        std::int64_t stage_devices) const;

  /// Layout in which operand `operand` of `node` is wanted; nullopt if the node has no plan.
  [[nodiscard]] std::optional<TensorLayout> AtOperand(NodeId node, std::size_t operand) const;

  /// Nodes that read `value`, in order.
  [[nodiscard]] const std::vector<NodeId>& UsersOf(ValueId value) const {
    return users_[ToIndex(value)];
  }

  /// True if a forward operator reshapes `value`, directly or behind operators that pass it on.
  [[nodiscard]] bool IsReshaped(ValueId value, const std::vector<Region>& regions) const;

 private:
  struct Position;
  const Graph& traced_;
  const std::vector<NodePlan>& plans_;
  std::vector<std::vector<NodeId>> users_;
};

/// Index of operand `operand` among the operands that are present.
[[nodiscard]] std::size_t TensorIndex(const Node& node, std::size_t operand);

/// True for operators that take over the layout of their first operand.
[[nodiscard]] bool PassesLayoutOn(const Node& node);

}  // namespace drydock::strategies
