#include "reports/ir_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <set>

#include "reports/ir_writer.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/localize/localize.h"
#include "strategies/passes/prepare/rewrite.h"

namespace drydock::reports {
namespace {

using strategies::Graph;
using strategies::LocalProgram;
using strategies::Node;

/// MindSpore prints an address here; a fixed one keeps equal inputs equal.
constexpr std::string_view kNoPointer = "0x0";

std::string GraphName(const Graph& graph, std::size_t index, IrStyle style) {
  const std::string number = std::to_string(graph.values.size() + index);
  return (style == IrStyle::kR20 ? std::to_string(index + 1) + "_" : "") + "construct_wrapper." +
         number;
}

std::vector<ValueId> TopParameters(const Graph& graph) {
  std::vector<ValueId> values = graph.inputs;
  for (const strategies::Parameter& parameter : graph.parameters) {
    values.push_back(parameter.value);
  }
  return values;
}

std::string TypeOf(const Graph& graph, ValueId id, IrStyle style) {
  const strategies::Value& value = graph.at(id);
  return value.kind == strategies::ValueKind::kParameter ? IrRefType(value.type, value.name, style)
                                                         : IrTensorType(value.type);
}

/// Everything before the first sub-graph.
std::string Header(const IrContext& context, std::size_t subgraphs) {
  const Graph& graph = *context.graph;
  const std::vector<ValueId> values = TopParameters(graph);
  std::string text = "# IR entry: @" + context.top_name +
                     "\n# Total subgraphs: " + std::to_string(subgraphs) +
                     "\n\n# Total params: " + std::to_string(values.size()) + "\n";
  if (!values.empty()) {
    text += "# Params:\n";
  }
  for (const ValueId id : values) {
    text += IrParameterName(graph, id) + ": " + TypeOf(graph, id, context.style);
    text += graph.at(id).kind == strategies::ValueKind::kParameter ? "  :  has_default\n" : "\n";
  }
  return text + "\n";
}

std::string SubgraphText(const std::string& name, const std::string& parent,
                         const std::vector<std::string>& parameters, const std::string& lines) {
  std::string list;
  for (const std::string& parameter : parameters) {
    list += (list.empty() ? "" : ", ") + parameter;
  }
  return "subgraph attr:\nsubgraph instance: " + name + " : " + std::string(kNoPointer) +
         "\nsubgraph @" + name + (parent.empty() ? "" : " parent: [subgraph @" + parent + "]") +
         "(" + list + ") {\n" + lines + "}\n\n";
}

std::vector<std::string> ParameterNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId id : TopParameters(graph)) {
    names.push_back(IrParameterName(graph, id));
  }
  return names;
}

/// Index of the first node behind the forward part of a training step; nothing for other programs.
std::optional<std::size_t> ForwardEnd(const Graph& graph) {
  const auto gradient = std::ranges::find_if(graph.nodes, [](const Node& node) {
    return node.entry != nullptr && node.entry->kind == strategies::OpKind::kGradient;
  });
  return gradient == graph.nodes.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(gradient - graph.nodes.begin()));
}

/// Results of the nodes before `end` that the rest of the program uses, by value.
std::vector<ValueId> Exports(const Graph& graph, std::size_t end) {
  std::set<ValueId> used(graph.outputs.begin(), graph.outputs.end());
  for (std::size_t i = end; i < graph.nodes.size(); ++i) {
    used.insert(graph.nodes[i].inputs.begin(), graph.nodes[i].inputs.end());
  }
  std::vector<ValueId> exports;
  for (const ValueId id : used) {
    if (id != strategies::kNoValue && graph.at(id).producer != strategies::kNoNode &&
        ToIndex(graph.at(id).producer) < end) {
      exports.push_back(id);
    }
  }
  return exports;
}

std::string OneGraphText(const IrContext& context) {
  const Graph& graph = *context.graph;
  IrSubgraphWriter writer(context, std::string(IrMonadText(context.style)), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    writer.AddNode(i);
  }
  return Header(context, 1) +
         SubgraphText(context.top_name, "", ParameterNames(graph), writer.Finish(graph.outputs));
}

std::string TwoGraphText(const IrContext& context, std::size_t forward_end) {
  const Graph& graph = *context.graph;
  const std::vector<ValueId> exports = Exports(graph, forward_end);
  const std::string forward_name = GraphName(graph, 1, context.style);
  IrSubgraphWriter top(context, std::string(IrMonadText(context.style)), false);
  top.AddCall(forward_name, exports);
  for (std::size_t i = forward_end; i < graph.nodes.size(); ++i) {
    top.AddNode(i);
  }
  const std::vector<std::string> parameters = ParameterNames(graph);
  const std::string monad = "%para" + std::to_string(parameters.size() + 1) + "_u";
  IrSubgraphWriter forward(context, monad, true);
  for (std::size_t i = 0; i < forward_end; ++i) {
    forward.AddNode(i);
  }
  return Header(context, 2) +
         SubgraphText(context.top_name, "", parameters, top.Finish(graph.outputs)) +
         SubgraphText(forward_name, context.top_name, {monad}, forward.Finish(exports));
}

constexpr std::string_view kBegin = "step_parallel_begin";

/// The action that ends compilation has number 18 in releases up to 2.3 and 22 in 2025.
std::string_view ExecuteName(IrStyle style) {
  return style == IrStyle::kR20 ? "18_execute" : "22_execute";
}

std::string NumberedName(std::string_view base, int number) {
  std::array<char, 16> digits = {};
  std::snprintf(digits.data(), digits.size(), "_%04d.ir", number);
  return std::string(base) + digits.data();
}

}  // namespace

std::string StepParallelBeginText(const LocalProgram& program, IrStyle style) {
  const IrContext context = {
      .graph = &program.from->traced,
      .facts = TracedNodeFacts(program, style),
      .style = style,
      .top_name = GraphName(program.from->traced, 0, style),
      .first_number = static_cast<std::int64_t>(1 + program.from->traced.parameters.size() +
                                                program.from->traced.nodes.size())};
  const std::optional<std::size_t> forward_end = ForwardEnd(program.from->traced);
  return forward_end ? TwoGraphText(context, *forward_end) : OneGraphText(context);
}

std::string ExecuteText(const LocalProgram& program, RankId rank, IrStyle style) {
  const Graph graph = strategies::SpecialiseForRank(program, rank);
  const IrContext context = {.graph = &graph,
                             .facts = LocalNodeFacts(program, graph, style),
                             .style = style,
                             .top_name = GraphName(graph, 0, style),
                             .label_prefix = "equiv",
                             .first_number = static_cast<std::int64_t>(
                                 1 + program.from->traced.parameters.size() +
                                 program.from->traced.nodes.size() + graph.nodes.size()),
                             .full_names = true,
                             .places = true};
  return OneGraphText(context);
}

std::vector<IrFile> IrFiles(const LocalProgram& program, RankId rank, IrStyle style) {
  return {{.name = NumberedName(kBegin, 0), .text = StepParallelBeginText(program, style)},
          {.name = NumberedName(ExecuteName(style), 1), .text = ExecuteText(program, rank, style)}};
}

std::vector<std::string> AllIrNames() {
  return {NumberedName(kBegin, 0), NumberedName(ExecuteName(IrStyle::kR20), 1),
          NumberedName(ExecuteName(IrStyle::k2025), 1)};
}

std::vector<sim::GraphDump> ScriptDumps(const LocalProgram& program, RankId rank) {
  const std::string begin = StepParallelBeginText(program, IrStyle::k2025);
  std::vector<sim::GraphDump> dumps = {{.name = "step_auto_parallel_begin", .text = begin},
                                       {.name = "step_parallel_begin", .text = begin}};
  LocalProgram forward{.from = program.from};
  if (Result<Graph> graph = strategies::BuildForwardProgram(
          *program.from, strategies::ClassifyNodes(program.from->traced))) {
    forward.local = std::move(*graph);
    dumps.push_back(
        {.name = "step_parallel_end", .text = ExecuteText(forward, rank, IrStyle::k2025)});
  }
  dumps.push_back({.name = "21_validate", .text = ExecuteText(program, rank, IrStyle::k2025)});
  return dumps;
}

std::string IrFolder(const LocalProgram& program, RankId rank) {
  return program.from->config.world_size > 1 ? "rank_" + std::to_string(ToInt(rank))
                                             : std::string();
}

}  // namespace drydock::reports
