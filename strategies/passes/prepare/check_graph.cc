#include "strategies/passes/prepare/check_graph.h"

#include <algorithm>

#include "base/text.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/program/micro_nodes.h"

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
                                  .kind = DiagnosticKind::kLimit});
    }
  }
}

void NoteRecomputedEffects(const Graph& graph, std::vector<Diagnostic>& diagnostics) {
  for (const Node& node : graph.nodes) {
    if (IsToBeRecomputed(node) && node.phase == Phase::kForward &&
        node.entry->kind == OpKind::kUpdate) {
      AddDiagnostic(diagnostics,
                    {.code = "recompute-effect",
                     .text = "'" + node.op +
                             "' in a recomputed cell writes a parameter: it runs once and is not "
                             "repeated in backward, where the cell would read what it wrote. Take "
                             "it out of the cell, or do not recompute the cell",
                     .first_place = PlaceOf(graph, node)});
    }
  }
}

void NoteOwnerless(const Graph& graph, const std::vector<std::int32_t>& owners,
                   std::vector<Diagnostic>& diagnostics) {
  std::vector<std::vector<NodeId>> users;
  for (const Parameter& parameter : graph.parameters) {
    const Value& value = graph.at(parameter.value);
    const bool owned = owners[static_cast<std::size_t>(value.detail)] >= 0;
    if (owned || parameter.role != ParameterRole::kWeight || !parameter.requires_grad) {
      continue;
    }
    if (users.empty()) {
      users = UsersOf(graph);
    }
    const std::vector<NodeId>& readers = users[ToIndex(parameter.value)];
    const std::optional<SourcePlace> made = MadePlaceOf(graph, parameter.value);
    AddDiagnostic(diagnostics,
                  {.code = "parameter-without-stage",
                   .text = "no cell with a pipeline_stage reads the parameter '" + value.name +
                           "', so every stage has it, and its optimizer state. Give the cell that "
                           "reads it a pipeline_stage, or set requires_grad=False",
                   .first_place =
                       made || readers.empty() ? made : PlaceOf(graph, graph.at(readers.front()))});
  }
}

}  // namespace drydock::strategies
