#include "strategies/passes/prepare/check_graph.h"

#include <algorithm>

#include "base/text.h"
#include "strategies/passes/choose/assign.h"

/// What is said about a step before anything is decided.
namespace drydock::strategies {

Status CheckNotEmpty(const Graph& graph) {
  if (graph.nodes.empty() && graph.outputs.empty()) {
    return FailInput("graph:empty", "the network has no operator that contributes to its result",
                     "return the loss or an output from the network");
  }
  return {};
}

Status CheckInputs(const Graph& graph) {
  for (const ValueId input : graph.inputs) {
    const Value& value = graph.at(input);
    if (std::ranges::find(value.type.shape, 0) == value.type.shape.end()) {
      continue;
    }
    Status status = FailInput("graph:empty-input",
                              "input '" + value.name + "' of shape " + TupleText(value.type.shape) +
                                  " holds nothing that could be cut",
                              "give it at least one element along every dimension");
    const auto reader = std::ranges::find_if(graph.nodes, [input](const Node& node) {
      return std::ranges::find(node.inputs, input) != node.inputs.end();
    });
    return reader == graph.nodes.end() ? status
                                       : Status(tl::unexpected(WithPlace(std::move(status).error(),
                                                                         PlaceOf(graph, *reader))));
  }
  return {};
}

void CountUnknown(const Graph& graph, std::vector<Diagnostic>& diagnostics) {
  for (const Node& node : graph.nodes) {
    if (node.entry == &UnknownOp()) {
      AddDiagnostic(diagnostics, {.code = "unknown-operator",
                                  .text = "'" + node.op +
                                          "' is not in the operator table; its time counts as 0, "
                                          "its gradient as one kernel that keeps all operands",
                                  .first_place = PlaceOf(graph, node),
                                  .unsupported = true});
    }
  }
}

}  // namespace drydock::strategies
