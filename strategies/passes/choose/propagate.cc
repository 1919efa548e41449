#include "strategies/passes/choose/propagate.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "strategies/passes/choose/operator_choice.h"
#include "strategies/passes/choose/propagation_graph.h"
#include "strategies/passes/choose/reshape_choice.h"
#include "strategies/passes/choose/shared_weights.h"

/// Breadth-first search from every operator whose strategy is given, in topological order.
///
/// A successor with one operand is decided as soon as it is reached; one with several waits until
/// all its connections were visited, or until the queue runs dry. First come wins; disagreements
/// are left to redistribution. Ties: see candidate_choice.h.
namespace drydock::strategies {
namespace {

class Propagation {
 public:
  /// @param weights  their nodes are the last ones of the graph
  Propagation(const Graph& graph, const std::vector<Region>& regions, const JobConfig& config,
              const std::vector<SharedWeight>& weights, Assignment& assignment)
      : graph_(graph),
        regions_(regions),
        config_(config),
        weight_count_(weights.size()),
        assignment_(assignment),
        links_(ConnectOperators(graph, regions, config.elementwise_op_strategy_follow)),
        choice_(graph, config, links_, assignment),
        reshape_choice_(graph, links_, config, assignment) {
    ConnectWeights(graph, weights, links_);
  }

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
    if (config_.compat > kOldSearch) {
      DRYDOCK_RETURN_IF_ERROR(reshape_choice_.NoteCosts());
    }
    // The data set counts as the last operator, so that what the user gave decides first.
    std::stable_partition(given.begin(), given.end(), [this](NodeId id) { return !IsDataset(id); });
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool last = i + 1 == given.size() || IsDataset(given[i + 1]);
      DRYDOCK_RETURN_IF_ERROR(
          SearchFrom(given[i], last ? std::nullopt : std::optional(given[i + 1])));
    }
    DRYDOCK_RETURN_IF_ERROR(AgreeOnSharedWeights());
    PlaceReshapedWeights();
    return FillIslands();
  }

 private:
  [[nodiscard]] bool IsReshape(NodeId id) const {
    return graph_.at(id).entry->kind == OpKind::kReshape;
  }
  [[nodiscard]] bool IsDataset(NodeId id) const {
    return graph_.at(id).entry->kind == OpKind::kDataset;
  }
  [[nodiscard]] bool IsWeight(NodeId id) const {
    return ToIndex(id) + weight_count_ >= graph_.nodes.size();
  }
  /// This search is done with the node.
  [[nodiscard]] bool Visited(NodeId id) const {
    return choice_.Decided(id) || reshapes_.contains(id) || passed_over_.contains(id);
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
      if (choice_.Decided(head) || (next_given && head > *next_given)) {
        return {};
      }
      const std::vector<std::size_t> edges = waiting_.begin()->second;
      waiting_.erase(waiting_.begin());
      DRYDOCK_RETURN_IF_ERROR(choice_.Answer(head, edges, false));
      queue.push_back(head);
    }
  }

  Status VisitSuccessors(NodeId current, std::deque<NodeId>& queue) {
    for (const std::size_t e : links_.successors[ToIndex(current)]) {
      const NodeId consumer = links_.edges[e].consumer;
      if (Visited(consumer)) {
        choice_.NoteCost(e);
        continue;
      }
      if (IsReshape(consumer) || IsReshape(current)) {
        DRYDOCK_RETURN_IF_ERROR(PassReshape(current, consumer, e, queue));
        continue;
      }
      if (graph_.at(current).out_strategy || graph_.at(current).out_layout) {
        DRYDOCK_RETURN_IF_ERROR(FollowOutStrategy(consumer, e));
        queue.push_back(consumer);
        continue;
      }
      const std::size_t operand_count = choice_.OperandCount(consumer);
      if (operand_count < 2) {
        DRYDOCK_RETURN_IF_ERROR(choice_.Answer(consumer, {e}, true));
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
        DRYDOCK_RETURN_IF_ERROR(choice_.Answer(consumer, edges, false));
        queue.push_back(consumer);
      }
    }
    return {};
  }

  /// Behind an operator whose result's cuts were given, the first candidate with these cuts, or
  /// else the first of all. Source:
  /// mindspore/ccsrc/frontend/parallel/auto_parallel/edge_costmodel.cc
  /// (GetNextOpStrategyByOutStrategy)
  Status FollowOutStrategy(NodeId id, std::size_t e) {
    const auto tensor = static_cast<std::size_t>(links_.edges[e].tensor);
    const std::vector<std::int64_t> cuts = CutsOf(choice_.LeftBy(e));
    DRYDOCK_TRY(const std::vector<Candidate> candidates,
                CandidatesOf(graph_, graph_.at(id), config_));
    const auto it = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
      return CutsOf(candidate.sharding.inputs[tensor]) == cuts;
    });
    const std::size_t best =
        it == candidates.end() ? 0 : static_cast<std::size_t>(it - candidates.begin());
    return choice_.DecideBest(id, candidates.empty() ? nullptr : &candidates[best]);
  }

  Status VisitPredecessors(NodeId current, std::deque<NodeId>& queue) {
    for (const std::size_t e : links_.predecessors[ToIndex(current)]) {
      const NodeId producer = links_.edges[e].producer;
      if (Visited(producer)) {
        choice_.NoteCost(e);
        continue;
      }
      if (IsReshape(producer) || IsReshape(current)) {
        DRYDOCK_RETURN_IF_ERROR(PassReshape(current, producer, e, queue));
      } else if (IsWeight(producer)) {
        choice_.DecideWeight(producer, choice_.WantedBy(e));
        queue.push_back(producer);
      } else {
        DRYDOCK_RETURN_IF_ERROR(choice_.Answer(producer, {e}, true));
        queue.push_back(producer);
      }
    }
    return {};
  }

  /// From a decided operator to a Reshape, or from a Reshape to an operator. Where no candidate
  /// has the layout in question, nothing is decided. Source: mindspore
  /// ccsrc/frontend/parallel/auto_parallel/graph_costmodel.cc.
  Status PassReshape(NodeId current, NodeId next, std::size_t e, std::deque<NodeId>& queue) {
    const PropagationEdge& edge = links_.edges[e];
    if (IsReshape(current) && IsReshape(next)) {
      return {};
    }
    const bool forward = edge.producer == current;
    const NodeId other = IsReshape(next) ? current : next;
    if (graph_.at(other).entry->ends_choice_at_reshape && edge.consumer == other) {
      passed_over_.insert(next);
      return {};
    }
    const auto output = static_cast<std::size_t>(edge.output);
    const auto tensor = static_cast<std::size_t>(edge.tensor);
    if (IsReshape(next)) {
      const TensorLayout& fixed = forward ? choice_.ShardingOf(current).outputs[output]
                                          : choice_.ShardingOf(current).inputs[tensor];
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
    if (IsWeight(id)) {
      choice_.DecideWeight(id, wanted);
      queue.push_back(id);
      return {};
    }
    DRYDOCK_TRY(const bool taken, choice_.TakeLayout(id, edge, wanted));
    if (taken) {
      queue.push_back(id);
    }
    return {};
  }

  /// Operators that share a weight must want it in one layout: that of an operator that was given a
  /// strategy, or else that of the weight's own node.
  /// Source: mindspore/ccsrc/frontend/parallel/auto_parallel/graph_costmodel.cc
  /// (ProcessDiffStraParams)
  Status AgreeOnSharedWeights() {
    for (std::size_t n = graph_.nodes.size() - weight_count_; n < graph_.nodes.size(); ++n) {
      const NodeId weight{static_cast<std::int32_t>(n)};
      const std::vector<std::size_t>& uses = links_.successors[n];
      const auto given = std::ranges::find_if(
          uses, [this](std::size_t e) { return choice_.IsGiven(links_.edges[e].consumer); });
      if (given != uses.end() && (!choice_.Decided(weight) || !Agrees(*given))) {
        choice_.DecideWeight(weight, choice_.WantedBy(*given));
      }
      for (const std::size_t e : uses) {
        DRYDOCK_RETURN_IF_ERROR(FollowWeight(e));
      }
    }
    return {};
  }

  /// The two ends of a decided connection want the same layout.
  [[nodiscard]] bool Agrees(std::size_t e) const {
    return SameOwnership(choice_.LeftBy(e), choice_.WantedBy(e));
  }

  /// Decides an operator once more that wants a shared weight in another layout, if it can follow.
  Status FollowWeight(std::size_t e) {
    const PropagationEdge& edge = links_.edges[e];
    if (!choice_.Decided(edge.producer) || !choice_.Decided(edge.consumer) ||
        choice_.IsGiven(edge.consumer) || Agrees(e)) {
      return {};
    }
    const OpSharding before = choice_.ShardingOf(edge.consumer);
    if (!choice_.DecideBy(edge.consumer, {e}, true) || !Agrees(e)) {
      assignment_.plans[ToIndex(edge.consumer)].sharding = before;
    }
    return {};
  }

  /// A weight of several operators lies in front of a Reshape as its own node was decided. One that
  /// only a Reshape uses lies as if nothing had been searched for (WantedLayouts::OfParameter).
  void PlaceReshapedWeights() {
    for (const auto& [id, layouts] : reshapes_) {
      for (const std::size_t e : links_.predecessors[ToIndex(id)]) {
        const NodeId weight = links_.edges[e].producer;
        if (IsWeight(weight) && choice_.Decided(weight)) {
          const TensorLayout& own = choice_.ShardingOf(weight).outputs.front();
          choice_.Decide(id, OpSharding{.device_matrix = own.device_matrix,
                                        .inputs = {own},
                                        .outputs = {layouts.output}});
        }
      }
    }
  }

  /// Operators that nothing reached are replicated, as the reference's first candidate is.
  Status FillIslands() {
    for (std::size_t n = 0; n < graph_.nodes.size() - weight_count_; ++n) {
      const NodeId id{static_cast<std::int32_t>(n)};
      if (regions_[n] != Region::kForward || !HasRule(graph_.nodes[n]) || choice_.Decided(id)) {
        continue;
      }
      DRYDOCK_TRY(const std::vector<Candidate> candidates,
                  CandidatesOf(graph_, graph_.nodes[n], config_));
      DRYDOCK_RETURN_IF_ERROR(
          choice_.DecideBest(id, candidates.empty() ? nullptr : &candidates.front()));
    }
    return {};
  }

  const Graph& graph_;
  const std::vector<Region>& regions_;
  const JobConfig& config_;
  std::size_t weight_count_ = 0;
  Assignment& assignment_;
  PropagationGraph links_;
  OperatorChoice choice_;
  ReshapeChoice reshape_choice_;
  std::map<NodeId, ReshapeLayouts> reshapes_;  ///< Those that were visited.
  std::set<NodeId> passed_over_;  ///< Visited without a decision: they get their first candidate.
  std::map<NodeId, std::vector<std::size_t>>
      waiting_;  ///< Visited connections, by topological order.
};

}  // namespace

Status PropagateStrategies(const Graph& graph, const std::vector<Region>& regions,
                           const JobConfig& config, Assignment& assignment) {
  return SearchWithWeights(
      graph, regions, assignment, [&config](const SearchedGraph& searched, Assignment& chosen) {
        return Propagation(searched.graph, searched.regions, config, searched.weights, chosen)
            .Run();
      });
}

}  // namespace drydock::strategies
