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
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/common/scalar_math.h"

/// Normalisation over the last dimensions (mindspore ops_info/layer_norm_info.cc). Layer
/// normalisation needs them whole; root mean square normalisation may cut them and is then taken
/// apart into simple operators with an AllReduce.
namespace drydock::strategies {
namespace {

/// The dimensions [first, rank).
std::vector<std::size_t> AxesFrom(std::size_t first, std::size_t rank) {
  std::vector<std::size_t> axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

/// @error kInvalidArgument  "<op>:shape-mismatch"  input is not shaped like dimensions [first,
/// rank) of input 0
Status CheckTail(const OpView& op, std::size_t input, std::size_t first) {
  const Shape& x = op.inputs[0].shape;
  const Shape wanted(x.begin() + static_cast<std::ptrdiff_t>(first), x.end());
  if (op.inputs[input].shape == wanted) {
    return {};
  }
  return FailOp(op, "shape-mismatch",
                "'" + std::string(op.op) + "' of a tensor of shape " + TupleText(x) +
                    " takes shape " + TupleText(wanted) + " in input " + std::to_string(input) +
                    ", but it has shape " + TupleText(op.inputs[input].shape));
}

/// dims [0, first) on their axes, the rest with extent 1 and never cut.
TensorAxes StatisticAxes(std::size_t rank, std::size_t first) {
  TensorAxes axes = AxesInOrder(rank);
  for (std::size_t d = first; d < rank; ++d) {
    axes[d].clear();
  }
  return axes;
}

TensorAxes TailAxes(std::size_t rank, std::size_t first) {
  return AxesInOrder(rank - first, static_cast<AxisIndex>(first));
}

NdArray MeanOver(const NdArray& x, std::span<const std::size_t> axes) {
  NdArray sums = ReduceArray(x, axes, true, 0.0, SumOf);
  const double count = static_cast<double>(x.data.size()) /
                       static_cast<double>(std::max<std::size_t>(sums.data.size(), 1));
  return MapArray(sums, [count](double sum) { return sum / count; });
}

NdArray Times(const NdArray& a, const NdArray& b, const Shape& shape) {
  return MapArrays(a, b, shape, ProductOf);
}

NdArray Minus(const NdArray& a, const NdArray& b, const Shape& shape) {
  return MapArrays(a, b, shape, DifferenceOf);
}

// ---- LayerNorm: input_x, gamma, beta -> output, mean, variance

constexpr double kLayerNormEpsilon = 1e-7;

struct LayerNormDims {
  std::size_t norm = 0;    ///< First normalised dimension.
  std::size_t params = 0;  ///< First dimension of x that gamma and beta have.
};

Result<LayerNormDims> LayerNormDimsOf(const OpView& op) {
  const std::size_t rank = op.inputs[0].shape.size();
  DRYDOCK_TRY(const std::int64_t norm, IntAttr(*op.attrs, "begin_norm_axis", 1));
  DRYDOCK_TRY(const std::int64_t params, IntAttr(*op.attrs, "begin_params_axis", 1));
  if (norm < -1 || params < -1) {
    return FailOp(op, "axis-out-of-range",
                  "begin_norm_axis " + std::to_string(norm) + " and begin_params_axis " +
                      std::to_string(params) + " of '" + std::string(op.op) +
                      "' must be at least -1");
  }
  LayerNormDims dims = {};
  DRYDOCK_TRY(dims.norm, NormalisedAxis(op, norm, rank));
  DRYDOCK_TRY(dims.params, NormalisedAxis(op, params, rank));
  return dims;
}

TensorType StatisticType(const TensorType& x, std::size_t first, DType dtype) {
  TensorType type{.shape = x.shape, .dtype = dtype};
  std::fill(type.shape.begin() + static_cast<std::ptrdiff_t>(first), type.shape.end(), 1);
  return type;
}

Result<std::vector<TensorType>> InferLayerNorm(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(const LayerNormDims dims, LayerNormDimsOf(op));
  DRYDOCK_RETURN_IF_ERROR(CheckTail(op, 1, dims.params));
  DRYDOCK_RETURN_IF_ERROR(CheckTail(op, 2, dims.params));
  const TensorType statistic = StatisticType(op.inputs[0], dims.norm, op.inputs[1].dtype);
  return std::vector<TensorType>{op.inputs[0], statistic, statistic};
}

/// LayerNormV3: both axes are one, the third result is the reciprocal standard deviation.
Result<std::vector<TensorType>> InferLayerNormV3(const OpView& op) {
  DRYDOCK_TRY(std::vector<TensorType> types, InferLayerNorm(op));
  DRYDOCK_TRY(const LayerNormDims dims, LayerNormDimsOf(op));
  if (dims.norm != dims.params) {
    return FailOp(
        op, "attribute",
        "begin_norm_axis and begin_params_axis of '" + std::string(op.op) + "' must be equal");
  }
  return types;
}

Result<ShardRule> ShardLayerNorm(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const LayerNormDims dims, LayerNormDimsOf(op));
  const std::size_t rank = op.inputs[0].shape.size();
  const TensorAxes params = TailAxes(rank, dims.params);
  const TensorAxes statistic = StatisticAxes(rank, dims.norm);
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank),
                 .inputs = {AxesInOrder(rank), params, params},
                 .outputs = {AxesInOrder(rank), statistic, statistic}};
  for (const std::size_t axis : AxesFrom(dims.norm, rank)) {
    rule.uncut.push_back({.axis = static_cast<AxisIndex>(axis), .what = "a normalised dimension"});
  }
  return rule;
}

template <const char* Kernel>
Result<std::vector<ValueId>> GradientOfLayerNorm(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  const Node& node = context.node;
  return EmitAll(
      context, Kernel,
      {node.inputs[0], OutputGradient(context), node.outputs[2], node.outputs[1], node.inputs[1]},
      node.attrs);
}

double ReciprocalDeviation(double variance, double epsilon) {
  return 1 / std::sqrt(variance + epsilon);
}

/// @tparam Reciprocal  result 2 is the reciprocal standard deviation instead of the variance
template <bool Reciprocal>
Result<std::vector<NdArray>> EvaluateLayerNorm(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const LayerNormDims dims, LayerNormDimsOf(view));
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.attrs, "epsilon", kLayerNormEpsilon));
  const NdArray& x = context.inputs[0];
  const std::vector<std::size_t> axes = AxesFrom(dims.norm, x.shape.size());
  NdArray mean = MeanOver(x, axes);
  const NdArray centred = Minus(x, mean, x.shape);
  NdArray variance = MeanOver(Times(centred, centred, x.shape), axes);
  NdArray scale =
      MapArray(variance, [epsilon](double v) { return ReciprocalDeviation(v, epsilon); });
  const NdArray scaled = Times(Times(centred, scale, x.shape), context.inputs[1], x.shape);
  NdArray y = MapArrays(scaled, context.inputs[2], x.shape, SumOf);
  return std::vector<NdArray>{std::move(y), std::move(mean),
                              Reciprocal ? std::move(scale) : std::move(variance)};
}

// ---- LayerNormGrad: x, dy, variance, mean, gamma -> dx, dgamma, dbeta

Result<std::vector<TensorType>> InferLayerNormGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 5, 5));
  return std::vector<TensorType>{op.inputs[0], op.inputs[4], op.inputs[4]};
}

/// With n = (x - mean) / sqrt(variance + epsilon) and g = dy * gamma:
/// dx = (g - mean(g) - n * mean(g * n)) / sqrt(variance + epsilon), dgamma = sum(dy * n), dbeta =
/// sum(dy).
template <bool Reciprocal>
Result<std::vector<NdArray>> EvaluateLayerNormGrad(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const LayerNormDims dims, LayerNormDimsOf(view));
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.attrs, "epsilon", kLayerNormEpsilon));
  const NdArray& x = context.inputs[0];
  const NdArray& dy = context.inputs[1];
  const NdArray& gamma = context.inputs[4];
  const std::vector<std::size_t> axes = AxesFrom(dims.norm, x.shape.size());
  const NdArray scale = MapArray(context.inputs[2], [epsilon](double v) {
    return Reciprocal ? v : ReciprocalDeviation(v, epsilon);
  });
  const NdArray normal = Times(Minus(x, context.inputs[3], x.shape), scale, x.shape);
  const NdArray g = Times(dy, gamma, x.shape);
  const NdArray along = Times(normal, MeanOver(Times(g, normal, x.shape), axes), x.shape);
  const NdArray rest = Minus(Minus(g, MeanOver(g, axes), x.shape), along, x.shape);
  return std::vector<NdArray>{Times(rest, scale, x.shape),
                              SumArrayTo(Times(dy, normal, x.shape), gamma.shape),
                              SumArrayTo(dy, gamma.shape)};
}

// ---- LayerNormExt: input, weight, bias -> output, mean, reciprocal standard deviation

constexpr char kLayerNormGradExt[] = "LayerNormGradExt";

/// First normalised dimension: those of normalized_shape are the last ones.
Result<std::size_t> FirstNormalised(const OpView& op, std::size_t operand) {
  DRYDOCK_TRY(const Shape tail, RequiredListAttr(op, "normalized_shape"));
  const Shape& shape = op.inputs[operand].shape;
  if (tail.empty() || tail.size() > shape.size() ||
      !std::equal(tail.rbegin(), tail.rend(), shape.rbegin())) {
    return FailOp(op, "normalized-shape",
                  "normalized_shape " + TupleText(tail) + " of '" + std::string(op.op) +
                      "' does not end the shape " + TupleText(shape) + " of its operand");
  }
  return shape.size() - tail.size();
}

Result<std::vector<TensorType>> InferLayerNormExt(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(const std::size_t first, FirstNormalised(op, 0));
  DRYDOCK_RETURN_IF_ERROR(CheckTail(op, 1, first));
  DRYDOCK_RETURN_IF_ERROR(CheckTail(op, 2, first));
  const TensorType statistic = StatisticType(op.inputs[0], first, DType::kFloat32);
  return std::vector<TensorType>{op.inputs[0], statistic, statistic};
}

Result<std::vector<ValueId>> GradientOfLayerNormExt(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  const Node& node = context.node;
  return EmitAll(context, kLayerNormGradExt,
                 {OutputGradient(context), node.inputs[0], node.outputs[1], node.outputs[2],
                  node.inputs[1], node.inputs[2]},
                 {{"normalized_shape", node.attrs.at("normalized_shape")}});
}

Result<std::vector<TensorType>> InferLayerNormGradExt(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 6, 6));
  return std::vector<TensorType>{op.inputs[1], op.inputs[4], op.inputs[5]};
}

/// Attributes of LayerNorm that say the same.
Result<AttrMap> PlainNormAttrs(const EvaluateContext& context, std::size_t operand) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t first, FirstNormalised(view, operand));
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.attrs, "eps", 1e-5));
  const auto axis = static_cast<std::int64_t>(first);
  return AttrMap{{"begin_norm_axis", axis}, {"begin_params_axis", axis}, {"epsilon", epsilon}};
}

Result<std::vector<NdArray>> EvaluateLayerNormExt(const EvaluateContext& context) {
  DRYDOCK_TRY(const AttrMap attrs, PlainNormAttrs(context, 0));
  return EvaluateLayerNorm<true>({.inputs = context.inputs,
                                  .input_types = context.input_types,
                                  .output_types = context.output_types,
                                  .attrs = attrs});
}

Result<std::vector<NdArray>> EvaluateLayerNormGradExt(const EvaluateContext& context) {
  DRYDOCK_TRY(const AttrMap attrs, PlainNormAttrs(context, 1));
  const auto& in = context.inputs;
  const auto& types = context.input_types;
  const std::vector<NdArray> inputs = {in[1], in[0], in[3], in[2], in[4]};
  const std::vector<TensorType> input_types = {types[1], types[0], types[3], types[2], types[4]};
  return EvaluateLayerNormGrad<true>({.inputs = inputs,
                                      .input_types = input_types,
                                      .output_types = context.output_types,
                                      .attrs = attrs});
}

DRYDOCK_OP(LayerNormExt, .family = "normalisation",
           .signature = "LayerNormExt()(input, #normalized_shape, weight, bias, #eps=1e-5)",
           .infer = InferLayerNormExt, .gradient = GradientOfLayerNormExt,
           .evaluate = EvaluateLayerNormExt, .flops = FlopsPerInput<8>, .cost = CostFamily::kNorm,
           .example = "(normalized_shape=(6))((4, 6), (6), (6))");
DRYDOCK_OP(LayerNormGradExt, .family = "gradient",
           .signature =
               "LayerNormGradExt()(dout, x, #normalized_shape, mean, rstd, gamma, beta, "
               "#output_mask=(1, 1, 1))",
           .infer = InferLayerNormGradExt, .gradient = GradientNotNeeded,
           .evaluate = EvaluateLayerNormGradExt, .flops = FlopsPerInput<16>);

// ---- RmsNorm: x, gamma -> y, rstd

constexpr double kRmsNormEpsilon = 1e-6;

/// First normalised dimension: gamma has the dimensions from there on.
Result<std::size_t> RmsNormDim(const OpView& op) {
  const std::size_t rank = op.inputs[0].shape.size();
  const std::size_t tail = op.inputs[1].shape.size();
  if (tail > rank) {
    return FailOp(op, "rank",
                  "'" + std::string(op.op) + "' of a tensor of shape " +
                      TupleText(op.inputs[0].shape) + " cannot take a weight of shape " +
                      TupleText(op.inputs[1].shape));
  }
  return rank - tail;
}

Result<std::vector<TensorType>> InferRmsNorm(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(const std::size_t first, RmsNormDim(op));
  DRYDOCK_RETURN_IF_ERROR(CheckTail(op, 1, first));
  return std::vector<TensorType>{op.inputs[0], StatisticType(op.inputs[0], first, DType::kFloat32)};
}

Result<ShardRule> ShardRmsNorm(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const std::size_t first, RmsNormDim(op));
  const std::size_t rank = op.inputs[0].shape.size();
  return ShardRule{.axis_count = static_cast<std::int32_t>(rank),
                   .inputs = {AxesInOrder(rank), TailAxes(rank, first)},
                   .outputs = {AxesInOrder(rank), StatisticAxes(rank, first)}};
}

/// Mean of squares over all ranks that hold a part of the normalised dimensions `axes`.
Result<ValueId> EmitMeanSquare(const LocalizeContext& context, std::span<const AxisIndex> axes) {
  const ValueId x = context.spec.inputs[0];
  const std::vector<std::int64_t> dims(axes.begin(), axes.end());
  DRYDOCK_TRY(const ValueId squares, EmitHelper(context, "Square", {x}));
  DRYDOCK_TRY(const ValueId own,
              EmitHelper(context, "ReduceMean", {squares}, {{"axis", dims}, {"keep_dims", true}}));
  DRYDOCK_TRY(
      const ValueId sum,
      EmitHelperAllReduce(context, own, axes, "mean of squares over a cut normalised dimension"));
  const Graph& graph = context.builder.graph();
  const std::int64_t ranks = GroupSize(*graph.at(graph.at(sum).producer).group);
  const ValueId divisor =
      context.builder.AddScalar(static_cast<double>(ranks), context.builder.TypeOf(sum).dtype);
  return EmitHelper(context, "Div", {sum, divisor});
}

/// A cut normalised dimension takes the operator apart; otherwise it stays as it is.
Result<std::vector<ValueId>> LocalizeRmsNorm(const LocalizeContext& context) {
  DRYDOCK_TRY(const std::size_t first, RmsNormDim(context.global));
  std::vector<AxisIndex> axes = {};
  bool cut = false;
  for (std::size_t d = first; d < context.global.inputs[0].shape.size(); ++d) {
    axes.push_back(static_cast<AxisIndex>(d));
    cut = cut || GroupSize(context.sharding.axis_groups[d]) > 1;
  }
  if (!cut) {
    return EmitLocal(context, context.spec.attrs);
  }
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.spec.attrs, "epsilon", kRmsNormEpsilon));
  DRYDOCK_TRY(const ValueId mean, EmitMeanSquare(context, axes));
  const ValueId shift = context.builder.AddScalar(epsilon, context.builder.TypeOf(mean).dtype);
  DRYDOCK_TRY(const ValueId shifted, EmitHelper(context, "Add", {mean, shift}));
  DRYDOCK_TRY(const ValueId scale, EmitHelper(context, "Rsqrt", {shifted}));
  DRYDOCK_TRY(const ValueId normal, EmitHelper(context, "Mul", {context.spec.inputs[0], scale}));
  DRYDOCK_TRY(const ValueId y, EmitHelper(context, "Mul", {normal, context.spec.inputs[1]}));
  DRYDOCK_TRY(const ValueId own_y, EmitHelperCast(context, y, context.global.outputs[0].dtype));
  DRYDOCK_TRY(const ValueId own_scale,
              EmitHelperCast(context, scale, context.global.outputs[1].dtype));
  return std::vector<ValueId>{own_y, own_scale};
}

Result<std::vector<ValueId>> GradientOfRmsNorm(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  const Node& node = context.node;
  DRYDOCK_TRY(std::vector<ValueId> gradients,
              EmitAll(context, "RmsNormGrad",
                      {OutputGradient(context), node.inputs[0], node.outputs[1], node.inputs[1]}));
  DRYDOCK_TRY(gradients[1], CastTo(context, gradients[1], context.TypeOf(node.inputs[1]).dtype));
  return gradients;
}

Result<std::vector<NdArray>> EvaluateRmsNorm(const EvaluateContext& context) {
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.attrs, "epsilon", kRmsNormEpsilon));
  const NdArray& x = context.inputs[0];
  const std::size_t rank = x.shape.size();
  const std::vector<std::size_t> axes = AxesFrom(rank - context.inputs[1].shape.size(), rank);
  const NdArray mean = MeanOver(Times(x, x, x.shape), axes);
  NdArray scale = MapArray(mean, [epsilon](double m) { return 1 / std::sqrt(m + epsilon); });
  NdArray y = Times(Times(x, scale, x.shape), context.inputs[1], x.shape);
  return std::vector<NdArray>{std::move(y), std::move(scale)};
}

// ---- AddRmsNorm: x1, x2, gamma -> y, rstd, x1 + x2

Result<std::vector<TensorType>> InferAddRmsNorm(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  const TensorType both[] = {op.inputs[0], op.inputs[2]};
  OpView normal = op;
  normal.inputs = both;
  DRYDOCK_TRY(std::vector<TensorType> types, InferRmsNorm(normal));
  types.push_back(op.inputs[0]);
  return types;
}

Result<std::vector<NdArray>> EvaluateAddRmsNorm(const EvaluateContext& context) {
  const NdArray sum =
      MapArrays(context.inputs[0], context.inputs[1], context.inputs[0].shape, SumOf);
  const NdArray both[] = {sum, context.inputs[2]};
  EvaluateContext normal = context;
  normal.inputs = both;
  DRYDOCK_TRY(std::vector<NdArray> results, EvaluateRmsNorm(normal));
  results.push_back(sum);
  return results;
}

// ---- RmsNormGrad: dy, x, rstd, gamma -> dx, dgamma

Result<std::vector<TensorType>> InferRmsNormGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 4, 4));
  return std::vector<TensorType>{op.inputs[1],
                                 {.shape = op.inputs[3].shape, .dtype = DType::kFloat32}};
}

/// With n = x * rstd and g = dy * gamma: dx = (g - n * mean(g * n)) * rstd, dgamma = sum(dy * n).
Result<std::vector<NdArray>> EvaluateRmsNormGrad(const EvaluateContext& context) {
  const NdArray& dy = context.inputs[0];
  const NdArray& x = context.inputs[1];
  const NdArray& scale = context.inputs[2];
  const NdArray& gamma = context.inputs[3];
  const std::vector<std::size_t> axes =
      AxesFrom(x.shape.size() - gamma.shape.size(), x.shape.size());
  const NdArray normal = Times(x, scale, x.shape);
  const NdArray g = Times(dy, gamma, x.shape);
  const NdArray along = Times(normal, MeanOver(Times(g, normal, x.shape), axes), x.shape);
  return std::vector<NdArray>{Times(Minus(g, along, x.shape), scale, x.shape),
                              SumArrayTo(Times(dy, normal, x.shape), gamma.shape)};
}

constexpr char kLayerNormGrad[] = "LayerNormGrad";
constexpr char kLayerNormGradV3[] = "LayerNormGradV3";

#define DRYDOCK_LAYER_NORM(id, infer_fn, kernel, reciprocal)                                      \
  DRYDOCK_OP(id, .family = "normalisation",                                                       \
             .signature = #id                                                                     \
             "(begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7)(input_x, gamma, beta)",      \
             .infer = infer_fn, .shard = ShardLayerNorm, .gradient = GradientOfLayerNorm<kernel>, \
             .evaluate = EvaluateLayerNorm<reciprocal>, .flops = FlopsPerInput<8>,                \
             .cost = CostFamily::kNorm, .accepts_layout = true, .accepts_interleaved = true,      \
             .example = "(begin_norm_axis=1, begin_params_axis=1)((4, 6), (6), (6))")

DRYDOCK_LAYER_NORM(LayerNorm, InferLayerNorm, kLayerNormGrad, false);
DRYDOCK_LAYER_NORM(LayerNormV3, InferLayerNormV3, kLayerNormGradV3, true);

#define DRYDOCK_LAYER_NORM_GRAD(id, statistic, reciprocal)               \
  DRYDOCK_OP(id, .family = "gradient",                                   \
             .signature = #id                                            \
             "(begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7)"    \
             "(x, dy, " statistic ", mean, gamma)",                      \
             .infer = InferLayerNormGrad, .gradient = GradientNotNeeded, \
             .values = "begin_norm_axis,begin_params_axis",              \
             .evaluate = EvaluateLayerNormGrad<reciprocal>, .flops = FlopsPerInput<16>)

DRYDOCK_LAYER_NORM_GRAD(LayerNormGrad, "variance", false);
DRYDOCK_LAYER_NORM_GRAD(LayerNormGradV3, "rstd", true);

DRYDOCK_OP(RmsNorm, .family = "normalisation", .signature = "RmsNorm(epsilon=1e-6)(x, gamma)",
           .fusion = {.first = ops::kAdd, .fused = "AddRmsNorm"}, .infer = InferRmsNorm,
           .shard = ShardRmsNorm, .localize = LocalizeRmsNorm, .gradient = GradientOfRmsNorm,
           .evaluate = EvaluateRmsNorm, .flops = FlopsPerInput<6>, .cost = CostFamily::kNorm,
           .accepts_layout = true, .accepts_interleaved = true, .example = "()((4, 6), (6))");

DRYDOCK_OP(AddRmsNorm, .family = "gradient", .signature = "AddRmsNorm(epsilon=1e-6)(x1, x2, gamma)",
           .infer = InferAddRmsNorm, .gradient = GradientNotNeeded, .evaluate = EvaluateAddRmsNorm,
           .flops = FlopsPerInput<7>);

DRYDOCK_OP(RmsNormGrad, .family = "gradient", .signature = "RmsNormGrad()(dy, x, rstd, gamma)",
           .infer = InferRmsNormGrad, .gradient = GradientNotNeeded,
           .evaluate = EvaluateRmsNormGrad, .flops = FlopsPerInput<12>);

}  // namespace
}  // namespace drydock::strategies
