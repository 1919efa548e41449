#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/scalar_math.h"

/// Rows with equal number combined into one row: sum, product, maximum, minimum. Cut rows leave
/// partial results that one AllReduce completes. Source: mindspore
/// ops_info/unsorted_segment_op_info.cc.
namespace drydock::strategies {
namespace {

Result<std::int64_t> SegmentsOf(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t segments, IntAttr(*op.attrs, "num_segments", -1));
  if (segments < 0) {
    return FailOp(op, "num-segments",
                  "num_segments of '" + std::string(op.op) + "' must be at least 0");
  }
  return segments;
}

Result<std::vector<TensorType>> InferSegments(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 1));
  DRYDOCK_TRY(const std::int64_t segments, SegmentsOf(op));
  const Shape& x = op.inputs[0].shape;
  const Shape& numbers = op.inputs[1].shape;
  if (numbers.size() > x.size() || !std::equal(numbers.begin(), numbers.end(), x.begin())) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) +
                      "' takes numbers shaped like the leading dimensions of " + TupleText(x) +
                      ", but they have shape " + TupleText(numbers));
  }
  Shape out = {segments};
  out.insert(out.end(), x.begin() + static_cast<std::ptrdiff_t>(numbers.size()), x.end());
  return std::vector<TensorType>{{.shape = std::move(out), .dtype = op.inputs[0].dtype}};
}

constexpr char kSum[] = "sum";
constexpr char kProd[] = "prod";
constexpr char kMax[] = "max";
constexpr char kMin[] = "min";

/// [*s, *r], [*s] -> [_, *r]: cut rows leave partial results. The reference completes a maximum
/// or minimum twice, by AllReduce and by an AllGather over a default group; once is enough.
template <const char* Reduce>
Result<ShardRule> ShardSegments(const OpView& op, const Strategy& /*strategy*/) {
  const std::size_t rank = op.inputs[0].shape.size();
  const std::size_t shared = op.inputs[1].shape.size();
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank),
                 .inputs = {AxesInOrder(rank), AxesInOrder(shared)}};
  TensorAxes out = AxesInOrder(rank - shared, static_cast<AxisIndex>(shared));
  out.insert(out.begin(), DimAxes{});
  rule.outputs = {std::move(out)};
  ForwardCommunication partial{.reduce_op = Reduce};
  partial.axes.resize(shared);
  std::iota(partial.axes.begin(), partial.axes.end(), AxisIndex{0});
  rule.communication.push_back(std::move(partial));
  return rule;
}

// ---- Evaluation ---------------------------------------------------------------------------------

/// What a segment without rows holds: finite, as the kernels leave it.
constexpr double kLargest = std::numeric_limits<float>::max();

double LargerOf(double a, double b) {
  return std::max(a, b);
}
double SmallerOf(double a, double b) {
  return std::min(a, b);
}

/// Rows with a number outside [0, num_segments) are dropped.
Result<std::vector<NdArray>> EvaluateSegments(const EvaluateContext& context, double initial,
                                              BinaryMath combine) {
  const NdArray& x = context.inputs[0];
  const NdArray& numbers = context.inputs[1];
  NdArray out = FilledArray(context.output_types[0].shape, initial);
  const std::size_t row = numbers.data.empty() ? 0 : x.data.size() / numbers.data.size();
  for (std::size_t i = 0; i < numbers.data.size(); ++i) {
    const auto segment = static_cast<std::int64_t>(numbers.data[i]);
    if (segment < 0 || segment >= out.shape[0]) {
      continue;
    }
    for (std::size_t j = 0; j < row; ++j) {
      double& slot = out.data[static_cast<std::size_t>(segment) * row + j];
      slot = combine(slot, x.data[i * row + j]);
    }
  }
  return std::vector<NdArray>{std::move(out)};
}

Result<std::vector<NdArray>> EvaluateSegmentSum(const EvaluateContext& context) {
  return EvaluateSegments(context, 0.0, SumOf);
}
Result<std::vector<NdArray>> EvaluateSegmentProd(const EvaluateContext& context) {
  return EvaluateSegments(context, 1.0, ProductOf);
}
Result<std::vector<NdArray>> EvaluateSegmentMax(const EvaluateContext& context) {
  return EvaluateSegments(context, -kLargest, LargerOf);
}
Result<std::vector<NdArray>> EvaluateSegmentMin(const EvaluateContext& context) {
  return EvaluateSegments(context, kLargest, SmallerOf);
}

// ---- Gradients ----------------------------------------------------------------------------------

/// Row of its segment for every row of x.
Result<ValueId> EmitRowsOf(const GradientContext& context, ValueId segments) {
  return context.Emit("Gather", {segments, context.node.inputs[1]}, {{"axis", 0}});
}

Result<ValueId> EmitSegments(const GradientContext& context, std::string_view op, ValueId rows) {
  const std::int64_t segments = context.TypeOf(context.node.outputs[0]).shape[0];
  return context.Emit(op, {rows, context.node.inputs[1]}, {{"num_segments", segments}});
}

/// Rows of segments as the reference gathers them: those whose number is negative are zeros.
struct KeptRows {
  ValueId numbers = kNoValue;  ///< Segment numbers, at least 0.
  ValueId kept = kNoValue;     ///< Per element of x whether its number is none of those.
  ValueId rows = kNoValue;
};

/// 1 where the segment number is not negative, in the shape of `like`.
Result<ValueId> EmitKept(const GradientContext& context, ValueId like) {
  Shape shape = context.TypeOf(context.node.inputs[1]).shape;
  shape.resize(context.TypeOf(like).shape.size(), 1);
  DRYDOCK_TRY(const ValueId counted, context.Emit("GreaterEqualScalar", {context.node.inputs[1]},
                                                  {{"other", std::int64_t{0}}}));
  DRYDOCK_TRY(const ValueId column, EmitReshape(context, counted, shape));
  DRYDOCK_TRY(const ValueId truth, CastTo(context, like, DType::kBool));
  DRYDOCK_TRY(const ValueId ones, context.Emit(ops::kOnesLike, {truth}));
  return context.Emit("LogicalAnd", {column, ones});
}

/// Elements of `value` where `condition` holds, zeros elsewhere.
Result<ValueId> EmitOrZeros(const GradientContext& context, ValueId condition, ValueId value) {
  DRYDOCK_TRY(const ValueId zeros, EmitZeros(context, value));
  return context.Emit("Select", {condition, value, zeros});
}

Result<KeptRows> EmitKeptRows(const GradientContext& context, ValueId segments) {
  KeptRows rows;
  DRYDOCK_TRY(const ValueId zeros, EmitZeros(context, context.node.inputs[1]));
  DRYDOCK_TRY(rows.numbers, context.Emit("Maximum", {context.node.inputs[1], zeros}));
  DRYDOCK_TRY(const ValueId gathered,
              context.Emit("Gather", {segments, rows.numbers}, {{"axis", 0}}));
  DRYDOCK_TRY(rows.kept, EmitKept(context, gathered));
  DRYDOCK_TRY(rows.rows, EmitOrZeros(context, rows.kept, gathered));
  return rows;
}

Result<std::vector<ValueId>> GradientOfSegmentSum(const GradientContext& context) {
  DRYDOCK_TRY(const KeptRows gradient, EmitKeptRows(context, OutputGradient(context)));
  return std::vector<ValueId>{gradient.rows, kNoValue};
}

/// Rows that equal their segment's extreme share its gradient; that of a segment without rows is
/// not read.
Result<std::vector<ValueId>> GradientOfSegmentExtreme(const GradientContext& context) {
  const ValueId x = context.node.inputs[0];
  DRYDOCK_TRY(const KeptRows extreme, EmitKeptRows(context, context.node.outputs[0]));
  DRYDOCK_TRY(const ValueId equal, context.Emit("Equal", {x, extreme.rows}));
  DRYDOCK_TRY(const ValueId chosen, context.Emit("LogicalAnd", {equal, extreme.kept}));
  DRYDOCK_TRY(const ValueId counted, CastTo(context, chosen, context.TypeOf(x).dtype));
  DRYDOCK_TRY(const ValueId count, EmitSegments(context, "UnsortedSegmentSum", counted));
  DRYDOCK_TRY(const ValueId share, context.Emit(ops::kRealDiv, {OutputGradient(context), count}));
  DRYDOCK_TRY(const ValueId gathered,
              context.Emit("Gather", {share, extreme.numbers}, {{"axis", 0}}));
  DRYDOCK_TRY(const ValueId shares, EmitOrZeros(context, extreme.kept, gathered));
  DRYDOCK_TRY(const ValueId gradient, EmitOrZeros(context, chosen, shares));
  return std::vector<ValueId>{gradient, kNoValue};
}

/// dX = dY * (product of the other rows of the segment): y / x, and for a single zero the product
/// of the rest.
Result<std::vector<ValueId>> GradientOfSegmentProd(const GradientContext& context) {
  const ValueId x = context.node.inputs[0];
  const DType dtype = context.TypeOf(x).dtype;
  const ValueId zero = context.builder.AddScalar(0, dtype);
  const ValueId one = context.builder.AddScalar(1, dtype);
  DRYDOCK_TRY(const ValueId is_zero, EmitEqual(context, x, zero));
  DRYDOCK_TRY(const ValueId divisor, context.Emit(ops::kAdd, {x, is_zero}));
  DRYDOCK_TRY(const ValueId product, EmitRowsOf(context, context.node.outputs[0]));
  DRYDOCK_TRY(const ValueId others, context.Emit(ops::kRealDiv, {product, divisor}));
  DRYDOCK_TRY(const ValueId zeros, EmitSegments(context, "UnsortedSegmentSum", is_zero));
  DRYDOCK_TRY(const ValueId single, EmitEqual(context, zeros, one));
  DRYDOCK_TRY(const ValueId rest, EmitSegments(context, "UnsortedSegmentProd", divisor));
  DRYDOCK_TRY(const ValueId rest_if_single, context.Emit(ops::kMul, {single, rest}));
  DRYDOCK_TRY(const ValueId rest_rows, EmitRowsOf(context, rest_if_single));
  DRYDOCK_TRY(const ValueId of_zero, context.Emit(ops::kMul, {is_zero, rest_rows}));
  DRYDOCK_TRY(const ValueId slope, context.Emit(ops::kAdd, {others, of_zero}));
  DRYDOCK_TRY(const ValueId dout, EmitRowsOf(context, OutputGradient(context)));
  DRYDOCK_TRY(const ValueId gradient, context.Emit(ops::kMul, {dout, slope}));
  return std::vector<ValueId>{gradient, kNoValue};
}

#define DRYDOCK_SEGMENT(id, first, reduce, evaluate_fn, gradient_fn)                               \
  DRYDOCK_OP(id, .family = "scatter",                                                              \
             .signature = #id "()(" first ", segment_ids, #num_segments)", .infer = InferSegments, \
             .shard = ShardSegments<reduce>, .default_strategy = DefaultBatchAll,                  \
             .gradient = gradient_fn, .evaluate = evaluate_fn, .flops = FlopsPerInput<1>,          \
             .cost = CostFamily::kReduce, .mirrored = "0",                                         \
             .example = "(num_segments=3)((4, 6), int32(4))")

DRYDOCK_SEGMENT(UnsortedSegmentSum, "input_x", kSum, EvaluateSegmentSum, GradientOfSegmentSum);
DRYDOCK_SEGMENT(UnsortedSegmentProd, "x", kProd, EvaluateSegmentProd, GradientOfSegmentProd);
DRYDOCK_SEGMENT(UnsortedSegmentMax, "x", kMax, EvaluateSegmentMax, GradientOfSegmentExtreme);
DRYDOCK_SEGMENT(UnsortedSegmentMin, "x", kMin, EvaluateSegmentMin, GradientOfSegmentExtreme);

}  // namespace
}  // namespace drydock::strategies
