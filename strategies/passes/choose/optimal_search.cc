#include "strategies/passes/choose/optimal_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "strategies/operators/recursive_facts.h"
#include "strategies/passes/choose/best_choice.h"
#include "strategies/passes/choose/choice_tables.h"
#include "strategies/passes/choose/dynamic_costs.h"
#include "strategies/passes/choose/dynamic_search.h"
#include "strategies/passes/choose/equal_nodes.h"
#include "strategies/passes/choose/optimal_memory.h"
#include "strategies/passes/choose/recursive_search.h"
#include "strategies/passes/choose/shared_weights.h"

/// Search for the best strategies: the least cost that fits into memory, and a bound that proves
/// it.
///
/// Candidates and costs are those of dynamic programming (dynamic_search.cc), so that results can
/// be compared, but three of its shortcuts are not taken: every tensor has the costs of its own
/// redistributions, a Reshape costs the way to the layout that its consumer really takes, and
/// operators around residual connections are decided together (elimination.cc). What a rank keeps
/// (optimal_memory.cc) has to fit into the device.
///
/// What recursive programming finds is a candidate as well, so it is never cheaper; so is what
/// dynamic programming finds where that is quick (up to 16 ranks and 512 nodes). Beyond 64 ranks an
/// operator has thousands of strategies; the 128 of them that cost least by themselves take part.
/// For the bound all others are one more candidate: as cheap as the cheapest of them, next to
/// anything without redistribution. Where even that one is not chosen, nothing was lost.
namespace drydock::strategies {
namespace {

/// What another search has decided, by node; empty where it decided nothing.
using OtherPlans = std::vector<NodePlan>;

bool SameSharding(const OpSharding& a, const OpSharding& b) {
  return a.strategy == b.strategy && a.device_matrix == b.device_matrix && a.inputs == b.inputs &&
         a.outputs == b.outputs;
}

class OptimalSearch {
 public:
  OptimalSearch(const SearchedGraph& searched, const JobConfig& config,
                const std::vector<OtherPlans>& others, Assignment& assignment)
      : graph_(searched.graph),
        config_(config),
        others_(others),
        assignment_(assignment),
        links_(ConnectOperators(searched.graph, searched.regions,
                                config.elementwise_op_strategy_follow)),
        ways_(config),
        kept_bytes_(searched.graph, config),
        place_(searched.graph.nodes.size()) {
    ConnectWeights(graph_, searched.weights, links_);
    for (const SharedWeight& weight : searched.weights) {
      shared_weights_.push_back(weight.parameter);
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (searched.regions[n] == Region::kForward && IsSearched(n)) {
        place_[n] = operators_.size();
        operators_.push_back({.node = n});
      }
    }
  }

  Status Run() {
    DRYDOCK_RETURN_IF_ERROR(FindCandidates());
    AddCandidatesOfOthers();
    KeepCheapest();
    const std::vector<Choice> known = KnownChoices();
    std::optional<BestChoice> best = Solve(known);
    if (!best) {
      return FailInput("optimal:nothing-fits",
                       "the strategies that the script gives do not go together: no strategies of "
                       "the other operators connect them",
                       "take shard() away from some of them, or use "
                       "search_mode=\"sharding_propagation\"");
    }
    for (std::size_t i = 0; i < operators_.size(); ++i) {
      Decide(i, best->chosen[i]);
    }
    assignment_.search = {.cost = best->cost,
                          .lower_bound = best->lower_bound,
                          .bytes = best->bytes,
                          .limit_bytes = static_cast<double>(config_.search_limit_bytes),
                          .fits = best->fits};
    assignment_.search->dynamic_cost = CostOfOther(0, known);
    assignment_.search->recursive_cost = CostOfOther(1, known);
    return {};
  }

 private:
  /// Candidates of operators that ask the same of their rule.
  struct Domain {
    std::vector<Candidate> candidates = {};
    std::size_t kept = 0;  ///< The first ones take part.
  };
  struct Operator {
    std::size_t node = 0;
    std::size_t domain = 0;
  };
  using Costs = std::shared_ptr<const ChoiceCosts>;

  [[nodiscard]] const Node& NodeAt(std::size_t i) const { return graph_.nodes[operators_[i].node]; }
  [[nodiscard]] const Domain& DomainAt(std::size_t i) const {
    return domains_[operators_[i].domain];
  }

  [[nodiscard]] bool IsSearched(std::size_t n) const {
    const Node& node = graph_.nodes[n];
    if (node.entry->kind == OpKind::kDataset) {
      return assignment_.plans[n].sharding.has_value();
    }
    return TakesPart(node) && node.entry->kind != OpKind::kReshape;
  }

  Status FindCandidates() {
    EqualNodes equal(graph_);
    std::map<NodeId, std::size_t> domain_of;
    for (Operator& op : operators_) {
      const NodeId id{static_cast<std::int32_t>(op.node)};
      const Node& node = graph_.nodes[op.node];
      OpViewStorage storage;
      if (const NodePlan& plan = assignment_.plans[op.node]; plan.sharding) {
        op.domain = domains_.size();
        domains_.push_back({.candidates = {CandidateWithCosts(node, ViewOf(graph_, node, storage),
                                                              config_, *plan.sharding)}});
        continue;
      }
      const std::optional<NodeId> earlier = equal.FindOrAdd(id);
      if (earlier && domain_of.contains(*earlier)) {
        op.domain = domain_of.at(*earlier);
        continue;
      }
      op.domain = domain_of[id] = domains_.size();
      DRYDOCK_TRY(auto candidates, CandidatesOf(graph_, node, config_));
      domains_.push_back({.candidates = std::move(candidates)});
    }
    return {};
  }

  [[nodiscard]] std::optional<std::size_t> IndexOf(const Domain& domain,
                                                   const OpSharding& sharding) const {
    const auto it = std::ranges::find_if(domain.candidates, [&](const Candidate& candidate) {
      return SameSharding(candidate.sharding, sharding);
    });
    return it == domain.candidates.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(it - domain.candidates.begin()));
  }

  [[nodiscard]] const SharedValue<OpSharding>& OtherSharding(const OtherPlans& other,
                                                             std::size_t i) const {
    static const SharedValue<OpSharding> kNone;
    const std::size_t n = operators_[i].node;
    return n < other.size() ? other[n].sharding : kNone;
  }

  void AddCandidatesOfOthers() {
    for (const OtherPlans& other : others_) {
      for (std::size_t i = 0; i < operators_.size(); ++i) {
        const SharedValue<OpSharding>& sharding = OtherSharding(other, i);
        Domain& domain = domains_[operators_[i].domain];
        if (assignment_.plans[operators_[i].node].sharding || !sharding) {
          continue;
        }
        std::optional<std::size_t> known = IndexOf(domain, *sharding);
        if (!known) {
          OpViewStorage storage;
          known = domain.candidates.size();
          domain.candidates.push_back(CandidateWithCosts(
              NodeAt(i), ViewOf(graph_, NodeAt(i), storage), config_, *sharding));
        }
        wanted_[operators_[i].domain].push_back(*known);
      }
    }
  }

  /// Those that take part come first: what others chose, no cut, and those that cost least.
  void KeepCheapest() {
    constexpr std::int64_t kManyRanks = 64;
    constexpr std::size_t kMost = 128;
    for (std::size_t d = 0; d < domains_.size(); ++d) {
      Domain& domain = domains_[d];
      domain.kept = domain.candidates.size();
      if (StageDevices(config_) <= kManyRanks || domain.kept <= kMost) {
        continue;
      }
      std::vector<bool> first(domain.kept, false);
      first[0] = true;
      for (const std::size_t c : wanted_[d]) {
        first[c] = true;
      }
      std::vector<std::tuple<bool, double, std::size_t>> order;
      for (std::size_t c = 0; c < domain.kept; ++c) {
        const Candidate& candidate = domain.candidates[c];
        order.emplace_back(
            !first[c],
            candidate.computation + CommunicationWeight(config_) * candidate.forward_communication,
            c);
      }
      std::ranges::sort(order);
      const auto others = static_cast<std::size_t>(std::ranges::count(first, true));
      domain.kept = std::max(kMost, others);
      std::vector<Candidate> sorted;
      sorted.reserve(order.size());
      for (const auto& [is_other, cost, c] : order) {
        sorted.push_back(std::move(domain.candidates[c]));
      }
      domain.candidates = std::move(sorted);
    }
  }

  /// Operands that are weights of this operator alone.
  [[nodiscard]] std::vector<bool> OwnWeights(const Node& node) const {
    std::vector<bool> own;
    for (const ValueId input : node.inputs) {
      const ValueId weight = kept_bytes_.WeightOf(input);
      const bool shared = std::ranges::find(shared_weights_, weight) != shared_weights_.end() &&
                          input != weight;  // The weight's own node reads it as it is.
      own.push_back(weight != kNoValue && !shared);
    }
    return own;
  }

  /// What the costs of an operator depend on besides its candidates.
  [[nodiscard]] std::vector<double> Circumstances(std::size_t i) const {
    const Node& node = NodeAt(i);
    std::vector<double> key = {static_cast<double>(operators_[i].domain),
                               static_cast<double>(node.stage),
                               IsInRecomputedScope(node) ? 1.0 : 0.0};
    const std::vector<bool> own = OwnWeights(node);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId weight = kept_bytes_.WeightOf(node.inputs[k]);
      key.push_back(weight == kNoValue ? -1 : kept_bytes_.StateBytes(weight));
      key.push_back(own[k] ? 1 : 0);
      key.push_back(node.inputs[k] == weight ? 1 : 0);
    }
    return key;
  }

  /// @param with_others  one more candidate stands for all that do not take part
  [[nodiscard]] Costs CostsOf(std::size_t i, bool with_others) {
    std::vector<double> key = Circumstances(i);
    key.push_back(with_others ? 1 : 0);
    Costs& known = costs_[std::move(key)];
    if (known) {
      return known;
    }
    const Domain& domain = DomainAt(i);
    const std::vector<bool> own = OwnWeights(NodeAt(i));
    ChoiceCosts all;
    for (const Candidate& candidate : domain.candidates) {
      const StepCost cost = CostOfStep(graph_, NodeAt(i), config_, candidate);
      all.costs.push_back(cost.computation + CommunicationWeight(config_) * cost.Partial());
      all.bytes.push_back(kept_bytes_.Of(NodeAt(i), candidate.sharding, own));
    }
    const auto kept = static_cast<std::ptrdiff_t>(domain.kept);
    for (std::vector<double>* numbers : {&all.costs, &all.bytes}) {
      if (with_others && domain.kept < numbers->size()) {
        (*numbers)[domain.kept] = *std::min_element(numbers->begin() + kept, numbers->end());
        numbers->resize(domain.kept + 1);
      } else {
        numbers->resize(domain.kept);
      }
    }
    known = std::make_shared<const ChoiceCosts>(std::move(all));
    return known;
  }

  /// Who really makes an operand: a Reshape only passes on.
  [[nodiscard]] std::optional<PropagationEdge> BehindReshapes(PropagationEdge edge) const {
    while (graph_.at(edge.producer).entry->kind == OpKind::kReshape) {
      const std::vector<std::size_t>& before = links_.predecessors[ToIndex(edge.producer)];
      if (before.empty()) {
        return std::nullopt;
      }
      const PropagationEdge& into = links_.edges[before.front()];
      edge.producer = into.producer;
      edge.output = into.output;
      edge.identity = false;
    }
    return place_[ToIndex(edge.producer)] ? std::optional(edge) : std::nullopt;
  }

  /// Numbers of the layouts that the candidates of a domain have at one tensor.
  [[nodiscard]] const std::vector<std::uint32_t>& LayoutsAt(std::size_t domain, bool leaves,
                                                            std::int32_t tensor) {
    std::vector<std::uint32_t>& known = layouts_[{domain, leaves, tensor}];
    if (known.empty()) {
      for (std::size_t c = 0; c < domains_[domain].kept; ++c) {
        const OpSharding& sharding = domains_[domain].candidates[c].sharding;
        const std::vector<TensorLayout>& layouts = leaves ? sharding.outputs : sharding.inputs;
        known.push_back(ways_.NumberOf(layouts[static_cast<std::size_t>(tensor)]));
      }
    }
    return known;
  }

  [[nodiscard]] std::shared_ptr<const PairCosts> CostsBetween(const PropagationEdge& edge,
                                                              bool with_others) {
    const std::size_t from = operators_[*place_[ToIndex(edge.producer)]].domain;
    const std::size_t to = operators_[*place_[ToIndex(edge.consumer)]].domain;
    auto& known =
        pairs_[{from, edge.output, to, edge.tensor, edge.dtype, edge.identity, with_others}];
    if (known) {
      return known;
    }
    const auto is_open = [&](std::size_t domain) {
      return with_others && domains_[domain].kept < domains_[domain].candidates.size();
    };
    const std::vector<std::uint32_t>& rows = LayoutsAt(from, true, edge.output);
    const std::vector<std::uint32_t>& columns = LayoutsAt(to, false, edge.tensor);
    PairCosts table = {.columns = columns.size() + (is_open(to) ? 1 : 0)};
    for (const std::uint32_t row : rows) {
      for (const std::uint32_t column : columns) {
        table.costs.push_back(edge.identity ? CostOfIdentity(row, column)
                                            : ways_.Between(row, column, edge.dtype));
      }
      table.costs.resize(table.costs.size() + (is_open(to) ? 1 : 0), 0.0);
    }
    table.costs.resize(table.costs.size() + (is_open(from) ? table.columns : 0), 0.0);
    known = std::make_shared<const PairCosts>(std::move(table));
    return known;
  }

  [[nodiscard]] static double CostOfIdentity(std::uint32_t from, std::uint32_t to) {
    return from == to ? 0 : std::numeric_limits<double>::infinity();
  }

  [[nodiscard]] ChoiceGraph GraphOfChoices(bool with_others) {
    ChoiceGraph graph{.parts = static_cast<std::size_t>(config_.pipeline_stages)};
    for (std::size_t i = 0; i < operators_.size(); ++i) {
      const auto stage = static_cast<std::size_t>(std::max(0, NodeAt(i).stage));
      graph.operators.push_back(
          {.choices = CostsOf(i, with_others), .part = std::min(stage, graph.parts - 1)});
    }
    for (const PropagationEdge& direct : links_.edges) {
      const std::optional<PropagationEdge> edge = BehindReshapes(direct);
      if (edge && place_[ToIndex(edge->consumer)]) {
        graph.connections.push_back({.from = *place_[ToIndex(edge->producer)],
                                     .to = *place_[ToIndex(edge->consumer)],
                                     .costs = CostsBetween(*edge, with_others)});
      }
    }
    return graph;
  }

  /// What the others chose; operators that they do not have follow their neighbours.
  [[nodiscard]] std::vector<Choice> KnownChoices() {
    const ChoiceGraph graph = GraphOfChoices(false);
    std::vector<Choice> known;
    for (const OtherPlans& other : others_) {
      std::vector<std::optional<std::size_t>> decided;
      for (std::size_t i = 0; i < operators_.size(); ++i) {
        const SharedValue<OpSharding>& sharding = OtherSharding(other, i);
        decided.push_back(sharding ? IndexOf(DomainAt(i), *sharding) : std::nullopt);
      }
      known.push_back(other.empty() ? Choice{} : Completed(graph, decided));
    }
    return known;
  }

  [[nodiscard]] std::optional<double> CostOfOther(std::size_t k, const std::vector<Choice>& known) {
    if (known[k].empty()) {
      return std::nullopt;
    }
    const double cost = CostOfChoice(GraphOfChoices(false), known[k]);
    return cost == std::numeric_limits<double>::infinity() ? std::nullopt : std::optional(cost);
  }

  [[nodiscard]] std::optional<BestChoice> Solve(std::vector<Choice> known) {
    const auto limit = static_cast<double>(config_.search_limit_bytes);
    std::erase_if(known, [](const Choice& choice) { return choice.empty(); });
    const bool all_take_part = std::ranges::all_of(
        domains_, [](const Domain& domain) { return domain.kept == domain.candidates.size(); });
    if (all_take_part) {
      return ChooseBest(GraphOfChoices(false), limit, known);
    }
    std::optional<BestChoice> open = ChooseBest(GraphOfChoices(true), limit);
    const auto takes_part = [&](std::size_t i) {
      return open->chosen[i] < domains_[operators_[i].domain].kept;
    };
    bool proven = open && open->fits;
    for (std::size_t i = 0; proven && i < operators_.size(); ++i) {
      proven = takes_part(i);
    }
    if (proven) {
      return open;
    }
    std::optional<BestChoice> best = ChooseBest(GraphOfChoices(false), limit, known);
    if (best && open) {
      best->lower_bound = std::min(best->lower_bound, open->lower_bound);
    }
    return best;
  }

  void Decide(std::size_t i, std::size_t candidate) {
    NodePlan& plan = assignment_.plans[operators_[i].node];
    if (!plan.sharding && HasRule(NodeAt(i))) {
      plan = {.source = StrategySource::kPropagated,
              .sharding = DomainAt(i).candidates[candidate].sharding};
    }
  }

  const Graph& graph_;
  const JobConfig& config_;
  const std::vector<OtherPlans>& others_;
  Assignment& assignment_;
  PropagationGraph links_;
  WayCosts ways_;
  KeptBytes kept_bytes_;
  std::vector<ValueId> shared_weights_ = {};
  std::vector<std::optional<std::size_t>> place_;  ///< Of a node among the operators.
  std::vector<Operator> operators_ = {};
  std::vector<Domain> domains_ = {};
  std::map<std::size_t, std::vector<std::size_t>> wanted_ = {};  ///< By others, per domain.
  std::map<std::vector<double>, Costs> costs_ = {};
  std::map<std::tuple<std::size_t, bool, std::int32_t>, std::vector<std::uint32_t>> layouts_ = {};
  std::map<std::tuple<std::size_t, std::int32_t, std::size_t, std::int32_t, DType, bool, bool>,
           std::shared_ptr<const PairCosts>>
      pairs_ = {};
};

/// What another search makes of the same task; empty if it finds nothing.
OtherPlans PlansOf(Status (*search)(const Graph&, const std::vector<Region>&, const JobConfig&,
                                    Assignment&),
                   const Graph& graph, const std::vector<Region>& regions, const JobConfig& config,
                   Assignment assignment) {
  return search(graph, regions, config, assignment) ? std::move(assignment.plans) : OtherPlans{};
}

}  // namespace

Status SearchOptimally(const Graph& graph, const std::vector<Region>& regions,
                       const JobConfig& config, Assignment& assignment) {
  // Beyond that it takes seconds, and what it finds is among the candidates anyway.
  constexpr std::int64_t kMostCompared = 16;
  constexpr std::size_t kMostNodes = 512;
  JobConfig keeps_given = config;
  keeps_given.pins_strategies = true;
  const std::vector<OtherPlans> others = {
      StageDevices(config) <= kMostCompared && graph.nodes.size() <= kMostNodes
          ? PlansOf(SearchDynamically, graph, regions, keeps_given, assignment)
          : OtherPlans{},
      PlansOf(SearchRecursively, graph, regions, keeps_given, assignment)};
  return SearchWithWeights(graph, regions, assignment,
                           [&](const SearchedGraph& searched, Assignment& chosen) {
                             return OptimalSearch(searched, config, others, chosen).Run();
                           });
}

}  // namespace drydock::strategies
