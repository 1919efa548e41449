#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// One-hot codes (mindspore ops_info/onehot_info.cc). The first strategy entry describes the
/// result; cut classes make every rank code its own classes only.
namespace drydock::strategies {
namespace {

/// OneHot and OneHotExt differ in the name of the attribute that counts the classes, and in whose
/// element type the result has.
constexpr const char* kDepth = "depth";
constexpr const char* kNumClasses = "num_classes";

const char* CountName(const AttrMap& attrs) {
  return attrs.contains(kNumClasses) ? kNumClasses : kDepth;
}

/// Position of the class dimension in the result.
Result<std::size_t> ClassDim(const OpView& op) {
  const std::size_t rank = op.inputs[0].shape.size();
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(*op.attrs, "axis", -1));
  if (axis < -1 || axis > static_cast<std::int64_t>(rank)) {
    return FailOp(op, "axis-out-of-range",
                  "axis " + std::to_string(axis) + " of '" + std::string(op.op) +
                      "' is outside [-1, " + std::to_string(rank) + "]");
  }
  return axis == -1 ? rank : static_cast<std::size_t>(axis);
}

Status CheckOperands(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 0));
  if (op.inputs[1].dtype != op.inputs[2].dtype) {
    return FailOp(op, "dtype-mismatch",
                  "the on value of '" + std::string(op.op) + "' is " +
                      std::string(DTypeName(op.inputs[1].dtype)) + ", but its off value is " +
                      std::string(DTypeName(op.inputs[2].dtype)),
                  "cast one of them");
  }
  return {};
}

Result<std::vector<TensorType>> InferOneHot(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(CheckOperands(op));
  DRYDOCK_TRY(const std::size_t dim, ClassDim(op));
  const char* name = CountName(*op.attrs);
  DRYDOCK_TRY(const std::int64_t depth, IntAttr(*op.attrs, name, -1));
  if (depth < 0) {
    return FailOp(op, "depth",
                  "'" + std::string(op.op) + "' needs attribute '" + name +
                      "', the number of classes; a number that depends on the data is not known "
                      "in a dry run");
  }
  Shape shape = op.inputs[0].shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), depth);
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[1].dtype}};
}

Result<std::vector<TensorType>> InferOneHotExt(const OpView& op) {
  DRYDOCK_TRY(std::vector<TensorType> out, InferOneHot(op));
  out[0].dtype = op.inputs[0].dtype;
  return out;
}

/// Axes: the dimensions of the indices, then the classes.
Result<ShardRule> ShardOneHot(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const std::size_t dim, ClassDim(op));
  const std::size_t rank = op.inputs[0].shape.size();
  if (dim != rank && (rank != 1 || dim > 1)) {
    return FailOp(
        op, "axis",
        "a cut '" + std::string(op.op) + "' takes axis -1, or axis 0 for indices of one dimension");
  }
  const auto classes = static_cast<AxisIndex>(rank);
  TensorAxes output = AxesInOrder(rank);
  output.insert(output.begin() + static_cast<std::ptrdiff_t>(dim), DimAxes{classes});
  ShardRule rule{.axis_count = classes + 1,
                 .inputs = {AxesInOrder(rank), TensorAxes(op.inputs[1].shape.size()),
                            TensorAxes(op.inputs[2].shape.size())},
                 .outputs = {output}};
  rule.strategy_entries = {output, rule.inputs[1], rule.inputs[2]};
  for (AxisIndex axis = 1; rank > 1 && axis <= classes; ++axis) {
    rule.uncut.push_back(
        {.axis = axis, .what = "a dimension other than 0 of indices with several dimensions"});
  }
  return rule;
}

/// Entry 0 on its dimension 0 if the first extent of the indices divides, else nothing cut.
Result<Strategy> DefaultOneHot(const OpView& op, std::int64_t device_count) {
  const Shape& indices = op.inputs[0].shape;
  Strategy strategy = WholeStrategy(op);
  strategy[0].assign(indices.size() + 1, 1);
  if (!indices.empty() && device_count > 0 && indices[0] % device_count == 0) {
    strategy[0][0] = device_count;
  }
  return strategy;
}

/// index -> index of the rank's own classes, -1 for a class of another rank:
/// (floor(index / own) == digit) * (index - floor(index / own) * own + 1) - 1.
Result<ValueId> EmitOwnClasses(const LocalizeContext& context, std::int64_t own_classes,
                               AxisIndex axis) {
  const ValueId index = context.spec.inputs[0];
  const DType dtype = context.builder.TypeOf(index).dtype;
  const ValueId own = context.builder.AddScalar(static_cast<double>(own_classes), dtype);
  const ValueId one = context.builder.AddScalar(1, dtype);
  const RankExpr& part = context.sharding.axis_parts[static_cast<std::size_t>(axis)];
  DRYDOCK_TRY(const ValueId block, EmitHelper(context, "FloorDiv", {index, own}));
  DRYDOCK_TRY(const ValueId begin, EmitHelper(context, ops::kMul, {block, own}));
  DRYDOCK_TRY(const ValueId inside, EmitHelper(context, "Sub", {index, begin}));
  DRYDOCK_TRY(const ValueId own_block, EmitRankScalar(context, part, dtype));
  DRYDOCK_TRY(const ValueId is_own, EmitHelper(context, "Equal", {block, own_block}));
  DRYDOCK_TRY(const ValueId mask, EmitHelperCast(context, is_own, dtype));
  DRYDOCK_TRY(const ValueId own_inside, EmitHelper(context, ops::kMul, {inside, mask}));
  DRYDOCK_TRY(const ValueId from_one, EmitHelper(context, ops::kAdd, {own_inside, one}));
  DRYDOCK_TRY(const ValueId masked, EmitHelper(context, ops::kMul, {mask, from_one}));
  return EmitHelper(context, "Sub", {masked, one});
}

Result<std::vector<ValueId>> LocalizeOneHot(const LocalizeContext& context) {
  const auto axis = static_cast<AxisIndex>(context.global.inputs[0].shape.size());
  const std::int64_t parts =
      GroupSize(context.sharding.axis_groups[static_cast<std::size_t>(axis)]);
  if (parts == 1) {
    return EmitLocal(context, context.spec.attrs);
  }
  const char* name = CountName(context.spec.attrs);
  DRYDOCK_TRY(const std::int64_t depth, IntAttr(context.spec.attrs, name, 0));
  DRYDOCK_TRY(const ValueId own, EmitOwnClasses(context, depth / parts, axis));
  NodeSpec spec = context.spec;
  spec.inputs[0] = own;
  spec.attrs[name] = depth / parts;
  DRYDOCK_TRY(const ValueId code, context.builder.Emit(std::move(spec)));
  return std::vector<ValueId>{code};
}

/// An index outside [0, depth) gives the off value everywhere.
Result<std::vector<NdArray>> EvaluateOneHot(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t dim, ClassDim(view));
  const NdArray& indices = context.inputs[0];
  const double on = context.inputs[1].data.front();
  const double off = context.inputs[2].data.front();
  NdArray out{.shape = context.output_types[0].shape};
  ForEachElement(out.shape, [&](std::span<const std::int64_t> at) {
    std::vector<std::int64_t> source(at.begin(), at.end());
    source.erase(source.begin() + static_cast<std::ptrdiff_t>(dim));
    const double index = indices.data[OffsetOf(indices.shape, source)];
    out.data.push_back(index == static_cast<double>(at[dim]) ? on : off);
  });
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(OneHot, .family = "one_hot",
           .signature = "OneHot(axis=-1)(indices, #depth, on_value, off_value)",
           .infer = InferOneHot, .shard = ShardOneHot, .default_strategy = DefaultOneHot,
           .localize = LocalizeOneHot, .gradient = GradientNotNeeded, .values = "depth,axis",
           .evaluate = EvaluateOneHot, .flops = FlopsPerOutput<1>, .cost = CostFamily::kOneHot,
           .example = "(axis=-1, depth=8)(int32(4), (), ())");

DRYDOCK_OP(OneHotExt, .family = "one_hot",
           .signature = "OneHotExt()(tensor, #num_classes, on_value, off_value, #axis=-1)",
           .infer = InferOneHotExt, .shard = ShardOneHot, .default_strategy = DefaultOneHot,
           .localize = LocalizeOneHot, .gradient = GradientNotNeeded, .evaluate = EvaluateOneHot,
           .flops = FlopsPerOutput<1>, .cost = CostFamily::kOneHot,
           .example = "(axis=-1, num_classes=8)(int32(4), int32(), int32())");

}  // namespace
}  // namespace drydock::strategies
