#include "strategies/passes/localize/local_draft.h"

#include "strategies/passes/localize/copies.h"
#include "strategies/passes/prepare/stages.h"

namespace drydock::strategies {
namespace {

/// The loss of `loss.reshape(())` is the operator before the Reshape.
bool LooksThrough(const Node& node) {
  return PassesLayoutOn(node) || node.entry->kind == OpKind::kReshape;
}

/// Notes what a gradient node asks for: its weights, and who makes its loss.
void NoteGradient(const Node& gradient, LocalDraft& draft) {
  for (std::size_t i = 1; i < gradient.inputs.size(); ++i) {
    draft.differentiated[ToIndex(gradient.inputs[i])] = true;
  }
  const Value* loss = &draft.traced.at(gradient.inputs.front());
  while (loss->kind == ValueKind::kOutput && LooksThrough(draft.traced.at(loss->producer))) {
    loss = &draft.traced.at(draft.traced.at(loss->producer).inputs.front());
  }
  if (loss->kind == ValueKind::kOutput) {
    draft.loss_nodes.push_back(loss->producer);
  }
}

/// Operators that work on copies take them apart; all others want each operand whole per rank.
Status JoinOperands(LocalDraft& draft, NodeId id) {
  const SharedValue<OpSharding>& sharding = draft.plans[ToIndex(id)].sharding;
  if (sharding && sharding->interleave > 1) {
    return {};
  }
  for (const ValueId input : draft.traced.at(id).inputs) {
    if (input != kNoValue) {
      DRYDOCK_RETURN_IF_ERROR(JoinCopies(draft, input));
    }
  }
  return {};
}

void StampOrigins(LocalDraft& draft, NodeId origin, std::size_t first_new_node) {
  std::vector<Node>& nodes = draft.builder.mutable_graph().nodes;
  for (std::size_t n = first_new_node; n < nodes.size(); ++n) {
    const bool derived =
        nodes[n].phase == Phase::kBackward && draft.regions[ToIndex(origin)] == Region::kGradient;
    if (!derived && nodes[n].origin == kNoNode) {
      nodes[n].origin = origin;
    }
  }
}

}  // namespace

LocalDraft StartDraft(const TracedPlan& plan, const std::vector<Region>& regions) {
  const Graph& traced = plan.traced;
  LocalDraft draft{.traced = traced,
                   .regions = regions,
                   .plans = plan.plans,
                   .config = plan.config,
                   .wanted = WantedLayouts(traced, plan.plans),
                   .full_names = FullNames(traced),
                   .builder = GraphBuilder(traced.name),
                   .locals = std::vector<Counterpart>(traced.values.size()),
                   .mirrored = std::vector<ValueId>(traced.values.size(), kNoValue),
                   .accumulators = std::vector<ValueId>(traced.values.size(), kNoValue),
                   .differentiated = std::vector<bool>(traced.values.size(), false),
                   .loss_nodes = {},
                   .norm_parts = std::vector<bool>(traced.values.size(), false)};
  draft.owners = OwnersOf(traced, regions, plan.config);
  for (const Parameter& parameter : traced.parameters) {
    const bool sums = parameter.role == ParameterRole::kAccumulatedGradient;
    if (sums && parameter.state_of != kNoValue && plan.config.micro_batches > 1) {
      draft.accumulators[ToIndex(parameter.state_of)] = parameter.value;
    }
  }
  Graph& local = draft.builder.mutable_graph();
  local.stacks = traced.stacks;
  // More than programs take: what stays unused is never touched, and nothing moves while it grows.
  constexpr std::size_t kGrowth = 4;
  local.nodes.reserve(kGrowth * traced.nodes.size());
  local.values.reserve(kGrowth * traced.values.size());
  for (std::size_t n = 0; n < traced.nodes.size(); ++n) {
    if (regions[n] == Region::kGradient) {
      NoteGradient(traced.nodes[n], draft);
    }
  }
  return draft;
}

std::vector<NodeRange> PartsOf(const std::vector<Region>& regions) {
  std::vector<NodeRange> parts;
  for (std::size_t n = 0; n < regions.size(); ++n) {
    if (parts.empty() || parts.back().region != regions[n]) {
      parts.push_back({.region = regions[n], .first = n});
    }
    parts.back().end = n + 1;
  }
  return parts;
}

Status ForEachNode(LocalDraft& draft, const NodeRange& part,
                   const std::function<Status(NodeId)>& translate) {
  for (std::size_t n = part.first; n < part.end; ++n) {
    const NodeId id{static_cast<std::int32_t>(n)};
    const std::size_t first_new_node = draft.builder.graph().nodes.size();
    Status status = JoinOperands(draft, id);
    if (status) {
      status = translate(id);
    }
    if (!status) {
      return tl::unexpected(
          WithPlace(std::move(status).error(), PlaceOf(draft.traced, draft.traced.at(id))));
    }
    StampOrigins(draft, id, first_new_node);
  }
  return {};
}

NodeSpec SpecOf(const LocalDraft& draft, NodeId id) {
  const Node& node = draft.traced.at(id);
  Phase phase = node.phase;
  if (draft.regions[ToIndex(id)] == Region::kPost && phase == Phase::kForward) {
    phase = node.entry->kind == OpKind::kUpdate ? Phase::kOptimizer : Phase::kBackward;
  }
  return {.op = node.op,
          .inputs = {},
          .attrs = node.attrs,
          .scope = node.scope,
          .instance_name = node.instance_name,
          .place = node.place,
          .phase = phase};
}

std::string NameOf(const LocalDraft& draft, ValueId value) {
  const Value& traced = draft.traced.at(value);
  return traced.kind == ValueKind::kOutput ? draft.full_names[ToIndex(traced.producer)]
                                           : traced.name;
}

std::string ShortNameOf(const LocalDraft& draft, NodeId id) {
  const std::string& name = draft.full_names[ToIndex(id)];
  return name.substr(name.rfind('/') + 1);
}

std::string ShortNameOf(const LocalDraft& draft, ValueId value) {
  const Value& traced = draft.traced.at(value);
  return traced.kind == ValueKind::kOutput ? ShortNameOf(draft, traced.producer) : traced.name;
}

SharedValue<TensorLayout> LayoutOf(const LocalDraft& draft, ValueId value) {
  const SharedValue<TensorLayout>& layout = draft.Of(value).layout;
  if (!layout) {
    return ReplicatedLayout(StageDevices(draft.config), draft.traced.at(value).type.shape);
  }
  return layout->interleave > 1 ? JoinedLayout(*layout) : layout;
}

bool IsCut(const LocalDraft& draft, ValueId value) {
  return value != kNoValue &&
         draft.builder.TypeOf(draft.Of(value).id).shape != draft.traced.at(value).type.shape;
}

void SetOutputs(LocalDraft& draft, NodeId id, const std::vector<ValueId>& ids,
                const SharedValue<OpSharding>& sharding) {
  const Node& node = draft.traced.at(id);
  DRYDOCK_CHECK(ids.size() == node.outputs.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Counterpart& local = draft.Of(node.outputs[i]);
    local.id = ids[i];
    if (ids[i] == kNoValue) {
      continue;
    }
    if (sharding) {
      local.layout = sharding.Share(sharding->outputs[i]);
    }
    Value& value = draft.builder.mutable_graph().values[ToIndex(ids[i])];
    if (value.name.empty()) {
      value.name = draft.traced.at(node.outputs[i]).name;
    }
  }
}

Status EmitAsTraced(LocalDraft& draft, NodeId id, NodeSpec spec) {
  const Node& node = draft.traced.at(id);
  NodeId local = kNoNode;
  if (node.entry->infer == nullptr) {
    std::vector<TensorType> types;
    for (const ValueId output : node.outputs) {
      types.push_back(draft.traced.at(output).type);
    }
    local = draft.builder.AddNodeWithTypes(std::move(spec), std::move(types));
  } else {
    DRYDOCK_TRY(local, draft.builder.AddNode(std::move(spec)));
  }
  SetOutputs(draft, id, std::vector<ValueId>(draft.builder.graph().at(local).outputs), {});
  return {};
}

}  // namespace drydock::strategies
