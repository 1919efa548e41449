#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// PReLU: a slope for negative numbers, one for all channels or one for each. Source: mindspore
/// ops_info/layer_norm_info.cc.
namespace drydock::strategies {
namespace {

Result<std::vector<TensorType>> InferPReLU(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 1, 1));
  const std::int64_t slopes = op.inputs[1].shape[0];
  const std::int64_t channels = op.inputs[0].shape[1];
  if (slopes != 1 && slopes != channels) {
    return FailOp(op, "shape-mismatch",
                  "'PReLU' takes one weight or one for each channel, but there are " +
                      std::to_string(slopes) + " for the " + std::to_string(channels) +
                      " channels of " + TupleText(op.inputs[0].shape));
  }
  return std::vector<TensorType>{op.inputs[0]};
}

/// A weight for each channel is cut as the channels are; a single one is whole.
Result<ShardRule> ShardPReLU(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(ShardRule rule, ShardElementwise(op, strategy));
  const bool single = op.inputs[1].shape[0] == 1 && op.inputs[0].shape[1] != 1;
  rule.inputs.push_back({single ? DimAxes{} : DimAxes{1}});
  return rule;
}

Result<std::vector<ValueId>> GradientOfPReLU(const GradientContext& context) {
  return EmitAll(context, "PReLUGrad",
                 {OutputGradient(context), LeftOf(context), RightOf(context)});
}

/// Weight of every element of x.
NdArray SlopesOf(const NdArray& weight, const Shape& shape) {
  Shape aligned(shape.size() - 1, 1);
  aligned[0] = weight.shape[0];
  return BroadcastArray(ReshapeArray(weight, aligned), shape);
}

Result<std::vector<NdArray>> EvaluatePReLU(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  return std::vector<NdArray>{MapArrays(x, SlopesOf(context.inputs[1], x.shape), x.shape,
                                        [](double v, double w) { return v > 0 ? v : w * v; })};
}

/// Operands dY, x, weight; results dX and the gradient of the weight.
Result<std::vector<TensorType>> InferPReLUGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  return std::vector<TensorType>{op.inputs[1], op.inputs[2]};
}

Result<std::vector<NdArray>> EvaluatePReLUGrad(const EvaluateContext& context) {
  const NdArray& dy = context.inputs[0];
  const NdArray& x = context.inputs[1];
  const NdArray& weight = context.inputs[2];
  const auto product = [](double a, double b) { return a * b; };
  const NdArray slope = MapArrays(x, SlopesOf(weight, x.shape), x.shape,
                                  [](double v, double w) { return v > 0 ? 1.0 : w; });
  const NdArray below = MapArray(x, [](double v) { return v > 0 ? 0.0 : v; });
  Shape aligned(x.shape.size() - 1, 1);
  aligned[0] = weight.shape[0];
  const NdArray by_weight = SumArrayTo(MapArrays(dy, below, x.shape, product), aligned);
  return std::vector<NdArray>{MapArrays(dy, slope, x.shape, product),
                              ReshapeArray(by_weight, weight.shape)};
}

DRYDOCK_OP(PReLU, .family = "normalisation", .signature = "PReLU()(input, weight)",
           .infer = InferPReLU, .shard = ShardPReLU, .gradient = GradientOfPReLU,
           .evaluate = EvaluatePReLU, .flops = FlopsPerInput<1>, .cost = CostFamily::kArithmetic,
           .example = "()((4, 6), (6))");
DRYDOCK_OP(PReLUGrad, .family = "gradient", .signature = "PReLUGrad()(dy, x, weight)",
           .infer = InferPReLUGrad, .gradient = GradientNotNeeded, .evaluate = EvaluatePReLUGrad,
           .flops = FlopsPerInput<4>);

}  // namespace
}  // namespace drydock::strategies
