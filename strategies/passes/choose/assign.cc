#include "strategies/passes/choose/assign.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "strategies/graph/data_extents.h"
#include "strategies/graph/place_notes.h"
#include "strategies/graph/wrapper_lines.h"
#include "strategies/operators/fallback.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/pynative.h"
#include "strategies/operators/strategy_arguments.h"
#include "strategies/passes/choose/equal_nodes.h"

namespace drydock::strategies {
namespace {

std::string ShortName(const Node& node) {
  return node.instance_name.empty() ? node.op : node.op + " '" + node.instance_name + "'";
}

/// How many of the lines that lead to an operator a refusal names.
constexpr std::size_t kMaxCallers = 3;

/// Points to the line that gives the strategy, which is what is to be changed, and names the one
/// that applies the operator and those that lead to it.
Error AtSource(Error error, const Graph& graph, const Node& node) {
  const std::optional<SourcePlace> applied = AppliedPlaceOf(graph, node);
  const std::optional<SourcePlace> given = ShardPlaceOf(graph, node);
  if (error.place || !given) {
    return error;
  }
  error = WithPlace(std::move(error), given);
  if (!applied) {
    return error;
  }
  if (*given != *applied) {
    error = WithNote(std::move(error), "the operator is applied at " + LineWithText(*applied));
  }
  const std::vector<SourcePlace>& stack = graph.stacks[static_cast<std::size_t>(node.place)].frames;
  for (std::size_t i = 1; i < stack.size() && i <= kMaxCallers && !IsWrapperLine(stack[i]); ++i) {
    error = WithNote(std::move(error), "called at " + LineText(stack[i]));
  }
  return error;
}

Error AtNode(Error error, const Graph& graph, const Node& node) {
  error = AtSource(std::move(error), graph, node);
  if (!node.scope.empty()) {
    error = WithNote(std::move(error), "operator " + ShortName(node) + " in scope " + node.scope);
  }
  return error;
}

/// The same for a strategy or layout of it.
Error AtStrategyOf(Error error, const Graph& graph, const Node& node, const JobConfig& config) {
  if (auto note = DataExtentNote(error.message, graph, node.inputs, config)) {
    error = WithNote(std::move(error), *std::move(note));
  }
  error = WithMadeNotes(std::move(error), graph, node.inputs);
  return AtNode(std::move(error), graph, node);
}

Result<OpSharding> ShardByLayout(const Graph& graph, const Node& node, const OpEntry& rule,
                                 const JobConfig& config) {
  OpViewStorage storage;
  const OpView view = ViewOf(graph, node, storage);
  Result<OpSharding> sharding = DeriveShardingFromLayouts(
      rule, view, *node.in_layout, node.out_layout.value_or(std::vector<TensorLayout>{}),
      DevicesOf(config));
  if (!sharding) {
    return tl::unexpected(AtStrategyOf(std::move(sharding).error(), graph, node, config));
  }
  return sharding;
}

/// The operator of the data is ours and has no line: the first one that uses them has.
std::optional<SourcePlace> EntryOf(const Graph& graph, const Node& dataset) {
  for (const Node& node : graph.nodes) {
    const bool uses = std::ranges::any_of(node.inputs, [&](ValueId input) {
      return std::ranges::find(dataset.outputs, input) != dataset.outputs.end();
    });
    if (auto place = uses ? PlaceOf(graph, node) : std::nullopt) {
      return place;
    }
  }
  return std::nullopt;
}

/// What the user gave is dataset_strategy, which takes the remedy.
Error AtDataset(Error error, const Graph& graph, const Node& node) {
  if (!error.place) {
    error = WithPlace(std::move(error), EntryOf(graph, node));
    error.hint =
        error.hint.empty() ? "give another dataset_strategy" : "in dataset_strategy, " + error.hint;
  }
  return error;
}

Result<NodePlan> PlanDataset(const Graph& graph, const Node& node, const JobConfig& config) {
  if (node.in_layout) {
    DRYDOCK_TRY(OpSharding given, ShardByLayout(graph, node, *node.entry, config));
    return NodePlan{.source = StrategySource::kDataset, .sharding = std::move(given)};
  }
  Strategy strategy;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    DRYDOCK_TRY(std::vector<std::int64_t> cuts,
                DatasetCuts(graph.at(node.inputs[i]).type.shape.size(), i, config));
    strategy.push_back(std::move(cuts));
  }
  Result<OpSharding> sharding = ShardNode(graph, node, strategy, config);
  if (!sharding) {
    return tl::unexpected(AtDataset(std::move(sharding).error(), graph, node));
  }
  return NodePlan{.source = StrategySource::kDataset, .sharding = *std::move(sharding)};
}

Status RefuseStrategyOn(const Graph& graph, const Node& node) {
  return tl::unexpected(AtNode(
      FailInput(node.op + ":strategy-not-allowed",
                "'" + node.op + "' takes no strategy: its layout follows from its neighbours",
                "remove the shard() call on this operator")
          .value(),
      graph, node));
}

/// The strategy of a Reshape is that of the parameter in front of it; elsewhere there must be none.
/// Source: mindspore/ccsrc/frontend/parallel/parameter_manager.cc
/// (GenerateTensorLayoutForParamReshapeWithStra)
Result<NodePlan> PlanReshape(const Graph& graph, const Node& node, const JobConfig& config) {
  const Value& operand = graph.at(node.inputs.front());
  if (operand.kind != ValueKind::kParameter || !node.in_strategy ||
      config.mode == ParallelMode::kAutoParallel) {
    return tl::unexpected(RefuseStrategyOn(graph, node).error());
  }
  const OpEntry& any_cut = *FindOp(ops::kOnesLike);
  const AttrMap none;
  const OpView view{.op = node.op,
                    .inputs = std::span(&operand.type, 1),
                    .outputs = std::span(&operand.type, 1),
                    .attrs = &none};
  // A scalar has nothing to cut: ones say so as well as nothing.
  const bool whole_scalar = operand.type.shape.empty() && *node.in_strategy == Strategy{{1}};
  Result<OpSharding> sharding = DeriveSharding(
      any_cut, view, whole_scalar ? Strategy{{}} : *node.in_strategy, DevicesOf(config));
  if (!sharding) {
    return tl::unexpected(AtNode(std::move(sharding).error(), graph, node));
  }
  sharding->outputs = {
      ReplicatedLayout(StageDevices(config), graph.at(node.outputs.front()).type.shape)};
  return NodePlan{.source = StrategySource::kUser, .sharding = *std::move(sharding)};
}

/// The rule that reads what the user said about a node: its own, or the one that takes layouts as
/// they are. Source: mindspore ccsrc/frontend/parallel/step_parallel_utils.cc.
Result<const OpEntry*> GivenRule(const Node& node) {
  DRYDOCK_TRY(const bool as_given, IsSelfDefined(node));
  return as_given ? FindOp(ops::kSelfDefineShard) : node.entry;
}

Error NeedsLayouts(const Node& node) {
  return FailInput(node.op + ":layout-missing",
                   "'" + node.op + "' is cut by the layouts of all its tensors, but none are given",
                   "give in_strategy and out_strategy as Layouts, one per tensor")
      .value();
}

/// Sharding by the node's own strategy, which may have entries for arguments that are no tensors.
Result<OpSharding> ShardAsGiven(const Graph& graph, const Node& node, const JobConfig& config) {
  Result<OpSharding> sharding = ShardNode(graph, node, *node.in_strategy, config);
  if (sharding || !IsCausedBy(sharding.error(), StrategyCause::kEntries)) {
    return sharding;
  }
  const Strategy kept = StrategyOfTensors(*node.entry, node.inputs, *node.in_strategy);
  return kept == *node.in_strategy ? sharding : ShardNode(graph, node, kept, config);
}

/// What every rank computes all of, as is told by its script.
Result<NodePlan> PlanWhole(const Graph& graph, const Node& node, const JobConfig& config) {
  OpViewStorage storage;
  const OpView view = ViewOf(graph, node, storage);
  const OpEntry& rule = *FindOp(ops::kStandAlone);
  DRYDOCK_TRY(const Strategy strategy, DefaultStrategy(rule, view, DevicesOf(config)));
  DRYDOCK_TRY(OpSharding sharding, TrySharding(rule, view, strategy, DevicesOf(config)));
  return NodePlan{.source = StrategySource::kUser, .sharding = std::move(sharding)};
}

Result<NodePlan> PlanGiven(const Graph& graph, const Node& node, const JobConfig& config) {
  if (node.entry->kind == OpKind::kDataset) {
    return PlanDataset(graph, node, config);
  }
  if (RunsWhole(node)) {
    return PlanWhole(graph, node, config);
  }
  if (node.entry->kind == OpKind::kCollective) {
    return tl::unexpected(AtNode(
        FailInput(node.op + ":user-communication",
                  "communication operator '" + node.op + "' is written in the network, but " +
                      std::string(ParallelModeName(config.mode)) + " inserts communication itself",
                  "remove it, or use parallel_mode=\"data_parallel\"")
            .value(),
        graph, node));
  }
  Result<const OpEntry*> rule = GivenRule(node);
  if (!rule) {
    return tl::unexpected(AtNode(std::move(rule).error(), graph, node));
  }
  if ((*rule)->layouts_as_given && !node.in_layout) {
    return tl::unexpected(AtNode(NeedsLayouts(node), graph, node));
  }
  if (node.in_layout) {
    DRYDOCK_TRY(OpSharding sharding, ShardByLayout(graph, node, **rule, config));
    return NodePlan{.source = StrategySource::kUser, .sharding = std::move(sharding)};
  }
  if (node.in_strategy && (*rule)->shard != nullptr) {
    DRYDOCK_TRY(OpSharding sharding, ShardAsGiven(graph, node, config));
    return NodePlan{.source = StrategySource::kUser, .sharding = std::move(sharding)};
  }
  return NodePlan{};
}

/// What an operator without a rule gets. Source: mindspore
/// ccsrc/frontend/parallel/step_parallel_utils.cc.
Result<NodePlan> PlanFallback(const Graph& graph, const Node& node, const JobConfig& config) {
  OpViewStorage storage;
  const OpView view = ViewOf(graph, node, storage);
  const OpEntry& rule = FallbackRule(*node.entry, view, StageDevices(config));
  DRYDOCK_TRY(const Strategy strategy, DefaultStrategy(rule, view, DevicesOf(config)));
  DRYDOCK_TRY(OpSharding sharding, TrySharding(rule, view, strategy, DevicesOf(config)));
  return NodePlan{.source = StrategySource::kFallback,
                  .sharding = std::move(sharding),
                  .fallback_rule = rule.name};
}

Diagnostic WithoutRule(const Graph& graph, const Node& node, const NodePlan& plan) {
  // The batch rule is what entries without a default of their own have.
  const bool whole = FindOp(plan.fallback_rule)->default_strategy != nullptr;
  std::string text = "'" + node.op + "' has no sharding rule; ";
  text += whole ? "every rank computes all of it"
                : "every rank computes its part of the batch, as if samples were independent";
  text += node.in_strategy ? ", and its strategy is ignored" : "";
  return {.code = "operator-without-rule",
          .text = std::move(text),
          .first_place = PlaceOf(graph, node),
          .kind = DiagnosticKind::kLimit};
}

bool NeedsPlan(const Node& node) {
  switch (node.entry->kind) {
    case OpKind::kCompute:
    case OpKind::kDataset:
      return true;
    case OpKind::kView:
      return node.entry->shard != nullptr;
    default:
      return false;
  }
}

}  // namespace

DeviceContext DevicesOf(const JobConfig& config) {
  return {.stage_devices = StageDevices(config), .job_devices = config.world_size};
}

Result<bool> IsSelfDefined(const Node& node) {
  const auto it = node.attrs.find("self_define_shard");
  if (it == node.attrs.end() || IsNone(it->second)) {
    return false;
  }
  const bool* flag = std::get_if<bool>(&it->second.value);
  if (flag == nullptr) {
    return FailInput(node.op + ":self-define-shard", "attribute self_define_shard of '" + node.op +
                                                         "' must be True or False, not " +
                                                         AttrText(it->second));
  }
  return *flag;
}

bool HasRule(const Node& node) {
  const OpKind kind = node.entry->kind;
  return (kind == OpKind::kCompute || kind == OpKind::kView) && node.entry->shard != nullptr;
}

void AddDiagnostic(std::vector<Diagnostic>& diagnostics, Diagnostic diagnostic) {
  const auto it = std::ranges::find_if(diagnostics, [&](const Diagnostic& known) {
    return known.code == diagnostic.code && known.text == diagnostic.text;
  });
  if (it != diagnostics.end()) {
    it->count += diagnostic.count;
  } else {
    diagnostics.push_back(std::move(diagnostic));
  }
}

Result<OpSharding> ShardNode(const Graph& graph, const Node& node, const Strategy& strategy,
                             const JobConfig& config) {
  OpViewStorage storage;
  OpView view = ViewOf(graph, node, storage);
  view.out_strategy = node.out_strategy ? &*node.out_strategy : nullptr;
  Result<OpSharding> sharding = DeriveSharding(*node.entry, view, strategy, DevicesOf(config));
  if (!sharding) {
    return tl::unexpected(AtStrategyOf(std::move(sharding).error(), graph, node, config));
  }
  return sharding;
}

namespace {

/// All interleaved layouts of a network share one number of copies.
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/tensor_layout.cc.
Status CheckCopies(const Graph& graph, const Node& node, const NodePlan& plan,
                   std::int64_t& copies) {
  const std::int64_t own = plan.sharding ? plan.sharding->interleave : 1;
  if (own > 1 && copies > 1 && own != copies) {
    return tl::unexpected(
        AtNode(FailInput(node.op + ":layout-copies",
                         "'" + node.op + "' is interleaved into " + std::to_string(own) +
                             " copies, another operator into " + std::to_string(copies),
                         "give 'interleaved_parallel' the same extent in all layouts")
                   .value(),
               graph, node));
  }
  copies = std::max(copies, own);
  return {};
}

/// The plan of an equal node before this one, which it shares; else what `plan` says.
template <typename Plan>
Result<NodePlan> PlanLikeEarlier(std::size_t node, const Assignment& assignment, EqualNodes& equal,
                                 Plan plan) {
  const std::optional<NodeId> earlier = equal.FindOrAdd(NodeId{static_cast<std::int32_t>(node)});
  return earlier ? Result<NodePlan>(assignment.plans[ToIndex(*earlier)]) : plan();
}

/// The batch-parallel default of an operator with a rule.
Result<NodePlan> PlanDefault(const Graph& graph, const Node& node, const JobConfig& config) {
  OpViewStorage storage;
  const OpView view = ViewOf(graph, node, storage);
  Result<Strategy> strategy = DefaultStrategy(*node.entry, view, DevicesOf(config));
  if (!strategy) {
    return tl::unexpected(AtNode(std::move(strategy).error(), graph, node));
  }
  DRYDOCK_TRY(OpSharding sharding, ShardNode(graph, node, *strategy, config));
  return NodePlan{.source = StrategySource::kDefault, .sharding = std::move(sharding)};
}

/// All that a script gets wrong in its strategies: the first is the error, further ones are notes
/// of it, each place once.
class Refusals {
 public:
  void Add(const Status& status) {
    if (!status) {
      AddError(status.error());
    }
  }

  void Keep(Result<NodePlan> plan, NodePlan& target) {
    if (plan) {
      target = *std::move(plan);
    } else {
      AddError(plan.error());
    }
  }

  Status Take() && { return first_ ? Status(tl::unexpected(*std::move(first_))) : Status(); }

 private:
  static constexpr std::size_t kMost = 20;

  void AddError(const Error& error) {
    std::string text = "also refused: ";
    if (error.place) {
      text += error.place->file + ":" + std::to_string(error.place->line) + ": ";
    }
    text += error.message;
    if (std::ranges::find(texts_, text) != texts_.end() || texts_.size() == kMost) {
      return;
    }
    texts_.push_back(text);
    if (!first_) {
      first_ = error;
    } else {
      first_->notes.push_back(text + (error.hint.empty() ? "" : " (" + error.hint + ")"));
    }
  }

  std::optional<Error> first_ = {};
  std::vector<std::string> texts_ = {};
};

}  // namespace

Result<Assignment> AssignGiven(const Graph& graph, const std::vector<Region>& regions,
                               const JobConfig& config) {
  Assignment assignment{.plans = std::vector<NodePlan>(graph.nodes.size())};
  EqualNodes equal(graph);
  std::int64_t copies = 1;
  Refusals refusals;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool given = node.in_strategy || node.in_layout;
    if (regions[n] != Region::kForward) {
      if (given) {
        AddDiagnostic(assignment.diagnostics,
                      {.code = "strategy-ignored",
                       .text = "'" + node.op +
                               "' updates what it is given or comes after the gradient, and works "
                               "on the slices that are there; its strategy is ignored",
                       .first_place = PlaceOf(graph, node)});
      }
      continue;
    }
    if (given && node.entry->kind == OpKind::kReshape) {
      refusals.Keep(PlanReshape(graph, node, config), assignment.plans[n]);
      continue;
    }
    if (NeedsPlan(node) || node.entry->kind == OpKind::kCollective) {
      refusals.Keep(
          PlanLikeEarlier(n, assignment, equal, [&] { return PlanGiven(graph, node, config); }),
          assignment.plans[n]);
      refusals.Add(CheckCopies(graph, node, assignment.plans[n], copies));
    } else if (given) {
      AddDiagnostic(
          assignment.diagnostics,
          {.code = "strategy-ignored",
           .text = "'" + node.op + "' takes over its producer's layout; its strategy is ignored",
           .first_place = PlaceOf(graph, node)});
    }
  }
  DRYDOCK_RETURN_IF_ERROR(std::move(refusals).Take());
  return assignment;
}

Status AssignDefaults(const Graph& graph, const std::vector<Region>& regions,
                      const JobConfig& config, Assignment& assignment) {
  EqualNodes equal(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (regions[n] != Region::kForward || assignment.plans[n].sharding || !NeedsPlan(node)) {
      continue;
    }
    const bool has_rule = HasRule(node);
    DRYDOCK_TRY(assignment.plans[n], PlanLikeEarlier(n, assignment, equal, [&] {
                  return has_rule ? PlanDefault(graph, node, config)
                                  : PlanFallback(graph, node, config);
                }));
    if (!has_rule) {
      AddDiagnostic(assignment.diagnostics, WithoutRule(graph, node, assignment.plans[n]));
    }
  }
  return {};
}

}  // namespace drydock::strategies
