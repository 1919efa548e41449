#include "strategies/passes/prepare/hand_cut.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/graph/place_notes.h"
#include "strategies/operators/hand_parts.h"
#include "strategies/passes/localize/behind_gradients.h"
#include "strategies/passes/localize/wanted_layout.h"

namespace drydock::strategies {
namespace {

/// The parameter that a look-up reads, through casts and views.
std::optional<ValueId> TableOf(const Graph& graph, const Node& node) {
  ValueId id = node.inputs.front();
  while (id != kNoValue && graph.at(id).kind == ValueKind::kOutput) {
    const Node& producer = graph.at(graph.at(id).producer);
    const OpKind kind = producer.entry->kind;
    if (kind != OpKind::kView && kind != OpKind::kTransparent) {
      return std::nullopt;
    }
    id = producer.inputs.front();
  }
  return id != kNoValue && graph.at(id).kind == ValueKind::kParameter ? std::optional(id)
                                                                      : std::nullopt;
}

bool HasEqualParts(const HandCut& cut) {
  return std::ranges::all_of(cut.rows,
                             [&cut](std::int64_t rows) { return rows == cut.rows.front(); });
}

HandCut CutOf(const Graph& graph, ValueId table, NodeId look_up,
              const std::vector<HandPart>& parts) {
  HandCut cut{.parameters = {graph.at(table).name}, .look_up = look_up};
  for (const HandPart& part : parts) {
    cut.rows.push_back(part.rows);
  }
  for (const Parameter& parameter : graph.parameters) {
    const Value& state = graph.at(parameter.value);
    if (parameter.state_of == table && state.type.shape == graph.at(table).type.shape) {
      cut.parameters.push_back(state.name);
    }
  }
  return cut;
}

/// Adds the cut of one look-up; several of one table must agree.
Status AddCut(HandCut cut, std::vector<HandCut>& cuts) {
  const auto same = std::ranges::find_if(cuts, [&cut](const HandCut& one) {
    return one.parameters.front() == cut.parameters.front();
  });
  if (same == cuts.end()) {
    cuts.push_back(std::move(cut));
    return {};
  }
  if (same->rows != cut.rows) {
    return FailInput("parameter:two-layouts",
                     "parameter '" + cut.parameters.front() + "' is cut by hand into parts of " +
                         TupleText(same->rows) + " rows and of " + TupleText(cut.rows),
                     "give all look-ups of a table the same parts");
  }
  return {};
}

/// Adds the cut of a node, if that looks up a parameter cut by hand.
Status AddLookUp(const Graph& graph, NodeId id, std::vector<HandCut>& cuts) {
  const Node& node = graph.at(id);
  OpViewStorage storage;
  const OpView view = ViewOf(graph, node, storage);
  if (!IsManualSplit(view) || node.inputs.empty()) {
    return {};
  }
  const std::optional<ValueId> table = TableOf(graph, node);
  if (!table || graph.at(*table).type.shape != view.inputs.front().shape) {
    return {};
  }
  DRYDOCK_TRY(const std::vector<HandPart> parts, PartsByHand(view));
  if (!node.in_strategy && !node.in_layout) {
    const std::string count = std::to_string(parts.size());
    return FailInput(
        node.op + ":strategy-manual", "'" + node.op + "' with a table cut by hand needs a strategy",
        "cut the rows and the last dimension of the indices into the " + count + " parts");
  }
  const Status added = AddCut(CutOf(graph, *table, id, parts), cuts);
  return added ? added : Status(tl::unexpected(AtParameter(added.error(), graph, *table)));
}

/// Gives the parameters of hand cuts other rows, and everything that follows from them its type.
class Retyping {
 public:
  Retyping(Graph& graph, const std::vector<HandCut>& cuts)
      : graph_(graph), follows_(graph.values.size(), false) {
    for (const HandCut& cut : cuts) {
      std::int64_t rows = 0;
      for (const std::int64_t part : cut.rows) {
        rows += part;
      }
      whole_rows_.push_back(rows);
    }
  }

  /// True for the tables and what has a row for each of theirs.
  [[nodiscard]] bool Follows(ValueId id) const { return id != kNoValue && follows_[ToIndex(id)]; }

  /// `rows[c]`: how many rows each part of cut c gets.
  Status Give(const std::vector<HandCut>& cuts, const std::vector<std::int64_t>& rows) {
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      DRYDOCK_TRY(const std::int64_t extent, MulChecked(rows[c], std::ssize(cuts[c].rows)));
      for (const Parameter& parameter : graph_.parameters) {
        Value& value = graph_.values[ToIndex(parameter.value)];
        if (std::ranges::find(cuts[c].parameters, value.name) != cuts[c].parameters.end()) {
          value.type.shape[0] = extent;
          follows_[ToIndex(parameter.value)] = true;
        }
      }
    }
    for (Node& node : graph_.nodes) {
      if (ReadsFollower(node)) {
        DRYDOCK_RETURN_IF_ERROR(Retype(node));
      }
    }
    return {};
  }

  /// Refuses operators that cannot work on parts of different length.
  /// Precondition: Give changed the rows of every table.
  [[nodiscard]] Status CheckReaders() const {
    for (const Node& node : graph_.nodes) {
      if (ReadsFollower(node) && !MayRead(node)) {
        return FailReader(node);
      }
    }
    return {};
  }

 private:
  [[nodiscard]] bool ReadsFollower(const Node& node) const {
    return std::ranges::any_of(node.inputs, [this](ValueId id) { return Follows(id); });
  }

  [[nodiscard]] tl::unexpected<Error> FailReader(const Node& node) const {
    Error error = Fail(ErrorCode::kUnsupported,
                       "'" + node.op +
                           "' reads a table that is cut by hand into parts of different length; "
                           "only look-ups, updates, sums and operators that work element by "
                           "element may",
                       "cut the table into equal parts")
                      .value();
    return tl::unexpected(WithPlace(std::move(error), PlaceOf(graph_, node)));
  }

  /// A look-up's parts are as long as the table's.
  Status Recut(Node& node) {
    OpViewStorage storage;
    const OpView view = ViewOf(graph_, node, storage);
    if (IsManualSplit(view)) {
      DRYDOCK_TRY(node.attrs, WithEqualParts(view));
    }
    return {};
  }

  Status Retype(Node& node) {
    DRYDOCK_RETURN_IF_ERROR(Recut(node));
    Result<std::vector<TensorType>> types = TypesOf(node);
    if (!types) {
      return FailReader(node);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      Value& value = graph_.values[ToIndex(node.outputs[i])];
      follows_[ToIndex(node.outputs[i])] =
          follows_[ToIndex(node.outputs[i])] || value.type.shape != (*types)[i].shape;
      value.type = (*types)[i];
    }
    return {};
  }

  [[nodiscard]] Result<std::vector<TensorType>> TypesOf(const Node& node) const {
    OpViewStorage storage;
    OpView view = ViewOf(graph_, node, storage);
    view.outputs = {};
    if (node.entry->kind == OpKind::kGradient) {
      return std::vector<TensorType>(storage.inputs.begin() + 1, storage.inputs.end());
    }
    if (node.entry->infer == nullptr) {
      return Fail(ErrorCode::kUnsupported, "its types are only known as traced");
    }
    return node.entry->infer(view);
  }

  /// Whether the operator means the same when parts differ in length: no mean over the rows, no
  /// place within the whole.
  [[nodiscard]] bool MayRead(const Node& node) const {
    if (node.entry->kind == OpKind::kUpdate) {
      return std::ranges::none_of(node.inputs, [this](ValueId id) { return SpansRows(id); });
    }
    OpViewStorage storage;
    const OpView view = ViewOf(graph_, node, storage);
    if (node.entry->kind == OpKind::kGradient || WorksOnSlices(node) || IsManualSplit(view)) {
      return true;
    }
    const OpEntry& entry = *node.entry;
    if (entry.cost != CostFamily::kReduce || entry.shard == nullptr || entry.localize != nullptr) {
      return false;
    }
    const Result<ShardRule> rule = entry.shard(view, {});
    return rule && std::ranges::none_of(rule->communication,
                                        [](const ForwardCommunication& one) { return one.mean; });
  }

  /// A state that has an element per row but no place among the table's own states (AdaFactor).
  [[nodiscard]] bool SpansRows(ValueId id) const {
    if (id == kNoValue || Follows(id) || graph_.at(id).type.shape.empty()) {
      return false;
    }
    return std::ranges::find(whole_rows_, graph_.at(id).type.shape[0]) != whole_rows_.end();
  }

  Graph& graph_;
  std::vector<bool> follows_;  ///< Per value: its shape follows from the rows of a table.
  std::vector<std::int64_t> whole_rows_ = {};
};

/// Infers types once with a row count that no part has, to find the dependent values, and then with
/// that of the first part.
Status GiveFirstRows(Graph& graph, const std::vector<HandCut>& cuts) {
  std::vector<std::int64_t> other;
  std::vector<std::int64_t> first;
  for (const HandCut& cut : cuts) {
    other.push_back(std::ranges::max(cut.rows) + 1);
    first.push_back(cut.rows.front());
  }
  Retyping retyping(graph, cuts);
  DRYDOCK_RETURN_IF_ERROR(retyping.Give(cuts, other));
  DRYDOCK_RETURN_IF_ERROR(retyping.CheckReaders());
  return retyping.Give(cuts, first);
}

/// The sharding of a node with the shapes of what follows from the tables.
OpSharding WithTypes(const Graph& graph, const Retyping& retyping, const Node& node,
                     OpSharding sharding) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (retyping.Follows(node.inputs[i])) {
      sharding.inputs[TensorIndex(node, i)].shape = graph.at(node.inputs[i]).type.shape;
    }
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (retyping.Follows(node.outputs[i])) {
      sharding.outputs[i].shape = graph.at(node.outputs[i]).type.shape;
    }
  }
  return sharding;
}

bool Touches(const Retyping& retyping, const Node& node) {
  const auto follows = [&](ValueId id) { return retyping.Follows(id); };
  return std::ranges::any_of(node.inputs, follows) || std::ranges::any_of(node.outputs, follows);
}

/// As for networks that differ because the script asks for its rank (docs/adr/0009).
constexpr std::size_t kMostPrograms = 64;

}  // namespace

Result<std::vector<HandCut>> TakeHandCuts(Graph& graph) {
  std::vector<HandCut> cuts = {};
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Status added = AddLookUp(graph, NodeId{static_cast<std::int32_t>(n)}, cuts);
    if (!added) {
      return tl::unexpected(WithPlace(added.error(), PlaceOf(graph, graph.nodes[n])));
    }
  }
  std::erase_if(cuts, HasEqualParts);
  if (!cuts.empty()) {
    DRYDOCK_RETURN_IF_ERROR(GiveFirstRows(graph, cuts));
  }
  return cuts;
}

Status GiveRows(TracedPlan& plan, RankId rank) {
  if (plan.hand_cuts.empty()) {
    return {};
  }
  std::vector<std::int64_t> rows;
  for (HandCut& cut : plan.hand_cuts) {
    const SharedValue<OpSharding>& sharding = plan.plans[ToIndex(cut.look_up)].sharding;
    if (!sharding || sharding->axis_parts.empty()) {
      return Fail(
          ErrorCode::kUnsupported,
          "table '" + cut.parameters.front() + "' is cut by hand in a look-up that has no strategy",
          "give the look-up a strategy, in front of the gradients");
    }
    cut.part = sharding->axis_parts.front();
    rows.push_back(cut.rows[PartOf(cut, plan.config, rank)]);
  }
  Retyping retyping(plan.traced, plan.hand_cuts);
  DRYDOCK_RETURN_IF_ERROR(retyping.Give(plan.hand_cuts, rows));
  for (std::size_t n = 0; n < plan.plans.size(); ++n) {
    const Node& node = plan.traced.nodes[n];
    SharedValue<OpSharding>& sharding = plan.plans[n].sharding;
    if (sharding && Touches(retyping, node)) {
      sharding = WithTypes(plan.traced, retyping, node, *sharding);
    }
  }
  return {};
}

bool MayHaveHandCuts(const Graph& traced) {
  return std::ranges::any_of(
      traced.nodes, [](const Node& node) { return IsManualSplit(OpView{.attrs = &node.attrs}); });
}

Result<std::vector<RankSet>> RanksByRows(const TracedPlan& plan, const RankSet& ranks,
                                         RankId first) {
  std::map<std::vector<std::int64_t>, RankSet> groups;
  for (const RankRange& range : ranks.ranges) {
    for (std::int64_t rank = range.first; rank <= range.last; ++rank) {
      AddHighest(groups[HandCutRows(plan, RankId{static_cast<std::int32_t>(rank)})], rank);
    }
  }
  if (groups.size() > kMostPrograms) {
    return Fail(ErrorCode::kUnsupported,
                "tables cut by hand give the ranks parts of " + std::to_string(groups.size()) +
                    " different lengths; up to " + std::to_string(kMostPrograms) + " are handled",
                "cut into fewer parts, or give parts equal lengths");
  }
  const auto own = groups.find(HandCutRows(plan, first));
  std::vector<RankSet> sets = {own->second};
  groups.erase(own);
  for (auto& [rows, members] : groups) {
    sets.push_back(std::move(members));
  }
  return sets;
}

}  // namespace drydock::strategies
