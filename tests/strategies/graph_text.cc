#include "tests/strategies/graph_text.h"

#include <cstddef>

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
