#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/matmul/matmul_form.h"
#include "strategies/rules/matmul/nd_product.h"

/// Matrix products. With x [*b, m, k] and y [*b, k, n] the iteration space is [*b, m, k, n];
/// cutting k leaves partial sums, which an AllReduce completes - or a ReduceScatter on dimension 0,
/// if the output strategy asks for rows cut by m * k. Source: mindspore ops_info/matmul_info.cc.
namespace drydock::strategies {
namespace {

// ---- Inference ----------------------------------------------------------------------------------

/// Attribute cast_type overrides the operands' common type.
Result<DType> ResultType(const OpView& op) {
  DRYDOCK_TRY(const std::string cast, TextAttr(*op.attrs, "cast_type", ""));
  return cast.empty() ? Result<DType>(op.inputs[0].dtype) : ParseDType(cast);
}

Result<std::vector<TensorType>> InferProduct(const OpView& op, std::size_t most_dims) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, most_dims));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 2, most_dims));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_TRY(const Transposes transposes, TransposesOf(*op.attrs));
  DRYDOCK_TRY(Shape shape, ProductShape(op, transposes));
  DRYDOCK_TRY(const DType dtype, ResultType(op));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = dtype}};
}

Result<std::vector<TensorType>> InferMatMul(const OpView& op) {
  return InferProduct(op, 2);
}

Result<std::vector<TensorType>> InferBatchMatMul(const OpView& op) {
  return InferProduct(op, std::string::npos);
}

// ---- Sharding -----------------------------------------------------------------------------------

/// Two equal strategies (a, b) of 2-D operands that fill the stage select another algorithm: x lies
/// on (a, b), y on (a, b); x is gathered over b, y over a, and the product needs no reduction.
bool IsGatherForm(const OpView& op, const Strategy& strategy, std::int64_t device_count) {
  const auto transposes = TransposesOf(*op.attrs);
  const bool equal_2d =
      strategy.size() == 2 && strategy[0].size() == 2 && strategy[0] == strategy[1];
  return transposes && !transposes->a && !transposes->b && equal_2d && device_count > 1 &&
         op.out_strategy == nullptr && strategy[0][0] * strategy[0][1] == device_count;
}

Result<ShardRule> ShardMatMul(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const Transposes transposes, TransposesOf(*op.attrs));
  DRYDOCK_TRY(const bool nd_tp, BoolAttr(*op.attrs, "enable_nd_tp", false));
  if (nd_tp) {
    return NdProductRule(op, transposes);
  }
  if (IsGatherForm(op, strategy, op.device_count)) {
    const TensorAxes axes = AxesInOrder(2);
    return ShardRule{.axis_count = 2, .inputs = {axes, axes}, .outputs = {axes}};
  }
  ShardRule rule = ProductRule(op, transposes);
  if (op.out_strategy != nullptr) {
    DRYDOCK_RETURN_IF_ERROR(ApplyOutStrategy(op, strategy, transposes, rule));
  }
  return rule;
}

/// Rows of x on all devices, y whole.
Result<Strategy> DefaultMatMul(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const Transposes transposes, TransposesOf(*op.attrs));
  if (!transposes.a) {
    return BatchStrategy(op, device_count, {true});
  }
  const std::vector<TensorType> swapped = {
      {.shape = {op.inputs[0].shape[1], op.inputs[0].shape[0]}}, op.inputs[1]};
  OpView view = op;
  view.inputs = swapped;
  Strategy strategy = BatchStrategy(view, device_count, {true});
  std::swap(strategy[0][0], strategy[0][1]);
  return strategy;
}

/// Dimension 0 of the operand with more dimensions; of x for equal ranks, and of y too beyond
/// rank 2.
Result<Strategy> DefaultBatchMatMul(const OpView& op, std::int64_t device_count) {
  const std::size_t rank_a = op.inputs[0].shape.size();
  const std::size_t rank_b = op.inputs[1].shape.size();
  return BatchStrategy(op, device_count,
                       {rank_a >= rank_b, rank_b > rank_a || (rank_a == rank_b && rank_a > 2)});
}

// ---- Local program of the gather form -----------------------------------------------------------

/// `value` with the slices of the group joined on dimension 0.
Result<ValueId> EmitGather(const LocalizeContext& context, ValueId value,
                           const GroupPattern& group) {
  const std::int64_t size = GroupSize(group);
  if (size == 1) {
    return value;
  }
  NodeSpec spec = context.spec;
  spec.op = ops::kAllGather;
  spec.inputs = {value};
  spec.attrs = {{"rank_size", size}};
  DRYDOCK_TRY(const NodeId id, context.builder.AddNode(std::move(spec)));
  Node& node = context.builder.mutable_graph().nodes[ToIndex(id)];
  node.group = group;
  node.reason = CommReason::kRedistribution;
  node.reason_text = "operand of '" + std::string(context.global.op) + "' gathered";
  return node.outputs.front();
}

/// Moves `parts` pieces of dimension 0 side by side on dimension 1.
Result<ValueId> EmitSideBySide(const LocalizeContext& context, ValueId value, std::int64_t parts) {
  if (parts == 1) {
    return value;
  }
  NodeSpec split = context.spec;
  split.op = ops::kSplit;
  split.inputs = {value};
  split.attrs = {{"axis", 0}, {"output_num", parts}};
  DRYDOCK_TRY(const NodeId pieces, context.builder.AddNode(std::move(split)));
  NodeSpec concat = context.spec;
  concat.op = ops::kConcat;
  concat.inputs = context.builder.graph().at(pieces).outputs;
  concat.attrs = {{"axis", 1}};
  return context.builder.Emit(std::move(concat));
}

Result<std::vector<ValueId>> LocalizeMatMul(const LocalizeContext& context) {
  const OpSharding& sharding = context.sharding;
  NodeSpec spec = context.spec;
  DRYDOCK_TRY(const bool nd_tp, BoolAttr(spec.attrs, "enable_nd_tp", false));
  if (nd_tp) {
    DRYDOCK_TRY(const Transposes transposes, TransposesOf(spec.attrs));
    return LocalizeNdProduct(context, transposes);
  }
  if (sharding.axis_groups.size() == 2) {  // only the gather form has two axes
    DRYDOCK_TRY(const ValueId rows, EmitGather(context, spec.inputs[0], sharding.axis_groups[1]));
    DRYDOCK_TRY(spec.inputs[0], EmitSideBySide(context, rows, GroupSize(sharding.axis_groups[1])));
    DRYDOCK_TRY(spec.inputs[1], EmitGather(context, spec.inputs[1], sharding.axis_groups[0]));
  }
  DRYDOCK_TRY(const NodeId id, context.builder.AddNode(std::move(spec)));
  Node& node = context.builder.mutable_graph().nodes[ToIndex(id)];
  node.in_strategy = sharding.strategy;
  return node.outputs;
}

// ---- Gradient -----------------------------------------------------------------------------------

struct Factor {
  ValueId value = kNoValue;
  bool transposed = false;
};

/// Product of two factors, fitted to input `input` of the forward node.
Result<ValueId> EmitProduct(const GradientContext& context, const Factor& a, const Factor& b,
                            std::size_t input) {
  DRYDOCK_TRY(
      const ValueId product,
      context.Emit(
          context.TypeOf(a.value).shape.size() == 2 && context.TypeOf(b.value).shape.size() == 2
              ? "MatMul"
              : "BatchMatMul",
          {a.value, b.value}, {{"transpose_a", a.transposed}, {"transpose_b", b.transposed}}));
  return FitToInput(context, product, input);
}

/// dX = dY Y^T and dY = X^T dY, with the factors swapped where the operand itself is transposed.
Result<std::vector<ValueId>> MatMulGradient(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  DRYDOCK_TRY(const Transposes transposes, TransposesOf(context.node.attrs));
  const ValueId x = context.node.inputs[0];
  const ValueId y = context.node.inputs[1];
  const DType dtype = context.TypeOf(x).dtype;
  DRYDOCK_TRY(const ValueId dout, CastTo(context, OutputGradient(context), dtype));
  if (context.wanted[0]) {
    const Factor left{.value = dout, .transposed = transposes.a};
    const Factor right{.value = y, .transposed = transposes.a == transposes.b};
    if (transposes.a) {
      DRYDOCK_TRY(gradients[0], EmitProduct(context, {y, transposes.b}, left, 0));
    } else {
      DRYDOCK_TRY(gradients[0], EmitProduct(context, left, right, 0));
    }
  }
  if (context.wanted[1]) {
    if (transposes.b) {
      DRYDOCK_TRY(gradients[1], EmitProduct(context, {dout, true}, {x, transposes.a}, 1));
    } else {
      DRYDOCK_TRY(gradients[1], EmitProduct(context, {x, !transposes.a}, {dout, false}, 1));
    }
  }
  return gradients;
}

/// The last two dimensions swapped.
Result<ValueId> EmitSwapped(const GradientContext& context, ValueId value) {
  std::vector<std::int64_t> order(context.TypeOf(value).shape.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return context.Emit("Transpose", {value}, {{"input_perm", std::move(order)}});
}

/// All dimensions but the last as one.
Result<ValueId> EmitRows(const GradientContext& context, ValueId value) {
  const Shape shape = context.TypeOf(value).shape;
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) {
    rows *= shape[d];
  }
  return EmitReshape(context, value, {rows, shape.back()});
}

/// dX = dY Y^T with Y transposed by a kernel of its own.
Result<ValueId> ByLeft(const GradientContext& context, ValueId dout) {
  DRYDOCK_TRY(const ValueId y, EmitSwapped(context, context.node.inputs[1]));
  DRYDOCK_TRY(const ValueId product, context.Emit(context.node.op, {dout, y}));
  return FitToInput(context, product, 0);
}

/// dY = X^T dY; several dimensions of X in front of a matrix Y are rows of one matrix.
Result<ValueId> ByRight(const GradientContext& context, ValueId dout) {
  ValueId x = context.node.inputs[0];
  ValueId gradient = dout;
  if (context.TypeOf(context.node.inputs[1]).shape.size() == 2) {
    DRYDOCK_TRY(x, EmitRows(context, x));
    DRYDOCK_TRY(gradient, EmitRows(context, gradient));
  }
  DRYDOCK_TRY(x, EmitSwapped(context, x));
  DRYDOCK_TRY(const ValueId product, context.Emit(context.node.op, {x, gradient}));
  return FitToInput(context, product, 1);
}

/// The kernels without transposes as flags.
Result<std::vector<ValueId>> PlainProductGradient(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  const DType dtype = context.TypeOf(context.node.inputs[0]).dtype;
  DRYDOCK_TRY(const ValueId dout, CastTo(context, OutputGradient(context), dtype));
  if (context.wanted[0]) {
    DRYDOCK_TRY(gradients[0], ByLeft(context, dout));
  }
  if (context.wanted[1]) {
    DRYDOCK_TRY(gradients[1], ByRight(context, dout));
  }
  return gradients;
}

// ---- Evaluation and cost ------------------------------------------------------------------------

Result<std::vector<NdArray>> EvaluateMatMul(const EvaluateContext& context) {
  DRYDOCK_TRY(const Transposes transposes, TransposesOf(context.attrs));
  return std::vector<NdArray>{MatMulArrays(MatrixOf(context.inputs[0], transposes.a),
                                           MatrixOf(context.inputs[1], transposes.b))};
}

/// 2 * B * M * K * N.
double MatMulFlops(const OpView& op) {
  const auto transposes = TransposesOf(*op.attrs);
  if (!transposes) {
    return 0;
  }
  return ProductFlops(op, *transposes);
}

#define DRYDOCK_MATMUL(id, constructor, arguments, infer_fn, default_fn, gradient_fn, ir,      \
                       example_call)                                                           \
  DRYDOCK_OP(id, .family = "matmul", .signature = #id "(" constructor ")(" arguments ")",      \
             .infer = infer_fn, .shard = ShardMatMul, .default_strategy = default_fn,          \
             .localize = LocalizeMatMul, .gradient = gradient_fn, .evaluate = EvaluateMatMul,  \
             .flops = MatMulFlops, .cost = CostFamily::kMatMul, .work = WorkKind::kProduct,    \
             .accepts_out_strategy = true, .accepts_layout = true, .accepts_out_layout = true, \
             .accepts_interleaved = true, .ir_attrs = ir, .example = example_call)

DRYDOCK_MATMUL(MatMul, "transpose_a=False, transpose_b=False", "input, mat2", InferMatMul,
               DefaultMatMul, MatMulGradient,
               "input_names=x1,x2;transpose_x1=transpose_a;transpose_x2=transpose_b",
               "()((4, 6), (6, 2))");
DRYDOCK_MATMUL(BatchMatMul, "transpose_a=False, transpose_b=False", "x, y", InferBatchMatMul,
               DefaultBatchMatMul, MatMulGradient, "input_names=x1,x2", "()((2, 4, 6), (2, 6, 2))");
DRYDOCK_MATMUL(MatMulExt, "", "input, other", InferBatchMatMul, DefaultBatchMatMul,
               PlainProductGradient, "", "()((4, 6), (6, 2))");
DRYDOCK_MATMUL(BatchMatMulExt, "", "input, mat2", InferBatchMatMul, DefaultBatchMatMul,
               PlainProductGradient, "", "()((2, 4, 6), (2, 6, 2))");

}  // namespace
}  // namespace drydock::strategies
