#include "strategies/passes/choose/dynamic_search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "strategies/operators/recursive_facts.h"
#include "strategies/passes/choose/choice_tables.h"
#include "strategies/passes/choose/cost_graph.h"
#include "strategies/passes/choose/cost_memory.h"
#include "strategies/passes/choose/dynamic_costs.h"
#include "strategies/passes/choose/equal_nodes.h"
#include "strategies/passes/choose/search_order.h"
#include "strategies/passes/choose/shared_weights.h"
#include "strategies/passes/localize/wanted_layout.h"

/// Search by dynamic programming: MindSpore's cost model, and what has the least costs in it.
///
/// Every operator has all strategies of powers of two that its rule allows, each with the bytes it
/// computes and sends (dynamic_costs.cc); a connection costs the redistribution between the layouts
/// at its ends. A Reshape has the layouts of its producer, and costs the cheapest way to a layout
/// that some consumer takes. A weight of several operators is an operator of its own, which all of
/// them have to agree with. The sum of computation and 400 times communication is made least
/// (cost_graph.cc).
///
/// Not followed: MindSpore drops combinations that need more than 16 GiB by its own estimate.
/// Source: mindspore/ccsrc/frontend/parallel/step_auto_parallel.cc (ParallelStrategySearch)
namespace drydock::strategies {
namespace {

class DynamicSearch {
 public:
  DynamicSearch(const Graph& graph, const std::vector<Region>& regions, const JobConfig& config,
                const std::vector<SharedWeight>& weights, Assignment& assignment)
      : graph_(graph),
        config_(config),
        assignment_(assignment),
        order_(OrderForSearch(graph, regions)),
        redistribution_(config.enable_alltoall, false),
        equal_(graph),
        place_(graph.nodes.size()) {
    const std::size_t first_weight = graph.nodes.size() - weights.size();
    std::erase_if(order_, [&](const SearchedOperator& op) {
      return ToIndex(op.node) >= first_weight || !TakesPartHere(graph.at(op.node));
    });
    for (std::size_t k = 0; k < weights.size(); ++k) {
      order_.push_back({.node = NodeId{static_cast<std::int32_t>(first_weight + k)}});
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      place_[ToIndex(order_[i].node)] = i;
    }
    for (const SharedWeight& weight : weights) {
      weight_uses_.push_back(weight.uses);
    }
  }

  Status Run() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (!IsReshape(i)) {
        DRYDOCK_TRY(auto candidates, CandidatesFor(i));
        candidates_[order_[i].node] = std::move(candidates);
      }
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (IsReshape(i)) {
        AddReshapeCandidates(i);
      }
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      AddOperator(i);
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      AddConnections(i);
    }
    AddWeightConnections();
    const auto chosen = costs_.Solve(CommunicationWeight(config_));
    if (!chosen) {
      return FailInput("dynamic:nothing-fits",
                       "the strategies that the script gives do not go together: no strategies of "
                       "the other operators connect them",
                       "take shard() away from some of them, or use "
                       "search_mode=\"sharding_propagation\"");
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      Decide(i, (*chosen)[i]);
    }
    return {};
  }

 private:
  [[nodiscard]] static bool TakesPartHere(const Node& node) {
    return TakesPart(node) || node.entry->kind == OpKind::kDataset ||
           (node.entry->is_cast && node.entry->shard != nullptr);
  }

  [[nodiscard]] const Node& NodeAt(std::size_t i) const { return graph_.at(order_[i].node); }
  [[nodiscard]] bool IsReshape(std::size_t i) const {
    return NodeAt(i).entry->kind == OpKind::kReshape;
  }

  using Candidates = SharedValue<std::vector<Candidate>>;

  Result<Candidates> CandidatesFor(std::size_t i) {
    const NodeId id = order_[i].node;
    const NodePlan& plan = assignment_.plans[ToIndex(id)];
    if (plan.sharding) {
      return Candidates(std::vector{WithCosts(NodeAt(i), *plan.sharding)});
    }
    if (NodeAt(i).entry->kind == OpKind::kDataset) {
      return Candidates(std::vector<Candidate>{});
    }
    if (const std::optional<NodeId> earlier = equal_.FindOrAdd(id)) {
      const auto it = candidates_.find(*earlier);
      if (it != candidates_.end() && !assignment_.plans[ToIndex(*earlier)].sharding) {
        return it->second;
      }
    }
    DRYDOCK_TRY(std::vector<Candidate> candidates, CandidatesOf(graph_, NodeAt(i), config_));
    if (RecursiveFactsOf(*NodeAt(i).entry).role == RecursiveRole::kConvolution) {
      KeepDataParallel(candidates);
    }
    KeepCheapest(candidates);
    return Candidates(std::move(candidates));
  }

  /// Beyond 64 ranks operators of four dimensions have thousands of strategies, and pairs of them
  /// millions: those stay that cost least by themselves, and no cut.
  void KeepCheapest(std::vector<Candidate>& candidates) const {
    constexpr std::int64_t kManyRanks = 64;
    constexpr std::size_t kMost = 128;
    if (StageDevices(config_) <= kManyRanks || candidates.size() <= kMost) {
      return;
    }
    std::vector<std::pair<double, std::size_t>> costs;
    for (std::size_t c = 1; c < candidates.size(); ++c) {
      costs.emplace_back(candidates[c].computation +
                             CommunicationWeight(config_) * candidates[c].forward_communication,
                         c);
    }
    std::ranges::sort(costs);
    std::vector<std::size_t> kept = {0};
    kept.reserve(kMost);
    for (std::size_t k = 0; k + 1 < kMost; ++k) {
      kept.push_back(costs[k].second);
    }
    std::ranges::sort(kept);
    std::vector<Candidate> cheapest;
    cheapest.reserve(kept.size());
    for (const std::size_t c : kept) {
      cheapest.push_back(std::move(candidates[c]));
    }
    candidates = std::move(cheapest);
  }

  /// A convolution is cut along the batch only, if that divides.
  /// Source: mindspore/ccsrc/frontend/parallel/ops_info/conv2d_info.cc (GenerateOpStrategies)
  void KeepDataParallel(std::vector<Candidate>& candidates) const {
    const auto it = std::ranges::find_if(candidates, [this](const Candidate& candidate) {
      const Strategy& strategy = candidate.sharding.strategy;
      return strategy.front().front() == StageDevices(config_) &&
             std::ranges::all_of(strategy.back(), [](std::int64_t cut) { return cut == 1; });
    });
    if (it != candidates.end()) {
      candidates = {Candidate(*it)};
    }
  }

  [[nodiscard]] Candidate WithCosts(const Node& node, const OpSharding& sharding) const {
    OpViewStorage storage;
    return CandidateWithCosts(node, ViewOf(graph_, node, storage), config_, sharding);
  }

  /// Operators in front of which no search looks for another: who makes a value, through what only
  /// passes it on.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> SourceOf(ValueId value) const {
    while (value != kNoValue && graph_.at(value).kind == ValueKind::kOutput) {
      const Value& made = graph_.at(value);
      const std::optional<std::size_t> place = place_[ToIndex(made.producer)];
      if (place) {
        return std::pair(*place, static_cast<std::size_t>(made.output_index));
      }
      const Node& node = graph_.at(made.producer);
      value = PassesLayoutOn(node) ? node.inputs.front() : kNoValue;
    }
    return std::nullopt;
  }

  /// Who reads the result of a Reshape, and as which tensor.
  [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> UsersOf(std::size_t i) const {
    std::vector<std::pair<std::size_t, std::size_t>> users;
    for (std::size_t u = 0; u < order_.size(); ++u) {
      const Node& user = NodeAt(u);
      for (std::size_t k = 0; k < user.inputs.size(); ++k) {
        const auto source = SourceOf(user.inputs[k]);
        if (source && source->first == i) {
          users.emplace_back(u, TensorIndex(user, k));
        }
      }
    }
    return users;
  }

  /// The layouts of the producer, each with what the ways to the consumers' layouts cost.
  void AddReshapeCandidates(std::size_t i) {
    const Node& node = NodeAt(i);
    const DType dtype = graph_.at(node.inputs.front()).type.dtype;
    const auto users = UsersOf(i);
    const auto producer = SourceOf(node.inputs.front());
    ReshapeQuestion question = {
        graph_.at(node.inputs.front()).type.shape,
        graph_.at(node.outputs.front()).type.shape,
        dtype,
        {{producer ? &LayoutsOf(producer->first) : nullptr, producer ? producer->second : 0}}};
    for (const auto& [user, tensor] : users) {
      std::get<3>(question).emplace_back(&LayoutsOf(user), tensor);
    }
    const auto [known, is_new] = known_reshapes_.try_emplace(std::move(question));
    ReshapeEnds& ends = known->second;
    reshapes_[i] = &ends;
    if (!is_new) {
      return;
    }
    if (const auto source = SourceOf(node.inputs.front())) {
      for (const Candidate& candidate : LayoutsOf(source->first)) {
        ends.in.push_back(candidate.sharding.outputs[std::min(
            source->second, candidate.sharding.outputs.size() - 1)]);
      }
    }
    if (ends.in.empty()) {
      ends.in.push_back(
          ReplicatedLayout(StageDevices(config_), graph_.at(node.inputs.front()).type.shape));
    }
    for (const auto& [user, tensor] : users) {
      for (const Candidate& candidate : LayoutsOf(user)) {
        ends.out.push_back(candidate.sharding.inputs[tensor]);
      }
    }
    for (const TensorLayout& in : ends.in) {
      std::vector<StepCost>& costs = ends.costs.emplace_back();
      for (const TensorLayout& out : ends.out) {
        costs.push_back(reshape_costs_.Between(in, out, dtype, config_.enable_alltoall));
      }
      if (costs.empty()) {
        costs.emplace_back();
      }
    }
  }

  /// Candidates of an operator; none of a Reshape, whose layouts follow from others.
  [[nodiscard]] const std::vector<Candidate>& LayoutsOf(std::size_t i) const {
    static const std::vector<Candidate> kNone;
    const auto it = candidates_.find(order_[i].node);
    return it == candidates_.end() ? kNone : *it->second;
  }

  void AddOperator(std::size_t i) {
    std::vector<std::vector<StepCost>> costs;
    if (IsReshape(i)) {
      costs = reshapes_.at(i)->costs;
    } else {
      for (const Candidate& candidate : LayoutsOf(i)) {
        costs.push_back({CostOfStep(graph_, NodeAt(i), config_, candidate)});
      }
      if (costs.empty()) {
        costs.push_back({StepCost{}});
      }
    }
    costs_.AddOperator(costs, ComesInFront(*NodeAt(i).entry));
  }

  void AddConnections(std::size_t i) {
    const Node& node = NodeAt(i);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const auto source = SourceOf(node.inputs[k]);
      const bool tuple = IsTupleMember(node, k);
      if (!source || source->first == i || (tuple && NodeAt(source->first).outputs.size() > 1)) {
        continue;
      }
      const End from = {.op = source->first, .tensor = source->second};
      const End to = {.op = i, .tensor = TensorIndex(node, k)};
      const DType dtype = graph_.at(node.inputs[k]).type.dtype;
      costs_.AddConnection(from.op, to.op, TableBetween(from, to, dtype, IsIdentity(from, to)));
    }
  }

  void AddWeightConnections() {
    const std::size_t first = order_.size() - weight_uses_.size();
    for (std::size_t w = 0; w < weight_uses_.size(); ++w) {
      for (const SharedWeight::Use& use : weight_uses_[w]) {
        const std::optional<std::size_t> user = place_[ToIndex(use.consumer)];
        if (user && !IsReshape(*user)) {
          const End from = {.op = first + w, .tensor = 0};
          const End to = {.op = *user, .tensor = TensorIndex(NodeAt(*user), use.operand)};
          costs_.AddConnection(from.op, to.op, TableBetween(from, to, DType::kFloat32, true));
        }
      }
    }
  }

  struct End {
    std::size_t op = 0;
    std::size_t tensor = 0;
  };
  using Table = std::vector<std::vector<std::optional<StepCost>>>;

  [[nodiscard]] bool IsIdentity(const End& from, const End& to) const {
    return IsReshape(from.op) || IsReshape(to.op) ||
           (config_.elementwise_op_strategy_follow && NodeAt(from.op).entry->elementwise);
  }

  [[nodiscard]] std::vector<TensorLayout> LayoutsAt(const End& end, bool leaves) const {
    std::vector<TensorLayout> layouts;
    if (IsReshape(end.op)) {
      return leaves ? layouts : reshapes_.at(end.op)->in;
    }
    for (const Candidate& candidate : LayoutsOf(end.op)) {
      layouts.push_back(leaves ? candidate.sharding.outputs[end.tensor]
                               : candidate.sharding.inputs[end.tensor]);
    }
    return layouts;
  }

  /// Equal operators have equal costs between them.
  [[nodiscard]] CostGraph::Table TableBetween(const End& from, const End& to, DType dtype,
                                              bool identity) {
    const auto place = [this](const End& end) -> const void* {
      return IsReshape(end.op) ? static_cast<const void*>(reshapes_.at(end.op))
                               : static_cast<const void*>(&LayoutsOf(end.op));
    };
    CostGraph::Table& known =
        tables_[{place(from), from.tensor, place(to), to.tensor, dtype, identity}];
    if (!known) {
      known = costs_.KeepTable(CostsBetween(from, to, dtype, identity));
    }
    return known;
  }

  /// Behind a Reshape every layout is possible: its own costs have the way there.
  [[nodiscard]] Table CostsBetween(const End& from, const End& to, DType dtype, bool identity) {
    if (IsReshape(from.op)) {
      const std::size_t ends = IsReshape(to.op) ? reshapes_.at(to.op)->in.size()
                                                : std::max<std::size_t>(1, LayoutsOf(to.op).size());
      return Table(reshapes_.at(from.op)->in.size(),
                   std::vector<std::optional<StepCost>>(ends, StepCost{}));
    }
    const std::vector<TensorLayout> out = LayoutsAt(from, true);
    const std::vector<TensorLayout> in = LayoutsAt(to, false);
    Table table(std::max<std::size_t>(1, out.size()),
                std::vector<std::optional<StepCost>>(std::max<std::size_t>(1, in.size())));
    for (std::size_t u = 0; u < out.size(); ++u) {
      for (std::size_t v = 0; v < in.size(); ++v) {
        table[u][v] = identity ? CostOfIdentity(out[u], in[v]) : CostOfWay(out[u], in[v], dtype);
      }
    }
    return table;
  }

  [[nodiscard]] static std::optional<StepCost> CostOfIdentity(const TensorLayout& from,
                                                              const TensorLayout& to) {
    return SameOwnership(from, to) ? std::optional(StepCost{}) : std::nullopt;
  }

  [[nodiscard]] std::optional<StepCost> CostOfWay(const TensorLayout& from, const TensorLayout& to,
                                                  DType dtype) {
    const Way way = {from.device_matrix, from.tensor_map, to.device_matrix,
                     to.tensor_map,      from.shape,      dtype};
    const auto known = ways_.find(way);
    if (known != ways_.end()) {
      return known->second;
    }
    const EdgeCost cost = redistribution_.Between(from, to, dtype);
    // Few ranks have no deep layouts, so that nothing has to be worked out for them.
    constexpr std::int64_t kManyRanks = 64;
    const bool possible = cost.possible && (StageDevices(config_) <= kManyRanks || from == to ||
                                            !IsTooDeep(from, to, config_.enable_alltoall));
    const std::optional<StepCost> step =
        possible ? std::optional(StepCost{.computation = cost.computation,
                                          .communication = cost.communication,
                                          .forward = cost.communication})
                 : std::nullopt;
    ways_.emplace(way, step);
    return step;
  }

  void Decide(std::size_t i, std::size_t candidate) {
    NodePlan& plan = assignment_.plans[ToIndex(order_[i].node)];
    if (plan.sharding || IsReshape(i) || !HasRule(NodeAt(i)) || candidate >= LayoutsOf(i).size()) {
      return;
    }
    plan = {.source = StrategySource::kPropagated, .sharding = LayoutsOf(i)[candidate].sharding};
  }

  struct ReshapeEnds {
    std::vector<TensorLayout> in = {};
    std::vector<TensorLayout> out = {};
    std::vector<std::vector<StepCost>> costs = {};
  };
  /// All that the costs of a Reshape depend on: both shapes, and who is around.
  using ReshapeQuestion =
      std::tuple<Shape, Shape, DType, std::vector<std::pair<const void*, std::size_t>>>;
  using Numbers = std::vector<std::int64_t>;
  using Maps = decltype(TensorLayout::tensor_map);
  using Way = std::tuple<Numbers, Maps, Numbers, Maps, Shape, DType>;

  const Graph& graph_;
  const JobConfig& config_;
  Assignment& assignment_;
  std::vector<SearchedOperator> order_;
  CostMemory redistribution_;
  EqualNodes equal_;
  std::vector<std::optional<std::size_t>> place_;  ///< Of a node in the order.
  std::vector<std::vector<SharedWeight::Use>> weight_uses_ = {};
  std::map<NodeId, Candidates> candidates_ = {};
  std::map<std::size_t, const ReshapeEnds*> reshapes_ = {};
  std::map<ReshapeQuestion, ReshapeEnds> known_reshapes_ = {};
  ReshapeCosts reshape_costs_ = {};
  std::map<Way, std::optional<StepCost>> ways_ = {};
  /// By candidates and tensors at both ends. Look-up only: the order of addresses does not matter.
  std::map<std::tuple<const void*, std::size_t, const void*, std::size_t, DType, bool>,
           CostGraph::Table>
      tables_ = {};
  CostGraph costs_ = {};
};

}  // namespace

Status SearchDynamically(const Graph& graph, const std::vector<Region>& regions,
                         const JobConfig& config, Assignment& assignment) {
  return SearchWithWeights(
      graph, regions, assignment, [&config](const SearchedGraph& searched, Assignment& chosen) {
        return DynamicSearch(searched.graph, searched.regions, config, searched.weights, chosen)
            .Run();
      });
}

}  // namespace drydock::strategies
