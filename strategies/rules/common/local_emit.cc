#include "strategies/rules/common/local_emit.h"

#include <utility>

#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/common_rules.h"

namespace drydock::strategies {
namespace {

// ---- _RankScalar: a number that every rank knows for itself

/// Attributes: `value` (number, or RankExpr in the symbolic program), `dtype`, and `table` if the
/// number is the one at place `value` of a list.
Result<std::vector<TensorType>> InferRankScalar(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 0, 0));
  DRYDOCK_TRY(const std::string name, TextAttr(*op.attrs, "dtype", "int32"));
  DRYDOCK_TRY(const DType dtype, ParseDType(name));
  return std::vector<TensorType>{{.shape = {}, .dtype = dtype}};
}

Result<std::vector<NdArray>> EvaluateRankScalar(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::int64_t value, RankScalarValue(context.attrs));
  return std::vector<NdArray>{FilledArray({}, static_cast<double>(value))};
}

/// Known when the rank's graph is built: no kernel.
Result<std::vector<KernelId>> LowerRankScalar(const LowerContext& context) {
  return std::vector<KernelId>{context.builder.Constant(context.OutputType(), "")};
}

DRYDOCK_OP_NAMED(RankScalar, "_RankScalar", .family = "rank",
                 .signature = "_RankScalar(value=0, dtype='int32', table=None)()",
                 .infer = InferRankScalar, .gradient = GradientNotNeeded, .lower = LowerRankScalar,
                 .evaluate = EvaluateRankScalar, .flops = NoFlops, .cost = CostFamily::kFree);

}  // namespace

Result<std::int64_t> RankScalarValue(const AttrMap& attrs) {
  DRYDOCK_TRY(const std::int64_t value, IntAttr(attrs, "value", 0));
  DRYDOCK_TRY(const auto table, IntListAttr(attrs, "table"));
  if (!table) {
    return value;
  }
  DRYDOCK_CHECK(value >= 0 && static_cast<std::size_t>(value) < table->size());
  return (*table)[static_cast<std::size_t>(value)];
}

Result<ValueId> EmitRankNumber(const LocalizeContext& context, const RankExpr& place,
                               std::vector<std::int64_t> table, DType dtype) {
  return EmitHelper(
      context, "_RankScalar", {},
      {{"value", place}, {"dtype", std::string(DTypeName(dtype))}, {"table", std::move(table)}});
}

Result<ValueId> EmitHelper(const LocalizeContext& context, std::string_view op,
                           std::vector<ValueId> inputs, AttrMap attrs) {
  NodeSpec spec = context.spec;
  spec.op = op;
  spec.inputs = std::move(inputs);
  spec.attrs = std::move(attrs);
  spec.instance_name.clear();
  return context.builder.Emit(std::move(spec));
}

GroupPattern HelperGroup(const LocalizeContext& context, std::span<const AxisIndex> axes) {
  std::vector<RankDigit> digits = {};
  for (const AxisIndex axis : axes) {
    const auto& of_axis = context.sharding.axis_groups[static_cast<std::size_t>(axis)].digits;
    digits.insert(digits.end(), of_axis.begin(), of_axis.end());
  }
  return MakeGroupPattern(std::move(digits));
}

Result<ValueId> EmitHelperAllReduce(const LocalizeContext& context, ValueId input,
                                    std::span<const AxisIndex> axes, std::string why,
                                    std::string reduce_op) {
  return EmitGroupAllReduce(context, input, HelperGroup(context, axes), std::move(why),
                            std::move(reduce_op));
}

Result<ValueId> EmitGroupAllReduce(const LocalizeContext& context, ValueId input,
                                   GroupPattern group, std::string why, std::string reduce_op) {
  return EmitGroupCollective(context, ops::kAllReduce, input, {{"op", std::move(reduce_op)}},
                             std::move(group), CommReason::kPartialSum, std::move(why));
}

Result<ValueId> EmitGroupCollective(const LocalizeContext& context, std::string_view op,
                                    ValueId input, AttrMap attrs, GroupPattern group,
                                    CommReason reason, std::string why) {
  attrs["rank_size"] = GroupSize(group);
  DRYDOCK_TRY(const ValueId output, EmitHelper(context, op, {input}, std::move(attrs)));
  Graph& graph = context.builder.mutable_graph();
  Node& node = graph.nodes[ToIndex(graph.at(output).producer)];
  node.group = std::move(group);
  node.reason = reason;
  node.reason_text = std::move(why);
  return output;
}

Result<ValueId> EmitOwnSlice(const LocalizeContext& context, ValueId value, std::size_t dim,
                             AxisIndex axis) {
  const std::int64_t parts =
      GroupSize(context.sharding.axis_groups[static_cast<std::size_t>(axis)]);
  if (parts == 1) {
    return value;
  }
  const RankExpr& part = context.sharding.axis_parts[static_cast<std::size_t>(axis)];
  const Shape shape = context.builder.TypeOf(value).shape;
  Attr::List begin;
  Attr::List end;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t own = d == dim ? shape[d] / parts : shape[d];
    const RankExpr first = d == dim ? Times(part, own) : RankExpr{};
    begin.emplace_back(first);
    end.emplace_back(Plus(first, RankExpr{.constant = own}));
  }
  return EmitHelper(
      context, ops::kStridedSlice, {value},
      {{"begin", begin}, {"end", end}, {"strides", std::vector<std::int64_t>(shape.size(), 1)}});
}

Result<ValueId> EmitRankScalar(const LocalizeContext& context, const RankExpr& value, DType dtype) {
  return EmitHelper(context, "_RankScalar", {},
                    {{"value", value}, {"dtype", std::string(DTypeName(dtype))}});
}

Result<ValueId> EmitHelperCast(const LocalizeContext& context, ValueId value, DType dtype) {
  if (context.builder.TypeOf(value).dtype == dtype) {
    return value;
  }
  return EmitHelper(context, ops::kCast, {value}, {{"dtype", std::string(DTypeName(dtype))}});
}

Result<ValueId> EmitOnlyOnFirst(const LocalizeContext& context, ValueId value, AxisIndex axis) {
  const RankExpr& part = context.sharding.axis_parts[static_cast<std::size_t>(axis)];
  if (part.terms.empty() || value == kNoValue) {
    return value;
  }
  const DType dtype = context.builder.TypeOf(value).dtype;
  DRYDOCK_TRY(const ValueId number, EmitRankScalar(context, part, DType::kInt32));
  const ValueId zero = context.builder.AddScalar(0, DType::kInt32);
  DRYDOCK_TRY(const ValueId first, EmitHelper(context, "Equal", {number, zero}));
  DRYDOCK_TRY(const ValueId factor, EmitHelperCast(context, first, dtype));
  return EmitHelper(context, ops::kMul, {value, factor});
}

Result<OwnRows> EmitOwnRows(const LocalizeContext& context, ValueId indices, std::int64_t rows,
                            AxisIndex axis) {
  const DType dtype = context.builder.TypeOf(indices).dtype;
  const RankExpr begin = Times(context.sharding.axis_parts[static_cast<std::size_t>(axis)], rows);
  DRYDOCK_TRY(const ValueId begin_value, EmitRankScalar(context, begin, dtype));
  const ValueId last = context.builder.AddScalar(static_cast<double>(rows - 1), dtype);
  DRYDOCK_TRY(const ValueId shifted,
              EmitHelper(context, "Sub", {indices, begin_value}, {{"keep_alive", true}}));
  DRYDOCK_TRY(const ValueId positive, EmitHelper(context, "ReLU", {shifted}));
  OwnRows own = {};
  DRYDOCK_TRY(own.indices, EmitHelper(context, "Minimum", {positive, last}));
  DRYDOCK_TRY(own.is_own, EmitHelper(context, "Equal", {shifted, own.indices}));
  return own;
}

}  // namespace drydock::strategies
