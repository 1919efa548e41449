#include "strategies/passes/choose/search_order.h"

#include <algorithm>
#include <utility>

#include "strategies/operators/op_entry.h"
#include "strategies/passes/choose/propagation_graph.h"

namespace drydock::strategies {
namespace {

/// Operators that make something of their operands: no Depend, no Load.
bool IsLookedAt(const Node& node) {
  const OpEntry& entry = *node.entry;
  switch (entry.kind) {
    case OpKind::kCompute:
    case OpKind::kDataset:
    case OpKind::kReshape:
      return true;
    case OpKind::kView:
      return entry.shard != nullptr;
    case OpKind::kTransparent:
      return entry.is_cast;
    default:
      return false;
  }
}

class Order {
 public:
  Order(const Graph& graph, const std::vector<Region>& regions)
      : graph_(graph), regions_(regions), seen_(graph.nodes.size()), index_(graph.nodes.size()) {}

  std::vector<SearchedOperator> Run() {
    for (const Node& node : graph_.nodes) {
      if (node.entry->kind == OpKind::kGradient && !node.inputs.empty()) {
        Visit(node.inputs.front());
      }
    }
    for (auto it = graph_.outputs.rbegin(); it != graph_.outputs.rend(); ++it) {
      Visit(*it);
    }
    // What only updates and the like read.
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      if (regions_[n] == Region::kForward && !seen_[n] && !graph_.nodes[n].outputs.empty()) {
        Visit(graph_.nodes[n].outputs.front());
      }
    }
    for (SearchedOperator& op : order_) {
      Connect(op);
    }
    return std::move(order_);
  }

 private:
  /// Depth first without recursion: networks are deep.
  void Visit(ValueId root) {
    std::vector<ValueId> stack = {root};
    while (!stack.empty()) {
      const ValueId value = stack.back();
      stack.pop_back();
      if (value == kNoValue || graph_.at(value).kind != ValueKind::kOutput) {
        continue;
      }
      const NodeId id = graph_.at(value).producer;
      const std::size_t n = ToIndex(id);
      if (seen_[n] || regions_[n] == Region::kGradient) {
        continue;
      }
      seen_[n] = true;
      if (regions_[n] == Region::kForward && IsLookedAt(graph_.nodes[n])) {
        index_[n] = order_.size();
        order_.push_back({.node = id});
      }
      for (const ValueId input : graph_.nodes[n].inputs) {
        stack.push_back(input);  // The last one is taken from the stack first.
      }
    }
  }

  void Connect(SearchedOperator& op) const {
    const Node& node = graph_.at(op.node);
    bool in_tuple = false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool member = IsTupleMember(node, i);
      if (!member || !in_tuple) {
        op.producers.push_back(ProducerOf(node.inputs[i]));
      }
      in_tuple = member;
    }
  }

  [[nodiscard]] std::optional<std::size_t> ProducerOf(ValueId value) const {
    while (value != kNoValue && graph_.at(value).kind == ValueKind::kOutput) {
      const std::size_t n = ToIndex(graph_.at(value).producer);
      if (index_[n]) {
        return index_[n];
      }
      const std::vector<ValueId>& inputs = graph_.nodes[n].inputs;
      value = inputs.empty() || regions_[n] == Region::kGradient ? kNoValue : inputs.front();
    }
    return std::nullopt;
  }

  const Graph& graph_;
  const std::vector<Region>& regions_;
  std::vector<bool> seen_;
  std::vector<std::optional<std::size_t>> index_;  ///< Of a node in the order.
  std::vector<SearchedOperator> order_ = {};
};

}  // namespace

std::vector<SearchedOperator> OrderForSearch(const Graph& graph,
                                             const std::vector<Region>& regions) {
  return Order(graph, regions).Run();
}

}  // namespace drydock::strategies
