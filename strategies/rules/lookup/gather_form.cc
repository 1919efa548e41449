#include "strategies/rules/lookup/gather_form.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/lookup/gather_manual.h"

/// Sharding of table look-ups. While the looked-up dimension is whole, every other dimension may be
/// cut and no communication is needed. Where it is cut, each rank looks up its own rows, masks the
/// rest, and the partial results are summed by AllReduce or ReduceScatter.
namespace drydock::strategies {
namespace {

using Cuts = std::vector<std::int64_t>;

bool AllOnes(std::span<const std::int64_t> cuts) {
  return std::ranges::all_of(cuts, [](std::int64_t cut) { return cut == 1; });
}

tl::unexpected<Error> FailMode(const OpView& op, const Strategy& strategy, std::string_view why,
                               std::string hint = {}) {
  return FailOp(op, "strategy-gather",
                "strategy " + StrategyText(strategy) + " of '" + std::string(op.op) +
                    "' cuts the looked-up dimension of the table, but " + std::string(why),
                std::move(hint));
}

constexpr const char* kWholeAxisHint =
    "leave the looked-up dimension of the table whole: then all other dimensions may be cut";

/// One cut per dimension of table and indices, all at least 1; anything else is refused by the
/// general checks.
bool IsComplete(const GatherForm& form, const Strategy& strategy) {
  const auto positive = [](const Cuts& cuts) {
    return std::ranges::all_of(cuts, [](std::int64_t cut) { return cut >= 1; });
  };
  return std::ranges::all_of(strategy, positive) && strategy.size() == 2 &&
         strategy[0].size() == form.table_rank && strategy[1].size() == form.index_rank;
}

/// Rows and indices cut at once: only for a two-dimensional table with whole columns and
/// two-dimensional indices.
Result<GatherMode> ModeWithCutIndices(const OpView& op, const GatherForm& form,
                                      const Strategy& strategy) {
  const Cuts& table = strategy[0];
  const Cuts& indices = strategy[1];
  const bool fits =
      form.axis == 0 && table.size() == 2 && table[1] == 1 && indices.size() == 2 && indices[0] > 1;
  if (!fits) {
    return FailMode(
        op, strategy,
        "with cut indices that needs axis 0, a two-dimensional table with whole columns and "
        "two-dimensional indices cut on dimension 0",
        kWholeAxisHint);
  }
  if (indices[1] > 1) {
    return GatherMode::kBatchAxisAndSp;
  }
  if (op.device_count > 0 && table[0] * indices[0] != op.device_count) {
    return FailMode(op, strategy,
                    "rows and indices together use " + std::to_string(table[0] * indices[0]) +
                        " of " + std::to_string(op.device_count) +
                        " devices; they must use all of them",
                    kWholeAxisHint);
  }
  return GatherMode::kBatchAndAxis;
}

Result<GatherMode> ModeWithWholeIndices(const OpView& op, const GatherForm& form,
                                        const Strategy& strategy) {
  const Cuts& table = strategy[0];
  if (table.size() > 2 || strategy[1].empty()) {
    return FailMode(op, strategy,
                    "that needs a table of at most two dimensions and indices that are not scalars",
                    kWholeAxisHint);
  }
  const std::int64_t used = Product(table);
  const bool fills = op.device_count == 0 || used == op.device_count;
  if (form.axis == 0) {
    if (!fills && table.size() == 2 && table[1] != 1) {
      return FailMode(op, strategy,
                      "the table uses " + std::to_string(used) + " of " +
                          std::to_string(op.device_count) +
                          " devices, and then its columns must be whole");
    }
    return GatherMode::kAxis0;
  }
  if (!fills) {
    return FailMode(
        op, strategy,
        "on axis 1 the table must use all " + std::to_string(op.device_count) + " devices",
        kWholeAxisHint);
  }
  if (op.inputs[0].shape[0] % used != 0) {
    return FailMode(op, strategy,
                    "the " + std::to_string(op.inputs[0].shape[0]) +
                        " rows of the table cannot be cut into " + std::to_string(used),
                    kWholeAxisHint);
  }
  return GatherMode::kAxis1;
}

/// Cuts of the result dimensions [*p, *i, *q] of a look-up without batch dimensions.
Cuts PlainOutputCuts(const GatherForm& form, const Strategy& strategy) {
  const Cuts& table = strategy[0];
  const auto axis = static_cast<std::ptrdiff_t>(form.axis);
  Cuts cuts(table.begin(), table.begin() + axis);
  cuts.insert(cuts.end(), strategy[1].begin(), strategy[1].end());
  cuts.insert(cuts.end(), table.begin() + axis + 1, table.end());
  return cuts;
}

/// How partial look-ups are summed.
struct Summation {
  bool scatter = false;
};

/// The user's output strategy decides; without one only kAxis0 and kAxis1 scatter.
Result<Summation> SummationOf(const OpView& op, const GatherForm& form, GatherMode mode,
                              const Strategy& strategy) {
  const std::int64_t parts = strategy[0][form.axis];
  const bool axis0 = mode == GatherMode::kAxis0;
  if (op.out_strategy == nullptr) {
    const bool divides = op.inputs[1].shape[0] % parts == 0;
    return Summation{.scatter = mode == GatherMode::kAxis1 || (axis0 && divides)};
  }
  const Cuts reduced = PlainOutputCuts(form, strategy);
  Cuts scattered = reduced;
  if (!scattered.empty()) {
    scattered[0] *= parts;
  }
  const bool single = op.out_strategy->size() == 1;
  if (single && op.out_strategy->front() == reduced && mode != GatherMode::kAxis1) {
    return Summation{.scatter = false};
  }
  if (single && op.out_strategy->front() == scattered) {
    return Summation{.scatter = true};
  }
  return FailOp(op, "strategy-out",
                "output strategy " + StrategyText(*op.out_strategy) + " of '" + std::string(op.op) +
                    "' does not fit strategy " + StrategyText(strategy),
                "use " + StrategyText(Strategy{scattered}) +
                    (mode == GatherMode::kAxis1 ? "" : " or " + StrategyText(Strategy{reduced})));
}

/// Looked-up dimension whole: D = [i..., p (behind the batch)..., x, q...].
ShardRule WholeAxisRule(const GatherForm& form) {
  ShardRule rule{.axis_count =
                     static_cast<std::int32_t>(form.index_rank + form.table_rank - form.batch)};
  const TensorAxes indices = AxesInOrder(form.index_rank);
  const auto batch_end = indices.begin() + static_cast<std::ptrdiff_t>(form.batch);
  TensorAxes table(indices.begin(), batch_end);
  const TensorAxes own =
      AxesInOrder(form.table_rank - form.batch, static_cast<AxisIndex>(form.index_rank));
  table.insert(table.end(), own.begin(), own.end());
  const auto axis = table.begin() + static_cast<std::ptrdiff_t>(form.axis);
  TensorAxes output(table.begin(), axis);
  output.insert(output.end(), batch_end, indices.end());
  output.insert(output.end(), axis + 1, table.end());
  rule.uncut.push_back({.axis = axis->front(), .what = "the looked-up dimension of the table"});
  rule.inputs = {std::move(table), indices};
  rule.outputs = {std::move(output)};
  return rule;
}

/// Looked-up dimension cut: axes i0, i1, ... that are cut, then the table's.
ShardRule CutAxisRule(const GatherForm& form, GatherMode mode, bool scatter) {
  std::size_t cut_indices = 0;
  if (mode == GatherMode::kBatchAxisAndSp) {
    cut_indices = 2;
  } else if (mode == GatherMode::kBatchAndAxis) {
    cut_indices = 1;
  }
  TensorAxes indices = AxesInOrder(cut_indices);
  indices.resize(form.index_rank);
  TensorAxes table = AxesInOrder(form.table_rank, static_cast<AxisIndex>(cut_indices));
  if (cut_indices > 0) {
    table[1].clear();
  }
  const AxisIndex looked_up = table[form.axis].front();
  TensorAxes output(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(form.axis));
  output.insert(output.end(), indices.begin(), indices.end());
  output.insert(output.end(), table.begin() + static_cast<std::ptrdiff_t>(form.axis) + 1,
                table.end());
  if (scatter) {
    output[0].push_back(looked_up);
  }
  using Kind = ForwardCommunication::Kind;
  const std::size_t table_axes = cut_indices > 0 ? 1 : form.table_rank;
  return ShardRule{.axis_count = static_cast<std::int32_t>(cut_indices + table_axes),
                   .inputs = {std::move(table), std::move(indices)},
                   .outputs = {std::move(output)},
                   .communication = {{.kind = scatter ? Kind::kReduceScatter : Kind::kAllReduce,
                                      .axes = {looked_up}}},
                   .repeat_on_left = mode == GatherMode::kAxis0};
}

}  // namespace

Result<GatherForm> GatherFormOf(const OpView& op) {
  GatherForm form{.table_rank = op.inputs[0].shape.size(), .index_rank = op.inputs[1].shape.size()};
  const bool has_dim = op.attrs->contains("dim");
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(*op.attrs, has_dim ? "dim" : "axis", 0));
  DRYDOCK_TRY(form.axis, NormalisedAxis(op, axis, form.table_rank));
  DRYDOCK_TRY(std::int64_t batch, IntAttr(*op.attrs, "batch_dims", 0));
  batch += batch < 0 ? static_cast<std::int64_t>(form.index_rank) : 0;
  if (batch < 0 || batch > static_cast<std::int64_t>(std::min(form.axis, form.index_rank))) {
    return FailOp(op, "batch-dims",
                  "batch_dims of '" + std::string(op.op) + "' is " + std::to_string(batch) +
                      ", but it must be at most the axis " + std::to_string(form.axis) +
                      " and the dimensions of the indices " + TupleText(op.inputs[1].shape));
  }
  form.batch = static_cast<std::size_t>(batch);
  return form;
}

Result<GatherMode> GatherModeOf(const OpView& op, const GatherForm& form,
                                const Strategy& strategy) {
  if (form.batch > 0) {
    return GatherMode::kBatch;
  }
  if (!IsComplete(form, strategy) || strategy[0][form.axis] == 1) {
    return GatherMode::kNormal;
  }
  if (IsManualSplit(op)) {
    return GatherMode::kManual;
  }
  if (form.axis > 1) {
    return FailMode(op, strategy, "only dimensions 0 and 1 of a table can be cut when looked up",
                    kWholeAxisHint);
  }
  return AllOnes(strategy[1]) ? ModeWithWholeIndices(op, form, strategy)
                              : ModeWithCutIndices(op, form, strategy);
}

Result<ShardRule> ShardGather(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const GatherForm form, GatherFormOf(op));
  DRYDOCK_TRY(const GatherMode mode, GatherModeOf(op, form, strategy));
  if (mode == GatherMode::kBatch && op.out_strategy != nullptr) {
    return FailOp(op, "strategy-out",
                  "'" + std::string(op.op) + "' with batch_dims does not accept an output strategy",
                  "remove out_strategy");
  }
  if (mode == GatherMode::kManual) {
    return ShardManualSplit(op, form, strategy);
  }
  const bool whole_axis = mode == GatherMode::kBatch || mode == GatherMode::kNormal;
  if (whole_axis && op.out_strategy == nullptr) {
    return WholeAxisRule(form);
  }
  if (!IsComplete(form, strategy)) {
    return WholeAxisRule(form);  // Refused by the general checks.
  }
  DRYDOCK_TRY(const Summation summation, SummationOf(op, form, mode, strategy));
  return whole_axis ? WholeAxisRule(form) : CutAxisRule(form, mode, summation.scatter);
}

}  // namespace drydock::strategies
