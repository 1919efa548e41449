#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// InplaceAdd, InplaceSub, InplaceUpdate: rows of x named by attribute `indices` are combined with
/// the rows of v. In spite of the name the result is a new tensor. Source: mindspore
/// ops_info/inplace_op_info.cc.
namespace drydock::strategies {
namespace {

/// Attribute `indices`, each inside the rows of x.
Result<std::vector<std::int64_t>> RowsOf(const OpView& op) {
  DRYDOCK_TRY(std::vector<std::int64_t> rows, RequiredListAttr(op, "indices"));
  const std::int64_t extent = op.inputs[0].shape[0];
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= extent) {
      return FailOp(op, "index-out-of-range",
                    "index " + std::to_string(row) + " of '" + std::string(op.op) +
                        "' is outside the " + std::to_string(extent) + " rows of x");
    }
  }
  return rows;
}

Result<std::vector<TensorType>> InferInplace(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_TRY(const auto rows, RowsOf(op));
  Shape wanted = op.inputs[0].shape;
  wanted[0] = static_cast<std::int64_t>(rows.size());
  if (op.inputs[1].shape != wanted) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' of " + std::to_string(rows.size()) +
                      " rows of a tensor of shape " + TupleText(op.inputs[0].shape) +
                      " takes v of shape " + TupleText(wanted) + ", but it has shape " +
                      TupleText(op.inputs[1].shape));
  }
  return std::vector<TensorType>{op.inputs[0]};
}

/// [a!, *r], [k!, *r] -> [a, *r]; the device matrix leaves dimension 0 out.
Result<ShardRule> ShardInplace(const OpView& op, const Strategy& /*strategy*/) {
  const std::size_t rank = op.inputs[0].shape.size();
  TensorAxes axes = AxesInOrder(rank - 1);
  axes.insert(axes.begin(), DimAxes{});
  return ShardRule{
      .axis_count = static_cast<std::int32_t>(rank) - 1, .inputs = {axes, axes}, .outputs = {axes}};
}

enum class Inplace : std::uint8_t { kUpdate, kAdd, kSub };

/// Constant indices: rows for Gather, one coordinate each for TensorScatterUpdate.
Result<ValueId> EmitRows(const GradientContext& context, bool as_coordinates) {
  OpViewStorage storage = {};
  DRYDOCK_TRY(const auto rows, RowsOf(ViewOf(context.builder.graph(), context.node, storage)));
  Shape shape = {static_cast<std::int64_t>(rows.size())};
  if (as_coordinates) {
    shape.push_back(1);
  }
  return context.builder.AddConstant({.shape = std::move(shape), .dtype = DType::kInt32},
                                     std::vector<double>(rows.begin(), rows.end()));
}

/// dV = +-dY at the rows; dX = dY, without the rows where they were replaced.
template <Inplace What>
Result<std::vector<ValueId>> GradientOfInplace(const GradientContext& context) {
  const ValueId dout = OutputGradient(context);
  DRYDOCK_TRY(const ValueId rows, EmitRows(context, false));
  DRYDOCK_TRY(ValueId of_v, context.Emit("Gather", {dout, rows}, {{"axis", 0}}));
  ValueId of_x = dout;
  if (What == Inplace::kUpdate) {
    DRYDOCK_TRY(const ValueId places, EmitRows(context, true));
    DRYDOCK_TRY(const ValueId zeros, EmitZeros(context, of_v));
    DRYDOCK_TRY(of_x, context.Emit("TensorScatterUpdate", {dout, places, zeros}));
  } else if (What == Inplace::kSub) {
    DRYDOCK_TRY(of_v, context.Emit("Neg", {of_v}));
  }
  return std::vector<ValueId>{of_x, of_v};
}

template <Inplace What>
Result<std::vector<NdArray>> EvaluateInplace(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const auto rows, RowsOf(view));
  NdArray out = context.inputs[0];
  const std::vector<double>& v = context.inputs[1].data;
  const std::size_t row = rows.empty() ? 0 : v.size() / rows.size();
  for (std::size_t k = 0; k < rows.size(); ++k) {
    for (std::size_t i = 0; i < row; ++i) {
      double& slot = out.data[static_cast<std::size_t>(rows[k]) * row + i];
      const double value = v[k * row + i];
      slot = What == Inplace::kUpdate ? value : slot + (What == Inplace::kAdd ? value : -value);
    }
  }
  return std::vector<NdArray>{std::move(out)};
}

#define DRYDOCK_INPLACE(id, second, what)                                                    \
  DRYDOCK_OP(id, .family = "scatter", .signature = #id "(indices)(x, " second ")",           \
             .infer = InferInplace, .shard = ShardInplace, .default_strategy = DefaultWhole, \
             .gradient = GradientOfInplace<what>, .evaluate = EvaluateInplace<what>,         \
             .flops = FlopsPerInput<1>, .cost = CostFamily::kGather, .reads_part = true,     \
             .example = "(indices=(1, 5))((8, 6), (2, 6))")

DRYDOCK_INPLACE(InplaceAdd, "input_v", Inplace::kAdd);
DRYDOCK_INPLACE(InplaceSub, "input_v", Inplace::kSub);
DRYDOCK_INPLACE(InplaceUpdate, "v", Inplace::kUpdate);

}  // namespace
}  // namespace drydock::strategies
