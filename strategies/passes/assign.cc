#include "strategies/passes/assign.h"

#include <algorithm>

#include "base/text.h"

namespace drydock::strategies {
namespace {

std::string ShortName(const Node& node) {
  return node.instance_name.empty() ? node.op : node.op + " '" + node.instance_name + "'";
}

Error AtNode(Error error, const Graph& graph, const Node& node) {
  error = WithPlace(std::move(error), PlaceOf(graph, node));
  if (!node.scope.empty()) {
    error = WithNote(std::move(error), "operator " + ShortName(node) + " in scope " + node.scope);
  }
  return error;
}

Result<OpSharding> ShardByLayout(const Graph& graph, const Node& node, const JobConfig& config) {
  OpViewStorage storage;
  const OpView view = ViewOf(graph, node, storage);
  Result<OpSharding> sharding = DeriveShardingFromLayouts(
      *node.entry, view, *node.in_layout, node.out_layout.value_or(std::vector<TensorLayout>{}),
      DevicesOf(config));
  if (!sharding) {
    return tl::unexpected(AtNode(std::move(sharding).error(), graph, node));
  }
  return sharding;
}

Result<NodePlan> PlanDataset(const Graph& graph, const Node& node, const JobConfig& config) {
  Strategy strategy;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    DRYDOCK_TRY(std::vector<std::int64_t> cuts,
                DatasetCuts(graph.at(node.inputs[i]).type.shape.size(), i, config));
    strategy.push_back(std::move(cuts));
  }
  DRYDOCK_TRY(OpSharding sharding, ShardNode(graph, node, strategy, config));
  return NodePlan{.source = StrategySource::kDataset, .sharding = std::move(sharding)};
}

Status RefuseStrategyOn(const Graph& graph, const Node& node) {
  return tl::unexpected(AtNode(
      FailInput(node.op + ":strategy-not-allowed",
                "'" + node.op + "' takes no strategy: its layout follows from its neighbours",
                "remove the shard() call on this operator")
          .value(),
      graph, node));
}

Result<NodePlan> PlanGiven(const Graph& graph, const Node& node, const JobConfig& config) {
  if (node.entry->kind == OpKind::kDataset) {
    return PlanDataset(graph, node, config);
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
  if (node.in_layout) {
    DRYDOCK_TRY(OpSharding sharding, ShardByLayout(graph, node, config));
    return NodePlan{.source = StrategySource::kUser, .sharding = std::move(sharding)};
  }
  if (node.in_strategy) {
    DRYDOCK_TRY(OpSharding sharding, ShardNode(graph, node, *node.in_strategy, config));
    return NodePlan{.source = StrategySource::kUser, .sharding = std::move(sharding)};
  }
  return NodePlan{};
}

/// Everything whole on every rank: what an operator without a rule gets.
NodePlan ReplicatedPlan(const Graph& graph, const Node& node, const JobConfig& config) {
  OpSharding sharding{.device_matrix = {StageDevices(config)}};
  for (const ValueId input : node.inputs) {
    if (input != kNoValue) {
      const Shape& shape = graph.at(input).type.shape;
      sharding.strategy.emplace_back(shape.size(), 1);
      sharding.inputs.push_back(ReplicatedLayout(StageDevices(config), shape));
    }
  }
  for (const ValueId output : node.outputs) {
    sharding.outputs.push_back(ReplicatedLayout(StageDevices(config), graph.at(output).type.shape));
  }
  return {.source = StrategySource::kFallback, .sharding = std::move(sharding)};
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
    return tl::unexpected(AtNode(std::move(sharding).error(), graph, node));
  }
  return sharding;
}

Result<Assignment> AssignGiven(const Graph& graph, const std::vector<Region>& regions,
                               const JobConfig& config) {
  Assignment assignment{.plans = std::vector<NodePlan>(graph.nodes.size())};
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool given = node.in_strategy || node.in_layout;
    if (regions[n] != Region::kForward) {
      continue;
    }
    if (given && node.entry->kind == OpKind::kReshape) {
      DRYDOCK_RETURN_IF_ERROR(RefuseStrategyOn(graph, node));
    }
    if (NeedsPlan(node) || node.entry->kind == OpKind::kCollective) {
      DRYDOCK_TRY(assignment.plans[n], PlanGiven(graph, node, config));
    } else if (given) {
      AddDiagnostic(
          assignment.diagnostics,
          {.code = "strategy-ignored",
           .text = "'" + node.op + "' takes over its producer's layout; its strategy is ignored",
           .first_place = PlaceOf(graph, node)});
    }
  }
  return assignment;
}

Status AssignDefaults(const Graph& graph, const std::vector<Region>& regions,
                      const JobConfig& config, Assignment& assignment) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (regions[n] != Region::kForward || assignment.plans[n].sharding || !NeedsPlan(node)) {
      continue;
    }
    if (!HasRule(node)) {
      assignment.plans[n] = ReplicatedPlan(graph, node, config);
      AddDiagnostic(assignment.diagnostics,
                    {.code = "operator-without-rule",
                     .text = "'" + node.op + "' has no sharding rule and runs replicated",
                     .first_place = PlaceOf(graph, node),
                     .unsupported = true});
      continue;
    }
    OpViewStorage storage;
    const OpView view = ViewOf(graph, node, storage);
    Result<Strategy> strategy = DefaultStrategy(*node.entry, view, DevicesOf(config));
    if (!strategy) {
      return tl::unexpected(AtNode(std::move(strategy).error(), graph, node));
    }
    DRYDOCK_TRY(assignment.plans[n].sharding, ShardNode(graph, node, *strategy, config));
    assignment.plans[n].source = StrategySource::kDefault;
  }
  return {};
}

}  // namespace drydock::strategies
