#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/scalar_math.h"

/// Operators of broadcasting tensors that do not fit the two-operand pattern: interpolation, fill
/// under a mask, outer product, copy in place, polar coordinates. Source: mindspore
/// ops_info/arithmetic_info.cc.
namespace drydock::strategies {
namespace {

using Gradients = Result<std::vector<ValueId>>;

/// Strategies may leave out a third operand that is a scalar: it has nothing to cut.
Result<ShardRule> ShardScalarThird(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(ShardRule rule, ShardBroadcast(op, strategy));
  if (op.inputs.size() == 3 && op.inputs[2].shape.empty() && strategy.size() == 2) {
    rule.strategy_entries = {rule.inputs[0], rule.inputs[1]};
  }
  return rule;
}

// ---- Lerp: input + weight * (end - input)

Result<std::vector<TensorType>> InferLerp(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(const Shape ends, BroadcastShapes(op, op.inputs[0].shape, op.inputs[1].shape));
  DRYDOCK_TRY(Shape shape, BroadcastShapes(op, ends, op.inputs[2].shape));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

/// dY * (1 - weight).
Result<ValueId> LerpByInput(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId negative, context.Emit("Neg", {context.node.inputs[2]}));
  return TimesGradient(context, EmitPlus(context, negative, 1.0));
}

Result<ValueId> LerpByEnd(const GradientContext& context) {
  return TimesGradient(context, context.node.inputs[2]);
}

Result<ValueId> LerpByWeight(const GradientContext& context) {
  return TimesGradient(context, context.Emit("Sub", {RightOf(context), LeftOf(context)}));
}

Result<std::vector<NdArray>> EvaluateLerp(const EvaluateContext& context) {
  const Shape& shape = context.output_types[0].shape;
  const NdArray way = MapArrays(context.inputs[1], context.inputs[0], shape,
                                [](double end, double input) { return end - input; });
  const NdArray step = MapArrays(context.inputs[2], way, shape,
                                 [](double weight, double all) { return weight * all; });
  return std::vector<NdArray>{MapArrays(context.inputs[0], step, shape, SumOf)};
}

DRYDOCK_OP(Lerp, .family = "broadcast_binary", .signature = "Lerp()(input, end, weight)",
           .infer = InferLerp, .shard = ShardScalarThird, .default_strategy = DefaultBroadcast,
           .gradient = OperandGradients<LerpByInput, LerpByEnd, LerpByWeight>,
           .evaluate = EvaluateLerp, .flops = FlopsPerOutput<3>, .cost = CostFamily::kArithmetic,
           .elementwise = true, .accepts_layout = true);

// ---- Addcmul, Addcdiv: input + value * (x1 * x2), input + value * (x1 / x2)

Result<std::vector<TensorType>> InferAddProduct(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 4, 4));
  DRYDOCK_TRY(const Shape factors, BroadcastShapes(op, op.inputs[1].shape, op.inputs[2].shape));
  DRYDOCK_TRY(const Shape added, BroadcastShapes(op, factors, op.inputs[3].shape));
  DRYDOCK_TRY(Shape shape, BroadcastShapes(op, op.inputs[0].shape, added));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

/// dY * value * the other factor.
template <std::size_t Other>
Result<ValueId> ByFactor(const GradientContext& context) {
  return TimesGradient(
      context, context.Emit(ops::kMul, {context.node.inputs[3], context.node.inputs[Other]}));
}

Result<ValueId> AddcmulByValue(const GradientContext& context) {
  return TimesGradient(context,
                       context.Emit(ops::kMul, {context.node.inputs[1], context.node.inputs[2]}));
}

Result<std::vector<NdArray>> EvaluateScaledProduct(const EvaluateContext& context) {
  const Shape& shape = context.output_types[0].shape;
  const NdArray factors = MapArrays(context.inputs[1], context.inputs[2], shape, ProductOf);
  const NdArray added = MapArrays(factors, context.inputs[3], shape, ProductOf);
  return std::vector<NdArray>{MapArrays(context.inputs[0], added, shape, SumOf)};
}

DRYDOCK_OP(Addcmul, .family = "same_shape_nary",
           .signature = "Addcmul()(input_data, x1, x2, value)", .infer = InferAddProduct,
           .replicated_without_rule = true,
           .gradient = OperandGradients<GradientItself, ByFactor<2>, ByFactor<1>, AddcmulByValue>,
           .evaluate = EvaluateScaledProduct, .flops = FlopsPerOutput<3>, .elementwise = true);

Result<ValueId> AddcdivByDividend(const GradientContext& context) {
  return TimesGradient(
      context, context.Emit(ops::kRealDiv, {context.node.inputs[3], context.node.inputs[2]}));
}

/// -dY * value * x1 / x2^2.
Result<ValueId> AddcdivByDivisor(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId top,
              context.Emit(ops::kMul, {context.node.inputs[3], context.node.inputs[1]}));
  DRYDOCK_TRY(const ValueId square,
              context.Emit(ops::kMul, {context.node.inputs[2], context.node.inputs[2]}));
  DRYDOCK_TRY(const ValueId ratio, context.Emit(ops::kRealDiv, {top, square}));
  return TimesGradient(context, context.Emit("Neg", {ratio}));
}

Result<ValueId> AddcdivByValue(const GradientContext& context) {
  return TimesGradient(
      context, context.Emit(ops::kRealDiv, {context.node.inputs[1], context.node.inputs[2]}));
}

Result<std::vector<NdArray>> EvaluateAddcdiv(const EvaluateContext& context) {
  const Shape& shape = context.output_types[0].shape;
  const NdArray ratio = MapArrays(context.inputs[1], context.inputs[2], shape,
                                  [](double top, double bottom) { return top / bottom; });
  const NdArray added = MapArrays(ratio, context.inputs[3], shape, ProductOf);
  return std::vector<NdArray>{MapArrays(context.inputs[0], added, shape, SumOf)};
}

DRYDOCK_OP(
    Addcdiv, .family = "same_shape_nary", .signature = "Addcdiv()(input_data, x1, x2, value)",
    .infer = InferAddProduct, .replicated_without_rule = true,
    .gradient =
        OperandGradients<GradientItself, AddcdivByDividend, AddcdivByDivisor, AddcdivByValue>,
    .evaluate = EvaluateAddcdiv, .flops = FlopsPerOutput<3>, .elementwise = true);

// ---- MaskedFill: value where mask, else input

Result<std::vector<TensorType>> InferMaskedFill(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 2, 0, 0));
  if (op.inputs[1].dtype != DType::kBool) {
    return FailOp(op, "dtype",
                  "the mask of 'MaskedFill' must be bool, but it is " +
                      std::string(DTypeName(op.inputs[1].dtype)),
                  "compare the mask with a number first");
  }
  DRYDOCK_TRY(Shape shape, BroadcastShapes(op, op.inputs[0].shape, op.inputs[1].shape));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

/// dY where nothing was filled in.
Result<ValueId> MaskedFillByInput(const GradientContext& context) {
  const ValueId zero =
      context.builder.AddScalar(0.0, context.TypeOf(OutputGradient(context)).dtype);
  return context.Emit("MaskedFill", {OutputGradient(context), RightOf(context), zero});
}

/// Sum of dY where the value was filled in.
Result<ValueId> MaskedFillByValue(const GradientContext& context) {
  const DType dtype = context.TypeOf(OutputGradient(context)).dtype;
  return TimesGradient(context, CastTo(context, RightOf(context), dtype));
}

Result<std::vector<NdArray>> EvaluateMaskedFill(const EvaluateContext& context) {
  const double value = context.inputs[2].data[0];
  return std::vector<NdArray>{
      MapArrays(context.inputs[0], context.inputs[1], context.output_types[0].shape,
                [value](double x, double mask) { return mask != 0 ? value : x; })};
}

DRYDOCK_OP(MaskedFill, .family = "broadcast_binary",
           .signature = "MaskedFill()(input_x, mask, value)", .infer = InferMaskedFill,
           .shard = ShardScalarThird, .default_strategy = DefaultBroadcast,
           .gradient = OperandGradients<MaskedFillByInput, nullptr, MaskedFillByValue>,
           .evaluate = EvaluateMaskedFill, .flops = FlopsPerOutput<1>,
           .cost = CostFamily::kArithmetic, .elementwise = true, .accepts_layout = true,
           .example = "()((4, 6), bool(4, 6), ())");

// ---- Outer: out[i, j] = input[i] * vec2[j]

Result<std::vector<TensorType>> InferOuter(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 1, 1));
  DRYDOCK_TRY(const DType dtype, PromoteDTypes(op.inputs[0].dtype, op.inputs[1].dtype));
  return std::vector<TensorType>{
      {.shape = {op.inputs[0].shape[0], op.inputs[1].shape[0]}, .dtype = dtype}};
}

Result<ShardRule> ShardOuter(const OpView& /*op*/, const Strategy& /*strategy*/) {
  return ShardRule{.axis_count = 2, .inputs = {{{0}}, {{1}}}, .outputs = {{{0}, {1}}}};
}

/// dY times the other vector, summed over the other dimension.
template <std::size_t Operand>
Result<ValueId> OuterBy(const GradientContext& context) {
  constexpr std::int64_t kOther = 1 - static_cast<std::int64_t>(Operand);
  ValueId other = context.node.inputs[1 - Operand];
  if (Operand == 1) {
    const Shape column = {context.TypeOf(other).shape[0], 1};
    DRYDOCK_TRY(other, context.Emit(ops::kReshape, {other}, {{"shape", column}}));
  }
  DRYDOCK_TRY(const ValueId product, TimesGradient(context, other));
  return context.Emit(ops::kReduceSum, {product},
                      {{"axis", std::vector<std::int64_t>{kOther}}, {"keep_dims", false}});
}

Result<std::vector<NdArray>> EvaluateOuter(const EvaluateContext& context) {
  NdArray out{.shape = context.output_types[0].shape};
  for (const double a : context.inputs[0].data) {
    for (const double b : context.inputs[1].data) {
      out.data.push_back(a * b);
    }
  }
  return std::vector<NdArray>{out};
}

DRYDOCK_OP(Outer, .family = "broadcast_binary", .signature = "Outer()(input, vec2)",
           .infer = InferOuter, .shard = ShardOuter,
           .gradient = OperandGradients<OuterBy<0>, OuterBy<1>>, .evaluate = EvaluateOuter,
           .flops = FlopsPerOutput<1>, .cost = CostFamily::kArithmetic, .accepts_layout = true,
           .example = "()((4), (6))");

// ---- InplaceCopy: writes src into input

Result<std::vector<TensorType>> InferInplaceCopy(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_TRY(const Shape shape, BroadcastShapes(op, op.inputs[0].shape, op.inputs[1].shape));
  if (shape != op.inputs[0].shape) {
    return FailOp(op, "shape-mismatch",
                  "'InplaceCopy' cannot write " + TupleText(op.inputs[1].shape) +
                      " to a tensor of shape " + TupleText(op.inputs[0].shape));
  }
  return std::vector<TensorType>{op.inputs[0]};
}

Result<std::vector<NdArray>> EvaluateInplaceCopy(const EvaluateContext& context) {
  return std::vector<NdArray>{BroadcastArray(context.inputs[1], context.output_types[0].shape)};
}

/// Everything that was in the written tensor is gone, so only the source has a gradient.
DRYDOCK_OP(InplaceCopy, .family = "broadcast_binary", .signature = "InplaceCopy()(input, src)",
           .kind = OpKind::kUpdate, .infer = InferInplaceCopy, .shard = ShardBroadcast,
           .default_strategy = DefaultBroadcast,
           .gradient = OperandGradients<nullptr, GradientItself>, .evaluate = EvaluateInplaceCopy,
           .flops = FlopsPerOutput<1>, .cost = CostFamily::kArithmetic, .accepts_layout = true,
           .writes = "0");

}  // namespace
}  // namespace drydock::strategies
