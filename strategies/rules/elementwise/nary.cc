#include <algorithm>
#include <cstdint>
#include <string>

#include "base/text.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Operators of several tensors that share one strategy, and the bias of a channel dimension.
/// Source: mindspore ops_info/addn_info.cc.
namespace drydock::strategies {
namespace {

// ---- AddN ---------------------------------------------------------------------------------------

Result<std::vector<TensorType>> InferAddN(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    if (op.inputs[i].shape != op.inputs[0].shape) {
      return FailOp(op, "shape-mismatch",
                    "'AddN' cannot add " + TupleText(op.inputs[i].shape) + " (input " +
                        std::to_string(i) + ") to " + TupleText(op.inputs[0].shape) +
                        ": all inputs must have one shape");
    }
  }
  return std::vector<TensorType>{op.inputs[0]};
}

Result<std::vector<ValueId>> AddNGradient(const GradientContext& context) {
  return std::vector<ValueId>(context.node.inputs.size(), OutputGradient(context));
}

Result<std::vector<NdArray>> EvaluateAddN(const EvaluateContext& context) {
  NdArray sum = context.inputs[0];
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    sum = MapArrays(sum, context.inputs[i], sum.shape, SumOf);
  }
  return std::vector<NdArray>{sum};
}

double AddNFlops(const OpView& op) {
  return static_cast<double>(op.inputs.size() - 1) * Elements(op.inputs[0]);
}

/// The sum within a sum, if nobody else reads it.
bool IsInnerSum(const SimplifyContext& context, ValueId id) {
  const Node* const inner = context.ProducerOf(id);
  return inner != nullptr && inner->entry == context.node.entry && context.uses[ToIndex(id)] == 1;
}

/// A first or last operand that is a sum nobody else reads is added piece by piece. Source:
/// mindspore irpass/merge_addn.cc (behaviour only).
std::optional<Simplification> SimplerAddN(const SimplifyContext& context) {
  const std::vector<ValueId>& inputs = context.node.inputs;
  if (inputs.size() == 1) {
    return Simplification{.result = inputs.front()};
  }
  const bool first = IsInnerSum(context, inputs.front());
  if (!first && !IsInnerSum(context, inputs.back())) {
    return std::nullopt;
  }
  const std::vector<ValueId>& inner =
      context.ProducerOf(first ? inputs.front() : inputs.back())->inputs;
  std::vector<ValueId> joined = first ? inner : inputs;
  if (first) {
    joined.insert(joined.end(), inputs.begin() + 1, inputs.end());
  } else {
    joined.pop_back();
    joined.insert(joined.end(), inner.begin(), inner.end());
  }
  return Simplification{.inputs = std::move(joined), .attrs = context.node.attrs};
}

DRYDOCK_OP(AddN, .family = "same_shape_nary", .signature = "AddN()(*x)", .simplify = SimplerAddN,
           .infer = InferAddN, .shard = ShardSameShape, .default_strategy = DefaultBatchAll,
           .gradient = AddNGradient, .evaluate = EvaluateAddN, .flops = AddNFlops,
           .cost = CostFamily::kCast, .elementwise = true);

// ---- Select -------------------------------------------------------------------------------------

Result<std::vector<TensorType>> InferSelect(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  if (op.inputs[0].dtype != DType::kBool) {
    return FailOp(op, "dtype",
                  "the condition of 'Select' must be bool, but it is " +
                      std::string(DTypeName(op.inputs[0].dtype)),
                  "compare the condition with a number first");
  }
  DRYDOCK_TRY(const Shape values, BroadcastShapes(op, op.inputs[1].shape, op.inputs[2].shape));
  DRYDOCK_TRY(Shape shape, BroadcastShapes(op, op.inputs[0].shape, values));
  DRYDOCK_TRY(const DType dtype, PromoteDTypes(op.inputs[1].dtype, op.inputs[2].dtype));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = dtype}};
}

/// All three alike; extent-1 dimensions of the condition force those of the others to be whole.
Result<ShardRule> ShardSelect(const OpView& op, const Strategy& strategy) {
  const Shape& condition = op.inputs[0].shape;
  const Shape& input = op.inputs[1].shape;
  if (input != op.inputs[2].shape) {
    return FailOp(op, "shape-mismatch",
                  "'Select' can only be cut if both values have one shape, but they are " +
                      TupleText(input) + " and " + TupleText(op.inputs[2].shape));
  }
  bool broadcasts = condition.size() == input.size();
  for (std::size_t d = 0; broadcasts && d < condition.size(); ++d) {
    broadcasts = condition[d] == input[d] || condition[d] == 1;
  }
  if (!broadcasts) {
    return FailOp(op, "shape-mismatch",
                  "'Select' can only be cut if the condition has the rank of the values and equal "
                  "extents or 1, but it is " +
                      TupleText(condition) + " beside " + TupleText(input));
  }
  DRYDOCK_TRY(ShardRule rule, ShardSameShape(op, strategy));
  for (std::size_t d = 0; d < condition.size(); ++d) {
    if (condition[d] != input[d]) {
      rule.uncut.push_back({.axis = static_cast<AxisIndex>(d), .what = "the broadcast condition"});
    }
  }
  return rule;
}

Result<std::vector<ValueId>> SelectGradient(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  const ValueId condition = context.node.inputs[0];
  const ValueId gradient = OutputGradient(context);
  DRYDOCK_TRY(const ValueId zeros, context.Emit("ZerosLikeExt", {gradient}));
  for (std::size_t i = 1; i < 3; ++i) {
    if (context.wanted[i]) {
      DRYDOCK_TRY(const ValueId chosen,
                  context.Emit("Select",
                               {condition, i == 1 ? gradient : zeros, i == 1 ? zeros : gradient}));
      DRYDOCK_TRY(gradients[i], FitToInput(context, chosen, i));
    }
  }
  return gradients;
}

Result<std::vector<NdArray>> EvaluateSelect(const EvaluateContext& context) {
  const Shape& shape = context.output_types[0].shape;
  NdArray out = BroadcastArray(context.inputs[2], shape);
  const NdArray condition = BroadcastArray(context.inputs[0], shape);
  const NdArray chosen = BroadcastArray(context.inputs[1], shape);
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    out.data[i] = condition.data[i] != 0 ? chosen.data[i] : out.data[i];
  }
  return std::vector<NdArray>{out};
}

DRYDOCK_OP(Select, .family = "same_shape_nary", .signature = "Select()(condition, input, other)",
           .folding = Folding::kElementwise, .infer = InferSelect, .shard = ShardSelect,
           .default_strategy = DefaultBatchAll, .gradient = SelectGradient,
           .evaluate = EvaluateSelect, .flops = FlopsPerOutput<1>, .cost = CostFamily::kCast,
           .elementwise = true, .example = "()(bool(4, 6), (4, 6), (4, 6))");

// ---- BiasAdd ------------------------------------------------------------------------------------

/// Dimension of the channels: 1, or the last one for NHWC.
Result<std::size_t> ChannelDim(const OpView& op) {
  DRYDOCK_TRY(const std::string format, TextAttr(*op.attrs, "data_format", "NCHW"));
  return format == "NHWC" ? op.inputs[0].shape.size() - 1 : std::size_t{1};
}

Result<std::vector<TensorType>> InferBiasAdd(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 5));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_TRY(const std::size_t channel, ChannelDim(op));
  const Shape& shape = op.inputs[0].shape;
  if (op.inputs[1].shape[0] != shape[channel]) {
    return FailOp(op, "shape-mismatch",
                  "'BiasAdd' cannot add " + TupleText(op.inputs[1].shape) + " to " +
                      TupleText(shape) + ": dimension " + std::to_string(channel) +
                      " of input 0 is " + std::to_string(shape[channel]) +
                      ", dimension 0 of input 1 is " + std::to_string(op.inputs[1].shape[0]));
  }
  return std::vector<TensorType>{op.inputs[0]};
}

Result<ShardRule> ShardBiasAdd(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const std::size_t channel, ChannelDim(op));
  const TensorAxes axes = AxesInOrder(op.inputs[0].shape.size());
  return ShardRule{.axis_count = static_cast<std::int32_t>(axes.size()),
                   .inputs = {axes, {axes[channel]}},
                   .outputs = {axes}};
}

Result<Strategy> DefaultFirst(const OpView& op, std::int64_t device_count) {
  return BatchStrategy(op, device_count, {true});
}

Result<std::vector<ValueId>> BiasAddGradient(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  gradients[0] = OutputGradient(context);
  if (context.wanted[1]) {
    AttrMap attrs = {};
    if (const auto format = context.node.attrs.find("data_format");
        format != context.node.attrs.end()) {
      attrs.insert(*format);
    }
    DRYDOCK_TRY(gradients[1], context.Emit("BiasAddGrad", {OutputGradient(context)}, attrs));
  }
  return gradients;
}

/// Shape of a per-channel tensor that broadcasts against `shape`.
Shape ChannelShape(const Shape& shape, std::size_t channel) {
  Shape wide(shape.size(), 1);
  wide[channel] = shape[channel];
  return wide;
}

Result<std::size_t> ChannelDim(const EvaluateContext& context) {
  return ChannelDim(
      OpView{.op = "BiasAdd", .inputs = context.input_types, .attrs = &context.attrs});
}

Result<std::vector<NdArray>> EvaluateBiasAdd(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::size_t channel, ChannelDim(context));
  const Shape& shape = context.inputs[0].shape;
  const NdArray bias = ReshapeArray(context.inputs[1], ChannelShape(shape, channel));
  return std::vector<NdArray>{MapArrays(context.inputs[0], bias, shape, SumOf)};
}

Result<std::vector<TensorType>> InferBiasAddGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 5));
  DRYDOCK_TRY(const std::size_t channel, ChannelDim(op));
  return std::vector<TensorType>{
      {.shape = {op.inputs[0].shape[channel]}, .dtype = op.inputs[0].dtype}};
}

Result<std::vector<NdArray>> EvaluateBiasAddGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::size_t channel, ChannelDim(context));
  const Shape& shape = context.inputs[0].shape;
  const NdArray sum = SumArrayTo(context.inputs[0], ChannelShape(shape, channel));
  return std::vector<NdArray>{ReshapeArray(sum, {shape[channel]})};
}

/// Formats are numbers there, which share the constants of others.
Result<std::vector<KernelId>> LowerWithFormat(const LowerContext& context) {
  DRYDOCK_TRY(const std::string format, TextAttr(context.node.attrs, "data_format", "NCHW"));
  const std::int64_t number = format == "NHWC" ? 1 : format == "NCDHW" ? 2 : 0;
  return LowerTo(context, context.node.op, {context.builder.Argument(number)});
}

DRYDOCK_OP(BiasAdd, .family = "normalisation",
           .signature = "BiasAdd(data_format='NCHW')(input_x, bias)", .infer = InferBiasAdd,
           .shard = ShardBiasAdd, .default_strategy = DefaultFirst, .gradient = BiasAddGradient,
           .lower = LowerWithFormat, .evaluate = EvaluateBiasAdd, .flops = FlopsPerInput<1>,
           .cost = CostFamily::kArithmetic, .accepts_layout = true, .example = "()((4, 6), (6))");
DRYDOCK_OP(BiasAddGrad, .family = "gradient", .signature = "BiasAddGrad(data_format='NCHW')(dout)",
           .infer = InferBiasAddGrad, .gradient = GradientNotNeeded, .lower = LowerWithFormat,
           .evaluate = EvaluateBiasAddGrad, .flops = FlopsPerInput<1>);

}  // namespace
}  // namespace drydock::strategies
