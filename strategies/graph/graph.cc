#include "strategies/graph/graph.h"

#include <functional>
#include <map>

namespace drydock::strategies {

namespace {

const SourceStack* StackAt(const Graph& graph, std::int32_t place) {
  return place < 0 ? nullptr : &graph.stacks[static_cast<std::size_t>(place)];
}

std::optional<SourcePlace> InnermostOf(const SourceStack* stack) {
  return stack == nullptr || stack->frames.empty() ? std::nullopt
                                                   : std::optional(stack->frames.front());
}

}  // namespace

std::optional<SourcePlace> PlaceOf(const Graph& graph, const Node& node) {
  const SourceStack* stack = StackAt(graph, node.place);
  return stack != nullptr && stack->layer ? stack->layer : InnermostOf(stack);
}

std::optional<SourcePlace> AppliedPlaceOf(const Graph& graph, const Node& node) {
  return InnermostOf(StackAt(graph, node.place));
}

std::optional<SourcePlace> MadePlaceOf(const Graph& graph, ValueId value) {
  const Value& held = graph.at(value);
  if (held.kind != ValueKind::kParameter) {
    return std::nullopt;
  }
  return InnermostOf(StackAt(graph, graph.parameters[static_cast<std::size_t>(held.detail)].place));
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
