#include "strategies/rules/lookup/gather_manual.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

namespace drydock::strategies {
namespace {

Status CheckManualStrategy(const OpView& op, const GatherForm& form, const Strategy& strategy,
                           const std::vector<HandPart>& parts) {
  const auto count = static_cast<std::int64_t>(parts.size());
  if (form.axis != 0 || form.index_rank == 0) {
    return FailManual(op, "it must be looked up on dimension 0, by indices that are not scalars");
  }
  const std::vector<std::int64_t>& indices = strategy[1];
  const bool last_only =
      std::all_of(indices.begin(), indices.end() - 1, [](std::int64_t cut) { return cut == 1; });
  if (strategy[0][0] != count || !last_only || indices.back() != count) {
    return FailManual(op, "strategy " + StrategyText(strategy) +
                              " must cut the rows and the last "
                              "dimension of the indices, and only that, into the " +
                              std::to_string(count) + " parts");
  }
  const Result<std::int64_t> used = ProductChecked(strategy[0]);
  if (op.device_count > 0 && (!used || *used != op.device_count)) {
    return FailManual(op, "strategy " + StrategyText(strategy) + " must use all " +
                              std::to_string(op.device_count) + " devices");
  }
  return {};
}

/// Subtracts the number that the rank's digit selects from `offsets`.
Result<ValueId> EmitShifted(const LocalizeContext& context, ValueId indices,
                            const std::vector<HandPart>& parts) {
  const DType dtype = context.builder.TypeOf(indices).dtype;
  const RankExpr& own = context.sharding.axis_parts[0];
  const std::int64_t step = parts.size() > 1 ? parts[1].offset : 0;
  std::vector<std::int64_t> offsets = {};
  bool regular = true;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    regular = regular && parts[k].offset == static_cast<std::int64_t>(k) * step;
    offsets.push_back(parts[k].offset);
  }
  DRYDOCK_TRY(const ValueId offset, regular
                                        ? EmitRankScalar(context, Times(own, step), dtype)
                                        : EmitRankNumber(context, own, std::move(offsets), dtype));
  return EmitHelper(context, "Sub", {indices, offset});
}

}  // namespace

Result<ShardRule> ShardManualSplit(const OpView& op, const GatherForm& form,
                                   const Strategy& strategy) {
  DRYDOCK_TRY(const std::vector<HandPart> parts, PartsByHand(op));
  DRYDOCK_RETURN_IF_ERROR(CheckManualStrategy(op, form, strategy, parts));
  const bool even = std::ranges::all_of(
      parts, [&parts](const HandPart& part) { return part.rows == parts[0].rows; });
  if (!even) {
    return UnsupportedForm(op, "'" + std::string(op.op) +
                                   "' with parts of different size is not handled: each rank would "
                                   "hold a table of another shape");
  }
  const TensorAxes table = AxesInOrder(form.table_rank);
  TensorAxes indices(form.index_rank);
  indices.back() = {0};
  TensorAxes output = indices;
  output.insert(output.end(), table.begin() + 1, table.end());
  return ShardRule{.axis_count = static_cast<std::int32_t>(form.table_rank),
                   .inputs = {table, std::move(indices)},
                   .outputs = {std::move(output)}};
}

Result<std::vector<ValueId>> LocalizeManualSplit(const LocalizeContext& context) {
  DRYDOCK_TRY(const std::vector<HandPart> parts, PartsByHand(context.global));
  NodeSpec spec = context.spec;
  DRYDOCK_TRY(spec.inputs[1], EmitShifted(context, spec.inputs[1], parts));
  DRYDOCK_TRY(const ValueId found, context.builder.Emit(std::move(spec)));
  return std::vector<ValueId>{found};
}

}  // namespace drydock::strategies
