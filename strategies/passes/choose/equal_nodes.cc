#include "strategies/passes/choose/equal_nodes.h"

#include <algorithm>

namespace drydock::strategies {

bool EqualNodes::SameTypes(const std::vector<ValueId>& a, const std::vector<ValueId>& b) const {
  return std::ranges::equal(a, b, [this](ValueId x, ValueId y) {
    return x == y || (x != kNoValue && y != kNoValue && graph_.at(x).type == graph_.at(y).type);
  });
}

bool EqualNodes::AskTheSame(const Node& a, const Node& b) const {
  return SameOperator(a, b) && SameTypes(a.inputs, b.inputs) && SameTypes(a.outputs, b.outputs) &&
         a.in_strategy == b.in_strategy && a.out_strategy == b.out_strategy &&
         a.in_layout == b.in_layout && a.out_layout == b.out_layout && a.attrs == b.attrs;
}

std::optional<NodeId> EqualNodes::FindOrAdd(NodeId id) {
  const Node& node = graph_.at(id);
  Recent<NodeId>& nodes = nodes_[node.entry];
  const NodeId* equal =
      nodes.FindIf([&](NodeId other) { return AskTheSame(graph_.at(other), node); });
  if (equal != nullptr) {
    return *equal;
  }
  nodes.Add(id);
  return std::nullopt;
}

}  // namespace drydock::strategies
