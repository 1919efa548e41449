#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "strategies/operators/kernel_builder.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/scalar_math.h"

/// Operators that work along one dimension, which therefore stays whole (mindspore
/// ops_info/activation_info.cc): softmax and its logarithm.
namespace drydock::strategies {
namespace {

/// Dimensions named by attribute `axis`, a number or a tuple.
/// @error kInvalidArgument  the tuple is empty or names no dimension of the tensor
Result<std::vector<std::size_t>> AxesOf(const OpView& op, std::int64_t fallback) {
  DRYDOCK_TRY(const auto listed, IntListAttr(*op.attrs, "axis"));
  const std::vector<std::int64_t> axes = listed.value_or(std::vector<std::int64_t>{fallback});
  if (axes.empty()) {
    return FailOp(op, "axis-empty",
                  "attribute 'axis' of '" + std::string(op.op) + "' is an empty tuple",
                  "name at least one dimension, for instance -1");
  }
  return NormalisedAxes(op, axes, op.inputs[0].shape.size());
}

Result<std::vector<TensorType>> InferSoftmax(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(AxesOf(op, -1));
  return InferSameFloating(op);
}

/// (result of the forward operator, gradient of the result) -> gradient of the input.
Result<std::vector<TensorType>> InferSoftmaxGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(AxesOf(op, -1));
  return std::vector<TensorType>{op.inputs[0]};
}

Result<ShardRule> ShardSoftmax(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const std::vector<std::size_t> axes, AxesOf(op, -1));
  return AxisLocalRule(op, axes, "the dimension '" + std::string(op.op) + "' is taken over");
}

Result<std::vector<ValueId>> EmitSoftmaxGrad(const GradientContext& context, std::string_view op) {
  DRYDOCK_TRY(
      const ValueId gradient,
      context.Emit(op, {context.node.outputs[0], OutputGradient(context)}, context.node.attrs));
  return std::vector<ValueId>{gradient};
}

Result<std::vector<ValueId>> GradientOfSoftmax(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("SoftmaxBackward", {OutputGradient(context), context.node.outputs[0]},
                           context.node.attrs));
  return std::vector<ValueId>{gradient};
}

Result<std::vector<ValueId>> GradientOfLogSoftmax(const GradientContext& context) {
  return EmitSoftmaxGrad(context, "LogSoftmaxGrad");
}

/// x minus its largest element along `axes`.
NdArray Shifted(const NdArray& x, std::span<const std::size_t> axes) {
  const NdArray largest =
      ReduceArray(x, axes, true, -std::numeric_limits<double>::infinity(), MaxOf);
  return MapArrays(x, largest, x.shape, DifferenceOf);
}

NdArray Exponentials(const NdArray& x) {
  return MapArray(x, [](double value) { return std::exp(value); });
}

Result<std::vector<std::size_t>> EvaluatedAxes(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  return AxesOf(view, -1);
}

Result<std::vector<NdArray>> EvaluateSoftmax(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::vector<std::size_t> axes, EvaluatedAxes(context));
  const NdArray powers = Exponentials(Shifted(context.inputs[0], axes));
  const NdArray sums = ReduceArray(powers, axes, true, 0.0, SumOf);
  return std::vector<NdArray>{MapArrays(powers, sums, powers.shape, QuotientOf)};
}

Result<std::vector<NdArray>> EvaluateLogSoftmax(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::vector<std::size_t> axes, EvaluatedAxes(context));
  const NdArray shifted = Shifted(context.inputs[0], axes);
  const NdArray sums = ReduceArray(Exponentials(shifted), axes, true, 0.0, SumOf);
  const NdArray logs = MapArray(sums, [](double sum) { return std::log(sum); });
  return std::vector<NdArray>{MapArrays(shifted, logs, shifted.shape, DifferenceOf)};
}

/// dX = (dY - sum(dY * Y)) * Y.
Result<std::vector<NdArray>> EvaluateSoftmaxBackward(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::vector<std::size_t> axes, EvaluatedAxes(context));
  const NdArray& dy = context.inputs[0];
  const NdArray& y = context.inputs[1];
  const NdArray sums = ReduceArray(MapArrays(y, dy, y.shape, ProductOf), axes, true, 0.0, SumOf);
  return std::vector<NdArray>{
      MapArrays(MapArrays(dy, sums, y.shape, DifferenceOf), y, y.shape, ProductOf)};
}

/// dX = dY - exp(Y) * sum(dY).
Result<std::vector<NdArray>> EvaluateLogSoftmaxGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::vector<std::size_t> axes, EvaluatedAxes(context));
  const NdArray& y = context.inputs[0];
  const NdArray& dy = context.inputs[1];
  const NdArray sums = ReduceArray(dy, axes, true, 0.0, SumOf);
  const NdArray parts = MapArrays(Exponentials(y), sums, y.shape, ProductOf);
  return std::vector<NdArray>{MapArrays(dy, parts, y.shape, DifferenceOf)};
}

/// The kernel takes a tuple of axes; that of the gradient takes one axis.
Result<std::vector<KernelId>> LowerSoftmax(const LowerContext& context) {
  DRYDOCK_TRY(const auto listed, IntListAttr(context.node.attrs, "axis"));
  return LowerTo(context, context.node.op,
                 {context.builder.Argument(Attr(listed.value_or(std::vector<std::int64_t>{-1})))});
}

DRYDOCK_OP(Softmax, .family = "axis_local", .signature = "Softmax(axis=-1)(input)",
           .infer = InferSoftmax, .shard = ShardSoftmax, .gradient = GradientOfSoftmax,
           .lower = LowerSoftmax, .evaluate = EvaluateSoftmax, .flops = FlopsPerInput<5>,
           .cost = CostFamily::kSoftmax, .accepts_layout = true, .accepts_interleaved = true);

DRYDOCK_OP(LogSoftmax, .family = "axis_local", .signature = "LogSoftmax(axis=-1)(logits)",
           .infer = InferSoftmax, .shard = ShardSoftmax, .gradient = GradientOfLogSoftmax,
           .evaluate = EvaluateLogSoftmax, .flops = FlopsPerInput<5>, .cost = CostFamily::kSoftmax,
           .accepts_layout = true, .accepts_interleaved = true);

DRYDOCK_OP(SoftmaxBackward, .family = "gradient",
           .signature = "SoftmaxBackward(axis=-1)(grad_output, output)", .infer = InferSoftmaxGrad,
           .gradient = GradientNotNeeded, .evaluate = EvaluateSoftmaxBackward,
           .flops = FlopsPerInput<4>);

DRYDOCK_OP(LogSoftmaxGrad, .family = "gradient",
           .signature = "LogSoftmaxGrad(axis=-1)(output, grad)", .infer = InferSoftmaxGrad,
           .gradient = GradientNotNeeded, .evaluate = EvaluateLogSoftmaxGrad,
           .flops = FlopsPerInput<4>);

}  // namespace
}  // namespace drydock::strategies
