#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/scalar_math.h"

/// Operators that work along dimensions named by an attribute, which therefore stay whole: scaling
/// to unit length, reversing, gated linear units. Source: mindspore ops_info/activation_info.cc.
namespace drydock::strategies {
namespace {

using Gradients = Result<std::vector<ValueId>>;

enum class AxisAttr : std::uint8_t { kRequired, kFirstByDefault };

/// Dimensions of attribute `axis`. @error kInvalidArgument  none is named
template <AxisAttr A>
Result<std::vector<std::size_t>> NamedAxes(const OpView& op) {
  DRYDOCK_TRY(const auto given, IntListAttr(*op.attrs, "axis"));
  if (!given && A == AxisAttr::kFirstByDefault) {
    return NormalisedAxes(op, std::vector<std::int64_t>{0}, op.inputs[0].shape.size());
  }
  DRYDOCK_TRY(const auto axes, RequiredListAttr(op, "axis"));
  if (axes.empty()) {
    return FailOp(op, "axis-empty",
                  "attribute 'axis' of '" + std::string(op.op) + "' is an empty tuple",
                  "name at least one dimension");
  }
  return NormalisedAxes(op, axes, op.inputs[0].shape.size());
}

template <AxisAttr A>
Result<ShardRule> ShardAlongAxes(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const std::vector<std::size_t> axes, NamedAxes<A>(op));
  return AxisLocalRule(op, axes, "the dimension '" + std::string(op.op) + "' is taken over");
}

// ---- L2Normalize: x / sqrt(max(sum of squares, epsilon))

Result<std::vector<TensorType>> InferL2Normalize(const OpView& op) {
  DRYDOCK_TRY(auto types, InferSameFloating(op));
  DRYDOCK_RETURN_IF_ERROR(NamedAxes<AxisAttr::kFirstByDefault>(op));
  return types;
}

/// Sum of a * b along the axes, extent 1 there.
NdArray Dot(const NdArray& a, const NdArray& b, const std::vector<std::size_t>& axes) {
  return ReduceArray(MapArrays(a, b, a.shape, ProductOf), axes, true, 0.0, SumOf);
}

/// 1 / length of every row; rows shorter than sqrt(epsilon) count as that long.
struct Lengths {
  std::vector<std::size_t> axes = {};
  double epsilon = 1e-4;
  NdArray squares = {};
  NdArray inverse = {};
};

Result<Lengths> LengthsOf(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types, .attrs = &context.attrs};
  Lengths lengths = {};
  DRYDOCK_TRY(lengths.axes, NamedAxes<AxisAttr::kFirstByDefault>(op));
  DRYDOCK_TRY(lengths.epsilon, FloatAttr(context.attrs, "epsilon", 1e-4));
  lengths.squares = Dot(context.inputs[0], context.inputs[0], lengths.axes);
  const double epsilon = lengths.epsilon;
  lengths.inverse = MapArray(lengths.squares, [epsilon](double square) {
    return 1.0 / std::sqrt(std::max(square, epsilon));
  });
  return lengths;
}

Result<std::vector<NdArray>> EvaluateL2Normalize(const EvaluateContext& context) {
  DRYDOCK_TRY(const Lengths lengths, LengthsOf(context));
  const NdArray& x = context.inputs[0];
  return std::vector<NdArray>{MapArrays(x, lengths.inverse, x.shape, ProductOf)};
}

/// Operands x, y, dY: (dY - y * sum(y * dY)) / length; a length held at epsilon has no slope.
Result<std::vector<NdArray>> EvaluateL2NormalizeGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const Lengths lengths, LengthsOf(context));
  const NdArray& y = context.inputs[1];
  const NdArray& dy = context.inputs[2];
  const double epsilon = lengths.epsilon;
  const NdArray free =
      MapArray(lengths.squares, [epsilon](double square) { return square > epsilon ? 1.0 : 0.0; });
  const NdArray dots = Dot(y, dy, lengths.axes);
  const NdArray along = MapArrays(dots, free, dots.shape, ProductOf);
  const NdArray parallel = MapArrays(y, along, y.shape, ProductOf);
  const NdArray across =
      MapArrays(dy, parallel, dy.shape, [](double all, double part) { return all - part; });
  return std::vector<NdArray>{MapArrays(across, lengths.inverse, dy.shape, ProductOf)};
}

Gradients GradientOfL2Normalize(const GradientContext& context) {
  DRYDOCK_TRY(
      const ValueId gradient,
      context.Emit("L2NormalizeGrad", {LeftOf(context), ResultOf(context), OutputGradient(context)},
                   context.node.attrs));
  return std::vector<ValueId>{gradient};
}

DRYDOCK_OP(L2Normalize, .family = "axis_local", .signature = "L2Normalize(axis=0, epsilon=1e-4)(x)",
           .infer = InferL2Normalize, .shard = ShardAlongAxes<AxisAttr::kFirstByDefault>,
           .gradient = GradientOfL2Normalize, .values = "-", .evaluate = EvaluateL2Normalize,
           .flops = FlopsPerInput<3>, .cost = CostFamily::kSoftmax, .accepts_layout = true,
           .example = "(axis=1)((4, 6))");
DRYDOCK_OP(L2NormalizeGrad, .family = "gradient",
           .signature = "L2NormalizeGrad(axis=0, epsilon=1e-4)(x, y, dy)", .infer = InferFirst,
           .gradient = GradientNotNeeded, .values = "-", .evaluate = EvaluateL2NormalizeGrad,
           .flops = FlopsPerInput<6>);

// ---- ReverseV2

Result<std::vector<TensorType>> InferReverse(const OpView& op) {
  DRYDOCK_TRY(auto types, InferSame(op));
  DRYDOCK_RETURN_IF_ERROR(NamedAxes<AxisAttr::kRequired>(op));
  return types;
}

Gradients GradientOfReverse(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit(context.node.op, {OutputGradient(context)}, context.node.attrs));
  return std::vector<ValueId>{gradient};
}

Result<std::vector<NdArray>> EvaluateReverse(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::vector<std::size_t> axes, NamedAxes<AxisAttr::kRequired>(op));
  const NdArray& x = context.inputs[0];
  NdArray out{.shape = x.shape};
  ForEachElement(x.shape, [&](std::span<const std::int64_t> index) {
    std::vector<std::int64_t> at(index.begin(), index.end());
    for (const std::size_t axis : axes) {
      at[axis] = x.shape[axis] - 1 - at[axis];
    }
    out.data.push_back(x.data[OffsetOf(x.shape, at)]);
  });
  return std::vector<NdArray>{out};
}

DRYDOCK_OP(ReverseV2, .family = "axis_local", .signature = "ReverseV2()(input, #axis)",
           .infer = InferReverse, .shard = ShardAlongAxes<AxisAttr::kRequired>,
           .gradient = GradientOfReverse, .evaluate = EvaluateReverse, .flops = NoFlops,
           .cost = CostFamily::kCast, .accepts_layout = true, .example = "(axis=(1,))((4, 6))");

// ---- Swiglu: a * sigmoid(a) * b for the two halves a, b of a dimension

Result<std::size_t> HalvedDim(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t dim, IntAttr(*op.attrs, "dim", -1));
  DRYDOCK_TRY(const std::size_t normal, NormalisedAxis(op, dim, op.inputs[0].shape.size()));
  if (op.inputs[0].shape[normal] % 2 != 0) {
    return FailOp(op, "not-divisible",
                  "'" + std::string(op.op) + "' cannot halve dimension " + std::to_string(normal) +
                      ", whose extent is " + std::to_string(op.inputs[0].shape[normal]));
  }
  return normal;
}

Result<std::vector<TensorType>> InferSwiglu(const OpView& op) {
  DRYDOCK_TRY(auto types, InferSameFloating(op));
  DRYDOCK_TRY(const std::size_t dim, HalvedDim(op));
  types[0].shape[dim] /= 2;
  return types;
}

Result<ShardRule> ShardSwiglu(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const std::size_t dim, HalvedDim(op));
  return AxisLocalRule(op, std::span(&dim, 1), "the dimension '" + std::string(op.op) + "' halves");
}

Gradients GradientOfSwiglu(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("SwigluGrad", {OutputGradient(context), context.node.inputs[0]},
                           context.node.attrs));
  return std::vector<ValueId>{gradient};
}

Result<std::vector<NdArray>> EvaluateSwiglu(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t dim, HalvedDim(op));
  const std::vector<NdArray> halves = SplitArray(context.inputs[0], dim, 2);
  return std::vector<NdArray>{MapArrays(halves[0], halves[1], halves[0].shape,
                                        [](double a, double b) { return a * SigmoidOf(a) * b; })};
}

/// Operands dY and x.
Result<std::vector<NdArray>> EvaluateSwigluGrad(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types.subspan(1), .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t dim, HalvedDim(op));
  const NdArray& dy = context.inputs[0];
  const std::vector<NdArray> halves = SplitArray(context.inputs[1], dim, 2);
  NdArray left = MapArrays(halves[0], halves[1], dy.shape, [](double a, double b) {
    const double s = SigmoidOf(a);
    return b * s * (1.0 + a * (1.0 - s));
  });
  NdArray right = MapArray(halves[0], [](double a) { return a * SigmoidOf(a); });
  return std::vector<NdArray>{ConcatArrays(
      {MapArrays(left, dy, dy.shape, ProductOf), MapArrays(right, dy, dy.shape, ProductOf)}, dim)};
}

Result<std::vector<TensorType>> InferSwigluGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  return std::vector<TensorType>{op.inputs[1]};
}

DRYDOCK_OP(Swiglu, .family = "axis_local", .signature = "Swiglu()(input, #dim=-1)",
           .infer = InferSwiglu, .shard = ShardSwiglu, .gradient = GradientOfSwiglu,
           .evaluate = EvaluateSwiglu, .flops = FlopsPerOutput<6>, .cost = CostFamily::kSoftmax,
           .accepts_layout = true);
DRYDOCK_OP(SwigluGrad, .family = "gradient",
           .signature = "SwigluGrad()(grad_output, input, #dim=-1)", .infer = InferSwigluGrad,
           .gradient = GradientNotNeeded, .evaluate = EvaluateSwigluGrad,
           .flops = FlopsPerOutput<8>);

}  // namespace
}  // namespace drydock::strategies
