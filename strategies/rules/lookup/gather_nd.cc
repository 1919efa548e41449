#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/lookup/scatter_form.h"

/// Look-up by coordinates: GatherNd, its counterpart ScatterNd, and Index (one tensor of numbers
/// for each looked-up dimension). Source: mindspore ops_info/gathernd_info.cc.
namespace drydock::strategies {
namespace {

// ---- GatherNd: x [*s, *r], indices [*i, s] -> [*i, *r] -----------------------------------------

Result<std::vector<TensorType>> InferGatherNd(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 1));
  DRYDOCK_TRY(const ScatterForm form, CoordinateForm(op));
  return std::vector<TensorType>{
      {.shape = UpdatesShape(form, op.inputs[1].shape, op.inputs[0].shape),
       .dtype = op.inputs[0].dtype}};
}

/// The table is whole; D is the cuts of the indices.
Result<ShardRule> ShardGatherNd(const OpView& op, const Strategy& /*strategy*/) {
  const std::size_t rank = op.inputs[1].shape.size();
  TensorAxes out = AxesInOrder(rank - 1);
  out.resize(op.outputs[0].shape.size());
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank),
                 .inputs = {TensorAxes(op.inputs[0].shape.size()), AxesInOrder(rank)},
                 .outputs = {std::move(out)}};
  rule.uncut.push_back({.axis = static_cast<AxisIndex>(rank) - 1,
                        .what = "the dimension that holds the coordinates"});
  return rule;
}

Result<Strategy> DefaultGatherNd(const OpView& op, std::int64_t device_count) {
  return BatchStrategy(op, device_count, {false, op.inputs[1].shape.size() > 1});
}

Result<std::vector<ValueId>> GradientOfGatherNd(const GradientContext& context) {
  const Node& node = context.node;
  const Shape shape = context.TypeOf(node.inputs[0]).shape;
  DRYDOCK_TRY(const ValueId indices, CastTo(context, node.inputs[1], DType::kInt64));
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("ScatterNd", {indices, OutputGradient(context)}, {{"shape", shape}}));
  return std::vector<ValueId>{gradient, kNoValue};
}

/// Coordinates outside the table give zeros.
Result<std::vector<NdArray>> EvaluateGatherNd(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const ScatterForm form, CoordinateForm(view));
  const NdArray& x = context.inputs[0];
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  const std::size_t count = context.inputs[1].data.size() / form.picked;
  const std::size_t row = count == 0 ? 0 : out.data.size() / count;
  for (std::size_t n = 0; n < count; ++n) {
    const std::int64_t begin = ScatterTarget(form, context.inputs[1], x.shape, n);
    for (std::size_t i = 0; begin >= 0 && i < row; ++i) {
      out.data[n * row + i] = x.data[static_cast<std::size_t>(begin) + i];
    }
  }
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(GatherNd, .family = "gather", .signature = "GatherNd()(input_x, indices)",
           .infer = InferGatherNd, .shard = ShardGatherNd, .default_strategy = DefaultGatherNd,
           .gradient = GradientOfGatherNd, .evaluate = EvaluateGatherNd, .flops = NoFlops,
           .cost = CostFamily::kGather, .reads_part = true,
           .example = "()((8, 4, 6), int32(4, 2))");

// ---- ScatterNd: zeros of attribute `shape` with updates added at the indices --------------------

/// The operands as those of a TensorScatterAdd into zeros.
Result<std::vector<TensorType>> AsScatter(const OpView& op) {
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "shape"));
  return std::vector<TensorType>{
      {.shape = std::move(shape), .dtype = op.inputs[1].dtype}, op.inputs[0], op.inputs[1]};
}

Result<std::vector<TensorType>> InferScatterNd(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 0));
  DRYDOCK_TRY(const std::vector<TensorType> operands, AsScatter(op));
  const OpView view{.op = op.op, .inputs = operands, .attrs = op.attrs};
  DRYDOCK_TRY(const ScatterForm form, CoordinateForm(view));
  const Shape wanted = UpdatesShape(form, operands[1].shape, operands[0].shape);
  if (op.inputs[1].shape != wanted) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' takes updates of shape " + TupleText(wanted) +
                      ", but they have shape " + TupleText(op.inputs[1].shape));
  }
  return std::vector<TensorType>{operands[0]};
}

Result<std::vector<ValueId>> GradientOfScatterNd(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("GatherNd", {OutputGradient(context), context.node.inputs[0]}));
  return std::vector<ValueId>{kNoValue, gradient};
}

Result<std::vector<NdArray>> EvaluateScatterNd(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::vector<TensorType> operands, AsScatter(op));
  const OpView view{.inputs = operands, .attrs = &context.attrs};
  DRYDOCK_TRY(const ScatterForm form, CoordinateForm(view));
  return std::vector<NdArray>{ScatterRows(form, FilledArray(operands[0].shape, 0.0),
                                          context.inputs[0], context.inputs[1], SumOf)};
}

DRYDOCK_OP(ScatterNd, .family = "gradient", .signature = "ScatterNd()(indices, updates, #shape)",
           .infer = InferScatterNd, .gradient = GradientOfScatterNd, .evaluate = EvaluateScatterNd,
           .flops = NoFlops, .cost = CostFamily::kGather, .reads_part = true);

// ---- Index: x [*s, *r], one tensor of numbers for each s -> [*i, *r] ----------------------------

Result<std::vector<TensorType>> InferIndex(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 9));
  const Shape& x = op.inputs[0].shape;
  const std::size_t looked_up = op.inputs.size() - 1;
  if (looked_up > x.size()) {
    return FailOp(op, "input-count",
                  "'" + std::string(op.op) +
                      "' takes at most one tensor of numbers for each of the " +
                      std::to_string(x.size()) + " dimensions of its input, but " +
                      std::to_string(looked_up) + " are given");
  }
  Shape out = op.inputs[1].shape;
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, i));
    DRYDOCK_TRY(out, BroadcastShapes(op, out, op.inputs[i].shape));
  }
  out.insert(out.end(), x.begin() + static_cast<std::ptrdiff_t>(looked_up), x.end());
  return std::vector<TensorType>{{.shape = std::move(out), .dtype = op.inputs[0].dtype}};
}

/// Two vectors of numbers into a matrix: both dimensions of the matrix may be cut, each rank looks
/// up its own elements and the sum of all is the result.
Result<ShardRule> ShardIndex(const OpView& op, const Strategy& /*strategy*/) {
  const bool two_vectors = op.inputs.size() == 3 && op.inputs[0].shape.size() == 2 &&
                           op.inputs[1].shape.size() == 1 &&
                           op.inputs[1].shape == op.inputs[2].shape;
  if (!two_vectors) {
    return FailOp(op, "strategy-form",
                  "'" + std::string(op.op) +
                      "' can be cut only if its input has two dimensions and two vectors of equal "
                      "length index it",
                  "leave the strategy of '" + std::string(op.op) + "' out");
  }
  return ShardRule{.axis_count = 2,
                   .inputs = {AxesInOrder(2), TensorAxes(1), TensorAxes(1)},
                   .outputs = {TensorAxes(1)},
                   .communication = {{.axes = {0, 1}}}};
}

Result<std::vector<ValueId>> LocalizeIndex(const LocalizeContext& context) {
  const Shape local = context.builder.TypeOf(context.spec.inputs[0]).shape;
  const Shape& whole = context.global.inputs[0].shape;
  if (local == whole) {
    return EmitLocal(context, context.spec.attrs);
  }
  NodeSpec spec = context.spec;
  ValueId is_own = kNoValue;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (local[d] == whole[d]) {
      continue;
    }
    DRYDOCK_TRY(const OwnRows own,
                EmitOwnRows(context, spec.inputs[d + 1], local[d], static_cast<AxisIndex>(d)));
    spec.inputs[d + 1] = own.indices;
    if (is_own == kNoValue) {
      is_own = own.is_own;
    } else {
      DRYDOCK_TRY(is_own, EmitHelper(context, "LogicalAnd", {is_own, own.is_own}));
    }
  }
  DRYDOCK_TRY(const ValueId mask, EmitHelperCast(context, is_own, context.global.inputs[0].dtype));
  DRYDOCK_TRY(const ValueId found, context.builder.Emit(std::move(spec)));
  DRYDOCK_TRY(const ValueId masked, EmitHelper(context, ops::kMul, {found, mask}));
  return std::vector<ValueId>{masked};
}

/// One number for each looked-up place: sum of the numbers times the strides of their dimensions.
Result<ValueId> EmitPlaceNumbers(const GradientContext& context, const Shape& x) {
  ValueId sum = kNoValue;
  for (std::size_t i = 1; i < context.node.inputs.size(); ++i) {
    const ValueId numbers = context.node.inputs[i];
    if (sum == kNoValue) {
      sum = numbers;
      continue;
    }
    const ValueId extent =
        context.builder.AddScalar(static_cast<double>(x[i - 1]), context.TypeOf(sum).dtype);
    DRYDOCK_TRY(const ValueId scaled, context.Emit(ops::kMul, {sum, extent}));
    DRYDOCK_TRY(sum, context.Emit(ops::kAdd, {scaled, numbers}));
  }
  return sum;
}

Result<std::vector<ValueId>> GradientOfIndex(const GradientContext& context) {
  const Shape x = context.TypeOf(context.node.inputs[0]).shape;
  std::int64_t places = 1;
  for (std::size_t d = 0; d + 1 < context.node.inputs.size(); ++d) {
    places *= x[d];
  }
  DRYDOCK_TRY(const ValueId numbers, EmitPlaceNumbers(context, x));
  DRYDOCK_TRY(const ValueId sums,
              context.Emit("UnsortedSegmentSum", {OutputGradient(context), numbers},
                           {{"num_segments", places}}));
  std::vector<ValueId> gradients = NoGradients(context);
  DRYDOCK_TRY(gradients[0], EmitReshape(context, sums, x));
  return gradients;
}

/// Places outside x give zeros.
Result<std::vector<NdArray>> EvaluateIndex(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  const std::size_t looked_up = context.inputs.size() - 1;
  const Shape& out_shape = context.output_types[0].shape;
  const Shape places(out_shape.begin(),
                     out_shape.end() - static_cast<std::ptrdiff_t>(x.shape.size() - looked_up));
  std::vector<NdArray> numbers = {};
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    numbers.push_back(BroadcastArray(context.inputs[i], places));
  }
  std::size_t row = 1;
  for (std::size_t d = looked_up; d < x.shape.size(); ++d) {
    row *= static_cast<std::size_t>(x.shape[d]);
  }
  NdArray out{.shape = out_shape};
  for (std::size_t n = 0; n < numbers[0].data.size(); ++n) {
    std::size_t place = 0;
    bool inside = true;
    for (std::size_t i = 0; i < looked_up; ++i) {
      const double at = numbers[i].data[n];
      inside = inside && at >= 0 && at < static_cast<double>(x.shape[i]);
      place = place * static_cast<std::size_t>(x.shape[i]) +
              (inside ? static_cast<std::size_t>(at) : 0);
    }
    for (std::size_t j = 0; j < row; ++j) {
      out.data.push_back(inside ? x.data[place * row + j] : 0.0);
    }
  }
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(Index, .family = "gather", .signature = "Index()(input, *indices)", .infer = InferIndex,
           .shard = ShardIndex, .default_strategy = DefaultWhole, .localize = LocalizeIndex,
           .gradient = GradientOfIndex, .evaluate = EvaluateIndex, .flops = NoFlops,
           .cost = CostFamily::kGather, .reads_part = true,
           .example = "()((8, 6), int32(4), int32(4))", .given_layouts_stand_alone = true);

}  // namespace
}  // namespace drydock::strategies
