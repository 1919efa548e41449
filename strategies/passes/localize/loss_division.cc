#include "strategies/passes/localize/loss_division.h"

#include <algorithm>

#include "strategies/operators/known_ops.h"

/// A loss that several ranks compute alike counts once.
///
/// Each of them starts its backward pass with a gradient of 1, and mirrors sum the gradients of all
/// ranks. So in front of the operator that makes the loss stands a virtual division by the number
/// of ranks that repeat it: an identity forward, a division of the gradient backward.
///
/// Example: 8 ranks, the loss cut 2 times: 4 ranks compute the same part, gradients are divided by
/// 4.
/// Source: mindspore/ccsrc/frontend/parallel/parallel_processer.cc (InsertVirtualDivOp)
namespace drydock::strategies {

Result<std::vector<ValueId>> DivideLoss(LocalDraft& draft, NodeId id, const OpSharding& sharding,
                                        std::vector<ValueId> operands) {
  const bool makes_loss = std::ranges::find(draft.loss_nodes, id) != draft.loss_nodes.end();
  if (!makes_loss || !draft.config.loss_repeated_mean || sharding.loss_divisor <= 1) {
    return operands;
  }
  for (ValueId& operand : operands) {
    if (operand == kNoValue || draft.builder.graph().at(operand).kind == ValueKind::kConstant) {
      continue;
    }
    NodeSpec spec = SpecOf(draft, id);
    spec.op = ops::kVirtualDiv;
    spec.inputs = {operand};
    spec.attrs = {{"divisor", sharding.loss_divisor}};
    spec.instance_name.clear();
    DRYDOCK_TRY(operand, draft.builder.Emit(std::move(spec)));
  }
  return operands;
}

}  // namespace drydock::strategies
