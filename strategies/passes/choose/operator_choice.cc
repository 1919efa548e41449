#include "strategies/passes/choose/operator_choice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "strategies/passes/choose/candidate_choice.h"
#include "strategies/passes/choose/reshape_choice.h"

namespace drydock::strategies {

bool OperatorChoice::Decided(NodeId id) const {
  return assignment_.plans[ToIndex(id)].sharding.has_value();
}

bool OperatorChoice::IsGiven(NodeId id) const {
  return assignment_.plans[ToIndex(id)].source == StrategySource::kUser;
}

const OpSharding& OperatorChoice::ShardingOf(NodeId id) const {
  return *assignment_.plans[ToIndex(id)].sharding;
}

const TensorLayout& OperatorChoice::WantedBy(std::size_t e) const {
  const PropagationEdge& edge = links_.edges[e];
  return ShardingOf(edge.consumer).inputs[static_cast<std::size_t>(edge.tensor)];
}

const TensorLayout& OperatorChoice::LeftBy(std::size_t e) const {
  const PropagationEdge& edge = links_.edges[e];
  return ShardingOf(edge.producer).outputs[static_cast<std::size_t>(edge.output)];
}

std::size_t OperatorChoice::OperandCount(NodeId id) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(graph_.at(id).inputs, [](ValueId input) { return input != kNoValue; }));
}

void OperatorChoice::Decide(NodeId id, SharedValue<OpSharding> sharding) {
  assignment_.plans[ToIndex(id)] = {.source = StrategySource::kPropagated,
                                    .sharding = std::move(sharding)};
}

void OperatorChoice::NoteCost(std::size_t e) {
  const PropagationEdge& edge = links_.edges[e];
  if (Decided(edge.producer) && Decided(edge.consumer)) {
    costs_.NoteEdge(edge, ShardingOf(edge.producer), ShardingOf(edge.consumer));
  }
}

void OperatorChoice::DecideWeight(NodeId id, const TensorLayout& layout) {
  Decide(id, OpSharding{.strategy = {CutsOf(layout)},
                        .device_matrix = layout.device_matrix,
                        .inputs = {layout},
                        .outputs = {layout}});
  offering_.insert(id);
}

Status OperatorChoice::DecideBest(NodeId id, const Candidate* best) {
  if (best == nullptr) {
    return tl::unexpected(
        WithPlace(FailInput(graph_.at(id).op + ":no-candidate",
                            "no strategy of '" + graph_.at(id).op + "' is legal on " +
                                std::to_string(StageDevices(config_)) + " devices",
                            "give this operator a strategy with shard()")
                      .value(),
                  PlaceOf(graph_, graph_.at(id))));
  }
  Decide(id, best->sharding);
  return {};
}

DecisionQuestion OperatorChoice::QuestionOf(NodeId id, const std::vector<std::size_t>& edges,
                                            bool by_one_edge) const {
  DecisionQuestion question = QuestionAbout(graph_, graph_.at(id));
  question.by_one_edge = by_one_edge;
  for (const std::size_t e : edges) {
    const PropagationEdge& edge = links_.edges[e];
    const bool incoming = edge.consumer == id;
    question.connections.push_back(
        {.incoming = incoming,
         .position = incoming ? edge.tensor : edge.output,
         .dtype = edge.dtype,
         .identity = edge.identity,
         .offered = OffersLayout(incoming ? edge.producer : edge.consumer),
         .other = incoming ? LeftBy(e) : WantedBy(e)});
  }
  return question;
}

Status OperatorChoice::Answer(NodeId id, const std::vector<std::size_t>& edges, bool by_one_edge) {
  DecisionQuestion question = QuestionOf(id, edges, by_one_edge);
  if (graph_.at(id).entry->accepts_layout) {
    offering_.insert(id);
  }
  if (const SharedValue<OpSharding>* known = cache_.Find(question)) {
    Decide(id, *known);
    return {};
  }
  Status decided = DecideBy(id, edges, by_one_edge);
  if (!decided && RelaxIdentity(edges)) {
    decided = DecideBy(id, edges, by_one_edge);
  }
  DRYDOCK_RETURN_IF_ERROR(decided);
  cache_.Add(std::move(question), assignment_.plans[ToIndex(id)].sharding);
  return {};
}

Result<SharedValue<OpSharding>> OperatorChoice::WithLayout(NodeId id, const PropagationEdge& edge,
                                                           const TensorLayout& wanted) const {
  const auto output = static_cast<std::size_t>(edge.output);
  const auto tensor = static_cast<std::size_t>(edge.tensor);
  DRYDOCK_TRY(const std::vector<Candidate> candidates,
              CandidatesOf(graph_, graph_.at(id), config_));
  const auto it = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
    return SameForm(wanted, edge.producer == id ? candidate.sharding.outputs[output]
                                                : candidate.sharding.inputs[tensor]);
  });
  return it == candidates.end() ? SharedValue<OpSharding>() : SharedValue<OpSharding>(it->sharding);
}

Result<bool> OperatorChoice::TakeLayout(NodeId id, const PropagationEdge& edge,
                                        const TensorLayout& wanted) {
  DecisionQuestion question = QuestionAbout(graph_, graph_.at(id));
  question.exact = true;
  const bool incoming = edge.consumer == id;
  question.connections = {{.incoming = incoming,
                           .position = incoming ? edge.tensor : edge.output,
                           .dtype = edge.dtype,
                           .other = wanted}};
  const SharedValue<OpSharding>* known = cache_.Find(question);
  if (known == nullptr) {
    DRYDOCK_TRY(SharedValue<OpSharding> found, WithLayout(id, edge, wanted));
    cache_.Add(question, std::move(found));
    known = cache_.Find(question);
  }
  if (known->has_value()) {
    Decide(id, *known);
  }
  return known->has_value();
}

/// True if there was an identity connection to relax.
bool OperatorChoice::RelaxIdentity(const std::vector<std::size_t>& edges) {
  bool any = false;
  for (const std::size_t e : edges) {
    any = std::exchange(links_.edges[e].identity, false) || any;
  }
  return any;
}

/// Costs of every candidate, summed up over the visited connections, connection by connection: the
/// order in which layouts meet.
std::vector<EdgeCost> OperatorChoice::CostsWith(NodeId id, const std::vector<std::size_t>& edges,
                                                const std::vector<Candidate>& candidates) {
  std::vector<EdgeCost> sums(candidates.size());
  for (const std::size_t e : edges) {
    const PropagationEdge& edge = links_.edges[e];
    const bool incoming = edge.consumer == id;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const OpSharding& own = candidates[i].sharding;
      const EdgeCost cost = costs_.OfEdge(edge, incoming ? ShardingOf(edge.producer) : own,
                                          incoming ? own : ShardingOf(edge.consumer));
      sums[i].possible = sums[i].possible && cost.possible;
      sums[i].communication += cost.communication;
      sums[i].computation += cost.computation;
    }
  }
  return sums;
}

/// What was given is offered in any case; the data set offers nothing.
bool OperatorChoice::OffersLayout(NodeId id) const {
  return IsGiven(id) || offering_.contains(id);
}

/// What the neighbours at the visited connections offer, if there is one for every operand.
OfferedLayouts OperatorChoice::OffersTo(NodeId id, const std::vector<std::size_t>& edges) const {
  OfferedLayouts offered(OperandCount(id));
  if (edges.size() != offered.size()) {
    return {};
  }
  for (const std::size_t e : edges) {
    const PropagationEdge& edge = links_.edges[e];
    const bool incoming = edge.consumer == id;
    if (!OffersLayout(incoming ? edge.producer : edge.consumer)) {
      return {};
    }
    // Looking backwards, the layout behind the operator is tried in front of it.
    offered[incoming ? static_cast<std::size_t>(edge.tensor) : 0] =
        incoming ? LeftBy(e) : WantedBy(e);
  }
  return offered;
}

/// All candidates of an operator; the one in its neighbours' layouts stands last.
Result<std::vector<Candidate>> OperatorChoice::CandidatesFor(
    NodeId id, const std::vector<std::size_t>& edges) const {
  DRYDOCK_TRY(std::vector<Candidate> candidates, CandidatesOf(graph_, graph_.at(id), config_));
  std::optional<Candidate> by_layout =
      CandidateByLayout(graph_, graph_.at(id), config_, candidates, OffersTo(id, edges));
  if (by_layout) {
    candidates.push_back(*std::move(by_layout));
  }
  return candidates;
}

Status OperatorChoice::DecideBy(NodeId id, const std::vector<std::size_t>& edges,
                                bool by_one_edge) {
  DRYDOCK_TRY(const std::vector<Candidate> candidates, CandidatesFor(id, edges));
  const std::vector<EdgeCost> costs = CostsWith(id, edges, candidates);
  const auto best = by_one_edge
                        ? BestByOneConnection(candidates, costs, config_.compat <= kOldSearch)
                        : BestByAllConnections(candidates, costs);
  return DecideBest(id, best ? &candidates[*best] : nullptr);
}

}  // namespace drydock::strategies
