#include "strategies/passes/choose/recursive_search.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "strategies/operators/fallback.h"
#include "strategies/passes/choose/recursive_follow.h"
#include "strategies/passes/choose/recursive_graph.h"

/// Search by recursive halving, MindSpore's "double recursive" search.
///
/// First products, convolutions and the like are cut (recursive_partition.cc), then all others take
/// over the cuts of their neighbours, in passes forwards and backwards over those that have none
/// yet: at first only cuts into as many parts as there are ranks are taken over, then into half as
/// many, and so on. What is reached by nothing stays whole.
///
/// Example: x @ up -> ReLU -> @ down on 8 ranks. The products are cut ((8, 1), (1, 1)), ReLU takes
/// over (8, 1) from the product in front of it.
/// Source: mindspore/ccsrc/frontend/parallel/auto_parallel/rec_core/rec_generate_strategy.cc
namespace drydock::strategies {
namespace {

std::int64_t Product(const Cuts& cuts) {
  return std::accumulate(cuts.begin(), cuts.end(), std::int64_t{1}, std::multiplies<>());
}

bool IsWhole(const Strategy& strategy) {
  return std::ranges::all_of(strategy, [](const Cuts& cuts) { return Product(cuts) == 1; });
}

/// The last `rank` of four cuts.
Cuts LastOf(const Four& cuts, std::size_t rank) {
  Cuts result(rank, 1);
  if (rank <= cuts.size()) {
    std::copy(cuts.end() - static_cast<std::ptrdiff_t>(rank), cuts.end(), result.begin());
  }
  return result;
}

class RecursiveSearch {
 public:
  RecursiveSearch(const Graph& graph, const std::vector<Region>& regions, const JobConfig& config,
                  Assignment& assignment)
      : graph_(graph),
        config_(config),
        assignment_(assignment),
        devices_(StageDevices(config)),
        order_(OrderForSearch(graph, regions)),
        cut_(BuildRecursiveGraph(graph, order_, config.pins_strategies)),
        left_out_(order_.size()),
        strategies_(order_.size()),
        out_strategies_(order_.size()) {
    for (const std::size_t i : cut_.followers) {
      left_out_[i] = true;
    }
    for (const SearchedOperator& op : order_) {
      operators_.push_back(Following(graph.at(op.node)));
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      AddUses(i);
    }
  }

  Status Run() {
    PartitionRecursively(cut_.nodes, {.devices = config_.world_size,
                                      .stages = config_.pipeline_stages,
                                      .micro_batch_size = MicroBatchSize()});
    if (config_.world_size > kManyDevices) {
      CutResultsFurther();
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (!left_out_[i]) {
        CopyCuts(i);
      }
    }
    waiting_ = cut_.followers;
    AssignWithoutRule();
    if (config_.training) {
      for (std::int64_t least = devices_; least > 1; least /= 2) {
        while (PassForward(least) > 0 || PassBackward(least) > 0) {
        }
      }
    } else {
      std::ranges::reverse(waiting_);
      PassForward(1);
      PassBackward(1);
    }
    AssignRemaining();
    AgreeOnTables();
    return Decide();
  }

 private:
  static constexpr std::int64_t kManyDevices = 32;

  [[nodiscard]] FollowingOperator Following(const Node& node) const {
    FollowingOperator op = {.node = &node, .form = RecursiveFactsOf(*node.entry).form};
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) {
        op.inputs.push_back(graph_.at(input).type.shape);
      }
    }
    for (const ValueId output : node.outputs) {
      op.outputs.push_back(graph_.at(output).type.shape);
    }
    return op;
  }

  /// First uses by position: where an operator asks what its result is wanted in.
  void AddUses(std::size_t user) {
    uses_.resize(order_.size());
    const auto& producers = order_[user].producers;
    for (std::size_t j = 0; j < producers.size(); ++j) {
      if (producers[j] && *producers[j] != user) {
        uses_[*producers[j]].push_back({user, j});
      }
    }
  }

  /// Samples of a micro batch. Without a kernel that fetches data the reference counts none.
  [[nodiscard]] std::int64_t MicroBatchSize() const {
    if (config_.pipeline_stages <= 1) {
      return 1;
    }
    for (const ValueId input : graph_.inputs) {
      const Shape& shape = graph_.at(input).type.shape;
      if (config_.data_sink && !shape.empty()) {
        return shape.front() / std::max<std::int64_t>(1, config_.micro_batches);
      }
    }
    return 0;
  }

  /// Beyond 32 ranks a product whose result is whole scatters it along its rows.
  void CutResultsFurther() {
    for (RecursiveNode& node : cut_.nodes) {
      if (node.role != RecursiveRole::kMatMul) {
        continue;
      }
      const Four& first = node.argument_cuts[0];
      const std::int64_t ranks = std::min(first[2] * first[3], devices_);
      const std::int64_t factor = ranks / (node.result_cuts[2] * node.result_cuts[3]);
      if (factor > 1) {
        node.result_cuts[2] *= factor;
      }
    }
  }

  void CopyCuts(std::size_t i) {
    const RecursiveNode& node = cut_.nodes[i];
    const FollowingOperator& op = operators_[i];
    if (op.form == FollowForm::kWholeBatch) {
      CopyBatchCuts(i);
      return;
    }
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      Four cuts = k < node.argument_cuts.size() ? node.argument_cuts[k] : kOnes;
      const bool turned =
          node.role == RecursiveRole::kMatMul && k < 2 &&
          BoolAttr(op.node->attrs, k == 0 ? "transpose_a" : "transpose_b", false).value_or(false);
      if (turned) {
        std::swap(cuts[2], cuts[3]);
      }
      strategies_[i].push_back(LastOf(cuts, op.inputs[k].size()));
    }
    const bool scattered = node.argument_cuts[0][2] != node.result_cuts[2] ||
                           node.argument_cuts[1][3] != node.result_cuts[3];
    if (node.role == RecursiveRole::kMatMul && scattered) {
      out_strategies_[i] = Strategy{{node.result_cuts[2], node.result_cuts[3]}};
    }
  }

  /// The data set, and what is always batch parallel.
  void CopyBatchCuts(std::size_t i) {
    const FollowingOperator& op = operators_[i];
    const SharedValue<OpSharding>& given = assignment_.plans[ToIndex(order_[i].node)].sharding;
    if (given) {
      strategies_[i] = given->strategy;
      return;
    }
    const std::int64_t batch =
        op.inputs.empty() || op.inputs[0].empty() ? 1 : std::min(devices_, op.inputs[0][0]);
    for (const Shape& shape : op.inputs) {
      strategies_[i].emplace_back(shape.size(), 1);
      if (!shape.empty()) {
        strategies_[i].back()[0] = batch;
      }
    }
    cut_.nodes[i].result_cuts = kOnes;
    const std::size_t rank = op.outputs.empty() ? 0 : op.outputs[0].size();
    if (rank > 0 && rank <= kOnes.size()) {
      cut_.nodes[i].result_cuts[kOnes.size() - rank] = batch;
    }
  }

  void AssignWithoutRule() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Node& node = *operators_[i].node;
      if (node.entry->kind != OpKind::kCompute || node.entry->shard != nullptr) {
        continue;
      }
      OpViewStorage storage;
      const OpView view = ViewOf(graph_, node, storage);
      const bool whole = FallbackRule(*node.entry, view, devices_).default_strategy != nullptr;
      for (std::size_t k = 0; k < operators_[i].inputs.size(); ++k) {
        strategies_[i].emplace_back(operators_[i].inputs[k].size(), 1);
        if (!whole && k == 0 && !strategies_[i][0].empty()) {
          strategies_[i][0][0] = devices_;
        }
      }
      std::erase(waiting_, i);
    }
  }

  /// The operand whose producer tells how an operator is cut: the first one whose producer is cut
  /// at all, else the last one with a producer.
  [[nodiscard]] std::optional<std::size_t> Leader(std::size_t i) const {
    std::optional<std::size_t> leader;
    for (const std::optional<std::size_t>& producer : order_[i].producers) {
      leader = producer ? producer : leader;
      if (leader && !IsWhole(strategies_[*leader])) {
        break;
      }
    }
    if (leader && operators_[*leader].node->entry->kind == OpKind::kDataset) {
      return std::nullopt;
    }
    return leader;
  }

  [[nodiscard]] Cuts FromLeader(std::size_t i, std::size_t leader) const {
    const FollowingOperator& op = operators_[i];
    if (!left_out_[leader]) {
      const auto shaped = std::ranges::find_if_not(op.inputs, &Shape::empty);
      return shaped == op.inputs.end() ? Cuts{}
                                       : LastOf(cut_.nodes[leader].result_cuts, shaped->size());
    }
    if (op.form == FollowForm::kOneHot || op.form == FollowForm::kTranspose) {
      return {};
    }
    return CutsLeftBy(operators_[leader], strategies_[leader]);
  }

  [[nodiscard]] bool IsFollowed(std::size_t i) const {
    const FollowForm form = operators_[i].form;
    return form != FollowForm::kGather && form != FollowForm::kAssign &&
           form != FollowForm::kExpandDims;
  }

  /// Operators that took over cuts from a producer. @param least  into so many parts at least
  std::size_t PassForward(std::int64_t least) {
    return Pass(least, [this](std::size_t i) -> std::pair<Cuts, std::optional<std::size_t>> {
      const std::optional<std::size_t> leader = Leader(i);
      return {leader ? FromLeader(i, *leader) : Cuts{}, leader};
    });
  }

  std::size_t PassBackward(std::int64_t least) {
    return Pass(least, [this](std::size_t i) -> std::pair<Cuts, std::optional<std::size_t>> {
      for (const auto& [user, operand] : uses_[i]) {
        if (strategies_[user].empty()) {
          continue;
        }
        const std::size_t entry = std::min(operand, operators_[user].inputs.size() - 1);
        const Cuts wanted = entry < strategies_[user].size() ? strategies_[user][entry] : Cuts{};
        return {CutsForUser(operators_[i], wanted, operators_[user].inputs[entry], devices_), user};
      }
      return {Cuts{}, std::nullopt};
    });
  }

  /// One pass over those that wait, from the last one to the first; who has to wait on comes in
  /// the opposite order next time.
  template <typename Ask>
  std::size_t Pass(std::int64_t least, Ask ask) {
    std::vector<std::size_t> still;
    std::size_t changes = 0;
    for (auto it = waiting_.rbegin(); it != waiting_.rend(); ++it) {
      const auto [cuts, neighbour] = ask(*it);
      if (cuts.empty() || Product(cuts) < least || !neighbour || !IsFollowed(*neighbour)) {
        still.push_back(*it);
      } else {
        strategies_[*it] = StrategyFromCuts(operators_[*it], cuts, devices_);
        ++changes;
      }
    }
    waiting_ = std::move(still);
    return changes;
  }

  void AssignRemaining() {
    while (PassForward(1) + PassBackward(1) > 0) {
    }
    for (const std::size_t i : waiting_) {
      std::size_t rank = 0;
      for (const Shape& shape : operators_[i].inputs) {
        rank = std::max(rank, shape.size());
      }
      strategies_[i] = StrategyFromCuts(operators_[i], Cuts(rank, 1), devices_);
    }
  }

  /// A table that others use, too, is cut as they want it.
  void AgreeOnTables() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (operators_[i].form == FollowForm::kGather) {
        for (std::size_t j = 0; j < order_.size(); ++j) {
          FollowUserOfTable(i, j);
        }
      }
    }
  }

  void FollowUserOfTable(std::size_t gather, std::size_t other) {
    const Node& user = *operators_[other].node;
    const ValueId table = operators_[gather].node->inputs.front();
    if (other == gather || graph_.at(table).kind != ValueKind::kParameter ||
        std::ranges::find(user.inputs, table) == user.inputs.end()) {
      return;
    }
    const bool product = cut_.nodes[other].role == RecursiveRole::kMatMul;
    const std::size_t entry = product ? 1 : 0;
    if ((!product && !user.entry->is_cast && operators_[other].form != FollowForm::kArithmetic) ||
        entry >= strategies_[other].size()) {
      return;
    }
    Strategy& strategy = strategies_[gather];
    strategy.resize(2);
    strategy[0] = strategies_[other][entry];
    strategy[1].assign(operators_[gather].inputs[1].size(), 1);
    if (!strategy[1].empty()) {
      strategy[1][0] = devices_ / std::max<std::int64_t>(1, Product(strategy[0]));
    }
  }

  /// Cuts that do not divide are none.
  void KeepWhatDivides(std::size_t i) {
    if (operators_[i].form == FollowForm::kFill) {
      return;
    }
    const std::vector<Shape>& shapes = operators_[i].inputs;
    for (std::size_t k = 0; k < std::min(strategies_[i].size(), shapes.size()); ++k) {
      for (std::size_t d = 0; d < std::min(strategies_[i][k].size(), shapes[k].size()); ++d) {
        std::int64_t& cut = strategies_[i][k][d];
        cut = cut < 1 || shapes[k][d] % cut != 0 ? 1 : cut;
      }
    }
  }

  Status Decide() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Node& node = *operators_[i].node;
      if (!HasRule(node) || assignment_.plans[ToIndex(order_[i].node)].sharding) {
        continue;
      }
      KeepWhatDivides(i);
      DRYDOCK_TRY(assignment_.plans[ToIndex(order_[i].node)].sharding, ShardingOf(i));
      assignment_.plans[ToIndex(order_[i].node)].source = StrategySource::kPropagated;
    }
    return {};
  }

  /// A strategy that the operator's rule does not take is replaced by no cut.
  Result<SharedValue<OpSharding>> ShardingOf(std::size_t i) {
    Node node = *operators_[i].node;
    if (out_strategies_[i]) {
      node.out_strategy = *out_strategies_[i];
    }
    Result<OpSharding> sharding = ShardNode(graph_, node, strategies_[i], config_);
    if (sharding) {
      return SharedValue<OpSharding>(*std::move(sharding));
    }
    Strategy whole = strategies_[i];
    for (Cuts& cuts : whole) {
      std::ranges::fill(cuts, 1);
    }
    node.out_strategy = {};
    DRYDOCK_TRY(OpSharding replaced, ShardNode(graph_, node, whole, config_));
    AddDiagnostic(assignment_.diagnostics,
                  {.code = "search-replaced",
                   .text = "the strategy that the search finds for '" + node.op +
                           "' is not legal; every rank computes all of it",
                   .first_place = PlaceOf(graph_, node)});
    return SharedValue<OpSharding>(std::move(replaced));
  }

  struct Use {
    std::size_t user = 0;
    std::size_t operand = 0;
  };

  const Graph& graph_;
  const JobConfig& config_;
  Assignment& assignment_;
  std::int64_t devices_ = 1;
  std::vector<SearchedOperator> order_;
  RecursiveGraph cut_;
  std::vector<bool> left_out_;
  std::vector<FollowingOperator> operators_ = {};
  std::vector<Strategy> strategies_;  ///< Empty: none yet.
  std::vector<std::optional<Strategy>> out_strategies_;
  std::vector<std::vector<Use>> uses_ = {};
  std::vector<std::size_t> waiting_ = {};
};

/// The search looks at no strategy that the script gives, unless it is told to.
void TakeGivenAway(const Graph& graph, Assignment& assignment) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    NodePlan& plan = assignment.plans[n];
    const Node& node = graph.nodes[n];
    if (plan.source != StrategySource::kUser || IsSelfDefined(node).value_or(false)) {
      continue;
    }
    plan = {};
    AddDiagnostic(assignment.diagnostics,
                  {.code = "strategy-ignored",
                   .text = "recursive_programming cuts '" + node.op +
                           "' itself; the strategy that the script gives is ignored (with "
                           "MS_INTERFERED_SAPP=1 it counts)",
                   .first_place = ShardPlaceOf(graph, node)});
  }
}

}  // namespace

Status SearchRecursively(const Graph& graph, const std::vector<Region>& regions,
                         const JobConfig& config, Assignment& assignment) {
  if (!config.pins_strategies) {
    TakeGivenAway(graph, assignment);
  }
  return RecursiveSearch(graph, regions, config, assignment).Run();
}

}  // namespace drydock::strategies
