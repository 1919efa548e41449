#include <numeric>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// The placeholder loss that stands behind a network in tests of strategies: one element out of
/// whatever comes in. It has no rule: every rank takes it of its own slice (mindspore
/// ccsrc/frontend/parallel/step_parallel_utils.cc). Its value is never asked for; here it is the
/// sum, so that its gradient is the incoming one everywhere.
namespace drydock::strategies {
namespace {

Result<std::vector<TensorType>> InferOneElement(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  return std::vector<TensorType>{{.shape = {1}, .dtype = op.inputs[0].dtype}};
}

Result<std::vector<ValueId>> GradientEverywhere(const GradientContext& context) {
  const Shape& shape = context.TypeOf(context.node.inputs[0]).shape;
  if (shape.empty()) {
    return NoGradients(context);
  }
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("BroadcastTo", {OutputGradient(context)}, {{"shape", Attr(shape)}}));
  return std::vector<ValueId>{gradient};
}

Result<std::vector<NdArray>> EvaluateSum(const EvaluateContext& context) {
  NdArray result{.shape = {1}};
  result.data = {
      std::accumulate(context.inputs[0].data.begin(), context.inputs[0].data.end(), 0.0)};
  return std::vector<NdArray>{std::move(result)};
}

DRYDOCK_OP(VirtualLoss, .family = "virtual", .signature = "VirtualLoss()(x)",
           .kind = OpKind::kTransparent, .infer = InferOneElement, .gradient = GradientEverywhere,
           .evaluate = EvaluateSum, .flops = NoFlops, .cost = CostFamily::kFree);

}  // namespace
}  // namespace drydock::strategies
