#include "strategies/passes/equal_nodes.h"

#include <algorithm>

namespace drydock::strategies {
namespace {

/// Far more than one operator has different uses in a layer; few enough to be compared one by one.
constexpr std::size_t kNodesPerOp = 64;

}  // namespace

bool EqualNodes::SameTypes(const std::vector<ValueId>& a, const std::vector<ValueId>& b) const {
  return std::ranges::equal(a, b, [this](ValueId x, ValueId y) {
    return x == y || (x != kNoValue && y != kNoValue && graph_.at(x).type == graph_.at(y).type);
  });
}

bool EqualNodes::AskTheSame(const Node& a, const Node& b) const {
  return a.op == b.op && SameTypes(a.inputs, b.inputs) && SameTypes(a.outputs, b.outputs) &&
         a.in_strategy == b.in_strategy && a.out_strategy == b.out_strategy &&
         a.in_layout == b.in_layout && a.out_layout == b.out_layout && a.attrs == b.attrs;
}

std::optional<NodeId> EqualNodes::FindOrAdd(NodeId id) {
  const Node& node = graph_.at(id);
  Ring& ring = rings_[node.entry];
  const auto equal = std::ranges::find_if(
      ring.nodes, [&](NodeId other) { return AskTheSame(graph_.at(other), node); });
  if (equal != ring.nodes.end()) {
    return *equal;
  }
  if (ring.nodes.size() < kNodesPerOp) {
    ring.nodes.push_back(id);
  } else {
    ring.nodes[ring.oldest] = id;
    ring.oldest = (ring.oldest + 1) % kNodesPerOp;
  }
  return std::nullopt;
}

}  // namespace drydock::strategies
