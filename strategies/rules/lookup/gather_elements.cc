#include <algorithm>
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

/// Operators that pick single elements along one dimension by index: GatherD, the largest k; and
/// the kernels that put gradients back to where the elements came from.
namespace drydock::strategies {
namespace {

/// Attribute `name` as a dimension of input 0.
Result<std::size_t> DimOf(const OpView& op, std::string_view name, std::int64_t fallback) {
  DRYDOCK_TRY(const std::int64_t dim, IntAttr(*op.attrs, name, fallback));
  return NormalisedAxis(op, dim, op.inputs[0].shape.size());
}

// ---- GatherD: out[.., i, ..] = x[.., index[.., i, ..], ..]

Result<std::vector<TensorType>> InferGatherD(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_TRY(const std::size_t dim, DimOf(op, "dim", 0));
  const Shape& x = op.inputs[0].shape;
  const Shape& index = op.inputs[1].shape;
  bool fits = x.size() == index.size();
  for (std::size_t d = 0; fits && d < x.size(); ++d) {
    fits = d == dim || x[d] == index[d];
  }
  if (!fits) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' along dimension " + std::to_string(dim) +
                      " cannot pick elements of " + TupleText(x) + " by indices of shape " +
                      TupleText(index),
                  "all other dimensions must be equal");
  }
  return std::vector<TensorType>{{.shape = index, .dtype = op.inputs[0].dtype}};
}

/// The picked dimension of x may be cut: masked look-up, then a sum over it. That of the indices
/// may not.
Result<ShardRule> ShardGatherD(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const std::size_t dim, DimOf(op, "dim", 0));
  const std::size_t rank = op.inputs[0].shape.size();
  TensorAxes picked = AxesInOrder(rank);
  picked[dim].clear();
  return ShardRule{.axis_count = static_cast<std::int32_t>(rank),
                   .inputs = {AxesInOrder(rank), picked},
                   .outputs = {picked},
                   .communication = {{.axes = {static_cast<AxisIndex>(dim)}}}};
}

Result<Strategy> DefaultGatherD(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const std::size_t dim, DimOf(op, "dim", 0));
  return BatchStrategy(op, device_count, {dim != 0, dim != 0});
}

Result<std::vector<ValueId>> LocalizeGatherD(const LocalizeContext& context) {
  DRYDOCK_TRY(const std::size_t dim, DimOf(context.global, "dim", 0));
  const std::int64_t rows = context.builder.TypeOf(context.spec.inputs[0]).shape[dim];
  if (rows == context.global.inputs[0].shape[dim]) {
    return EmitLocal(context, context.spec.attrs);
  }
  DRYDOCK_TRY(const OwnRows own,
              EmitOwnRows(context, context.spec.inputs[1], rows, static_cast<AxisIndex>(dim)));
  NodeSpec spec = context.spec;
  spec.inputs[1] = own.indices;
  DRYDOCK_TRY(const ValueId found, context.builder.Emit(std::move(spec)));
  DRYDOCK_TRY(const ValueId mask,
              EmitHelperCast(context, own.is_own, context.global.inputs[0].dtype));
  DRYDOCK_TRY(const ValueId masked, EmitHelper(context, ops::kMul, {found, mask}));
  return std::vector<ValueId>{masked};
}

/// The kernel takes x for its shape only.
Result<std::vector<ValueId>> GradientOfGatherD(const GradientContext& context) {
  const Node& node = context.node;
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("GatherDGradV2",
                           {node.inputs[0], node.inputs[1], OutputGradient(context)}, node.attrs));
  return std::vector<ValueId>{gradient, kNoValue};
}

/// Element of `index` (shape of the index array) as a position on `dim` of `shape`; -1 if outside.
std::int64_t PositionOn(double index, std::int64_t extent) {
  const auto at = static_cast<std::int64_t>(index);
  const std::int64_t position = at < 0 ? at + extent : at;
  return position >= 0 && position < extent ? position : -1;
}

Result<std::vector<NdArray>> EvaluateGatherD(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t dim, DimOf(view, "dim", 0));
  const NdArray& x = context.inputs[0];
  const NdArray& index = context.inputs[1];
  NdArray out = FilledArray(index.shape, 0.0);
  std::size_t n = 0;
  ForEachElement(index.shape, [&](std::span<const std::int64_t> at) {
    std::vector<std::int64_t> source(at.begin(), at.end());
    source[dim] = PositionOn(index.data[n], x.shape[dim]);
    if (source[dim] >= 0) {
      out.data[n] = x.data[OffsetOf(x.shape, source)];
    }
    ++n;
  });
  return std::vector<NdArray>{std::move(out)};
}

/// Zeros of `shape` with every element of `gradient` added at the position `index` says on `dim`.
NdArray ScatterAdd(const NdArray& index, const NdArray& gradient, const Shape& shape,
                   std::size_t dim) {
  NdArray out = FilledArray(shape, 0.0);
  std::size_t n = 0;
  ForEachElement(index.shape, [&](std::span<const std::int64_t> at) {
    std::vector<std::int64_t> target(at.begin(), at.end());
    target[dim] = PositionOn(index.data[n], shape[dim]);
    if (target[dim] >= 0) {
      out.data[OffsetOf(shape, target)] += gradient.data[n];
    }
    ++n;
  });
  return out;
}

// ---- GatherDGradV2: x, index, grad -> gradient of x

Result<std::vector<NdArray>> EvaluateGatherDGradV2(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t dim, DimOf(view, "dim", 0));
  return std::vector<NdArray>{
      ScatterAdd(context.inputs[1], context.inputs[2], context.input_types[0].shape, dim)};
}

// ---- GatherDGrad: index, grad -> zeros of attribute `shape` with grad added at index on `dim`

Result<std::vector<TensorType>> InferGatherDGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(DimOf(op, "dim", 0));
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "shape"));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[1].dtype}};
}

Result<std::vector<NdArray>> EvaluateGatherDGrad(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t dim, DimOf(view, "dim", 0));
  return std::vector<NdArray>{
      ScatterAdd(context.inputs[0], context.inputs[1], context.output_types[0].shape, dim)};
}

// ---- TopK: largest k of the last dimension -> values, indices

Result<std::int64_t> CountOf(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  const std::int64_t extent = op.inputs[0].shape.back();
  DRYDOCK_TRY(const std::int64_t count, IntAttr(*op.attrs, "k", -1));
  if (count < 0 || count > extent) {
    return FailOp(op, "k",
                  "k of '" + std::string(op.op) + "' is " + std::to_string(count) +
                      ", but the last dimension of its input has " + std::to_string(extent) +
                      " elements");
  }
  return count;
}

Result<std::vector<TensorType>> InferTopK(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const std::int64_t count, CountOf(op));
  TensorType values = op.inputs[0];
  values.shape.back() = count;
  return std::vector<TensorType>{values, {.shape = values.shape, .dtype = DType::kInt32}};
}

Result<ShardRule> ShardTopK(const OpView& op, const Strategy& /*strategy*/) {
  const std::size_t last[] = {op.inputs[0].shape.size() - 1};
  return AxisLocalRule(op, last, "the last dimension of '" + std::string(op.op) + "'");
}

std::int64_t ElementsOf(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    count *= extent;
  }
  return count;
}

/// The values' gradients, put at the places that the flattened input has for them.
Result<std::vector<ValueId>> GradientOfTopK(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  const Shape shape = context.TypeOf(context.node.inputs[0]).shape;
  const TensorType index = context.TypeOf(context.node.outputs[1]);
  const std::int64_t count = index.shape.back();
  const std::int64_t rows = ElementsOf(index.shape) / std::max<std::int64_t>(count, 1);
  std::vector<double> begins(static_cast<std::size_t>(rows));
  for (std::size_t row = 0; row < begins.size(); ++row) {
    begins[row] = static_cast<double>(row) * static_cast<double>(shape.back());
  }
  DRYDOCK_TRY(
      const ValueId begin,
      context.builder.AddConstant({.shape = {rows, 1}, .dtype = index.dtype}, std::move(begins)));
  DRYDOCK_TRY(const ValueId by_row, EmitReshape(context, context.node.outputs[1], {rows, count}));
  DRYDOCK_TRY(const ValueId places, context.Emit(ops::kAdd, {by_row, begin}));
  DRYDOCK_TRY(const ValueId coordinates, EmitReshape(context, places, {rows * count, 1}));
  DRYDOCK_TRY(const ValueId updates, EmitReshape(context, OutputGradient(context), {rows * count}));
  DRYDOCK_TRY(const ValueId flat, context.Emit("ScatterNd", {coordinates, updates},
                                               {{"shape", Shape{ElementsOf(shape)}}}));
  DRYDOCK_TRY(const ValueId gradient, EmitReshape(context, flat, shape));
  return std::vector<ValueId>{gradient};
}

/// Descending; equal elements by position.
Result<std::vector<NdArray>> EvaluateTopK(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  const auto extent = static_cast<std::size_t>(x.shape.back());
  const auto count = static_cast<std::size_t>(context.output_types[0].shape.back());
  NdArray values{.shape = context.output_types[0].shape};
  NdArray indices{.shape = values.shape};
  for (std::size_t begin = 0; begin < x.data.size(); begin += extent) {
    std::vector<std::size_t> order(extent);
    for (std::size_t i = 0; i < extent; ++i) {
      order[i] = i;
    }
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return x.data[begin + a] > x.data[begin + b]; });
    for (std::size_t i = 0; i < count; ++i) {
      values.data.push_back(x.data[begin + order[i]]);
      indices.data.push_back(static_cast<double>(order[i]));
    }
  }
  return std::vector<NdArray>{std::move(values), std::move(indices)};
}

DRYDOCK_OP(GatherD, .family = "gather", .signature = "GatherD()(x, #dim, index)",
           .infer = InferGatherD, .shard = ShardGatherD, .default_strategy = DefaultGatherD,
           .localize = LocalizeGatherD, .gradient = GradientOfGatherD, .evaluate = EvaluateGatherD,
           .flops = NoFlops, .cost = CostFamily::kGather, .reads_part = true, .mirrored = "0",
           .example = "(dim=1)((4, 6), int32(4, 2))");

DRYDOCK_OP(GatherDGradV2, .family = "gradient",
           .signature = "GatherDGradV2()(x, #dim, index, grad)", .infer = InferFirst,
           .gradient = GradientNotNeeded, .evaluate = EvaluateGatherDGradV2, .flops = NoFlops);

DRYDOCK_OP(GatherDGrad, .family = "gradient",
           .signature = "GatherDGrad(dim=0, shape=None)(index, grad)", .infer = InferGatherDGrad,
           .gradient = GradientNotNeeded, .values = "-", .evaluate = EvaluateGatherDGrad,
           .flops = NoFlops);

DRYDOCK_OP(TopK, .family = "axis_local", .signature = "TopK(sorted=True)(x, #k)",
           .infer = InferTopK, .shard = ShardTopK, .gradient = GradientOfTopK, .values = "k",
           .evaluate = EvaluateTopK, .flops = FlopsPerInput<1>, .cost = CostFamily::kSoftmax,
           .example = "(k=2)((4, 6))");

}  // namespace
}  // namespace drydock::strategies
