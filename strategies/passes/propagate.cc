#include "strategies/passes/propagate.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "strategies/passes/decision_cache.h"
#include "strategies/passes/propagation_graph.h"
#include "strategies/passes/reshape_choice.h"
#include "strategies/rules/known_ops.h"

/// Breadth-first search from every operator whose strategy is given, in topological order.
///
/// A successor with one operand is decided as soon as it is reached; one with several waits until
/// all its connections were visited, or until the queue runs dry. First come wins; disagreements
/// are left to redistribution. Ties: see ChooseForEdge and ChooseForEdges.
namespace drydock::strategies {
namespace {

/// Release whose chooser looked at computation only among the candidates without communication.
constexpr CompatRelease kOldChooser = {.major = 2, .minor = 0};

std::int64_t FactorProduct(const Strategy& strategy) {
  std::int64_t product = 1;
  for (const auto& entry : strategy) {
    product *= Product(entry);
  }
  return product;
}

class Propagation {
 public:
  Propagation(const Graph& graph, const std::vector<Region>& regions, const JobConfig& config,
              Assignment& assignment)
      : graph_(graph),
        regions_(regions),
        config_(config),
        assignment_(assignment),
        links_(ConnectOperators(graph, regions, config.elementwise_op_strategy_follow)),
        reshape_choice_(graph, links_, config, assignment) {}

  Status Run() {
    std::vector<NodeId> given;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (assignment_.plans[n].sharding) {
        given.push_back(NodeId{static_cast<std::int32_t>(n)});
      }
    }
    if (given.empty()) {
      return FailInput("propagation:nothing-given",
                       "sharding propagation has no operator with a strategy to start from",
                       "call shard() on at least one operator");
    }
    // The data set counts as the last operator, so that what the user gave decides first.
    std::stable_partition(given.begin(), given.end(), [this](NodeId id) { return !IsDataset(id); });
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool last = i + 1 == given.size() || IsDataset(given[i + 1]);
      DRYDOCK_RETURN_IF_ERROR(
          SearchFrom(given[i], last ? std::nullopt : std::optional(given[i + 1])));
    }
    DRYDOCK_RETURN_IF_ERROR(AgreeOnSharedParameters());
    return FillIslands();
  }

 private:
  [[nodiscard]] bool Decided(NodeId id) const {
    return assignment_.plans[ToIndex(id)].sharding.has_value();
  }
  [[nodiscard]] const OpSharding& ShardingOf(NodeId id) const {
    return *assignment_.plans[ToIndex(id)].sharding;
  }
  void Decide(NodeId id, const Candidate& candidate) {
    assignment_.plans[ToIndex(id)] = {.source = StrategySource::kPropagated,
                                      .sharding = candidate.sharding};
  }

  [[nodiscard]] bool IsReshape(NodeId id) const {
    return graph_.at(id).entry->kind == OpKind::kReshape;
  }
  [[nodiscard]] bool IsDataset(NodeId id) const {
    return graph_.at(id).entry->kind == OpKind::kDataset;
  }
  /// Nothing more is asked about it by this search.
  [[nodiscard]] bool Visited(NodeId id) const {
    return Decided(id) || reshapes_.contains(id) || passed_over_.contains(id);
  }

  Status SearchFrom(NodeId start, std::optional<NodeId> next_given) {
    std::deque<NodeId> queue = {start};
    for (;;) {
      while (!queue.empty()) {
        const NodeId current = queue.front();
        queue.pop_front();
        DRYDOCK_RETURN_IF_ERROR(VisitSuccessors(current, queue));
        DRYDOCK_RETURN_IF_ERROR(VisitPredecessors(current, queue));
      }
      if (waiting_.empty()) {
        return {};
      }
      // The waiting operator nearest to the inputs is decided from what was visited so far, unless
      // a later given operator should be searched from first.
      const NodeId head = waiting_.begin()->first;
      if (Decided(head) || (next_given && head > *next_given)) {
        return {};
      }
      const std::vector<std::size_t> edges = waiting_.begin()->second;
      waiting_.erase(waiting_.begin());
      DRYDOCK_RETURN_IF_ERROR(Answer(head, edges, false));
      queue.push_back(head);
    }
  }

  Status VisitSuccessors(NodeId current, std::deque<NodeId>& queue) {
    for (const std::size_t e : links_.successors[ToIndex(current)]) {
      const NodeId consumer = links_.edges[e].consumer;
      if (Visited(consumer)) {
        continue;
      }
      if (IsReshape(consumer) || IsReshape(current)) {
        DRYDOCK_RETURN_IF_ERROR(PassReshape(current, consumer, e, queue));
        continue;
      }
      const std::vector<ValueId>& operands = graph_.at(consumer).inputs;
      const auto operand_count = static_cast<std::size_t>(
          std::ranges::count_if(operands, [](ValueId id) { return id != kNoValue; }));
      if (operand_count < 2) {
        DRYDOCK_RETURN_IF_ERROR(Answer(consumer, {e}, true));
        queue.push_back(consumer);
        continue;
      }
      std::vector<std::size_t>& visited = waiting_[consumer];
      if (std::ranges::find(visited, e) == visited.end()) {
        visited.push_back(e);
      }
      if (visited.size() == operand_count) {
        const std::vector<std::size_t> edges = visited;
        waiting_.erase(consumer);
        DRYDOCK_RETURN_IF_ERROR(Answer(consumer, edges, false));
        queue.push_back(consumer);
      }
    }
    return {};
  }

  Status VisitPredecessors(NodeId current, std::deque<NodeId>& queue) {
    for (const std::size_t e : links_.predecessors[ToIndex(current)]) {
      const NodeId producer = links_.edges[e].producer;
      if (Visited(producer)) {
        continue;
      }
      if (IsReshape(producer) || IsReshape(current)) {
        DRYDOCK_RETURN_IF_ERROR(PassReshape(current, producer, e, queue));
      } else {
        DRYDOCK_RETURN_IF_ERROR(Answer(producer, {e}, true));
        queue.push_back(producer);
      }
    }
    return {};
  }

  /// From a decided operator to a Reshape, or from a Reshape to an operator. Where no candidate
  /// has the layout in question, nothing is decided. Source: spec compiler-passes 3.3.
  Status PassReshape(NodeId current, NodeId next, std::size_t e, std::deque<NodeId>& queue) {
    const PropagationEdge& edge = links_.edges[e];
    if (IsReshape(current) && IsReshape(next)) {
      return {};
    }
    const bool forward = edge.producer == current;
    const NodeId other = IsReshape(next) ? current : next;
    // Between a Reshape and a Concat nothing is decided.
    if (graph_.at(other).op == ops::kConcat && edge.consumer == other) {
      passed_over_.insert(next);
      return {};
    }
    const auto output = static_cast<std::size_t>(edge.output);
    const auto tensor = static_cast<std::size_t>(edge.tensor);
    if (IsReshape(next)) {
      const TensorLayout& fixed =
          forward ? ShardingOf(current).outputs[output] : ShardingOf(current).inputs[tensor];
      DRYDOCK_TRY(const auto layouts, reshape_choice_.Choose(next, fixed, forward));
      if (layouts) {
        reshapes_[next] = *layouts;
        queue.push_back(next);
      }
      return {};
    }
    const ReshapeLayouts& layouts = reshapes_.at(current);
    return TakeLayout(next, edge, forward ? layouts.output : layouts.input, queue);
  }

  /// The first candidate with exactly this layout at its end of the connection, if there is one.
  Status TakeLayout(NodeId id, const PropagationEdge& edge, const TensorLayout& wanted,
                    std::deque<NodeId>& queue) {
    const auto output = static_cast<std::size_t>(edge.output);
    const auto tensor = static_cast<std::size_t>(edge.tensor);
    DRYDOCK_TRY(const std::vector<Candidate> candidates,
                CandidatesOf(graph_, graph_.at(id), config_));
    const auto it = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
      return SameForm(wanted, edge.producer == id ? candidate.sharding.outputs[output]
                                                  : candidate.sharding.inputs[tensor]);
    });
    if (it != candidates.end()) {
      Decide(id, *it);
      queue.push_back(id);
    }
    return {};
  }

  [[nodiscard]] DecisionQuestion QuestionOf(NodeId id, const std::vector<std::size_t>& edges,
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
           .other = incoming
                        ? ShardingOf(edge.producer).outputs[static_cast<std::size_t>(edge.output)]
                        : ShardingOf(edge.consumer).inputs[static_cast<std::size_t>(edge.tensor)]});
    }
    return question;
  }

  /// Decides an operator from its visited connections, or as the same question was answered before.
  Status Answer(NodeId id, const std::vector<std::size_t>& edges, bool by_one_edge) {
    DecisionQuestion question = QuestionOf(id, edges, by_one_edge);
    if (const OpSharding* known = cache_.Find(question)) {
      assignment_.plans[ToIndex(id)] = {.source = StrategySource::kPropagated, .sharding = *known};
      return {};
    }
    Status decided = by_one_edge ? DecideByEdge(id, edges.front()) : DecideByEdges(id, edges);
    if (!decided && RelaxIdentity(edges)) {
      decided = by_one_edge ? DecideByEdge(id, edges.front()) : DecideByEdges(id, edges);
    }
    DRYDOCK_RETURN_IF_ERROR(decided);
    cache_.Add(std::move(question), ShardingOf(id));
    return {};
  }

  /// Where no candidate goes without redistribution, one with redistribution is taken. True if
  /// there was an identity connection to relax.
  bool RelaxIdentity(const std::vector<std::size_t>& edges) {
    bool any = false;
    for (const std::size_t e : edges) {
      any = std::exchange(links_.edges[e].identity, false) || any;
    }
    return any;
  }

  [[nodiscard]] EdgeCost CostWith(std::size_t e, NodeId node, const Candidate& candidate) const {
    const PropagationEdge& edge = links_.edges[e];
    return edge.consumer == node ? CostOfEdge(edge, ShardingOf(edge.producer), candidate.sharding,
                                              config_.enable_alltoall)
                                 : CostOfEdge(edge, candidate.sharding, ShardingOf(edge.consumer),
                                              config_.enable_alltoall);
  }

  /// One visited connection: least communication, then computation, then the operator's own
  /// communication, then more cuts, then the lexicographically larger strategy.
  Status DecideByEdge(NodeId id, std::size_t e) {
    DRYDOCK_TRY(const std::vector<Candidate> candidates,
                CandidatesOf(graph_, graph_.at(id), config_));
    const bool old_chooser = config_.compat <= kOldChooser;
    using Key = std::tuple<double, double, double, std::int64_t>;
    const Candidate* best = nullptr;
    Key best_key;
    for (const Candidate& candidate : candidates) {
      const EdgeCost cost = CostWith(e, id, candidate);
      if (!cost.possible) {
        continue;
      }
      const bool by_communication_only = old_chooser && cost.communication > 0;
      const Key key = {cost.communication, by_communication_only ? 0 : cost.computation,
                       by_communication_only ? 0 : candidate.forward_communication,
                       by_communication_only ? 0 : -FactorProduct(candidate.sharding.strategy)};
      const bool larger_on_tie = best != nullptr && !by_communication_only && key == best_key &&
                                 candidate.sharding.strategy > best->sharding.strategy;
      if (best == nullptr || key < best_key || larger_on_tie) {
        best = &candidate;
        best_key = key;
      }
    }
    return DecideBest(id, best);
  }

  /// Several connections: sums over them, then the operator's computation and communication; first
  /// wins.
  Status DecideByEdges(NodeId id, const std::vector<std::size_t>& edges) {
    DRYDOCK_TRY(const std::vector<Candidate> candidates,
                CandidatesOf(graph_, graph_.at(id), config_));
    using Key = std::tuple<double, double, double, double>;
    const Candidate* best = nullptr;
    Key best_key;
    for (const Candidate& candidate : candidates) {
      Key key = {0, 0, candidate.computation, candidate.forward_communication};
      bool possible = true;
      for (const std::size_t e : edges) {
        const EdgeCost cost = CostWith(e, id, candidate);
        possible = possible && cost.possible;
        std::get<0>(key) += cost.communication;
        std::get<1>(key) += cost.computation;
      }
      if (possible && (best == nullptr || key < best_key)) {
        best = &candidate;
        best_key = key;
      }
    }
    return DecideBest(id, best);
  }

  Status DecideBest(NodeId id, const Candidate* best) {
    if (best == nullptr) {
      return tl::unexpected(
          WithPlace(FailInput(graph_.at(id).op + ":no-candidate",
                              "no strategy of '" + graph_.at(id).op + "' is legal on " +
                                  std::to_string(StageDevices(config_)) + " devices",
                              "give this operator a strategy with shard()")
                        .value(),
                    PlaceOf(graph_, graph_.at(id))));
    }
    Decide(id, *best);
    return {};
  }

  /// Operators that share a weight must want it in one layout: those not given by the user follow.
  Status AgreeOnSharedParameters() {
    const std::vector<std::vector<NodeId>> users = UsersOf(graph_);
    for (const Parameter& parameter : graph_.parameters) {
      const TensorLayout* leader = nullptr;
      for (const bool user_given : {true, false}) {
        for (const NodeId user : users[ToIndex(parameter.value)]) {
          const NodePlan& plan = assignment_.plans[ToIndex(user)];
          if (leader == nullptr && plan.sharding &&
              (plan.source == StrategySource::kUser) == user_given) {
            leader = &LayoutAt(user, parameter.value, *plan.sharding);
          }
        }
      }
      if (leader != nullptr) {
        const TensorLayout wanted = *leader;
        DRYDOCK_RETURN_IF_ERROR(
            FollowLeader(users[ToIndex(parameter.value)], parameter.value, wanted));
      }
    }
    return {};
  }

  [[nodiscard]] const TensorLayout& LayoutAt(NodeId user, ValueId value,
                                             const OpSharding& sharding) const {
    const std::vector<ValueId>& inputs = graph_.at(user).inputs;
    std::size_t tensor = 0;
    for (std::size_t i = 0; inputs[i] != value; ++i) {
      tensor += inputs[i] == kNoValue ? 0 : 1;
    }
    return sharding.inputs[tensor];
  }

  Status FollowLeader(const std::vector<NodeId>& users, ValueId value, const TensorLayout& wanted) {
    for (const NodeId user : users) {
      const NodePlan& plan = assignment_.plans[ToIndex(user)];
      if (!plan.sharding || plan.source != StrategySource::kPropagated ||
          SameOwnership(LayoutAt(user, value, *plan.sharding), wanted)) {
        continue;
      }
      DRYDOCK_TRY(const std::vector<Candidate> candidates,
                  CandidatesOf(graph_, graph_.at(user), config_));
      const auto it = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
        return SameOwnership(LayoutAt(user, value, candidate.sharding), wanted);
      });
      if (it != candidates.end()) {
        Decide(user, *it);
      }
    }
    return {};
  }

  /// Operators that nothing reached are replicated, as the reference's first candidate is.
  Status FillIslands() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const NodeId id{static_cast<std::int32_t>(n)};
      if (regions_[n] != Region::kForward || !HasRule(graph_.nodes[n]) || Decided(id)) {
        continue;
      }
      DRYDOCK_TRY(const std::vector<Candidate> candidates,
                  CandidatesOf(graph_, graph_.nodes[n], config_));
      DRYDOCK_RETURN_IF_ERROR(DecideBest(id, candidates.empty() ? nullptr : &candidates.front()));
    }
    return {};
  }

  const Graph& graph_;
  const std::vector<Region>& regions_;
  const JobConfig& config_;
  Assignment& assignment_;
  PropagationGraph links_;
  DecisionCache cache_;
  ReshapeChoice reshape_choice_;
  std::map<NodeId, ReshapeLayouts> reshapes_;  ///< Those that were visited.
  std::set<NodeId> passed_over_;  ///< Visited without a decision: they get their first candidate.
  std::map<NodeId, std::vector<std::size_t>>
      waiting_;  ///< Visited connections, by topological order.
};

}  // namespace

Status PropagateStrategies(const Graph& graph, const std::vector<Region>& regions,
                           const JobConfig& config, Assignment& assignment) {
  return Propagation(graph, regions, config, assignment).Run();
}

}  // namespace drydock::strategies
