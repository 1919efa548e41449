#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// Operators that make tensors from numbers. A strategy describes the result; each rank makes its
/// slice. Numbers that decide how long the result is are attributes. Source: mindspore
/// ops_info/fillv2_info.cc.
namespace drydock::strategies {
namespace {

/// Longer progressions and larger numbers are a mistake rather than a wish; up to 2^53 whole
/// numbers are exact.
constexpr double kMostElements = 9007199254740992.0;

/// One-dimensional result, one strategy entry for it; operands (scalars) have none.
Result<ShardRule> ShardLine(const OpView& op, const Strategy& /*strategy*/) {
  ShardRule rule{.axis_count = 1, .outputs = {{{0}}}, .strategy_entries = {{{0}}}};
  for (const TensorType& input : op.inputs) {
    rule.inputs.emplace_back(input.shape.size());
  }
  return rule;
}

Result<Strategy> DefaultLine(const OpView& /*op*/, std::int64_t device_count) {
  return Strategy{{device_count}};
}

// ---- Arange, Range: start, start + step, ... before end

struct ProgressionNames {
  const char* end = "end";
  const char* step = "step";
};
constexpr ProgressionNames kArange = {};
constexpr ProgressionNames kRange = {.end = "limit", .step = "delta"};

struct Progression {
  double start = 0;
  double end = 0;
  double step = 1;
  std::int64_t length = 0;
};

template <const ProgressionNames& N>
Result<Progression> ProgressionOf(const OpView& op) {
  Progression line = {};
  DRYDOCK_TRY(line.start, FloatAttr(*op.attrs, "start", 0.0));
  DRYDOCK_TRY(line.end, FloatAttr(*op.attrs, N.end, 0.0));
  DRYDOCK_TRY(line.step, FloatAttr(*op.attrs, N.step, 1.0));
  const double steps = std::ceil((line.end - line.start) / line.step);
  const double widest =
      std::max({std::fabs(line.start), std::fabs(line.end), std::fabs(line.step)});
  if (line.step == 0 || !(steps >= 0) || !(widest <= kMostElements) || steps > kMostElements) {
    return FailOp(op, "progression",
                  "'" + std::string(op.op) + "' cannot go from " + AttrText(Attr(line.start)) +
                      " to " + AttrText(Attr(line.end)) + " in steps of " +
                      AttrText(Attr(line.step)),
                  "the step must not be 0 and must lead from start towards the end");
  }
  line.length = static_cast<std::int64_t>(steps);
  return line;
}

/// True if a number of the progression is written as a float.
template <const ProgressionNames& N>
bool IsReal(const AttrMap& attrs) {
  for (const char* name : {"start", N.end, N.step}) {
    const auto it = attrs.find(name);
    if (it != attrs.end() && std::holds_alternative<double>(it->second.value)) {
      return true;
    }
  }
  return false;
}

template <const ProgressionNames& N>
Result<std::vector<TensorType>> InferProgression(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 0, 0));
  DRYDOCK_TRY(const Progression line, ProgressionOf<N>(op));
  const DType natural = IsReal<N>(*op.attrs) ? DType::kFloat32 : DType::kInt64;
  DRYDOCK_TRY(const std::string name,
              TextAttr(*op.attrs, "dtype", std::string(DTypeName(natural))));
  DRYDOCK_TRY(const DType dtype, ParseDType(name));
  return std::vector<TensorType>{{.shape = {line.length}, .dtype = dtype}};
}

template <const ProgressionNames& N>
Result<std::vector<NdArray>> EvaluateProgression(const EvaluateContext& context) {
  const OpView op{.attrs = &context.attrs};
  DRYDOCK_TRY(const Progression line, ProgressionOf<N>(op));
  NdArray out{.shape = context.output_types[0].shape};
  for (std::int64_t n = 0; n < line.length; ++n) {
    out.data.push_back(line.start + static_cast<double>(n) * line.step);
  }
  return std::vector<NdArray>{out};
}

/// Whole numbers: the rank's own start and end. Otherwise the first slice, moved by an addition.
Result<std::vector<ValueId>> LocalizeArange(const LocalizeContext& context) {
  DRYDOCK_TRY(const Progression line, ProgressionOf<kArange>(context.global));
  const RankExpr begin = SliceBegin(context.sharding.outputs[0])[0];
  const std::int64_t length = SliceShape(context.sharding.outputs[0])[0];
  AttrMap attrs = context.spec.attrs;
  if (begin.terms.empty()) {
    return EmitLocal(context, std::move(attrs));
  }
  if (!IsReal<kArange>(attrs)) {
    const auto step = static_cast<std::int64_t>(line.step);
    const RankExpr start =
        Plus(Times(begin, step), RankExpr{.constant = static_cast<std::int64_t>(line.start)});
    attrs["start"] = start;
    attrs["end"] = Plus(start, RankExpr{.constant = length * step});
    return EmitLocal(context, std::move(attrs));
  }
  // Half a step before the end, so that rounding cannot add an element.
  attrs["end"] = line.start + (static_cast<double>(length) - 0.5) * line.step;
  DRYDOCK_TRY(std::vector<ValueId> outputs, EmitLocal(context, std::move(attrs)));
  const DType dtype = context.builder.TypeOf(outputs[0]).dtype;
  DRYDOCK_TRY(const ValueId place, EmitRankScalar(context, begin, dtype));
  const ValueId step = context.builder.AddScalar(line.step, dtype);
  DRYDOCK_TRY(const ValueId offset, EmitHelper(context, ops::kMul, {place, step}));
  DRYDOCK_TRY(outputs[0], EmitHelper(context, ops::kAdd, {outputs[0], offset}));
  return outputs;
}

/// Always whole; its three numbers may be given empty strategy entries.
Result<ShardRule> ShardRange(const OpView& /*op*/, const Strategy& /*strategy*/) {
  return ShardRule{.outputs = {TensorAxes(1)}, .strategy_entries = {{}, {}, {}}};
}

Result<Strategy> DefaultRange(const OpView& /*op*/, std::int64_t /*device_count*/) {
  return Strategy{{}, {}, {}};
}

DRYDOCK_OP(Arange, .family = "creation",
           .signature = "Arange()(#start, #end, #step=1, #dtype=None)",
           .infer = InferProgression<kArange>, .shard = ShardLine, .default_strategy = DefaultLine,
           .localize = LocalizeArange, .gradient = GradientNotNeeded,
           .evaluate = EvaluateProgression<kArange>, .flops = FlopsPerOutput<1>,
           .cost = CostFamily::kFree, .example = "(end=12, start=0, step=1)()");
DRYDOCK_OP(Range, .family = "creation",
           .signature = "Range(maxlen=1000000)(#start, #limit, #delta)",
           .infer = InferProgression<kRange>, .shard = ShardRange, .default_strategy = DefaultRange,
           .gradient = GradientNotNeeded, .evaluate = EvaluateProgression<kRange>, .flops = NoFlops,
           .cost = CostFamily::kFree, .example = "(delta=1, limit=12, start=0)()");

// ---- LinSpace, LinSpaceExt: equal distances from start to end

/// Elements of the result: attribute num, which mint operators call steps.
Result<std::int64_t> CountOf(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t num, IntAttr(*op.attrs, "num", 5));
  DRYDOCK_TRY(const std::int64_t count, IntAttr(*op.attrs, "steps", num));
  if (count < 1) {
    return FailOp(op, "count",
                  "'" + std::string(op.op) + "' cannot make " + std::to_string(count) + " numbers",
                  "the number of elements must be at least 1");
  }
  return count;
}

/// Attribute dtype if given, else the type of the ends, float32 for integers.
Result<std::vector<TensorType>> InferLinSpace(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 0, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 0, 0));
  DRYDOCK_TRY(const auto natural, InferBroadcastToFloat(op));
  DRYDOCK_TRY(const std::int64_t count, CountOf(op));
  DRYDOCK_TRY(const std::string name,
              TextAttr(*op.attrs, "dtype", std::string(DTypeName(natural[0].dtype))));
  DRYDOCK_TRY(const DType dtype, ParseDType(name));
  return std::vector<TensorType>{{.shape = {count}, .dtype = dtype}};
}

/// The ends as numbers that the host works with.
Result<std::vector<ValueId>> LocalizeLinSpaceExt(const LocalizeContext& context) {
  const RankExpr begin = SliceBegin(context.sharding.outputs[0])[0];
  DRYDOCK_TRY(const std::int64_t count, CountOf(context.global));
  const std::int64_t length = SliceShape(context.sharding.outputs[0])[0];
  if (begin.terms.empty()) {
    return EmitLocal(context, context.spec.attrs);
  }
  NodeSpec spec = context.spec;
  const ValueId start = spec.inputs[0];
  DRYDOCK_TRY(ValueId distance, EmitHelper(context, "_ScalarSub", {spec.inputs[1], start}));
  if (count != 2) {
    const ValueId distances =
        context.builder.AddScalar(static_cast<double>(count - 1), DType::kInt64);
    DRYDOCK_TRY(distance, EmitHelper(context, "_ScalarDiv", {distance, distances}));
  }
  DRYDOCK_TRY(const ValueId place, EmitRankScalar(context, begin, DType::kInt64));
  DRYDOCK_TRY(const ValueId offset, EmitHelper(context, "_ScalarMul", {distance, place}));
  const ValueId inner = context.builder.AddScalar(static_cast<double>(length - 1), DType::kInt64);
  DRYDOCK_TRY(const ValueId own_way, EmitHelper(context, "_ScalarMul", {distance, inner}));
  DRYDOCK_TRY(spec.inputs[0], EmitHelper(context, "_ScalarAdd", {start, offset}));
  DRYDOCK_TRY(spec.inputs[1], EmitHelper(context, "_ScalarAdd", {spec.inputs[0], own_way}));
  spec.attrs["steps"] = length;
  DRYDOCK_TRY(const NodeId node, context.builder.AddNode(std::move(spec)));
  return context.builder.graph().at(node).outputs;
}

/// The rank's ends: start + begin * distance, and length - 1 distances behind it.
Result<std::vector<ValueId>> LocalizeLinSpace(const LocalizeContext& context) {
  const RankExpr begin = SliceBegin(context.sharding.outputs[0])[0];
  DRYDOCK_TRY(const std::int64_t count, CountOf(context.global));
  const std::int64_t length = SliceShape(context.sharding.outputs[0])[0];
  if (begin.terms.empty()) {
    return EmitLocal(context, context.spec.attrs);
  }
  const DType dtype = context.global.outputs[0].dtype;
  DRYDOCK_TRY(const ValueId start, EmitHelperCast(context, context.spec.inputs[0], dtype));
  DRYDOCK_TRY(const ValueId end, EmitHelperCast(context, context.spec.inputs[1], dtype));
  DRYDOCK_TRY(const ValueId way, EmitHelper(context, "Sub", {end, start}));
  const ValueId distances = context.builder.AddScalar(static_cast<double>(count - 1), dtype);
  DRYDOCK_TRY(const ValueId distance, EmitHelper(context, "Div", {way, distances}));
  DRYDOCK_TRY(const ValueId place, EmitRankScalar(context, begin, dtype));
  DRYDOCK_TRY(const ValueId offset, EmitHelper(context, ops::kMul, {distance, place}));
  const ValueId inner = context.builder.AddScalar(static_cast<double>(length - 1), dtype);
  DRYDOCK_TRY(const ValueId own_way, EmitHelper(context, ops::kMul, {distance, inner}));
  NodeSpec spec = context.spec;
  DRYDOCK_TRY(spec.inputs[0], EmitHelper(context, ops::kAdd, {start, offset}));
  DRYDOCK_TRY(spec.inputs[1], EmitHelper(context, ops::kAdd, {spec.inputs[0], own_way}));
  spec.attrs["num"] = length;
  DRYDOCK_TRY(const NodeId node, context.builder.AddNode(std::move(spec)));
  return context.builder.graph().at(node).outputs;
}

Result<std::vector<NdArray>> EvaluateLinSpace(const EvaluateContext& context) {
  const double start = context.inputs[0].data[0];
  const double way = context.inputs[1].data[0] - start;
  NdArray out{.shape = context.output_types[0].shape};
  const std::int64_t count = out.shape[0];
  for (std::int64_t n = 0; n < count; ++n) {
    const double part = count == 1 ? 0.0 : static_cast<double>(n) / static_cast<double>(count - 1);
    out.data.push_back(start + way * part);
  }
  return std::vector<NdArray>{out};
}

#define DRYDOCK_LINSPACE(id, arguments, local, example_call)                               \
  DRYDOCK_OP(id, .family = "creation", .signature = #id arguments, .infer = InferLinSpace, \
             .shard = ShardLine, .default_strategy = DefaultLine, .localize = local,       \
             .gradient = GradientNotNeeded, .evaluate = EvaluateLinSpace,                  \
             .flops = FlopsPerOutput<1>, .cost = CostFamily::kCast, .example = example_call)

DRYDOCK_LINSPACE(LinSpace, "()(start, stop, #num=5)", LocalizeLinSpace, "(num=12)((), ())");
DRYDOCK_LINSPACE(LinSpaceExt, "()(start, end, #steps, #dtype=None)", LocalizeLinSpaceExt,
                 "(steps=12)((), ())");

// ---- FillV2

Result<std::vector<TensorType>> InferFill(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 0, 0));
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "shape"));
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      return FailOp(op, "shape", "'FillV2' cannot make an extent of " + std::to_string(extent));
    }
  }
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

/// Entries: the shape, and an empty one for the value that may be left out.
Result<ShardRule> ShardFill(const OpView& op, const Strategy& strategy) {
  const TensorAxes axes = AxesInOrder(op.outputs[0].shape.size());
  ShardRule rule{.axis_count = static_cast<std::int32_t>(axes.size()),
                 .inputs = {TensorAxes{}},
                 .outputs = {axes},
                 .strategy_entries = {axes, TensorAxes{}}};
  if (strategy.size() == 1) {
    rule.strategy_entries.pop_back();
  }
  return rule;
}

Result<Strategy> DefaultFill(const OpView& op, std::int64_t device_count) {
  Strategy strategy = {std::vector<std::int64_t>(op.outputs[0].shape.size(), 1), {}};
  if (!strategy[0].empty()) {
    strategy[0][0] = device_count;
  }
  return strategy;
}

Result<std::vector<ValueId>> LocalizeFill(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  attrs["shape"] = SliceShape(context.sharding.outputs[0]);
  return EmitLocal(context, std::move(attrs));
}

Result<std::vector<NdArray>> EvaluateFill(const EvaluateContext& context) {
  return std::vector<NdArray>{
      FilledArray(context.output_types[0].shape, context.inputs[0].data[0])};
}

DRYDOCK_OP(FillV2, .family = "creation", .signature = "FillV2()(#shape, value)", .infer = InferFill,
           .shard = ShardFill, .default_strategy = DefaultFill, .localize = LocalizeFill,
           .gradient = OperandGradients<GradientItself>, .values = "shape",
           .evaluate = EvaluateFill, .flops = NoFlops, .cost = CostFamily::kSoftmax,
           .example = "(shape=(4, 6))(())");

}  // namespace
}  // namespace drydock::strategies
