#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/strategy_check.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/linalg/small_matrix.h"

/// Linear algebra on the last two dimensions; only the batch may be cut, into all devices or not
/// at all. And Unique, which is never cut.
namespace drydock::strategies {
namespace {

/// Batch of both operands on one axis, nothing else. Source: mindspore
/// ops_info/batch_parallel_info.cc, BatchParallel.
Result<ShardRule> ShardBatchOfBoth(const OpView& op, const Strategy& strategy) {
  const bool batched = op.inputs[0].shape.size() > 2;
  const bool cut = !strategy.empty() && !strategy[0].empty() && strategy[0][0] > 1;
  if (batched && cut && op.device_count > 0 && strategy[0][0] != op.device_count) {
    return FailOp(op, "strategy-batch",
                  CutText(op, 0, 0, strategy[0][0]) +
                      ", but the batch must be whole or cut into all " +
                      std::to_string(op.device_count) + " devices");
  }
  ShardRule rule{.axis_count = batched ? 1 : 0};
  const auto axes = [batched](const TensorType& type) {
    TensorAxes result(type.shape.size());
    if (batched && !result.empty() && type.shape.size() > 1) {
      result[0] = {0};
    }
    return result;
  };
  for (const TensorType& input : op.inputs) {
    rule.inputs.push_back(axes(input));
  }
  for (const TensorType& output : op.outputs) {
    rule.outputs.push_back(axes(output));
  }
  return rule;
}

Result<Strategy> DefaultBatchOfBoth(const OpView& op, std::int64_t device_count) {
  const bool batched = op.inputs[0].shape.size() > 2 && op.inputs[0].shape[0] % device_count == 0;
  return BatchStrategy(op, device_count, {batched, batched});
}

/// Vectors as right sides stand for matrices of one column.
Shape WithColumns(const Shape& a, Shape b) {
  if (b.size() + 1 == a.size()) {
    b.push_back(1);
  }
  return b;
}

/// Matrices [.., m, n] and right sides [.., m, k] or [.., m] of one batch.
Status ExpectSystem(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  const Shape& a = op.inputs[0].shape;
  const Shape b = WithColumns(a, op.inputs[1].shape);
  const bool fits = a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin());
  if (!fits) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' cannot solve " + TupleText(a) +
                      " for right sides of shape " + TupleText(op.inputs[1].shape));
  }
  return {};
}

/// f on every matrix of a batch; matrices of the result follow each other.
template <typename F>
NdArray OverBatch(const NdArray& a, const NdArray& b, const Shape& shape, F f) {
  NdArray out{.shape = shape};
  const std::int64_t count = drydock::Product(std::span(a.shape).first(a.shape.size() - 2));
  for (std::int64_t i = 0; i < count; ++i) {
    const Matrix result = f(MatrixAt(a, i), MatrixAt(b, i));
    out.data.insert(out.data.end(), result.data.begin(), result.data.end());
  }
  return out;
}

// ---- SolveTriangular: a x = b, a triangular -----------------------------------------------------

struct Triangle {
  std::int64_t trans = 0;  ///< 0: a, 1: its transpose, 2: its conjugate transpose.
  bool lower = false;
  bool unit = false;  ///< Ones on the diagonal, whatever it holds.
};

Result<Triangle> TriangleOf(const AttrMap& attrs) {
  Triangle triangle = {};
  DRYDOCK_TRY(triangle.trans, IntAttr(attrs, "trans", 0));
  DRYDOCK_TRY(triangle.lower, BoolAttr(attrs, "lower", false));
  DRYDOCK_TRY(triangle.unit, BoolAttr(attrs, "unit_diagonal", false));
  return triangle;
}

/// Matrices [.., n, n] and right sides [.., n, k] or [.., n] of one batch.
Result<std::vector<TensorType>> InferSolve(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  const Shape& a = op.inputs[0].shape;
  if (a[a.size() - 1] != a[a.size() - 2]) {
    return FailOp(
        op, "shape-mismatch",
        "'" + std::string(op.op) + "' takes square matrices, but they have shape " + TupleText(a));
  }
  const Shape b = WithColumns(a, op.inputs[1].shape);
  if (a.size() != b.size() || !std::equal(a.begin(), a.end() - 1, b.begin())) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' cannot solve " + TupleText(a) +
                      " for right sides of shape " + TupleText(op.inputs[1].shape));
  }
  return std::vector<TensorType>{op.inputs[1]};
}

Result<std::vector<NdArray>> EvaluateSolve(const EvaluateContext& context) {
  DRYDOCK_TRY(const Triangle triangle, TriangleOf(context.attrs));
  const auto solve = [&triangle](const Matrix& a, const Matrix& b) {
    Matrix part = TrianglePart(a, triangle.lower, triangle.unit);
    return SolveSquare(triangle.trans == 0 ? part : Transposed(part), b);
  };
  NdArray b = context.inputs[1];
  b.shape = WithColumns(context.inputs[0].shape, b.shape);
  return std::vector<NdArray>{
      OverBatch(context.inputs[0], b, context.output_types[0].shape, solve)};
}

/// Right sides, or what has their shape, as matrices.
Result<ValueId> EmitColumns(const GradientContext& context, const Shape& a, ValueId value) {
  const Shape shape = context.TypeOf(value).shape;
  const Shape columns = WithColumns(a, shape);
  return columns == shape ? Result<ValueId>(value)
                          : context.Emit(ops::kReshape, {value}, {{"shape", columns}});
}

/// Factor with ones where `a` is read: its triangle, without the diagonal if that counts as ones.
Result<ValueId> EmitReadPart(const GradientContext& context, const Triangle& triangle,
                             const TensorType& a) {
  const std::int64_t n = a.shape.back();
  std::vector<double> mask = {};
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      const bool inside = triangle.lower ? column <= row : column >= row;
      mask.push_back(inside && !(triangle.unit && row == column) ? 1 : 0);
    }
  }
  return context.builder.AddConstant({.shape = {n, n}, .dtype = a.dtype}, std::move(mask));
}

/// dB solves the transposed system; dA = -dB x^T (or its transpose), where a is read.
Result<std::vector<ValueId>> GradientOfSolve(const GradientContext& context) {
  DRYDOCK_TRY(const Triangle triangle, TriangleOf(context.node.attrs));
  const ValueId a = context.node.inputs[0];
  const TensorType type = context.TypeOf(a);
  AttrMap attrs = context.node.attrs;
  attrs["trans"] = triangle.trans == 0 ? 1 : 0;
  std::vector<ValueId> gradients = NoGradients(context);
  DRYDOCK_TRY(gradients[1],
              context.Emit(context.node.op, {a, OutputGradient(context)}, std::move(attrs)));
  if (context.wanted[0]) {
    DRYDOCK_TRY(ValueId left, EmitColumns(context, type.shape, gradients[1]));
    DRYDOCK_TRY(ValueId right, EmitColumns(context, type.shape, context.node.outputs[0]));
    if (triangle.trans != 0) {
      std::swap(left, right);
    }
    DRYDOCK_TRY(const ValueId outer, context.Emit(type.shape.size() == 2 ? "MatMul" : "BatchMatMul",
                                                  {left, right}, {{"transpose_b", true}}));
    DRYDOCK_TRY(const ValueId negative, context.Emit("Neg", {outer}));
    DRYDOCK_TRY(const ValueId part, EmitReadPart(context, triangle, type));
    DRYDOCK_TRY(gradients[0], context.Emit(ops::kMul, {negative, part}));
  }
  return gradients;
}

/// n^2 * k for each matrix.
double SolveFlops(const OpView& op) {
  return Elements(op.inputs[1]) * static_cast<double>(op.inputs[0].shape.back());
}

DRYDOCK_OP(SolveTriangular, .family = "linalg",
           .signature = "SolveTriangular()(a, b, #trans=0, #lower=False, #unit_diagonal=False)",
           .infer = InferSolve, .shard = ShardBatchOfBoth, .default_strategy = DefaultBatchOfBoth,
           .gradient = GradientOfSolve, .evaluate = EvaluateSolve, .flops = SolveFlops,
           .cost = CostFamily::kMatMul, .example = "()((2, 4, 4), (2, 4, 3))");

// ---- LstsqV2: least squares of a x = b ----------------------------------------------------------

/// Solution; residuals, rank and singular values are not computed by the default driver: one
/// element each stands for them.
Result<std::vector<TensorType>> InferLstsq(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectSystem(op));
  const DType dtype = op.inputs[0].dtype;
  const Shape& a = op.inputs[0].shape;
  Shape solution = op.inputs[1].shape;
  solution[a.size() - 2] = a.back();
  return std::vector<TensorType>{{.shape = std::move(solution), .dtype = dtype},
                                 {.shape = {1}, .dtype = dtype},
                                 {.shape = {1}, .dtype = DType::kInt64},
                                 {.shape = {1}, .dtype = dtype}};
}

Result<std::vector<NdArray>> EvaluateLstsq(const EvaluateContext& context) {
  const auto solve = [](const Matrix& a, const Matrix& b) { return Product(PseudoInverse(a), b); };
  NdArray b = context.inputs[1];
  b.shape = WithColumns(context.inputs[0].shape, b.shape);
  std::vector<NdArray> out = {
      OverBatch(context.inputs[0], b, context.output_types[0].shape, solve)};
  out.resize(4, FilledArray({1}, 0.0));
  return out;
}

Result<std::vector<ValueId>> GradientOfLstsq(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  return EmitAll(context, "LstsqV2Grad",
                 {OutputGradient(context), context.node.inputs[0], context.node.inputs[1]});
}

Result<std::vector<TensorType>> InferLstsqGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  return std::vector<TensorType>{op.inputs[1], op.inputs[2]};
}

/// With P the pseudo-inverse of a full-rank A and G = dX: dB = P^T G and
/// dA = -P^T G B^T P^T + (I - A P) B G^T P P^T + P^T P B G^T (I - P A).
Result<std::vector<NdArray>> EvaluateLstsqGrad(const EvaluateContext& context) {
  NdArray of_a{.shape = context.input_types[1].shape};
  NdArray of_b{.shape = context.input_types[2].shape};
  NdArray g = context.inputs[0];
  g.shape = WithColumns(of_a.shape, g.shape);
  NdArray b = context.inputs[2];
  b.shape = WithColumns(of_a.shape, b.shape);
  const std::int64_t count = g.shape.size() > 2 ? g.shape[0] : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const Matrix a = MatrixAt(context.inputs[1], i);
    const Matrix p = PseudoInverse(a);
    const Matrix pt = Transposed(p);
    const Matrix bg = Product(MatrixAt(b, i), Transposed(MatrixAt(g, i)));
    const Matrix left =
        Product(Minus(Identity(a.rows), Product(a, p)), Product(bg, Product(p, pt)));
    const Matrix right =
        Product(Product(pt, p), Product(bg, Minus(Identity(a.columns), Product(p, a))));
    const Matrix middle = Product(pt, Product(Transposed(bg), pt));
    const Matrix sum = Minus(Plus(left, right), middle);
    const Matrix own_b = Product(pt, MatrixAt(g, i));
    of_a.data.insert(of_a.data.end(), sum.data.begin(), sum.data.end());
    of_b.data.insert(of_b.data.end(), own_b.data.begin(), own_b.data.end());
  }
  return std::vector<NdArray>{std::move(of_a), std::move(of_b)};
}

/// 2 * m * n^2 for each matrix.
double LstsqFlops(const OpView& op) {
  return 2 * Elements(op.inputs[0]) * static_cast<double>(op.inputs[0].shape.back());
}

DRYDOCK_OP(LstsqV2, .family = "linalg", .signature = "LstsqV2()(A, B, #driver=None)",
           .infer = InferLstsq, .shard = ShardBatchOfBoth, .default_strategy = DefaultBatchOfBoth,
           .gradient = GradientOfLstsq, .evaluate = EvaluateLstsq, .flops = LstsqFlops,
           .cost = CostFamily::kMatMul, .example = "()((2, 6, 4), (2, 6, 3))");

DRYDOCK_OP(LstsqV2Grad, .family = "gradient", .signature = "LstsqV2Grad()(gX, A, B)",
           .infer = InferLstsqGrad, .gradient = GradientNotNeeded, .evaluate = EvaluateLstsqGrad,
           .flops = NoFlops);

// ---- TraceV2: sum of a diagonal of two dimensions -----------------------------------------------

struct Diagonal {
  std::int64_t offset = 0;
  std::size_t rows = 0;
  std::size_t columns = 1;
};

Result<Diagonal> DiagonalOf(const OpView& op, std::size_t rank) {
  Diagonal diagonal = {};
  DRYDOCK_TRY(diagonal.offset, IntAttr(*op.attrs, "offset", 0));
  DRYDOCK_TRY(const std::int64_t rows, IntAttr(*op.attrs, "axis1", 0));
  DRYDOCK_TRY(const std::int64_t columns, IntAttr(*op.attrs, "axis2", 1));
  DRYDOCK_TRY(diagonal.rows, NormalisedAxis(op, rows, rank));
  DRYDOCK_TRY(diagonal.columns, NormalisedAxis(op, columns, rank));
  if (diagonal.rows == diagonal.columns) {
    return FailOp(op, "axes", "axis1 and axis2 of '" + std::string(op.op) + "' must differ");
  }
  return diagonal;
}

Result<std::vector<TensorType>> InferTrace(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, std::string::npos));
  DRYDOCK_TRY(const Diagonal diagonal, DiagonalOf(op, op.inputs[0].shape.size()));
  DRYDOCK_TRY(const std::string dtype, TextAttr(*op.attrs, "dtype", ""));
  const std::size_t axes[] = {diagonal.rows, diagonal.columns};
  TensorType out = {.shape = ReducedShape(op.inputs[0].shape, axes, false),
                    .dtype = op.inputs[0].dtype};
  if (!dtype.empty()) {
    DRYDOCK_TRY(out.dtype, ParseDType(dtype));
  }
  return std::vector<TensorType>{std::move(out)};
}

Result<ShardRule> ShardTrace(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const Diagonal diagonal, DiagonalOf(op, op.inputs[0].shape.size()));
  const std::size_t axes[] = {diagonal.rows, diagonal.columns};
  ShardRule rule = ReduceRule(op, axes, false, "sum", false);
  rule.communication.clear();
  for (const std::size_t d : axes) {
    rule.uncut.push_back(
        {.axis = static_cast<AxisIndex>(d), .what = "a dimension of the matrices"});
  }
  return rule;
}

Result<Strategy> DefaultTrace(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const Diagonal diagonal, DiagonalOf(op, op.inputs[0].shape.size()));
  return BatchStrategy(op, device_count, {diagonal.rows != 0 && diagonal.columns != 0});
}

Result<std::vector<ValueId>> GradientOfTrace(const GradientContext& context) {
  const TensorType type = context.TypeOf(context.node.inputs[0]);
  AttrMap attrs = context.node.attrs;
  attrs["shape"] = type.shape;
  attrs["dtype"] = std::string(DTypeName(type.dtype));
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("TraceV2Grad", {OutputGradient(context)}, std::move(attrs)));
  return std::vector<ValueId>{gradient};
}

/// Calls f(element, element of the trace) for the elements of `shape` on the diagonal.
template <typename F>
void ForDiagonal(const Shape& shape, const Diagonal& diagonal, F f) {
  std::size_t n = 0;
  const std::size_t axes[] = {diagonal.rows, diagonal.columns};
  const Shape kept = ReducedShape(shape, axes, false);
  ForEachElement(shape, [&](std::span<const std::int64_t> at) {
    if (at[diagonal.columns] - at[diagonal.rows] == diagonal.offset) {
      std::vector<std::int64_t> index = {};
      for (std::size_t d = 0; d < at.size(); ++d) {
        if (d != diagonal.rows && d != diagonal.columns) {
          index.push_back(at[d]);
        }
      }
      f(n, OffsetOf(kept, index));
    }
    ++n;
  });
}

Result<std::vector<NdArray>> EvaluateTrace(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  DRYDOCK_TRY(const Diagonal diagonal, DiagonalOf(context.View(), x.shape.size()));
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  ForDiagonal(x.shape, diagonal,
              [&](std::size_t from, std::size_t to) { out.data[to] += x.data[from]; });
  return std::vector<NdArray>{std::move(out)};
}

Result<std::vector<TensorType>> InferTraceGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "shape"));
  DRYDOCK_TRY(const std::string dtype, TextAttr(*op.attrs, "dtype", "float32"));
  DRYDOCK_TRY(const DType parsed, ParseDType(dtype));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = parsed}};
}

Result<std::vector<NdArray>> EvaluateTraceGrad(const EvaluateContext& context) {
  const Shape& shape = context.output_types[0].shape;
  DRYDOCK_TRY(const Diagonal diagonal, DiagonalOf(context.View(), shape.size()));
  NdArray out = FilledArray(shape, 0.0);
  ForDiagonal(shape, diagonal, [&](std::size_t to, std::size_t from) {
    out.data[to] = context.inputs[0].data[from];
  });
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(TraceV2, .family = "linalg",
           .signature = "TraceV2()(input, #offset=0, #axis1=0, #axis2=1, #dtype=None)",
           .infer = InferTrace, .shard = ShardTrace, .default_strategy = DefaultTrace,
           .gradient = GradientOfTrace, .evaluate = EvaluateTrace, .flops = FlopsPerInput<1>,
           .cost = CostFamily::kReduce, .example = "(axis1=1, axis2=2)((4, 6, 6))");

DRYDOCK_OP(TraceV2Grad, .family = "gradient",
           .signature = "TraceV2Grad(shape, dtype=None)(dout, #offset=0, #axis1=0, #axis2=1)",
           .infer = InferTraceGrad, .gradient = GradientNotNeeded, .evaluate = EvaluateTraceGrad,
           .flops = NoFlops);

}  // namespace
}  // namespace drydock::strategies
