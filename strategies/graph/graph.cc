#include "strategies/graph/graph.h"

#include <functional>
#include <map>

namespace drydock::strategies {

std::optional<SourcePlace> PlaceOf(const Graph& graph, const Node& node) {
  if (node.place < 0 || graph.stacks[static_cast<std::size_t>(node.place)].empty()) {
    return std::nullopt;
  }
  return graph.stacks[static_cast<std::size_t>(node.place)].front();
}

std::optional<SourcePlace> ShardPlaceOf(const Graph& graph, const Node& node) {
  const std::optional<SourcePlace> place = PlaceOf(graph, Node{.place = node.shard_place});
  return place ? place : PlaceOf(graph, node);
}

bool SameOperator(const Node& a, const Node& b) {
  return std::equal_to<>()(a.op, b.op);
}

std::vector<std::string> FullNames(const Graph& graph) {
  std::map<std::string, std::int64_t> next;
  std::vector<std::string> names;
  names.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    const std::string base = node.scope + "/" + node.op;
    names.push_back(base + "-op" + std::to_string(next[base]++));
  }
  return names;
}

bool IsInRecomputedScope(const Node& node) {
  return node.scope.starts_with("recompute_");
}

std::vector<std::vector<NodeId>> UsersOf(const Graph& graph) {
  std::vector<std::vector<NodeId>> users(graph.values.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId input : graph.nodes[n].inputs) {
      if (input != kNoValue) {
        users[ToIndex(input)].push_back(NodeId{static_cast<std::int32_t>(n)});
      }
    }
  }
  return users;
}

}  // namespace drydock::strategies
