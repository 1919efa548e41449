#include "strategies/rules/lookup/gather_manual.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

namespace drydock::strategies {
namespace {

constexpr const char* kRows = "manual_split";
constexpr const char* kRowsAndOffsets = "manual_split_with_offset";

tl::unexpected<Error> FailManual(const OpView& op, std::string why) {
  return FailOp(op, "strategy-manual",
                "'" + std::string(op.op) + "' with a table cut by hand: " + std::move(why));
}

std::optional<std::int64_t> WholeNumber(const Attr& attr) {
  const auto* number = std::get_if<std::int64_t>(&attr.value);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<HandPart> PartFrom(const Attr& item, std::int64_t offset) {
  if (const auto rows = WholeNumber(item)) {
    return HandPart{.rows = *rows, .offset = offset};
  }
  const auto* pair = std::get_if<Attr::List>(&item.value);
  if (pair == nullptr || pair->size() != 2) {
    return std::nullopt;
  }
  const auto rows = WholeNumber((*pair)[0]);
  const auto given = WholeNumber((*pair)[1]);
  return rows && given ? std::optional(HandPart{.rows = *rows, .offset = *given}) : std::nullopt;
}

/// The parts as the attribute lists them.
Result<std::vector<HandPart>> ListedParts(const OpView& op) {
  const char* name = op.attrs->contains(kRowsAndOffsets) ? kRowsAndOffsets : kRows;
  const auto* list = std::get_if<Attr::List>(&op.attrs->find(name)->second.value);
  std::vector<HandPart> parts = {};
  std::int64_t rows = 0;
  for (const Attr& item : list == nullptr ? Attr::List() : *list) {
    const std::optional<HandPart> part = PartFrom(item, rows);
    if (!part || part->rows < 1) {
      return FailManual(op, "attribute '" + std::string(name) +
                                "' must list rows of parts, or pairs of rows and offset, but it "
                                "holds " +
                                AttrText(item));
    }
    parts.push_back(*part);
    DRYDOCK_TRY(rows, AddChecked(rows, part->rows));
  }
  return parts;
}

Status CheckPartSizes(const OpView& op, const std::vector<HandPart>& parts) {
  const Shape& indices = op.inputs[1].shape;
  const std::int64_t slice =
      indices.empty() || parts.empty() ? 0 : indices.back() / std::ssize(parts);
  for (const HandPart& part : parts) {
    if (part.rows < slice) {
      return FailManual(op, "a part of " + std::to_string(part.rows) +
                                " rows is smaller than its slice of " + std::to_string(slice) +
                                " indices");
    }
  }
  return {};
}

}  // namespace

Result<std::vector<HandPart>> PartsByHand(const OpView& op) {
  if (op.inputs.size() < 2 || op.inputs[0].shape.empty()) {
    return FailManual(op, "it must be a table with rows, and indices");
  }
  DRYDOCK_TRY(std::vector<HandPart> parts, ListedParts(op));
  std::int64_t rows = 0;
  for (const HandPart& part : parts) {
    DRYDOCK_TRY(rows, AddChecked(rows, part.rows));
  }
  if (rows != op.inputs[0].shape[0]) {
    return FailManual(op, "its parts have " + std::to_string(rows) + " rows together, the table " +
                              std::to_string(op.inputs[0].shape[0]));
  }
  DRYDOCK_RETURN_IF_ERROR(CheckPartSizes(op, parts));
  return parts;
}

Result<AttrMap> WithEqualParts(const OpView& op) {
  DRYDOCK_TRY(const std::vector<HandPart> parts, ListedParts(op));
  const std::int64_t rows = op.inputs[0].shape[0] / std::max<std::int64_t>(std::ssize(parts), 1);
  Attr::List list = {};
  for (const HandPart& part : parts) {
    list.emplace_back(Attr::List{rows, part.offset});
  }
  AttrMap attrs = *op.attrs;
  attrs.erase(kRows);
  attrs[kRowsAndOffsets] = std::move(list);
  return attrs;
}

namespace {

Status CheckManualStrategy(const OpView& op, const GatherForm& form, const Strategy& strategy,
                           const std::vector<HandPart>& parts) {
  const auto count = static_cast<std::int64_t>(parts.size());
  if (form.axis != 0 || form.index_rank == 0) {
    return FailManual(op, "it must be looked up on dimension 0, by indices that are no scalar");
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
  std::vector<double> offsets = {};
  bool regular = true;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    regular = regular && parts[k].offset == static_cast<std::int64_t>(k) * step;
    offsets.push_back(static_cast<double>(parts[k].offset));
  }
  DRYDOCK_TRY(ValueId offset, EmitRankScalar(context, Times(own, regular ? step : 1), dtype));
  if (!regular) {
    const Shape shape = {static_cast<std::int64_t>(parts.size())};
    DRYDOCK_TRY(const ValueId table,
                context.builder.AddConstant({.shape = shape, .dtype = dtype}, std::move(offsets)));
    DRYDOCK_TRY(offset, EmitHelper(context, "Gather", {table, offset}, {{"axis", 0}}));
  }
  return EmitHelper(context, "Sub", {indices, offset});
}

}  // namespace

bool IsManualSplit(const OpView& op) {
  return op.attrs->contains(kRows) || op.attrs->contains(kRowsAndOffsets);
}

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
