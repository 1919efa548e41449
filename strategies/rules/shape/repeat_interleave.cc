#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Operators that repeat single elements along one dimension, or of the flattened tensor. A slice
/// repeated is the slice of the repeated tensor, so the dimension may be cut where all elements
/// are repeated alike. Source: mindspore ops_info/tile_info.cc.
namespace drydock::strategies {
namespace {

/// Names of an operator's attributes.
struct Names {
  const char* times = "repeats";
  const char* dim = "dim";
};
constexpr Names kInterleave = {};
constexpr Names kElements = {.times = "rep", .dim = "axis"};

/// Dimension that is repeated; nothing = the flattened tensor.
Result<std::optional<std::size_t>> DimOf(const OpView& op, std::string_view name) {
  const auto it = op.attrs->find(name);
  if (it == op.attrs->end() || IsNone(it->second)) {
    return std::optional<std::size_t>();
  }
  DRYDOCK_TRY(const std::int64_t dim, IntAttr(*op.attrs, name, 0));
  DRYDOCK_TRY(const std::size_t normal, NormalisedAxis(op, dim, op.inputs[0].shape.size()));
  return std::optional(normal);
}

/// Result of a repetition: `extent` elements in place of the dimension.
Shape RepeatedShape(Shape shape, std::optional<std::size_t> dim, std::int64_t extent) {
  if (!dim) {
    return {extent};
  }
  shape[*dim] = extent;
  return shape;
}

/// Elements of the repeated dimension, or of the whole tensor.
Result<std::int64_t> ExtentOf(const OpView& op, std::optional<std::size_t> dim) {
  return dim ? Result<std::int64_t>(op.inputs[0].shape[*dim]) : ElementCount(op.inputs[0].shape);
}

/// RepeatElements always names a dimension; 0 if the script does not.
template <const Names& N>
Result<std::optional<std::size_t>> RepeatedDim(const OpView& op) {
  DRYDOCK_TRY(std::optional<std::size_t> dim, DimOf(op, N.dim));
  if (!dim && &N == &kElements) {
    DRYDOCK_TRY(const std::size_t first, NormalisedAxis(op, 0, op.inputs[0].shape.size()));
    dim = first;
  }
  return dim;
}

// ---- Every element equally often

template <const Names& N>
Result<std::int64_t> TimesOf(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t times, IntAttr(*op.attrs, N.times, 1));
  if (times < 0) {
    return FailOp(
        op, "repeats",
        "'" + std::string(op.op) + "' repeats elements " + std::to_string(times) + " times",
        "the number must not be negative");
  }
  return times;
}

template <const Names& N>
Result<std::vector<TensorType>> InferRepeat(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const auto dim, RepeatedDim<N>(op));
  DRYDOCK_TRY(const std::int64_t times, TimesOf<N>(op));
  DRYDOCK_TRY(const std::int64_t before, ExtentOf(op, dim));
  DRYDOCK_TRY(const std::int64_t extent, MulChecked(before, times));
  DRYDOCK_TRY(const std::int64_t wanted, IntAttr(*op.attrs, "output_size", extent));
  if (wanted != extent) {
    return FailOp(op, "output-size",
                  "output_size of '" + std::string(op.op) + "' is " + std::to_string(wanted) +
                      ", but " + std::to_string(before) + " elements repeated " +
                      std::to_string(times) + " times are " + std::to_string(extent));
  }
  return std::vector<TensorType>{
      {.shape = RepeatedShape(op.inputs[0].shape, dim, extent), .dtype = op.inputs[0].dtype}};
}

/// Nothing may be cut if the tensor is flattened.
ShardRule FlatRule(const OpView& op) {
  ShardRule rule = AxisLocalRule(op, {}, "");
  for (AxisIndex axis = 0; axis < rule.axis_count; ++axis) {
    rule.uncut.push_back({.axis = axis, .what = "a tensor that is flattened (no dim is given)"});
  }
  rule.outputs = {TensorAxes(1)};
  return rule;
}

template <const Names& N>
Result<ShardRule> ShardRepeat(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const auto dim, RepeatedDim<N>(op));
  return dim ? ShardElementwise(op, strategy) : FlatRule(op);
}

/// Nothing is cut if the tensor is flattened.
template <const Names& N>
Result<Strategy> DefaultRepeat(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const auto dim, RepeatedDim<N>(op));
  return BatchStrategy(op, device_count, {dim.has_value()});
}

/// A size that the script gives is that of the slice.
template <const Names& N>
Result<std::vector<ValueId>> LocalizeRepeat(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  DRYDOCK_TRY(const auto dim, RepeatedDim<N>(context.global));
  const auto size = attrs.find("output_size");
  if (dim && size != attrs.end() && !IsNone(size->second)) {
    size->second = Attr(SliceShape(context.sharding.outputs[0])[*dim]);
  }
  return EmitLocal(context, std::move(attrs));
}

/// The repetitions become a dimension of their own, which is then summed.
template <const Names& N>
Result<std::vector<ValueId>> GradientOfRepeat(const GradientContext& context) {
  OpViewStorage storage = {};
  const OpView view = ViewOf(context.builder.graph(), context.node, storage);
  const Shape shape = context.TypeOf(context.node.inputs[0]).shape;
  DRYDOCK_TRY(const auto dim, RepeatedDim<N>(view));
  DRYDOCK_TRY(const std::int64_t times, TimesOf<N>(view));
  const std::int64_t axis = dim ? static_cast<std::int64_t>(*dim) + 1 : std::ssize(shape);
  Shape wide = shape;
  wide.insert(wide.begin() + axis, times);
  DRYDOCK_TRY(const ValueId spread,
              context.Emit(ops::kReshape, {OutputGradient(context)}, {{"shape", wide}}));
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit(ops::kReduceSum, {spread},
                           {{"axis", std::vector<std::int64_t>{axis}}, {"keep_dims", false}}));
  return std::vector<ValueId>{gradient};
}

/// Element number `n` of dimension `dim` of the result shows element sources[n] of the operand.
NdArray Picked(const NdArray& x, std::optional<std::size_t> dim, const Shape& shape,
               const std::vector<std::int64_t>& sources) {
  NdArray out{.shape = shape};
  const Shape from = dim ? x.shape : Shape{std::ssize(x.data)};
  const std::size_t axis = dim.value_or(0);
  ForEachElement(shape, [&](std::span<const std::int64_t> index) {
    std::vector<std::int64_t> at(index.begin(), index.end());
    at[axis] = sources[static_cast<std::size_t>(index[axis])];
    out.data.push_back(x.data[OffsetOf(from, at)]);
  });
  return out;
}

template <const Names& N>
Result<std::vector<NdArray>> EvaluateRepeat(const EvaluateContext& context) {
  const OpView op{.op = "RepeatInterleave", .inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const auto dim, RepeatedDim<N>(op));
  DRYDOCK_TRY(const std::int64_t times, TimesOf<N>(op));
  const Shape& shape = context.output_types[0].shape;
  std::vector<std::int64_t> sources = {};
  for (std::int64_t n = 0; n < shape[dim.value_or(0)]; ++n) {
    sources.push_back(n / times);
  }
  return std::vector<NdArray>{Picked(context.inputs[0], dim, shape, sources)};
}

// ---- Every element as often as a tensor says

/// The extent of the result depends on data, so the script has to give it.
Result<std::vector<TensorType>> InferRepeatTensor(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectInteger(op, 1));
  DRYDOCK_TRY(const auto dim, DimOf(op, "dim"));
  DRYDOCK_TRY(const std::int64_t before, ExtentOf(op, dim));
  const std::int64_t counts = op.inputs[1].shape[0];
  if (counts != before && counts != 1) {
    return FailOp(op, "repeats",
                  "'" + std::string(op.op) + "' takes one count for each of " +
                      std::to_string(before) + " elements or one for all, but there are " +
                      std::to_string(counts));
  }
  DRYDOCK_TRY(const std::int64_t extent, IntAttr(*op.attrs, "output_size", -1));
  if (extent < 0) {
    return UnsupportedForm(op, "'" + std::string(op.op) +
                                   "' without output_size has a result whose extent depends on "
                                   "data");
  }
  return std::vector<TensorType>{
      {.shape = RepeatedShape(op.inputs[0].shape, dim, extent), .dtype = op.inputs[0].dtype}};
}

/// The repeated dimension and the counts are whole.
Result<ShardRule> ShardRepeatTensor(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const auto dim, DimOf(op, "dim"));
  ShardRule rule =
      dim ? AxisLocalRule(op, std::span(&*dim, 1), "the dimension that is repeated") : FlatRule(op);
  rule.inputs.emplace_back(1);
  return rule;
}

Result<Strategy> DefaultRepeatTensor(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const auto dim, DimOf(op, "dim"));
  return BatchStrategy(op, device_count, {dim.has_value() && *dim != 0});
}

Result<std::vector<std::int64_t>> CountedSources(const NdArray& counts, std::int64_t before,
                                                 std::int64_t after) {
  std::vector<std::int64_t> sources = {};
  for (std::int64_t i = 0; i < before; ++i) {
    const double count = counts.data[counts.data.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    for (std::int64_t n = 0; n < std::llround(count) && std::ssize(sources) <= after; ++n) {
      sources.push_back(i);
    }
  }
  if (std::ssize(sources) != after) {
    return Fail(ErrorCode::kInvalidArgument, "the counts do not add up to output_size");
  }
  return sources;
}

Result<std::vector<NdArray>> EvaluateRepeatTensor(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const auto dim, DimOf(op, "dim"));
  DRYDOCK_TRY(const std::int64_t before, ExtentOf(op, dim));
  const Shape& shape = context.output_types[0].shape;
  DRYDOCK_TRY(const auto sources,
              CountedSources(context.inputs[1], before, shape[dim.value_or(0)]));
  return std::vector<NdArray>{Picked(context.inputs[0], dim, shape, sources)};
}

/// Attribute `shape` is that of the operand of the forward operator.
Result<std::vector<ValueId>> GradientOfRepeatTensor(const GradientContext& context) {
  AttrMap attrs = context.node.attrs;
  attrs["shape"] = context.TypeOf(context.node.inputs[0]).shape;
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("RepeatInterleaveGrad",
                           {OutputGradient(context), context.node.inputs[1]}, std::move(attrs)));
  return std::vector<ValueId>{gradient, kNoValue};
}

Result<std::vector<TensorType>> InferRepeatGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "shape"));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

Result<std::vector<NdArray>> EvaluateRepeatGrad(const EvaluateContext& context) {
  const NdArray& dy = context.inputs[0];
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  const TensorType operand = context.output_types[0];
  const OpView op{.inputs = std::span(&operand, 1), .attrs = &context.attrs};
  DRYDOCK_TRY(const auto dim, DimOf(op, "dim"));
  DRYDOCK_TRY(const std::int64_t before, ExtentOf(op, dim));
  const std::size_t axis = dim.value_or(0);
  DRYDOCK_TRY(const auto sources, CountedSources(context.inputs[1], before, dy.shape[axis]));
  const Shape from = dim ? out.shape : Shape{before};
  std::size_t n = 0;
  ForEachElement(dy.shape, [&](std::span<const std::int64_t> index) {
    std::vector<std::int64_t> at(index.begin(), index.end());
    at[axis] = sources[static_cast<std::size_t>(index[axis])];
    out.data[OffsetOf(from, at)] += dy.data[n++];
  });
  return std::vector<NdArray>{out};
}

#define DRYDOCK_REPEAT(id, of_family, arguments, names, example_call)                           \
  DRYDOCK_OP(id, .family = of_family, .signature = #id arguments, .infer = InferRepeat<names>,  \
             .shard = ShardRepeat<names>, .default_strategy = DefaultRepeat<names>,             \
             .localize = LocalizeRepeat<names>, .gradient = GradientOfRepeat<names>,            \
             .evaluate = EvaluateRepeat<names>, .flops = NoFlops, .cost = CostFamily::kSoftmax, \
             .accepts_layout = true, .example = example_call)

DRYDOCK_REPEAT(RepeatElements, "elementwise_unary", "(rep, axis=0)(x)", kElements,
               "(rep=2, axis=1)((4, 6))");
DRYDOCK_REPEAT(RepeatInterleave, "shape", "()(x, #repeats, #dim=None)", kInterleave,
               "(repeats=2, dim=1)((4, 6))");
DRYDOCK_REPEAT(RepeatInterleaveInt, "shape", "()(input, #repeats, #dim=None, #output_size=None)",
               kInterleave, "(repeats=2, dim=1)((4, 6))");

DRYDOCK_OP(RepeatInterleaveTensor, .family = "shape",
           .signature = "RepeatInterleaveTensor()(input, repeats, #dim=None, #output_size=None)",
           .infer = InferRepeatTensor, .shard = ShardRepeatTensor,
           .default_strategy = DefaultRepeatTensor, .gradient = GradientOfRepeatTensor,
           .evaluate = EvaluateRepeatTensor, .flops = NoFlops, .cost = CostFamily::kSoftmax,
           .accepts_layout = true, .mirrored = "0",
           .example = "(dim=1, output_size=12, repeats=2)((4, 6), int32(6))");
DRYDOCK_OP(RepeatInterleaveGrad, .family = "gradient",
           .signature = "RepeatInterleaveGrad()(input, repeats, #dim=None)",
           .infer = InferRepeatGrad, .gradient = GradientNotNeeded, .evaluate = EvaluateRepeatGrad,
           .flops = NoFlops);

}  // namespace
}  // namespace drydock::strategies
