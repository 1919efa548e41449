#include "strategies/passes/communicate/sum_decayed.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// Weight decay is added before gradients are averaged.
///
/// Data parallelism with gradients_mean averages a gradient and adds the decayed weight:
///     AddN(decayed, Mul(AllReduce(gradient), 1/N))
/// MindSpore's front end turns that into
///     Mul(AllReduce(AddN(decayed, gradient)), 1/N)
/// which is the same where all ranks hold the same weight. So each gradient is there with its decay
/// before it is sent, and the collectives come in another order. It looks at sums of two only, and
/// not where a function asks for the gradients instead of a Cell (compile_job.cc). A scale of the
/// loss that follows is then a product of a product, which is one.
///
/// Example: Momentum with weight decay and gradients_mean=True on 8 ranks; without gradients_mean
/// there is no product, and the decay stays behind the AllReduce.
/// Source: mindspore/ccsrc/frontend/optimizer/irpass/arithmetic_simplify.cc (AdjustAllReduceMulAdd)
namespace drydock::strategies {
namespace {

class Adjuster {
 public:
  explicit Adjuster(Graph graph) : graph_(std::move(graph)), users_(UsersOf(graph_)) {}

  /// @return whether there was such a sum
  bool Run() {
    std::vector<bool> gone(graph_.nodes.size(), false);
    std::map<std::size_t, std::pair<Node, Node>> before;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (const std::optional<Mean> mean = FindMean(graph_.nodes[n])) {
        gone[mean->reduce] = gone[mean->scale] = true;
        before.emplace(n, Turn(n, *mean));
      }
    }
    if (!before.empty()) {
      Arrange(gone, before);
    }
    return !before.empty();
  }

  Graph Take() && { return std::move(graph_); }

 private:
  /// Operand `operand` of a sum is Mul(AllReduce(x), y), which nobody else reads.
  struct Mean {
    std::size_t reduce = 0;
    std::size_t scale = 0;
    std::size_t operand = 0;
  };

  [[nodiscard]] std::optional<std::size_t> OnlyUsed(ValueId id, const OpEntry* entry) const {
    const Value& value = graph_.at(id);
    if (value.kind != ValueKind::kOutput || users_[ToIndex(id)].size() != 1 ||
        graph_.at(value.producer).entry != entry ||
        std::ranges::find(graph_.outputs, id) != graph_.outputs.end()) {
      return std::nullopt;
    }
    return ToIndex(value.producer);
  }

  [[nodiscard]] std::optional<Mean> FindMean(const Node& sum) const {
    if (sum.entry != sum_ || sum.inputs.size() != 2 || sum.inputs[0] == sum.inputs[1]) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const std::optional<std::size_t> scale = OnlyUsed(sum.inputs[i], product_);
      const std::optional<std::size_t> reduce =
          scale ? OnlyUsed(graph_.nodes[*scale].inputs.front(), reduction_) : std::nullopt;
      if (reduce && graph_.at(graph_.nodes[*reduce].inputs.front()).type ==
                        graph_.at(sum.inputs[1 - i]).type) {
        return Mean{.reduce = *reduce, .scale = *scale, .operand = i};
      }
    }
    return std::nullopt;
  }

  /// Node `n` becomes the product. @return the sum and the reduction, which come before it
  std::pair<Node, Node> Turn(std::size_t n, const Mean& mean) {
    Node sum = std::move(graph_.nodes[n]);
    Node reduce = std::move(graph_.nodes[mean.reduce]);
    Node scale = std::move(graph_.nodes[mean.scale]);
    const ValueId result = sum.outputs.front();
    const ValueId summed = scale.outputs.front();
    sum.inputs = {sum.inputs[1 - mean.operand], reduce.inputs.front()};
    sum.outputs = {summed};
    reduce.inputs = {summed};
    scale.inputs.front() = reduce.outputs.front();
    scale.outputs = {result};
    reduce.scope = scale.scope = sum.scope;
    graph_.nodes[n] = std::move(scale);
    return {std::move(sum), std::move(reduce)};
  }

  void Arrange(const std::vector<bool>& gone,
               std::map<std::size_t, std::pair<Node, Node>>& before) {
    std::vector<Node> nodes;
    nodes.reserve(graph_.nodes.size());
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (const auto found = before.find(n); found != before.end()) {
        nodes.push_back(std::move(found->second.first));
        nodes.push_back(std::move(found->second.second));
      }
      if (!gone[n]) {
        nodes.push_back(std::move(graph_.nodes[n]));
      }
    }
    graph_.nodes = std::move(nodes);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const ValueId output : graph_.nodes[n].outputs) {
        graph_.values[ToIndex(output)].producer = NodeId{static_cast<std::int32_t>(n)};
      }
    }
  }

  Graph graph_;
  std::vector<std::vector<NodeId>> users_;
  const OpEntry* sum_ = FindOp(ops::kAddN);
  const OpEntry* product_ = FindOp(ops::kMul);
  const OpEntry* reduction_ = FindOp(ops::kAllReduce);
};

}  // namespace

Graph SumDecayedGradients(Graph local, ConstantWork work) {
  Adjuster adjuster(std::move(local));
  const bool turned = adjuster.Run();
  Graph result = std::move(adjuster).Take();
  return turned ? SimplifyGraph(std::move(result), work) : result;
}

}  // namespace drydock::strategies
