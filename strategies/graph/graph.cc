#include "strategies/graph/graph.h"

#include <functional>
#include <map>

#include "base/text.h"

namespace drydock::strategies {
namespace {

std::string ValueText(const Graph& graph, ValueId id) {
  if (id == kNoValue) {
    return "None";
  }
  const Value& value = graph.at(id);
  const std::string name = value.name.empty() ? "v" + std::to_string(ToInt(id)) : value.name;
  return "%" + name;
}

std::string NodeText(const Graph& graph, const Node& node) {
  std::string text;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    text += (i > 0 ? ", " : "") + ValueText(graph, node.outputs[i]);
  }
  text += " = " + node.op + "(";
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    text += (i > 0 ? ", " : "") + ValueText(graph, node.inputs[i]);
  }
  text += ")";
  for (const auto& [name, attr] : node.attrs) {
    text += " " + name + "=" + AttrText(attr);
  }
  if (node.in_strategy) {
    text += " strategy=" + StrategyText(*node.in_strategy);
  }
  if (node.group) {
    text += " group_size=" + std::to_string(GroupSize(*node.group));
  }
  text += " :";
  for (const ValueId output : node.outputs) {
    text += " " + TypeText(graph.at(output).type);
  }
  return text;
}

}  // namespace

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

std::string GraphText(const Graph& graph) {
  std::string text = "graph " + graph.name + "\n";
  for (const ValueId input : graph.inputs) {
    text += "input " + ValueText(graph, input) + " : " + TypeText(graph.at(input).type) + "\n";
  }
  for (const Parameter& parameter : graph.parameters) {
    text += "parameter " + ValueText(graph, parameter.value) + " : " +
            TypeText(graph.at(parameter.value).type) + "\n";
  }
  for (const Node& node : graph.nodes) {
    text += NodeText(graph, node) + "\n";
  }
  text += "return";
  for (const ValueId output : graph.outputs) {
    text += " " + ValueText(graph, output);
  }
  return text + "\n";
}

}  // namespace drydock::strategies
