#include <algorithm>
#include <cstdint>
#include <numeric>
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
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/lookup/gather_form.h"
#include "strategies/rules/lookup/gather_manual.h"

/// Table look-up: Gather and its relatives, which differ in names and in the order of their
/// operands. Layouts: gather_form.cc; element-wise look-up: gather_elements.cc.
namespace drydock::strategies {
namespace {

/// Where the operands stand: Gather(table, indices), Embedding(indices, table).
enum class Order : std::uint8_t { kTableFirst, kIndicesFirst };

constexpr std::size_t TablePosition(Order order) {
  return order == Order::kTableFirst ? 0 : 1;
}

/// The operator with its table first.
struct LookUpView {
  LookUpView(const OpView& op, Order order) : types(op.inputs.begin(), op.inputs.end()), view(op) {
    if (order == Order::kIndicesFirst && types.size() == 2) {
      std::swap(types[0], types[1]);
    }
    view.inputs = types;
  }
  std::vector<TensorType> types;
  OpView view;
};

Strategy TableFirst(Strategy strategy, Order order) {
  if (order == Order::kIndicesFirst && strategy.size() == 2) {
    std::swap(strategy[0], strategy[1]);
  }
  return strategy;
}

// ---- Inference and sharding ---------------------------------------------------------------------

Result<std::vector<TensorType>> InferTableFirst(const OpView& op) {
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

template <Order O>
Result<std::vector<TensorType>> InferGather(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  return InferTableFirst(LookUpView(op, O).view);
}

/// Indices on dimension 0, table whole (with batch dimensions: table on dimension 0 too).
Result<Strategy> DefaultGather(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const GatherForm form, GatherFormOf(op));
  return BatchStrategy(op, device_count, {form.batch > 0, true});
}

/// Where the looked-up dimension is cut: own rows only, foreign ones give 0.
template <Order O>
Result<std::vector<ValueId>> LocalizeGather(const LocalizeContext& context) {
  constexpr std::size_t kTable = TablePosition(O);
  const LookUpView global(context.global, O);
  DRYDOCK_TRY(const GatherForm form, GatherFormOf(global.view));
  const std::int64_t rows = context.builder.TypeOf(context.spec.inputs[kTable]).shape[form.axis];
  if (rows == global.view.inputs[0].shape[form.axis]) {
    return EmitLocal(context, context.spec.attrs);
  }
  const Strategy strategy = TableFirst(context.sharding.strategy, O);
  if (IsManualSplit(global.view)) {
    return LocalizeManualSplit(context);
  }
  DRYDOCK_TRY(const ShardRule rule, ShardGather(global.view, strategy));
  const AxisIndex axis = rule.inputs[0][form.axis].front();
  DRYDOCK_TRY(const OwnRows own, EmitOwnRows(context, context.spec.inputs[1 - kTable], rows, axis));
  NodeSpec spec = context.spec;
  spec.inputs[1 - kTable] = own.indices;
  DRYDOCK_TRY(const ValueId found, context.builder.Emit(std::move(spec)));
  const TensorType found_type = context.builder.TypeOf(found);
  DRYDOCK_TRY(ValueId mask, EmitHelperCast(context, own.is_own, found_type.dtype));
  for (std::size_t d = form.axis + 1; d < form.table_rank; ++d) {
    DRYDOCK_TRY(mask, EmitHelper(context, "ExpandDims", {mask}, {{"axis", -1}}));
  }
  DRYDOCK_TRY(const ValueId masked, EmitHelper(context, "Mul", {found, mask}));
  return std::vector<ValueId>{masked};
}

// ---- Gradient -----------------------------------------------------------------------------------

/// The steps from the result's gradient to sums over equal rows, and back to the table's shape.
struct ScatterPlan {
  std::vector<std::int64_t> rows_first =
      {};                     ///< Permutation [b..., p..., i..., q...] -> [b..., i..., p..., q...].
  Shape rows = {};            ///< Then one row per index, in the shape of the indices.
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
  plan.rows = form.batch == 0 ? indices : Shape{Product(indices)};
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

/// Indices minus attribute `offset`, if the operator has one.
Result<ValueId> EmitWithoutOffset(const GradientContext& context, ValueId indices) {
  const auto offset = context.node.attrs.find("offset");
  if (offset == context.node.attrs.end() || offset->second == Attr(0)) {
    return indices;
  }
  const std::string dtype(DTypeName(context.TypeOf(indices).dtype));
  DRYDOCK_TRY(const ValueId begin,
              context.Emit("_RankScalar", {}, {{"value", offset->second}, {"dtype", dtype}}));
  return context.Emit("Sub", {indices, begin});
}

/// Indices as row numbers of the table; with batch dimensions of the table flattened over these, in
/// one dimension.
Result<ValueId> EmitRowNumbers(const GradientContext& context, const GatherForm& form,
                               ValueId indices, const Shape& table) {
  const TensorType type = context.TypeOf(indices);
  const std::int64_t count = Product(type.shape);
  if (form.batch == 0) {
    return indices;
  }
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
template <Order O>
Result<std::vector<ValueId>> GradientOfGather(const GradientContext& context) {
  constexpr std::size_t kTable = TablePosition(O);
  OpViewStorage storage = {};
  const LookUpView look_up(ViewOf(context.builder.graph(), context.node, storage), O);
  DRYDOCK_TRY(const GatherForm form, GatherFormOf(look_up.view));
  const Shape& table = look_up.types[0].shape;
  const ScatterPlan plan = PlanOf(form, table, look_up.types[1].shape);
  DRYDOCK_TRY(const ValueId ordered,
              EmitTranspose(context, OutputGradient(context), plan.rows_first));
  DRYDOCK_TRY(const ValueId rows, EmitReshape(context, ordered, plan.rows));
  DRYDOCK_TRY(const ValueId indices, EmitWithoutOffset(context, context.node.inputs[1 - kTable]));
  DRYDOCK_TRY(const ValueId numbers, EmitRowNumbers(context, form, indices, table));
  DRYDOCK_TRY(const ValueId sums, context.Emit("UnsortedSegmentSum", {rows, numbers},
                                               {{"num_segments", plan.segments}}));
  DRYDOCK_TRY(const ValueId shaped, EmitReshape(context, sums, plan.sums));
  std::vector<ValueId> gradients = NoGradients(context);
  DRYDOCK_TRY(gradients[kTable], EmitTranspose(context, shaped, plan.table_order));
  return gradients;
}

/// The plain look-up of rows: a kernel of its own adds the gradients up.
Result<std::vector<ValueId>> GradientOfEmbedding(const GradientContext& context) {
  AttrMap attrs = {{"num_weights", context.TypeOf(context.node.inputs[1]).shape[0]}};
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("EmbeddingDenseBackward",
                           {OutputGradient(context), context.node.inputs[0]}, std::move(attrs)));
  return std::vector<ValueId>{kNoValue, gradient};
}

Result<std::vector<TensorType>> InferEmbeddingBackward(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_TRY(const std::int64_t rows, IntAttr(*op.attrs, "num_weights", 1));
  return std::vector<TensorType>{
      {.shape = {rows, op.inputs[0].shape.back()}, .dtype = op.inputs[0].dtype}};
}

Result<std::vector<NdArray>> EvaluateEmbeddingBackward(const EvaluateContext& context) {
  NdArray table = FilledArray(context.output_types[0].shape, 0.0);
  const auto width = static_cast<std::size_t>(table.shape[1]);
  const std::vector<double>& rows = context.inputs[1].data;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const bool inside = rows[n] >= 0 && rows[n] < static_cast<double>(table.shape[0]);
    for (std::size_t i = 0; inside && i < width; ++i) {
      table.data[static_cast<std::size_t>(rows[n]) * width + i] +=
          context.inputs[0].data[n * width + i];
    }
  }
  return std::vector<NdArray>{std::move(table)};
}

DRYDOCK_OP(EmbeddingDenseBackward, .family = "gradient",
           .signature =
               "EmbeddingDenseBackward()(grad, indices, #num_weights, "
               "#scale_grad_by_freq=False)",
           .infer = InferEmbeddingBackward, .gradient = GradientNotNeeded,
           .evaluate = EvaluateEmbeddingBackward, .flops = FlopsPerInput<1>);

/// A row outside the table gives zeros.
template <Order O>
Result<std::vector<NdArray>> EvaluateGather(const EvaluateContext& context) {
  const LookUpView look_up({.inputs = context.input_types, .attrs = &context.attrs}, O);
  DRYDOCK_TRY(const GatherForm form, GatherFormOf(look_up.view));
  DRYDOCK_TRY(const std::int64_t offset, IntAttr(context.attrs, "offset", 0));
  const NdArray& table = context.inputs[TablePosition(O)];
  const NdArray& indices = context.inputs[1 - TablePosition(O)];
  const std::size_t own_indices = form.index_rank - form.batch;
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  std::vector<std::int64_t> at_index(form.index_rank);
  std::vector<std::int64_t> at_table(form.table_rank);
  std::size_t n = 0;
  ForEachElement(out.shape, [&](std::span<const std::int64_t> index) {
    std::copy_n(index.begin(), form.batch, at_index.begin());
    std::copy_n(index.begin() + static_cast<std::ptrdiff_t>(form.axis), own_indices,
                at_index.begin() + static_cast<std::ptrdiff_t>(form.batch));
    const auto number = static_cast<std::int64_t>(indices.data[OffsetOf(indices.shape, at_index)]);
    const std::int64_t row = number - offset;
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

#define DRYDOCK_GATHER(id, call, default_fn, example_call)                                        \
  DRYDOCK_OP(id, .family = "gather", .signature = call, .infer = InferGather<Order::kTableFirst>, \
             .shard = ShardGather, .default_strategy = default_fn,                                \
             .localize = LocalizeGather<Order::kTableFirst>,                                      \
             .gradient = GradientOfGather<Order::kTableFirst>,                                    \
             .evaluate = EvaluateGather<Order::kTableFirst>, .flops = NoFlops,                    \
             .cost = CostFamily::kGather, .reads_part = true, .accepts_out_strategy = true,       \
             .mirrored = "0", .example = example_call)

DRYDOCK_GATHER(Gather, "Gather(batch_dims=0)(input_params, input_indices, #axis)", DefaultGather,
               "(axis=0)((8, 6), int32(4, 2))");
DRYDOCK_GATHER(SparseGatherV2, "SparseGatherV2()(input_params, input_indices, #axis)",
               DefaultGather, "(axis=0)((8, 6), int32(4, 2))");
DRYDOCK_GATHER(IndexSelect, "IndexSelect()(input, #dim, index)", DefaultGather,
               "(dim=0)((8, 6), int32(4))");

// ---- EmbeddingLookup: on the host, which knows where the rows of its rank begin -----------------

Result<std::vector<TensorType>> InferEmbeddingLookup(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 1, std::string::npos));
  return InferTableFirst(op);
}

Result<ShardRule> ShardEmbeddingLookup(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const std::string target, TextAttr(*op.attrs, "primitive_target", "CPU"));
  DRYDOCK_TRY(const std::int64_t offset, IntAttr(*op.attrs, "offset", 0));
  if (target != "CPU" || offset != 0) {
    return FailOp(op, "strategy-target",
                  "a cut '" + std::string(op.op) +
                      "' runs on the CPU and takes offset 0, but its "
                      "target is '" +
                      target + "' and its offset " + std::to_string(offset),
                  "use 'Gather' for tables on the device");
  }
  return ShardGather(op, strategy);
}

/// Offset = first row of the rank; rows outside give zeros, so nothing is masked.
Result<std::vector<ValueId>> LocalizeEmbeddingLookup(const LocalizeContext& context) {
  const std::int64_t rows = context.builder.TypeOf(context.spec.inputs[0]).shape[0];
  if (rows == context.global.inputs[0].shape[0]) {
    return EmitLocal(context, context.spec.attrs);
  }
  if (IsManualSplit(context.global)) {
    return LocalizeManualSplit(context);
  }
  DRYDOCK_TRY(const ShardRule rule, ShardGather(context.global, context.sharding.strategy));
  const auto axis = static_cast<std::size_t>(rule.inputs[0][0].front());
  AttrMap attrs = context.spec.attrs;
  attrs["offset"] = Times(context.sharding.axis_parts[axis], rows);
  return EmitLocal(context, std::move(attrs));
}

DRYDOCK_OP(EmbeddingLookup, .family = "gather",
           .signature = "EmbeddingLookup()(params, indices, #offset)",
           .infer = InferEmbeddingLookup, .shard = ShardEmbeddingLookup,
           .default_strategy = DefaultGather, .localize = LocalizeEmbeddingLookup,
           .gradient = GradientOfGather<Order::kTableFirst>, .values = "-",
           .evaluate = EvaluateGather<Order::kTableFirst>, .flops = NoFlops,
           .cost = CostFamily::kGather, .reads_part = true, .accepts_out_strategy = true,
           .mirrored = "0", .example = "(offset=0)((8, 6), int32(4, 2))");

// ---- Embedding: indices first, whole on every rank ----------------------------------------------

Result<std::vector<TensorType>> InferEmbedding(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 2, 2));
  return InferGather<Order::kIndicesFirst>(op);
}

/// Only the plain look-up can be cut.
Status CheckPlainEmbedding(const OpView& op) {
  const auto is_set = [&op](std::string_view name) {
    const auto it = op.attrs->find(name);
    return it != op.attrs->end() && !IsNone(it->second);
  };
  DRYDOCK_TRY(const double norm_type, FloatAttr(*op.attrs, "norm_type", 2.0));
  DRYDOCK_TRY(const bool by_freq, BoolAttr(*op.attrs, "scale_grad_by_freq", false));
  if (is_set("padding_idx") || is_set("max_norm") || norm_type != 2.0 || by_freq) {
    return FailOp(op, "strategy-options",
                  "a cut '" + std::string(op.op) +
                      "' takes padding_idx None, max_norm None, "
                      "norm_type 2.0 and scale_grad_by_freq False");
  }
  return {};
}

Result<ShardRule> ShardEmbedding(const OpView& op, const Strategy& strategy) {
  DRYDOCK_RETURN_IF_ERROR(CheckPlainEmbedding(op));
  const LookUpView look_up(op, Order::kIndicesFirst);
  DRYDOCK_TRY(ShardRule rule,
              ShardGather(look_up.view, TableFirst(strategy, Order::kIndicesFirst)));
  const bool of_ranks = strategy.size() == 2 && strategy[0].size() == op.inputs[0].shape.size() &&
                        strategy[1].size() == op.inputs[1].shape.size();
  if (of_ranks) {
    const Result<std::int64_t> used = ProductChecked(strategy[1]);
    const bool fills = op.device_count == 0 || (used && *used == op.device_count);
    const bool whole_indices =
        std::ranges::all_of(strategy[0], [](std::int64_t cut) { return cut == 1; });
    if (!whole_indices || !used || (*used != 1 && !fills)) {
      const std::size_t input = whole_indices ? 1 : 0;
      const auto& cuts = strategy[input];
      const auto cut = std::ranges::find_if(cuts, [](std::int64_t one) { return one > 1; });
      return FailOp(op, "strategy-embedding",
                    CutText(op, input, static_cast<std::size_t>(cut - cuts.begin()), *cut) +
                        ", but the indices must be whole and the weight in 1 part or one on each " +
                        "of the " + std::to_string(op.device_count) + " devices");
    }
  }
  std::swap(rule.inputs[0], rule.inputs[1]);
  return rule;
}

/// The weight on dimension 0, indices whole.
Result<Strategy> DefaultEmbedding(const OpView& op, std::int64_t device_count) {
  return BatchStrategy(op, device_count, {false, true});
}

DRYDOCK_OP(Embedding, .family = "gather",
           .signature =
               "Embedding()(input, weight, #padding_idx=None, #max_norm=None, "
               "#norm_type=2.0, #scale_grad_by_freq=False)",
           .infer = InferEmbedding, .shard = ShardEmbedding, .default_strategy = DefaultEmbedding,
           .localize = LocalizeGather<Order::kIndicesFirst>, .gradient = GradientOfEmbedding,
           .evaluate = EvaluateGather<Order::kIndicesFirst>, .flops = NoFlops,
           .cost = CostFamily::kGather, .reads_part = true, .accepts_out_strategy = true,
           .mirrored = "1", .example = "()(int32(4, 2), (8, 6))");

}  // namespace
}  // namespace drydock::strategies
