#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/optional_operand.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/matmul/matmul_form.h"

/// Matrix products of quantised numbers, for inference. Sharded like a product; scales and addends
/// of the columns follow n, scales of the rows follow m. Addends count once where k is cut: only
/// the first rank of a k-group adds them. Source: mindspore ops_info/quant_batch_matmul_info.cc.
namespace drydock::strategies {
namespace {

/// Tensor operands of QuantBatchMatmul by position in the call.
struct QuantOperands {
  static constexpr std::size_t kScale = 2;
  static constexpr std::size_t kOffset = 3;
  static constexpr std::size_t kBias = 4;
  static constexpr std::size_t kRowScale = 5;
};

/// Tensor operands of WeightQuantBatchMatmul.
struct WeightQuantOperands {
  static constexpr std::size_t kAntiOffset = 3;
  static constexpr std::size_t kScale = 4;
  static constexpr std::size_t kOffset = 5;
  static constexpr std::size_t kBias = 6;
};

Result<DType> DTypeAttr(const OpView& op, DType fallback) {
  DRYDOCK_TRY(const std::string name, TextAttr(*op.attrs, "dtype", ""));
  return name.empty() ? Result<DType>(fallback) : ParseDType(name);
}

/// Axes of an operand that is added to or multiplied with the result [*b, m, n]: right-aligned,
/// extents of 1 whole.
TensorAxes ColumnAxes(const Shape& shape, std::size_t rank) {
  const ProductAxes axes = ProductAxesOf(rank);
  TensorAxes result = {};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::size_t from_right = shape.size() - d;
    AxisIndex axis = static_cast<AxisIndex>(rank - std::min(from_right, rank));
    axis = from_right == 1 ? axes.n : axis;
    result.push_back(shape[d] == 1 ? DimAxes{} : DimAxes{axis});
  }
  return result;
}

/// `value` combined with an operand, if that is there.
template <typename F>
void Combine(NdArray& value, const NdArray* operand, F f) {
  if (operand != nullptr) {
    value = MapArrays(value, *operand, value.shape, f);
  }
}

double Plus(double a, double b) {
  return a + b;
}
double Times(double a, double b) {
  return a * b;
}

/// Addends at the listed positions on the first rank of a k-group only.
Result<std::vector<ValueId>> LocalizeAddends(const LocalizeContext& context,
                                             std::initializer_list<std::size_t> addends,
                                             AxisIndex k) {
  NodeSpec spec = context.spec;
  for (const std::size_t operand : addends) {
    if (operand < spec.inputs.size()) {
      DRYDOCK_TRY(spec.inputs[operand], EmitOnlyOnFirst(context, spec.inputs[operand], k));
    }
  }
  DRYDOCK_TRY(const NodeId id, context.builder.AddNode(std::move(spec)));
  Node& node = context.builder.mutable_graph().nodes[ToIndex(id)];
  node.in_strategy = context.sharding.strategy;
  return node.outputs;
}

// ---- QuantBatchMatmul: ((x1 x2 + bias) * scale * row scale) + offset ----------------------------

Result<Transposes> QuantTransposes(const AttrMap& attrs) {
  return TransposesOf(attrs, "transpose_x1", "transpose_x2");
}

Result<std::vector<TensorType>> InferQuantProduct(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 6));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 2, std::string::npos));
  DRYDOCK_TRY(const Transposes transposes, QuantTransposes(*op.attrs));
  DRYDOCK_TRY(Shape shape, ProductShape(op, transposes));
  for (std::size_t i = 2; i < op.inputs.size(); ++i) {
    const bool of_rows =
        static_cast<std::ptrdiff_t>(i) == PresentIndex(op, QuantOperands::kRowScale);
    const Shape& operand = op.inputs[i].shape;
    const std::int64_t wanted = of_rows ? shape[shape.size() - 2] : shape.back();
    if (operand.empty() || operand.size() > shape.size() ||
        (operand.back() != 1 && operand.back() != wanted)) {
      return FailOp(op, "shape-mismatch",
                    "input " + std::to_string(i) + " of '" + std::string(op.op) + "' has shape " +
                        TupleText(operand) + ", but 1 or " + std::to_string(wanted) +
                        " numbers are wanted");
    }
  }
  DRYDOCK_TRY(const DType dtype, DTypeAttr(op, DType::kFloat16));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = dtype}};
}

Result<ShardRule> ShardQuantProduct(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const Transposes transposes, QuantTransposes(*op.attrs));
  ShardRule rule = ProductRule(op, transposes);
  const std::size_t rank = op.outputs[0].shape.size();
  for (std::size_t i = 2; i < op.inputs.size(); ++i) {
    const Shape& shape = op.inputs[i].shape;
    const bool of_rows =
        static_cast<std::ptrdiff_t>(i) == PresentIndex(op, QuantOperands::kRowScale);
    rule.inputs.push_back(ColumnAxes(shape, rank));
    if (of_rows && shape.back() != 1) {
      rule.inputs.back().back() = {ProductAxesOf(rank).m};
    }
  }
  if (op.out_strategy != nullptr) {
    DRYDOCK_RETURN_IF_ERROR(ApplyOutStrategy(op, strategy, transposes, rule));
  }
  return rule;
}

/// Dimension 0 of the operand with more dimensions (of both beyond rank 2); the scales of the rows
/// are cut with them.
Result<Strategy> DefaultQuantProduct(const OpView& op, std::int64_t device_count) {
  const std::size_t a = op.inputs[0].shape.size();
  const std::size_t b = op.inputs[1].shape.size();
  Strategy strategy = BatchStrategy(op, device_count, {a >= b, b > a || (a == b && a > 2)});
  const std::ptrdiff_t rows = PresentIndex(op, QuantOperands::kRowScale);
  const bool by_rows = a == 2 && b == 2 && rows >= 0;
  if (by_rows && op.inputs[static_cast<std::size_t>(rows)].shape.back() != 1) {
    strategy[static_cast<std::size_t>(rows)].back() = strategy[0][0];
  }
  return strategy;
}

Result<std::vector<ValueId>> LocalizeQuantProduct(const LocalizeContext& context) {
  const AxisIndex k = ProductAxesOf(context.global.outputs[0].shape.size()).k;
  return LocalizeAddends(context, {QuantOperands::kOffset, QuantOperands::kBias}, k);
}

Result<std::vector<NdArray>> EvaluateQuantProduct(const EvaluateContext& context) {
  DRYDOCK_TRY(const Transposes transposes, QuantTransposes(context.attrs));
  NdArray out = MatMulArrays(MatrixOf(context.inputs[0], transposes.a),
                             MatrixOf(context.inputs[1], transposes.b));
  Combine(out, OptionalArray(context, QuantOperands::kBias), Plus);
  Combine(out, OptionalArray(context, QuantOperands::kScale), Times);
  if (const NdArray* rows = OptionalArray(context, QuantOperands::kRowScale); rows != nullptr) {
    const NdArray column = ReshapeArray(*rows, {std::ssize(rows->data), 1});
    Combine(out, &column, Times);
  }
  Combine(out, OptionalArray(context, QuantOperands::kOffset), Plus);
  return std::vector<NdArray>{std::move(out)};
}

double QuantProductFlops(const OpView& op) {
  const auto transposes = QuantTransposes(*op.attrs);
  return transposes ? ProductFlops(op, *transposes) : 0;
}

DRYDOCK_OP(QuantBatchMatmul, .family = "matmul",
           .signature =
               "QuantBatchMatmul(transpose_x1=False, transpose_x2=False, dtype=None)"
               "(x1, x2, scale, ?offset, ?bias, ?pertokenScaleOptional)",
           .infer = InferQuantProduct, .shard = ShardQuantProduct,
           .default_strategy = DefaultQuantProduct, .localize = LocalizeQuantProduct,
           .gradient = NoBackward, .evaluate = EvaluateQuantProduct, .flops = QuantProductFlops,
           .cost = CostFamily::kMatMul, .work = WorkKind::kProduct, .accepts_out_strategy = true,
           .example = "()(int8(4, 6), int8(6, 8), (8), (8), int32(8), (4))");

// ---- WeightQuantBatchMatmul: x ((weight + offset) * scale) + bias, then perhaps quantised -------

Result<Transposes> WeightTransposes(const AttrMap& attrs) {
  return TransposesOf(attrs, "transpose_x", "transpose_weight");
}

/// Scales and addends have one number for each of `columns`, or one for all; those of the weight
/// may have one for each group of its rows as well.
Status CheckWeightScales(const OpView& op, std::int64_t columns) {
  const Shape& weight = op.inputs[1].shape;
  const std::ptrdiff_t anti_offset = PresentIndex(op, WeightQuantOperands::kAntiOffset);
  for (std::size_t i = 2; i < op.inputs.size(); ++i) {
    const Shape& shape = op.inputs[i].shape;
    bool fits = shape.back() == 1 || shape.back() == columns;
    if (shape.size() == 2) {
      const bool of_weight = i == 2 || static_cast<std::ptrdiff_t>(i) == anti_offset;
      const std::size_t rows = weight.size() - 2;
      fits = of_weight ? shape[0] > 0 && shape[1] > 0 && weight[rows] % shape[0] == 0 &&
                             weight[rows + 1] % shape[1] == 0
                       : fits && shape[0] == 1;
    }
    if (!fits) {
      return FailOp(op, "shape-mismatch",
                    "input " + std::to_string(i) + " of '" + std::string(op.op) + "' has shape " +
                        TupleText(shape) + ", which fits neither the " + std::to_string(columns) +
                        " columns nor a weight of shape " + TupleText(weight));
    }
  }
  return {};
}

Result<std::vector<TensorType>> InferWeightQuant(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 7));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 2, std::string::npos));
  for (std::size_t i = 2; i < op.inputs.size(); ++i) {
    DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, i, 1, 2));
  }
  DRYDOCK_TRY(const Transposes transposes, WeightTransposes(*op.attrs));
  DRYDOCK_TRY(Shape shape, ProductShape(op, transposes));
  DRYDOCK_RETURN_IF_ERROR(CheckWeightScales(op, shape.back()));
  const bool quantised = PresentIndex(op, WeightQuantOperands::kScale) >= 0;
  return std::vector<TensorType>{
      {.shape = std::move(shape), .dtype = quantised ? DType::kInt8 : op.inputs[0].dtype}};
}

/// Scales and offsets of the weight: by column, or like its matrices (groups of rows).
TensorAxes WeightScaleAxes(const Shape& shape, const TensorAxes& weight, AxisIndex n) {
  if (shape.size() == 1) {
    return {shape[0] == 1 ? DimAxes{} : DimAxes{n}};
  }
  TensorAxes axes(weight.end() - 2, weight.end());
  for (std::size_t d = 0; d < axes.size(); ++d) {
    axes[d] = shape[d] == 1 ? DimAxes{} : axes[d];
  }
  return axes;
}

Result<ShardRule> ShardWeightQuant(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const Transposes transposes, WeightTransposes(*op.attrs));
  ShardRule rule = ProductRule(op, transposes);
  const std::size_t rank = op.outputs[0].shape.size();
  const ProductAxes axes = ProductAxesOf(rank);
  const std::ptrdiff_t anti_offset = PresentIndex(op, WeightQuantOperands::kAntiOffset);
  for (std::size_t i = 2; i < op.inputs.size(); ++i) {
    const Shape& shape = op.inputs[i].shape;
    const bool of_weight = i == 2 || static_cast<std::ptrdiff_t>(i) == anti_offset;
    rule.inputs.push_back(of_weight ? WeightScaleAxes(shape, rule.inputs[1], axes.n)
                                    : ColumnAxes(shape, rank));
  }
  if (PresentIndex(op, WeightQuantOperands::kScale) >= 0) {
    rule.uncut.push_back(
        {.axis = axes.k, .what = "the contracted dimension of a quantised result"});
  }
  if (op.out_strategy != nullptr) {
    DRYDOCK_RETURN_IF_ERROR(ApplyOutStrategy(op, strategy, transposes, rule));
  }
  return rule;
}

Result<Strategy> DefaultWeightQuant(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const Transposes transposes, WeightTransposes(*op.attrs));
  return transposes.a ? WholeStrategy(op) : BatchStrategy(op, device_count, {true});
}

Result<std::vector<ValueId>> LocalizeWeightQuant(const LocalizeContext& context) {
  const AxisIndex k = ProductAxesOf(context.global.outputs[0].shape.size()).k;
  return LocalizeAddends(context, {WeightQuantOperands::kBias}, k);
}

/// A scale or offset of groups of rows as one number for each element of the weight.
NdArray OfEachWeight(const NdArray& scale, const Shape& weight, bool transposed) {
  if (scale.shape.size() == 1) {
    const NdArray row = scale;
    const Shape column = {std::ssize(scale.data), 1};
    return BroadcastArray(transposed ? ReshapeArray(row, column) : row, weight);
  }
  NdArray out{.shape = weight};
  const std::size_t rows = weight.size() - 2;
  ForEachElement(weight, [&](std::span<const std::int64_t> at) {
    const std::int64_t index[] = {at[rows] / (weight[rows] / scale.shape[0]),
                                  at[rows + 1] / (weight[rows + 1] / scale.shape[1])};
    out.data.push_back(scale.data[OffsetOf(scale.shape, index)]);
  });
  return out;
}

Result<std::vector<NdArray>> EvaluateWeightQuant(const EvaluateContext& context) {
  DRYDOCK_TRY(const Transposes transposes, WeightTransposes(context.attrs));
  NdArray weight = context.inputs[1];
  if (const NdArray* offset = OptionalArray(context, WeightQuantOperands::kAntiOffset)) {
    const NdArray each = OfEachWeight(*offset, weight.shape, transposes.b);
    Combine(weight, &each, Plus);
  }
  const NdArray scales = OfEachWeight(context.inputs[2], weight.shape, transposes.b);
  Combine(weight, &scales, Times);
  NdArray out =
      MatMulArrays(MatrixOf(context.inputs[0], transposes.a), MatrixOf(weight, transposes.b));
  Combine(out, OptionalArray(context, WeightQuantOperands::kBias), Plus);
  Combine(out, OptionalArray(context, WeightQuantOperands::kScale), Times);
  Combine(out, OptionalArray(context, WeightQuantOperands::kOffset), Plus);
  if (OptionalArray(context, WeightQuantOperands::kScale) != nullptr) {
    out = MapArray(out, [](double x) { return std::clamp(std::nearbyint(x), -128.0, 127.0); });
  }
  return std::vector<NdArray>{std::move(out)};
}

double WeightQuantFlops(const OpView& op) {
  const auto transposes = WeightTransposes(*op.attrs);
  return transposes ? ProductFlops(op, *transposes) : 0;
}

DRYDOCK_OP(WeightQuantBatchMatmul, .family = "matmul",
           .signature =
               "WeightQuantBatchMatmul(transpose_x=False, transpose_weight=False, "
               "antiquant_group_size=0)(x, weight, antiquant_scale, ?antiquant_offset, "
               "?quant_scale, ?quant_offset, ?bias)",
           .infer = InferWeightQuant, .shard = ShardWeightQuant,
           .default_strategy = DefaultWeightQuant, .localize = LocalizeWeightQuant,
           .gradient = NoBackward, .evaluate = EvaluateWeightQuant, .flops = WeightQuantFlops,
           .cost = CostFamily::kMatMul, .work = WorkKind::kProduct, .accepts_out_strategy = true,
           .example = "()((4, 6), int8(6, 8), (8), (8))");

// ---- QuantLinearSparse: the weight is compressed and whole on every rank ------------------------

Result<std::vector<TensorType>> InferSparseProduct(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 5, 5));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 2));
  for (std::size_t i = 1; i < 5; ++i) {
    DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, i, 1, 1));
  }
  if (op.inputs[2].shape != op.inputs[4].shape) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) +
                      "' takes one scale and one bias for each column, but " +
                      TupleText(op.inputs[2].shape) + " scales and " +
                      TupleText(op.inputs[4].shape) + " biases are given");
  }
  return std::vector<TensorType>{
      {.shape = {op.inputs[0].shape[0], op.inputs[2].shape[0]}, .dtype = DType::kFloat16}};
}

Result<ShardRule> ShardSparseProduct(const OpView& /*op*/, const Strategy& /*strategy*/) {
  const auto [m, k, n] = ProductAxesOf(2);
  return ShardRule{.axis_count = 3,
                   .inputs = {{{m}, {k}}, {{}}, {{n}}, {{}}, {{n}}},
                   .outputs = {{{m}, {n}}},
                   .communication = {{.axes = {k}}}};
}

Result<std::vector<ValueId>> LocalizeSparseProduct(const LocalizeContext& context) {
  return LocalizeAddends(context, {4}, ProductAxesOf(2).k);
}

/// 2 * M * K * N.
double SparseProductFlops(const OpView& op) {
  return 2.0 * Elements(op.inputs[0]) * Elements(op.inputs[2]);
}

/// No reference execution: how the weight is compressed is not published.
DRYDOCK_OP(QuantLinearSparse, .family = "matmul",
           .signature = "QuantLinearSparse()(x, weight, deq_scale, compress_idx, bias)",
           .infer = InferSparseProduct, .shard = ShardSparseProduct,
           .localize = LocalizeSparseProduct, .gradient = NoBackward, .flops = SparseProductFlops,
           .cost = CostFamily::kMatMul, .work = WorkKind::kProduct,
           .example = "()(int8(4, 6), int8(48), (8), int8(6), int32(8))");

}  // namespace
}  // namespace drydock::strategies
