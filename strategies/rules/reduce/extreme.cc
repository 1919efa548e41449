#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// Extremes along one dimension with their positions.
namespace drydock::strategies {
namespace {

struct Extreme {
  std::size_t axis = 0;
  bool keep_dims = false;
};

/// What an operator returns.
enum class ExtremeForm : std::uint8_t { kIndexAndValue, kValueAndIndex, kIndex };

/// mint operators call the attributes dim and keepdim; a lone index is by default that along the
/// last dimension.
template <ExtremeForm Form>
Result<Extreme> ExtremeOf(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  Extreme extreme = {};
  const bool is_mint = Form == ExtremeForm::kValueAndIndex;
  DRYDOCK_TRY(const std::int64_t axis,
              IntAttr(*op.attrs, is_mint ? "dim" : "axis", Form == ExtremeForm::kIndex ? -1 : 0));
  DRYDOCK_TRY(extreme.axis, NormalisedAxis(op, axis, op.inputs[0].shape.size()));
  DRYDOCK_TRY(extreme.keep_dims, BoolAttr(*op.attrs, is_mint ? "keepdim" : "keep_dims", false));
  if (op.inputs[0].shape[extreme.axis] == 0) {
    return FailOp(op, "empty",
                  "'" + std::string(op.op) + "' of " + TupleText(op.inputs[0].shape) +
                      " has nothing to choose from along dimension " +
                      std::to_string(extreme.axis));
  }
  return extreme;
}

/// Types of index and value in the operator's order.
template <ExtremeForm Form>
Result<std::vector<TensorType>> InferExtreme(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const Extreme extreme, ExtremeOf<Form>(op));
  const std::size_t axes[] = {extreme.axis};
  const Shape shape = ReducedShape(op.inputs[0].shape, axes, extreme.keep_dims);
  TensorType index{.shape = shape, .dtype = DType::kInt64};
  const TensorType value{.shape = shape, .dtype = op.inputs[0].dtype};
  switch (Form) {
    case ExtremeForm::kIndexAndValue:
      return std::vector<TensorType>{index, value};
    case ExtremeForm::kValueAndIndex:
      return std::vector<TensorType>{value, index};
    case ExtremeForm::kIndex:
      break;
  }
  DRYDOCK_TRY(const std::string name, TextAttr(*op.attrs, "output_type", "int32"));
  DRYDOCK_TRY(index.dtype, ParseDType(name));
  return std::vector<TensorType>{index};
}

/// Along a cut dimension every rank finds the extreme of its slice; the best of these is the
/// answer. The mint operators leave the dimension whole.
template <ExtremeForm Form>
Result<ShardRule> ShardExtreme(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const Extreme extreme, ExtremeOf<Form>(op));
  const std::size_t axes[] = {extreme.axis};
  ShardRule rule = ReduceRule(op, axes, extreme.keep_dims, "max", false);
  rule.communication.clear();
  const auto axis = static_cast<AxisIndex>(extreme.axis);
  if (Form == ExtremeForm::kValueAndIndex) {
    rule.uncut.push_back(
        {.axis = axis, .what = "the dimension '" + std::string(op.op) + "' is taken over"});
  }
  rule.not_searched = {axis};
  return rule;
}

/// Index and value of the extreme of the rank's slice, and what they become over the whole
/// dimension.
struct SliceExtreme {
  ValueId position = kNoValue;  ///< In the whole dimension, int64.
  ValueId value = kNoValue;
};

template <bool Max>
Result<SliceExtreme> EmitSliceExtreme(const LocalizeContext& context, const Extreme& extreme) {
  const auto axis = static_cast<std::int64_t>(extreme.axis);
  NodeSpec spec = context.spec;
  spec.op = Max ? "ArgMaxWithValue" : "ArgMinWithValue";
  spec.attrs = {{"axis", axis}, {"keep_dims", extreme.keep_dims}};
  const std::int64_t length = context.builder.TypeOf(spec.inputs[0]).shape[extreme.axis];
  DRYDOCK_TRY(const NodeId node, context.builder.AddNode(std::move(spec)));
  const std::vector<ValueId> found = context.builder.graph().at(node).outputs;
  const RankExpr first = Times(context.sharding.axis_parts[extreme.axis], length);
  DRYDOCK_TRY(const ValueId begin, EmitRankScalar(context, first, DType::kInt64));
  DRYDOCK_TRY(const ValueId position, EmitHelper(context, ops::kAdd, {found[0], begin}));
  return SliceExtreme{.position = position, .value = found[1]};
}

/// Ranks whose extreme is the best offer its position, the others one behind the end; the least
/// wins, so equal extremes are told apart as on one device. The value comes from the winner alone,
/// and so does its gradient.
template <ExtremeForm Form, bool Max>
Result<std::vector<ValueId>> LocalizeExtreme(const LocalizeContext& context) {
  DRYDOCK_TRY(const Extreme extreme, ExtremeOf<Form>(context.global));
  const AxisIndex axes[] = {static_cast<AxisIndex>(extreme.axis)};
  if (GroupSize(HelperGroup(context, axes)) == 1) {
    return EmitLocal(context, context.spec.attrs);
  }
  const auto extent = static_cast<double>(context.global.inputs[0].shape[extreme.axis]);
  const ValueId behind_end = context.builder.AddScalar(extent, DType::kInt64);
  DRYDOCK_TRY(const SliceExtreme own, EmitSliceExtreme<Max>(context, extreme));
  DRYDOCK_TRY(const ValueId best,
              EmitHelperAllReduce(context, own.value, axes, "extreme over all slices",
                                  Max ? "max" : "min"));
  DRYDOCK_TRY(const ValueId is_best, EmitHelper(context, "Equal", {own.value, best}));
  DRYDOCK_TRY(const ValueId offer,
              EmitHelper(context, "Select", {is_best, own.position, behind_end}));
  DRYDOCK_TRY(const ValueId position,
              EmitHelperAllReduce(context, offer, axes, "position of the extreme", "min"));
  if (Form == ExtremeForm::kIndex) {
    DRYDOCK_TRY(const ValueId index,
                EmitHelperCast(context, position, context.global.outputs[0].dtype));
    return std::vector<ValueId>{index};
  }
  DRYDOCK_TRY(const ValueId is_winner, EmitHelper(context, "Equal", {offer, position}));
  const ValueId zero = context.builder.AddScalar(0, context.builder.TypeOf(own.value).dtype);
  DRYDOCK_TRY(const ValueId offered, EmitHelper(context, "Select", {is_winner, own.value, zero}));
  DRYDOCK_TRY(const ValueId value,
              EmitHelperAllReduce(context, offered, axes, "value of the extreme"));
  return std::vector<ValueId>{position, value};
}

Result<Strategy> DefaultIndex(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const Extreme extreme, ExtremeOf<ExtremeForm::kIndex>(op));
  return BatchStrategy(op, device_count, {extreme.axis != 0});
}

/// Gradient of the value, put back to where the value was.
template <ExtremeForm Form>
Result<std::vector<ValueId>> GradientOfExtremeValue(const GradientContext& context) {
  const bool index_first = Form == ExtremeForm::kIndexAndValue;
  ValueId gradient = context.output_gradients[index_first ? 1 : 0];
  ValueId index = context.node.outputs[index_first ? 0 : 1];
  if (gradient == kNoValue) {
    return NoGradients(context);
  }
  OpViewStorage storage = {};
  const OpView view = ViewOf(context.builder.graph(), context.node, storage);
  DRYDOCK_TRY(const Extreme extreme, ExtremeOf<Form>(view));
  if (!extreme.keep_dims) {
    const AttrMap axis = {{"axis", static_cast<std::int64_t>(extreme.axis)}};
    DRYDOCK_TRY(index, context.Emit("ExpandDims", {index}, axis));
    DRYDOCK_TRY(gradient, context.Emit("ExpandDims", {gradient}, axis));
  }
  return EmitPutBack(context, index, gradient, extreme.axis);
}

template <ExtremeForm Form, bool Max>
Result<std::vector<NdArray>> EvaluateExtreme(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const Extreme extreme, ExtremeOf<Form>(view));
  const NdArray& x = context.inputs[0];
  Shape kept = x.shape;
  kept[extreme.axis] = 1;
  NdArray index{.shape = context.output_types[0].shape};
  NdArray value{.shape = index.shape};
  ForEachElement(kept, [&](std::span<const std::int64_t> at) {
    std::vector<std::int64_t> source(at.begin(), at.end());
    std::int64_t best = 0;
    double found = x.data[OffsetOf(x.shape, source)];
    for (std::int64_t i = 1; i < x.shape[extreme.axis]; ++i) {
      source[extreme.axis] = i;
      const double candidate = x.data[OffsetOf(x.shape, source)];
      if (Max ? candidate > found : candidate < found) {
        best = i;
        found = candidate;
      }
    }
    index.data.push_back(static_cast<double>(best));
    value.data.push_back(found);
  });
  if (Form == ExtremeForm::kIndex) {
    return std::vector<NdArray>{std::move(index)};
  }
  if (Form == ExtremeForm::kValueAndIndex) {
    std::swap(index, value);
  }
  return std::vector<NdArray>{std::move(index), std::move(value)};
}

#define DRYDOCK_EXTREME(id, arguments, form, is_max, gradient_fn, default_fn, takes_layout,      \
                        example_call)                                                            \
  DRYDOCK_OP(id, .family = "reduction", .signature = #id arguments, .infer = InferExtreme<form>, \
             .shard = ShardExtreme<form>, .default_strategy = default_fn,                        \
             .localize = LocalizeExtreme<form, is_max>, .gradient = gradient_fn,                 \
             .evaluate = EvaluateExtreme<form, is_max>, .flops = FlopsPerInput<1>,               \
             .cost = CostFamily::kReduce, .accepts_layout = takes_layout, .example = example_call)

constexpr ExtremeForm kIndexAndValue = ExtremeForm::kIndexAndValue;
constexpr ExtremeForm kValueAndIndex = ExtremeForm::kValueAndIndex;
constexpr ExtremeForm kIndex = ExtremeForm::kIndex;

DRYDOCK_EXTREME(ArgMaxWithValue, "(axis=0, keep_dims=False)(input)", kIndexAndValue, true,
                GradientOfExtremeValue<kIndexAndValue>, nullptr, false, "(axis=1)((4, 6))");
DRYDOCK_EXTREME(ArgMinWithValue, "(axis=0, keep_dims=False)(input)", kIndexAndValue, false,
                GradientOfExtremeValue<kIndexAndValue>, nullptr, false, "(axis=1)((4, 6))");
DRYDOCK_EXTREME(MaxDim, "()(input, #dim, #keepdim=False)", kValueAndIndex, true,
                GradientOfExtremeValue<kValueAndIndex>, nullptr, true, "(dim=1)((4, 6))");
DRYDOCK_EXTREME(Argmax, "(axis=-1, output_type='int32')(input_x)", kIndex, true, GradientNotNeeded,
                DefaultIndex, false, "");
DRYDOCK_EXTREME(Argmin, "(axis=-1, output_type='int32')(x)", kIndex, false, GradientNotNeeded,
                DefaultIndex, false, "");

}  // namespace
}  // namespace drydock::strategies
