#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// x W^T + b as one kernel: the fully connected layer of mindspore.mint.
///
/// Example: x [4, 8, 6], W [2, 6], b [2] -> [4, 8, 2]. Backward works on matrices of 32 rows. There
/// is no sharding rule, in the reference neither. Source: mindspore ops/grad/grad_math_ops.cc.
namespace drydock::strategies {
namespace {

Result<std::vector<TensorType>> InferDense(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  const Shape& x = op.inputs[0].shape;
  const Shape& weight = op.inputs[1].shape;
  if (x.empty() || weight.size() != 2 || x.back() != weight[1]) {
    return FailOp(op, "shape-mismatch",
                  "'Dense' of a tensor of shape " + TupleText(x) +
                      " cannot take a weight of shape " + TupleText(weight));
  }
  if (op.inputs.size() == 3 && op.inputs[2].shape != Shape{weight[0]}) {
    return FailOp(op, "shape-mismatch",
                  "bias of 'Dense' has shape " + TupleText(op.inputs[2].shape) + ", not " +
                      TupleText(Shape{weight[0]}));
  }
  TensorType type = op.inputs[0];
  type.shape.back() = weight[0];
  return std::vector<TensorType>{std::move(type)};
}

Shape RowsOf(const Shape& shape) {
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) {
    rows *= shape[d];
  }
  return {rows, shape.back()};
}

bool HasBias(const GradientContext& context) {
  return context.node.inputs.size() > 2 && context.node.inputs[2] != kNoValue;
}

Result<ValueId> EmitOfX(const GradientContext& context, ValueId dout) {
  const ValueId weight = context.node.inputs[1];
  DRYDOCK_TRY(const ValueId product,
              context.Emit(HasBias(context) ? "MatMul" : "MatMulExt", {dout, weight}));
  return EmitReshape(context, product, context.TypeOf(context.node.inputs[0]).shape);
}

Result<ValueId> EmitOfWeight(const GradientContext& context, ValueId dout) {
  const ValueId x = context.node.inputs[0];
  DRYDOCK_TRY(const ValueId rows, EmitReshape(context, x, RowsOf(context.TypeOf(x).shape)));
  if (HasBias(context)) {
    return context.Emit("MatMul", {dout, rows}, {{"transpose_a", true}});
  }
  DRYDOCK_TRY(const ValueId columns,
              context.Emit("Transpose", {dout}, {{"input_perm", Shape{1, 0}}}));
  return context.Emit("MatMulExt", {columns, rows});
}

Result<std::vector<ValueId>> GradientOfDense(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  const ValueId dout = OutputGradient(context);
  DRYDOCK_TRY(const ValueId rows, EmitReshape(context, dout, RowsOf(context.TypeOf(dout).shape)));
  if (HasBias(context) && context.wanted[2]) {
    DRYDOCK_TRY(gradients[2], ReduceTo(context, rows, {context.TypeOf(rows).shape[1]}));
  }
  if (context.wanted[0]) {
    DRYDOCK_TRY(gradients[0], EmitOfX(context, rows));
  }
  if (context.wanted[1]) {
    DRYDOCK_TRY(gradients[1], EmitOfWeight(context, rows));
  }
  return gradients;
}

NdArray Transposed(const NdArray& matrix) {
  NdArray result{.shape = {matrix.shape[1], matrix.shape[0]}, .data = matrix.data};
  const auto rows = static_cast<std::size_t>(matrix.shape[0]);
  const auto columns = static_cast<std::size_t>(matrix.shape[1]);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      result.data[c * rows + r] = matrix.data[r * columns + c];
    }
  }
  return result;
}

Result<std::vector<NdArray>> EvaluateDense(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  NdArray y = MatMulArrays(ReshapeArray(x, RowsOf(x.shape)), Transposed(context.inputs[1]));
  if (context.inputs.size() > 2) {
    const Shape shape = y.shape;
    y = MapArrays(y, context.inputs[2], shape, SumOf);
  }
  return std::vector<NdArray>{ReshapeArray(std::move(y), context.output_types[0].shape)};
}

/// 2 * rows * K * N.
double DenseFlops(const OpView& op) {
  double flops = 2.0 * static_cast<double>(op.inputs[1].shape[0]);
  for (const std::int64_t extent : op.inputs[0].shape) {
    flops *= static_cast<double>(extent);
  }
  return flops;
}

DRYDOCK_OP(Dense, .family = "matmul", .signature = "Dense()(input, weight, ?bias)",
           .infer = InferDense, .gradient = GradientOfDense, .evaluate = EvaluateDense,
           .flops = DenseFlops, .cost = CostFamily::kMatMul, .work = WorkKind::kProduct,
           .example = "()((4, 6), (2, 6), (2))");

}  // namespace
}  // namespace drydock::strategies
