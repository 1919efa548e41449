#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/common/scalar_math.h"

/// Conversions between floating-point numbers and small integers, for inference: no gradients.
/// Scales broadcast and follow the dimensions they belong to.
namespace drydock::strategies {
namespace {

Result<DType> DTypeOr(const OpView& op, std::string_view name, DType fallback) {
  DRYDOCK_TRY(const std::string text, TextAttr(*op.attrs, name, ""));
  return text.empty() ? Result<DType>(fallback) : ParseDType(text);
}

/// x and what broadcasts to it; the result has the shape of x.
Result<TensorType> InferLikeX(const OpView& op, std::size_t least, std::size_t most, DType dtype) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, least, most));
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    DRYDOCK_TRY(const Shape shape, BroadcastShapes(op, op.inputs[0].shape, op.inputs[i].shape));
    if (shape != op.inputs[0].shape) {
      return FailOp(op, "shape-mismatch",
                    "input " + std::to_string(i) + " of '" + std::string(op.op) + "' has shape " +
                        TupleText(op.inputs[i].shape) + ", which does not fit inside " +
                        TupleText(op.inputs[0].shape));
    }
  }
  return TensorType{.shape = op.inputs[0].shape, .dtype = dtype};
}

/// scale, or its square in sqrt_mode (the scale given is a root then).
Result<double> ScalePower(const AttrMap& attrs) {
  DRYDOCK_TRY(const bool root, BoolAttr(attrs, "sqrt_mode", false));
  return root ? 2.0 : 1.0;
}

NdArray Powered(const NdArray& scale, double power) {
  return MapArray(scale, [power](double s) { return power == 1 ? s : s * s; });
}

double ToInt8(double x) {
  return std::clamp(std::nearbyint(x), -128.0, 127.0);
}

// ---- AntiQuant: (x + offset) * scale; Dequant: x * scale ----------------------------------------

Result<std::vector<TensorType>> InferAntiQuant(const OpView& op) {
  DRYDOCK_TRY(const DType dtype, DTypeOr(op, "dtype", DType::kFloat16));
  DRYDOCK_TRY(TensorType out, InferLikeX(op, 2, 3, dtype));
  return std::vector<TensorType>{std::move(out)};
}

Result<std::vector<NdArray>> EvaluateAntiQuant(const EvaluateContext& context) {
  DRYDOCK_TRY(const double power, ScalePower(context.attrs));
  NdArray x = context.inputs[0];
  if (context.inputs.size() > 2) {
    x = MapArrays(x, context.inputs[2], x.shape, SumOf);
  }
  return std::vector<NdArray>{MapArrays(x, Powered(context.inputs[1], power), x.shape, ProductOf)};
}

Result<std::vector<TensorType>> InferDequant(const OpView& op) {
  DRYDOCK_TRY(const DType dtype, DTypeOr(op, "dtype", DType::kFloat16));
  DRYDOCK_TRY(TensorType out, InferLikeX(op, 2, 2, dtype));
  return std::vector<TensorType>{std::move(out)};
}

Result<std::vector<NdArray>> EvaluateDequant(const EvaluateContext& context) {
  DRYDOCK_TRY(const double power, ScalePower(context.attrs));
  DRYDOCK_TRY(const bool relu, BoolAttr(context.attrs, "relu_flag", false));
  const NdArray& x = context.inputs[0];
  const NdArray out = MapArrays(x, Powered(context.inputs[1], power), x.shape, ProductOf);
  return std::vector<NdArray>{
      MapArray(out, [relu](double y) { return relu ? std::max(y, 0.0) : y; })};
}

DRYDOCK_OP(AntiQuant, .family = "quant",
           .signature = "AntiQuant(sqrt_mode=False, dtype=None)(x, scale, ?offset)",
           .infer = InferAntiQuant, .shard = ShardBroadcast, .default_strategy = DefaultBroadcast,
           .gradient = NoBackward, .values = "-", .evaluate = EvaluateAntiQuant,
           .flops = FlopsPerInput<2>, .cost = CostFamily::kArithmetic,
           .example = "()(int8(4, 6), (6), (6))");

DRYDOCK_OP(Dequant, .family = "quant",
           .signature = "Dequant(sqrt_mode=False, relu_flag=False, dtype=None)(x, deq_scale)",
           .infer = InferDequant, .shard = ShardBroadcast, .default_strategy = DefaultBroadcast,
           .gradient = NoBackward, .values = "-", .evaluate = EvaluateDequant,
           .flops = FlopsPerInput<1>, .cost = CostFamily::kArithmetic, .accepts_layout = true,
           .example = "()(int32(4, 6), (6))");

// ---- Quant and QuantV2: round(x * scale + offset) -----------------------------------------------

Result<std::vector<TensorType>> InferQuant(const OpView& op) {
  DRYDOCK_TRY(TensorType out, InferLikeX(op, 1, 1, DType::kInt8));
  return std::vector<TensorType>{std::move(out)};
}

Result<std::vector<NdArray>> EvaluateQuant(const EvaluateContext& context) {
  DRYDOCK_TRY(const double power, ScalePower(context.attrs));
  DRYDOCK_TRY(const double given, FloatAttr(context.attrs, "scale", 1.0));
  DRYDOCK_TRY(const double offset, FloatAttr(context.attrs, "offset", 0.0));
  const double scale = power == 1 ? given : given * given;
  return std::vector<NdArray>{MapArray(
      context.inputs[0], [scale, offset](double x) { return ToInt8(x * scale + offset); })};
}

Result<std::vector<TensorType>> InferQuantV2(const OpView& op) {
  DRYDOCK_TRY(const DType dtype, DTypeOr(op, "dst_type", DType::kInt8));
  DRYDOCK_TRY(TensorType out, InferLikeX(op, 2, 3, dtype));
  return std::vector<TensorType>{std::move(out)};
}

Result<std::vector<NdArray>> EvaluateQuantV2(const EvaluateContext& context) {
  DRYDOCK_TRY(const double power, ScalePower(context.attrs));
  const NdArray& x = context.inputs[0];
  NdArray out = MapArrays(x, Powered(context.inputs[1], power), x.shape, ProductOf);
  if (context.inputs.size() > 2) {
    out = MapArrays(out, context.inputs[2], x.shape, SumOf);
  }
  return std::vector<NdArray>{MapArray(out, ToInt8)};
}

DRYDOCK_OP(Quant, .family = "quant",
           .signature =
               "Quant(scale=1.0, offset=0.0, sqrt_mode=False, round_mode='Round', "
               "dtype=None)(x)",
           .infer = InferQuant, .shard = ShardElementwise, .gradient = NoBackward, .values = "-",
           .evaluate = EvaluateQuant, .flops = FlopsPerInput<1>, .elementwise = true,
           .accepts_layout = true, .example = "(scale=2.0)((4, 6))");

DRYDOCK_OP(QuantV2, .family = "quant",
           .signature =
               "QuantV2()(x, scale, ?offset, #sqrt_mode=False, #rounding_mode='ROUND', "
               "#dst_type=None)",
           .infer = InferQuantV2, .shard = ShardBroadcast, .default_strategy = DefaultBroadcast,
           .gradient = NoBackward, .evaluate = EvaluateQuantV2, .flops = FlopsPerInput<2>,
           .cost = CostFamily::kArithmetic, .example = "()((4, 6), (6), (6))");

// ---- DynamicQuantExt: scale = max |x * smooth| / 127 of each row, y = round(x * smooth / scale) -

constexpr double kSteps = 127;
constexpr double kTiny = 1e-30;  ///< Keeps rows of zeros from dividing by zero.

Result<std::vector<TensorType>> InferDynamicQuant(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(TensorType y, InferLikeX(op, 1, 2, DType::kInt8));
  TensorType scale = {.shape = Shape(y.shape.begin(), y.shape.end() - 1)};
  return std::vector<TensorType>{std::move(y), std::move(scale)};
}

/// [*r, h], [h] -> [*r, h], [*r]; an output strategy repeats what follows from the input.
Result<ShardRule> ShardDynamicQuant(const OpView& op, const Strategy& strategy) {
  const std::size_t rank = op.inputs[0].shape.size();
  const TensorAxes axes = AxesInOrder(rank);
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank),
                 .inputs = {axes},
                 .outputs = {axes, TensorAxes(axes.begin(), axes.end() - 1)}};
  if (op.inputs.size() > 1) {
    TensorAxes smooth(op.inputs[1].shape.size());
    if (!smooth.empty() && op.inputs[1].shape.back() != 1) {
      smooth.back() = axes.back();
    }
    rule.inputs.push_back(std::move(smooth));
  }
  if (op.out_strategy != nullptr && !strategy.empty() && strategy[0].size() == rank) {
    const Strategy wanted = {strategy[0],
                             std::vector<std::int64_t>(strategy[0].begin(), strategy[0].end() - 1)};
    if (*op.out_strategy != wanted) {
      return FailOp(op, "strategy-out",
                    "output strategy " + StrategyText(*op.out_strategy) + " of '" +
                        std::string(op.op) + "' does not follow from its input",
                    "use " + StrategyText(wanted));
    }
  }
  return rule;
}

/// Cut rows need the maximum over the whole row: the operator is taken apart around an AllReduce.
/// (The reference leaves every rank with the scale of its own part.)
Result<std::vector<ValueId>> LocalizeDynamicQuant(const LocalizeContext& context) {
  const auto last = static_cast<AxisIndex>(context.global.inputs[0].shape.size()) - 1;
  if (GroupSize(context.sharding.axis_groups[static_cast<std::size_t>(last)]) == 1) {
    return EmitLocal(context, context.spec.attrs);
  }
  DRYDOCK_TRY(ValueId x, EmitHelperCast(context, context.spec.inputs[0], DType::kFloat32));
  if (context.spec.inputs.size() > 1 && context.spec.inputs[1] != kNoValue) {
    DRYDOCK_TRY(const ValueId smooth,
                EmitHelperCast(context, context.spec.inputs[1], DType::kFloat32));
    DRYDOCK_TRY(x, EmitHelper(context, ops::kMul, {x, smooth}));
  }
  DRYDOCK_TRY(const ValueId size, EmitHelper(context, "Abs", {x}));
  DRYDOCK_TRY(const ValueId own, EmitHelper(context, "ReduceMax", {size}, {{"axis", -1}}));
  const AxisIndex axes[] = {last};
  DRYDOCK_TRY(const ValueId largest,
              EmitHelperAllReduce(context, own, axes, "largest number of a cut row", "max"));
  const ValueId steps = context.builder.AddScalar(kSteps, DType::kFloat32);
  DRYDOCK_TRY(const ValueId scale, EmitHelper(context, ops::kRealDiv, {largest, steps}));
  const ValueId tiny = context.builder.AddScalar(kTiny, DType::kFloat32);
  DRYDOCK_TRY(const ValueId divisor, EmitHelper(context, "Maximum", {scale, tiny}));
  DRYDOCK_TRY(const ValueId column, EmitHelper(context, "ExpandDims", {divisor}, {{"axis", -1}}));
  DRYDOCK_TRY(const ValueId quotient, EmitHelper(context, ops::kRealDiv, {x, column}));
  DRYDOCK_TRY(const ValueId rounded, EmitHelper(context, "Rint", {quotient}));
  DRYDOCK_TRY(const ValueId y, EmitHelperCast(context, rounded, DType::kInt8));
  return std::vector<ValueId>{y, scale};
}

Result<std::vector<NdArray>> EvaluateDynamicQuant(const EvaluateContext& context) {
  NdArray x = context.inputs[0];
  if (context.inputs.size() > 1) {
    x = MapArrays(x, context.inputs[1], x.shape, ProductOf);
  }
  const std::size_t last[] = {x.shape.size() - 1};
  const NdArray size = MapArray(x, [](double value) { return std::fabs(value); });
  const auto larger = [](double a, double b) { return std::max(a, b); };
  const NdArray largest = ReduceArray(size, last, true, 0.0, larger);
  const NdArray scale = MapArray(largest, [](double value) { return value / kSteps; });
  NdArray y = MapArrays(x, scale, x.shape, [](double value, double by) {
    return std::nearbyint(value / std::max(by, kTiny));
  });
  return std::vector<NdArray>{std::move(y), ReshapeArray(scale, context.output_types[1].shape)};
}

DRYDOCK_OP(DynamicQuantExt, .family = "quant", .signature = "DynamicQuantExt()(x, ?smooth_scales)",
           .infer = InferDynamicQuant, .shard = ShardDynamicQuant, .localize = LocalizeDynamicQuant,
           .gradient = NoBackward, .evaluate = EvaluateDynamicQuant, .flops = FlopsPerInput<3>,
           .cost = CostFamily::kArithmetic, .accepts_out_strategy = true,
           .example = "()((4, 6), (6))");

}  // namespace
}  // namespace drydock::strategies
