#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/rules/array_math.h"
#include "strategies/rules/common_gradients.h"
#include "strategies/rules/common_rules.h"
#include "strategies/rules/gather_form.h"
#include "strategies/rules/known_ops.h"
#include "strategies/rules/local_emit.h"

/// Table look-up: Gather. Layouts: gather_form.cc; element-wise look-up: gather_elements.cc.
namespace drydock::strategies {
namespace {

Result<std::vector<TensorType>> InferGather(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, 8));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 1));
  DRYDOCK_TRY(const GatherForm form, GatherFormOf(op));
  const Shape& table = op.inputs[0].shape;
  const Shape& indices = op.inputs[1].shape;
  for (std::size_t d = 0; d < form.batch; ++d) {
    if (table[d] != indices[d]) {
      return FailOp(op, "shape-mismatch",
                    "'" + std::string(op.op) + "' with batch_dims " + std::to_string(form.batch) +
                        " cannot look up " + TupleText(indices) + " in " + TupleText(table) +
                        ": dimension " + std::to_string(d) + " differs");
    }
  }
  const auto axis = table.begin() + static_cast<std::ptrdiff_t>(form.axis);
  Shape out(table.begin(), axis);
  out.insert(out.end(), indices.begin() + static_cast<std::ptrdiff_t>(form.batch), indices.end());
  out.insert(out.end(), axis + 1, table.end());
  return std::vector<TensorType>{{.shape = std::move(out), .dtype = op.inputs[0].dtype}};
}

/// Indices on dimension 0, table whole (with batch dimensions: table on dimension 0 too).
Result<Strategy> DefaultGather(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const GatherForm form, GatherFormOf(op));
  return BatchStrategy(op, device_count, {form.batch > 0, true});
}

/// Where the looked-up dimension is cut: own rows only, foreign ones give 0.
Result<std::vector<ValueId>> LocalizeGather(const LocalizeContext& context) {
  DRYDOCK_TRY(const GatherForm form, GatherFormOf(context.global));
  const ValueId table = context.spec.inputs[0];
  const std::int64_t rows = context.builder.TypeOf(table).shape[form.axis];
  const std::int64_t all_rows = context.global.inputs[0].shape[form.axis];
  if (rows == all_rows) {
    return EmitLocal(context, context.spec.attrs);
  }
  DRYDOCK_TRY(const ShardRule rule, ShardGather(context.global, context.sharding.strategy));
  const AxisIndex axis = rule.inputs[0][form.axis].front();
  DRYDOCK_TRY(const OwnRows own, EmitOwnRows(context, context.spec.inputs[1], rows, axis));
  NodeSpec spec = context.spec;
  spec.inputs[1] = own.indices;
  DRYDOCK_TRY(const ValueId found, context.builder.Emit(std::move(spec)));
  const TensorType found_type = context.builder.TypeOf(found);
  DRYDOCK_TRY(ValueId mask, EmitHelperCast(context, own.is_own, found_type.dtype));
  for (std::size_t d = form.axis + 1; d < form.table_rank; ++d) {
    DRYDOCK_TRY(mask, EmitHelper(context, "ExpandDims", {mask}, {{"axis", -1}}));
  }
  DRYDOCK_TRY(const ValueId masked, EmitHelper(context, "Mul", {found, mask}));
  return std::vector<ValueId>{masked};
}

// ---- Gradient
// -----------------------------------------------------------------------------------------

/// The steps from the result's gradient to sums over equal rows, and back to the table's shape.
struct ScatterPlan {
  std::vector<std::int64_t> rows_first =
      {};                     ///< Permutation [b..., p..., i..., q...] -> [b..., i..., p..., q...].
  Shape rows = {};            ///< Then flattened: one row per index.
  std::int64_t segments = 0;  ///< Rows of the table, all batches.
  Shape sums = {};            ///< Result unflattened: [b..., x, p..., q...].
  std::vector<std::int64_t> table_order = {};  ///< Permutation back: [b..., p..., x, q...].
};

ScatterPlan PlanOf(const GatherForm& form, const Shape& table, const Shape& indices) {
  const std::size_t own_indices = form.index_rank - form.batch;
  const std::size_t between = form.axis - form.batch;
  ScatterPlan plan = {};
  const auto append = [](std::vector<std::int64_t>& order, std::size_t first, std::size_t count) {
    for (std::size_t d = first; d < first + count; ++d) {
      order.push_back(static_cast<std::int64_t>(d));
    }
  };
  const std::size_t behind = form.table_rank - form.axis - 1;
  append(plan.rows_first, 0, form.batch);
  append(plan.rows_first, form.axis, own_indices);
  append(plan.rows_first, form.batch, between);
  append(plan.rows_first, form.axis + own_indices, behind);
  append(plan.table_order, 0, form.batch);
  append(plan.table_order, form.batch + 1, between);
  append(plan.table_order, form.batch, 1);
  append(plan.table_order, form.axis + 1, behind);
  plan.segments = table[form.axis];
  plan.rows = {Product(indices)};
  for (std::size_t d = 0; d < form.table_rank; ++d) {
    if (d < form.batch) {
      plan.segments *= table[d];
      plan.sums.push_back(table[d]);
    }
  }
  plan.sums.push_back(table[form.axis]);
  for (std::size_t d = form.batch; d < form.table_rank; ++d) {
    if (d != form.axis) {
      plan.rows.push_back(table[d]);
      plan.sums.push_back(table[d]);
    }
  }
  return plan;
}

Result<ValueId> EmitTranspose(const GradientContext& context, ValueId value,
                              const std::vector<std::int64_t>& order) {
  if (std::ranges::is_sorted(order)) {
    return value;
  }
  return context.Emit("Transpose", {value}, {{"input_perm", order}});
}

/// Indices as row numbers of the table flattened over its batch dimensions, one dimension.
Result<ValueId> EmitRowNumbers(const GradientContext& context, const GatherForm& form) {
  const ValueId indices = context.node.inputs[1];
  const TensorType type = context.TypeOf(indices);
  const std::int64_t count = Product(type.shape);
  if (form.batch == 0) {
    return EmitReshape(context, indices, {count});
  }
  const Shape& table = context.TypeOf(context.node.inputs[0]).shape;
  std::int64_t batches = 1;
  for (std::size_t d = 0; d < form.batch; ++d) {
    batches *= type.shape[d];
  }
  std::vector<double> begins(static_cast<std::size_t>(batches));
  for (std::size_t b = 0; b < begins.size(); ++b) {
    begins[b] = static_cast<double>(b) * static_cast<double>(table[form.axis]);
  }
  DRYDOCK_TRY(
      const ValueId begin,
      context.builder.AddConstant({.shape = {batches, 1}, .dtype = type.dtype}, std::move(begins)));
  DRYDOCK_TRY(const ValueId by_batch,
              EmitReshape(context, indices, {batches, count / std::max<std::int64_t>(batches, 1)}));
  DRYDOCK_TRY(const ValueId shifted, context.Emit(ops::kAdd, {by_batch, begin}));
  return EmitReshape(context, shifted, {count});
}

/// Rows of the result's gradient, summed per row of the (local) table.
Result<std::vector<ValueId>> GradientOfGather(const GradientContext& context) {
  OpViewStorage storage = {};
  const OpView view = ViewOf(context.builder.graph(), context.node, storage);
  DRYDOCK_TRY(const GatherForm form, GatherFormOf(view));
  const ScatterPlan plan = PlanOf(form, view.inputs[0].shape, view.inputs[1].shape);
  DRYDOCK_TRY(const ValueId ordered,
              EmitTranspose(context, OutputGradient(context), plan.rows_first));
  DRYDOCK_TRY(const ValueId rows, EmitReshape(context, ordered, plan.rows));
  DRYDOCK_TRY(const ValueId numbers, EmitRowNumbers(context, form));
  DRYDOCK_TRY(const ValueId sums, context.Emit("UnsortedSegmentSum", {rows, numbers},
                                               {{"num_segments", plan.segments}}));
  DRYDOCK_TRY(const ValueId shaped, EmitReshape(context, sums, plan.sums));
  DRYDOCK_TRY(const ValueId gradient, EmitTranspose(context, shaped, plan.table_order));
  return std::vector<ValueId>{gradient, kNoValue};
}

/// A row outside the table gives zeros.
Result<std::vector<NdArray>> EvaluateGather(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const GatherForm form, GatherFormOf(view));
  const NdArray& table = context.inputs[0];
  const NdArray& indices = context.inputs[1];
  const std::size_t own_indices = form.index_rank - form.batch;
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  std::vector<std::int64_t> at_index(form.index_rank);
  std::vector<std::int64_t> at_table(form.table_rank);
  std::size_t n = 0;
  ForEachElement(out.shape, [&](std::span<const std::int64_t> index) {
    std::copy_n(index.begin(), form.batch, at_index.begin());
    std::copy_n(index.begin() + static_cast<std::ptrdiff_t>(form.axis), own_indices,
                at_index.begin() + static_cast<std::ptrdiff_t>(form.batch));
    const auto row = static_cast<std::int64_t>(indices.data[OffsetOf(indices.shape, at_index)]);
    std::copy_n(index.begin(), form.axis, at_table.begin());
    std::copy(index.begin() + static_cast<std::ptrdiff_t>(form.axis + own_indices), index.end(),
              at_table.begin() + static_cast<std::ptrdiff_t>(form.axis) + 1);
    at_table[form.axis] = row;
    if (row >= 0 && row < table.shape[form.axis]) {
      out.data[n] = table.data[OffsetOf(table.shape, at_table)];
    }
    ++n;
  });
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(Gather, .family = "gather",
           .signature = "Gather(batch_dims=0)(input_params, input_indices, #axis)",
           .infer = InferGather, .shard = ShardGather, .default_strategy = DefaultGather,
           .localize = LocalizeGather, .gradient = GradientOfGather, .evaluate = EvaluateGather,
           .cost = CostFamily::kGather, .accepts_out_strategy = true, .mirrored = "0");

}  // namespace
}  // namespace drydock::strategies
