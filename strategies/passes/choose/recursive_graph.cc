#include "strategies/passes/choose/recursive_graph.h"

#include <algorithm>
#include <utility>

#include "strategies/graph/attr.h"
#include "strategies/passes/choose/recursive_adjacency.h"

/// Who is whose neighbour once the operators that follow are left out.
///
/// Leaving out an operator connects its producers with its consumers: its first producer takes its
/// place at each consumer, further ones become auxiliary: they count for redistribution at the same
/// argument. Example: y = relu(a) + b in front of a MatMul: a's producer becomes the MatMul's
/// producer, b's an auxiliary of argument 0.
/// Source: mindspore/ccsrc/frontend/parallel/auto_parallel/rec_core/rec_parse_graph.cc
/// (ParseGraph, EliminateGraph)
namespace drydock::strategies {
namespace {

Four ExtentsOf(const Shape& shape) {
  Four extents = kOnes;
  if (shape.size() <= extents.size()) {
    std::ranges::copy(shape, extents.end() - std::ssize(shape));
  }
  return extents;
}

/// The last four dimensions, for Reshapes.
Four LastExtents(const Shape& shape) {
  const std::size_t more = shape.size() > kOnes.size() ? shape.size() - kOnes.size() : 0;
  return ExtentsOf(Shape(shape.begin() + static_cast<std::ptrdiff_t>(more), shape.end()));
}

bool IsTransposed(const Node& node, std::size_t argument) {
  return argument < 2 &&
         BoolAttr(node.attrs, argument == 0 ? "transpose_a" : "transpose_b", false).value_or(false);
}

Four Turned(Four extents, bool turned) {
  if (turned) {
    std::swap(extents[2], extents[3]);
  }
  return extents;
}

using Auxiliaries = std::vector<RecursiveNode::Auxiliary>;

bool Has(const Auxiliaries& list, std::size_t node) {
  return std::ranges::find(list, node, &RecursiveNode::Auxiliary::node) != list.end();
}

class Builder {
 public:
  Builder(const Graph& graph, const std::vector<SearchedOperator>& order, bool pins)
      : graph_(graph), order_(order), pins_(pins) {}

  RecursiveGraph Run() {
    for (const SearchedOperator& op : order_) {
      result_.nodes.push_back(NodeOf(graph_.at(op.node)));
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      for (const std::optional<std::size_t> producer : order_[i].producers) {
        if (producer && *producer != i) {
          result_.nodes[i].producers.push_back(*producer);
          result_.nodes[*producer].consumers.push_back({.node = i});
        }
      }
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (result_.nodes[i].role == RecursiveRole::kFollower && !result_.nodes[i].pinned) {
        LeaveOut(i);
        result_.followers.push_back(i);
      }
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] RecursiveNode NodeOf(const Node& node) const {
    RecursiveNode result;
    const RecursiveFacts facts = RecursiveFactsOf(*node.entry);
    result.role = facts.role;
    // Operators without a rule are whole or batch parallel.
    if (node.entry->kind == OpKind::kCompute && node.entry->shard == nullptr) {
      result.role = RecursiveRole::kFollower;
    }
    const bool product = result.role == RecursiveRole::kMatMul;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) {
        const bool turned = product && IsTransposed(node, result.arguments.size());
        result.arguments.push_back(Turned(ExtentsOf(graph_.at(input).type.shape), turned));
      }
    }
    if (!node.outputs.empty()) {
      result.result = ExtentsOf(graph_.at(node.outputs.front()).type.shape);
    }
    if (facts.form == FollowForm::kReshape && !node.inputs.empty()) {
      const Shape& from = graph_.at(node.inputs.front()).type.shape;
      const Shape& to = graph_.at(node.outputs.front()).type.shape;
      result.reshape =
          SourcesOfReshape(LastExtents(from), LastExtents(to), from.size() > to.size());
    }
    if (pins_ && node.in_strategy) {
      Pin(node, result);
    }
    return result;
  }

  static void Pin(const Node& node, RecursiveNode& result) {
    result.pinned = true;
    const bool product = result.role == RecursiveRole::kMatMul;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, node.in_strategy->size()); ++i) {
      result.argument_cuts[i] =
          Turned(ExtentsOf((*node.in_strategy)[i]), product && IsTransposed(node, i));
    }
    if (node.out_strategy && !node.out_strategy->empty()) {
      result.result_cuts = ExtentsOf(node.out_strategy->front());
    } else if (product) {
      result.result_cuts[2] = result.argument_cuts[0][2];
      result.result_cuts[3] = result.argument_cuts[1][3];
    } else {
      result.result_cuts = result.argument_cuts[0];
    }
  }

  void LeaveOut(std::size_t e) {
    RecursiveNode& out = result_.nodes[e];
    for (const std::size_t producer : out.producers) {
      PassConsumers(result_.nodes[producer], e);
    }
    for (const RecursiveNode::Auxiliary& auxiliary : out.auxiliaries) {
      PassConsumers(result_.nodes[auxiliary.node], e);
    }
    for (const RecursiveNode::Consumer& consumer : out.consumers) {
      ReplaceProducer(result_.nodes[consumer.node], e);
      ReplaceAuxiliary(result_.nodes[consumer.node], e);
    }
  }

  /// The consumers of what is left out become consumers of its producer.
  void PassConsumers(RecursiveNode& producer, std::size_t e) const {
    const auto it = std::ranges::find(producer.consumers, e, &RecursiveNode::Consumer::node);
    if (it == producer.consumers.end()) {
      return;
    }
    producer.consumers.erase(it);
    const RecursiveNode& out = result_.nodes[e];
    for (const RecursiveNode::Consumer& next : out.consumers) {
      if (std::ranges::find(producer.consumers, next.node, &RecursiveNode::Consumer::node) ==
          producer.consumers.end()) {
        producer.consumers.push_back(
            {.node = next.node, .reshape = CombineSources(out.reshape, next.reshape)});
      }
    }
  }

  /// At a consumer that has it as producer.
  void ReplaceProducer(RecursiveNode& consumer, std::size_t e) const {
    const RecursiveNode& out = result_.nodes[e];
    const auto it = std::ranges::find(consumer.producers, e);
    if (it == consumer.producers.end()) {
      return;
    }
    if (out.producers.empty()) {
      consumer.producers.erase(it);
      return;
    }
    const auto argument = static_cast<std::size_t>(it - consumer.producers.begin());
    const std::size_t first = out.producers.front();
    const auto known =
        std::ranges::find(consumer.auxiliaries, first, &RecursiveNode::Auxiliary::node);
    if (known != consumer.auxiliaries.end()) {
      consumer.auxiliaries.erase(known);
    }
    *it = first;
    for (std::size_t i = 1; i < out.producers.size(); ++i) {
      AddAuxiliary(consumer, out.producers[i], argument);
    }
    for (const RecursiveNode::Auxiliary& auxiliary : out.auxiliaries) {
      AddAuxiliary(consumer, auxiliary.node, argument);
    }
  }

  static void AddAuxiliary(RecursiveNode& consumer, std::size_t node, std::size_t argument) {
    if (!Has(consumer.auxiliaries, node)) {
      consumer.auxiliaries.push_back({.node = node, .argument = argument});
    }
  }

  /// At a consumer that has it as auxiliary.
  void ReplaceAuxiliary(RecursiveNode& consumer, std::size_t e) const {
    const RecursiveNode& out = result_.nodes[e];
    const auto it = std::ranges::find(consumer.auxiliaries, e, &RecursiveNode::Auxiliary::node);
    if (it == consumer.auxiliaries.end()) {
      return;
    }
    const std::size_t argument = it->argument;
    const auto is_producer = [&](std::size_t node) {
      return std::ranges::find(consumer.producers, node) != consumer.producers.end();
    };
    if (out.producers.empty()) {
      consumer.auxiliaries.erase(it);
      return;
    }
    if (is_producer(out.producers.front())) {
      consumer.auxiliaries.erase(it);
    } else {
      it->node = out.producers.front();
    }
    for (std::size_t i = 1; i < out.producers.size(); ++i) {
      if (!is_producer(out.producers[i])) {
        consumer.auxiliaries.push_back({.node = out.producers[i], .argument = argument});
      }
    }
    for (const RecursiveNode::Auxiliary& auxiliary : out.auxiliaries) {
      if (!is_producer(auxiliary.node)) {
        consumer.auxiliaries.push_back({.node = auxiliary.node, .argument = argument});
      }
    }
  }

  const Graph& graph_;
  const std::vector<SearchedOperator>& order_;
  bool pins_ = false;
  RecursiveGraph result_ = {};
};

}  // namespace

RecursiveGraph BuildRecursiveGraph(const Graph& graph, const std::vector<SearchedOperator>& order,
                                   bool pins) {
  return Builder(graph, order, pins).Run();
}

}  // namespace drydock::strategies
