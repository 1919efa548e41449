#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/matmul/matmul_form.h"

/// Distances of all pairs of rows: x1 [*b, p, k], x2 [*b, r, k] -> [*b, p, r], in the norm of
/// attribute p. Source: mindspore ops_info/cdist_info.cc.
namespace drydock::strategies {
namespace {

Result<double> NormOf(const OpView& op) {
  DRYDOCK_TRY(const double p, FloatAttr(*op.attrs, "p", 2.0));
  if (!(p >= 0)) {
    return FailOp(op, "norm", "the norm p of '" + std::string(op.op) + "' must be at least 0");
  }
  return p;
}

Result<std::vector<TensorType>> InferCdist(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 2, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_RETURN_IF_ERROR(NormOf(op));
  const Shape& a = op.inputs[0].shape;
  const Shape& b = op.inputs[1].shape;
  if (a.back() != b.back()) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) +
                      "' takes rows of equal length, but input 0 has shape " + TupleText(a) +
                      " and input 1 " + TupleText(b));
  }
  DRYDOCK_TRY(Shape shape,
              BroadcastShapes(op, Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  shape.push_back(a[a.size() - 2]);
  shape.push_back(b[b.size() - 2]);
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

/// The row length lies on no axis; batch extents of 1 that broadcast are whole.
TensorAxes RowsAxes(const Shape& shape, std::size_t rank, AxisIndex row_axis) {
  TensorAxes axes(shape.size());
  axes[shape.size() - 2] = {row_axis};
  if (shape.size() == 3 && (shape[0] != 1 || rank == 2)) {
    axes[0] = {0};
  }
  return axes;
}

Result<ShardRule> ShardCdist(const OpView& op, const Strategy& /*strategy*/) {
  const std::size_t rank = op.outputs[0].shape.size();
  const auto p = static_cast<AxisIndex>(rank - 2);
  return ShardRule{
      .axis_count = static_cast<std::int32_t>(rank),
      .inputs = {RowsAxes(op.inputs[0].shape, rank, p), RowsAxes(op.inputs[1].shape, rank, p + 1)},
      .outputs = {AxesInOrder(rank)}};
}

/// Rows of x1, or the batch of both where there is one. (The reference looks at an extent where it
/// means the number of dimensions and cuts x1 alone, which its own check then refuses.)
Result<Strategy> DefaultCdist(const OpView& op, std::int64_t device_count) {
  const auto batched = [&op](std::size_t i) {
    return op.inputs[i].shape.size() == 3 && op.inputs[i].shape[0] != 1;
  };
  const bool any = batched(0) || batched(1);
  return BatchStrategy(op, device_count,
                       {any ? batched(0) : op.inputs[0].shape.size() == 2, any && batched(1)});
}

/// Distance of two rows of `length` elements.
double Distance(const double* a, const double* b, std::int64_t length, double p) {
  double sum = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    const double difference = std::fabs(a[i] - b[i]);
    if (std::isinf(p)) {
      sum = std::max(sum, difference);
    } else if (p == 0) {
      sum += difference != 0 ? 1 : 0;
    } else {
      sum += std::pow(difference, p);
    }
  }
  return p == 0 || std::isinf(p) ? sum : std::pow(sum, 1 / p);
}

/// `array` with its batch repeated to that of a result of shape `out`.
NdArray WithBatch(const NdArray& array, const Shape& out) {
  Shape shape(out.begin(), out.end() - 2);
  shape.insert(shape.end(), array.shape.end() - 2, array.shape.end());
  return BroadcastArray(array, shape);
}

Result<std::vector<NdArray>> EvaluateCdist(const EvaluateContext& context) {
  DRYDOCK_TRY(const double p, NormOf(context.View()));
  const Shape& shape = context.output_types[0].shape;
  const NdArray a = WithBatch(context.inputs[0], shape);
  const NdArray b = WithBatch(context.inputs[1], shape);
  const std::int64_t length = a.shape.back();
  const std::int64_t rows_a = shape[shape.size() - 2];
  const std::int64_t rows_b = shape.back();
  NdArray out{.shape = shape};
  std::int64_t n = 0;
  ForEachElement(shape, [&](std::span<const std::int64_t> /*at*/) {
    const std::int64_t row_a = n / rows_b;
    const std::int64_t row_b = n / (rows_a * rows_b) * rows_b + n % rows_b;
    out.data.push_back(
        Distance(a.data.data() + row_a * length, b.data.data() + row_b * length, length, p));
    ++n;
  });
  return std::vector<NdArray>{std::move(out)};
}

// ---- Gradient -----------------------------------------------------------------------------------

/// The kernel gives the gradient of its first rows; distances are symmetric.
Result<std::vector<ValueId>> GradientOfCdist(const GradientContext& context) {
  const Node& node = context.node;
  const ValueId dout = OutputGradient(context);
  std::vector<ValueId> gradients = NoGradients(context);
  if (context.wanted[0]) {
    DRYDOCK_TRY(const ValueId of_first,
                context.Emit("CdistGrad", {dout, node.inputs[0], node.inputs[1], node.outputs[0]},
                             node.attrs));
    DRYDOCK_TRY(gradients[0], FitToInput(context, of_first, 0));
  }
  if (context.wanted[1]) {
    DRYDOCK_TRY(const ValueId swapped_dout, EmitSwappedLast(context, dout));
    DRYDOCK_TRY(const ValueId swapped, EmitSwappedLast(context, node.outputs[0]));
    DRYDOCK_TRY(const ValueId of_second,
                context.Emit("CdistGrad", {swapped_dout, node.inputs[1], node.inputs[0], swapped},
                             node.attrs));
    DRYDOCK_TRY(gradients[1], FitToInput(context, of_second, 1));
  }
  return gradients;
}

/// grad, x, y, distances -> gradient of x, with the batch of the distances.
Result<std::vector<TensorType>> InferCdistGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 4, 4));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 8));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 2, 8));
  TensorType out = op.inputs[0];
  out.shape.back() = op.inputs[1].shape.back();
  return std::vector<TensorType>{std::move(out)};
}

/// Slope of the distance `d` in the difference `x` of one pair of elements.
double DistanceSlope(double x, double d, double p) {
  if (d == 0 || x == 0 || p == 0) {
    return 0;
  }
  const double sign = x > 0 ? 1 : -1;
  if (std::isinf(p)) {
    return std::fabs(x) == d ? sign : 0;
  }
  return sign * std::pow(std::fabs(x) / d, p - 1);
}

Result<std::vector<NdArray>> EvaluateCdistGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const double p, NormOf(context.View()));
  const NdArray& gradient = context.inputs[0];
  const NdArray& distances = context.inputs[3];
  const NdArray x = WithBatch(context.inputs[1], gradient.shape);
  const NdArray y = WithBatch(context.inputs[2], gradient.shape);
  const std::int64_t rows_y = gradient.shape.back();
  const std::int64_t length = x.shape.back();
  const std::int64_t rows_x = gradient.shape[gradient.shape.size() - 2];
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  for (std::size_t n = 0; n < gradient.data.size(); ++n) {
    const auto at = static_cast<std::int64_t>(n);
    const auto row_x = static_cast<std::size_t>(at / rows_y * length);
    const auto row_y =
        static_cast<std::size_t>((at / (rows_x * rows_y) * rows_y + at % rows_y) * length);
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
      const double difference = x.data[row_x + i] - y.data[row_y + i];
      out.data[row_x + i] += gradient.data[n] * DistanceSlope(difference, distances.data[n], p);
    }
  }
  return std::vector<NdArray>{std::move(out)};
}

/// 3 * B * P * R * K.
double CdistFlops(const OpView& op) {
  return 3 * Elements(op.outputs[0]) * static_cast<double>(op.inputs[0].shape.back());
}
double CdistGradFlops(const OpView& op) {
  return 4 * Elements(op.inputs[0]) * static_cast<double>(op.inputs[1].shape.back());
}

DRYDOCK_OP(Cdist, .family = "matmul", .signature = "Cdist(p=2.0)(x1, x2)", .infer = InferCdist,
           .shard = ShardCdist, .default_strategy = DefaultCdist, .gradient = GradientOfCdist,
           .evaluate = EvaluateCdist, .flops = CdistFlops, .cost = CostFamily::kArithmetic,
           .example = "(p=2.0)((4, 6), (8, 6))");

DRYDOCK_OP(CdistGrad, .family = "gradient",
           .signature = "CdistGrad(p=2.0)(grad, input_x, input_y, cdist)", .infer = InferCdistGrad,
           .gradient = GradientNotNeeded, .evaluate = EvaluateCdistGrad, .flops = CdistGradFlops);

}  // namespace
}  // namespace drydock::strategies
