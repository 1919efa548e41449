#include "strategies/graph/walk.h"

#include <utility>

/// Depth-first walks without recursion: programs are chains of many thousand nodes.
namespace drydock::strategies {

std::vector<NodeId> OperandsFirst(const Graph& graph, std::span<const NodeId> roots) {
  struct Entered {
    NodeId node = kNoNode;
    std::size_t operands_done = 0;
  };
  std::vector<NodeId> left;
  std::vector<bool> seen(graph.nodes.size(), false);
  std::vector<Entered> stack;
  const auto enter = [&](NodeId id) {
    if (!seen[ToIndex(id)]) {
      seen[ToIndex(id)] = true;
      stack.push_back({.node = id});
    }
  };
  for (const NodeId root : roots) {
    enter(root);
    while (!stack.empty()) {
      Entered& top = stack.back();
      const Node& node = graph.at(top.node);
      if (top.operands_done == node.inputs.size()) {
        left.push_back(top.node);
        stack.pop_back();
        continue;
      }
      const ValueId input = node.inputs[top.operands_done++];
      if (input != kNoValue && graph.at(input).kind == ValueKind::kOutput) {
        enter(graph.at(input).producer);
      }
    }
  }
  return left;
}

}  // namespace drydock::strategies
