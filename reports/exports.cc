#include "reports/exports.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "reports/json_writer.h"
#include "sim/fleet/tensor_facts.h"
#include "strategies/graph/dtype.h"

namespace drydock::reports {
namespace {

using strategies::Graph;

/// Layers of a graph in the order of their first operator, and what passes between them.
struct Layers {
  std::vector<std::string> names = {};
  std::vector<std::int64_t> operators = {};
  struct Edge {
    std::int64_t tensors = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::pair<std::size_t, std::size_t>, Edge> edges = {};
};

Layers LayersOf(const Graph& graph) {
  Layers layers;
  std::map<std::string_view, std::size_t> index;
  std::vector<std::size_t> layer_of(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const std::string_view layer = sim::LayerOf(sim::ScopeOfNetwork(graph.nodes[n].scope));
    const auto [found, added] = index.emplace(layer, layers.names.size());
    if (added) {
      layers.names.emplace_back(layer);
      layers.operators.push_back(0);
    }
    layer_of[n] = found->second;
    ++layers.operators[found->second];
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId input : graph.nodes[n].inputs) {
      if (input == strategies::kNoValue || graph.at(input).producer == strategies::kNoNode) {
        continue;
      }
      const std::size_t from = layer_of[ToIndex(graph.at(input).producer)];
      if (from != layer_of[n]) {
        Layers::Edge& edge = layers.edges[{from, layer_of[n]}];
        ++edge.tensors;
        edge.bytes = AddSaturated(edge.bytes, strategies::ByteSize(graph.at(input).type));
      }
    }
  }
  return layers;
}

}  // namespace

std::string MemoryTraceText(const ProfileReport& profile) {
  std::string text =
      "{\"schema\":\"drydock.memory_trace/1\",\"run\":" + QuotedText(profile.run.id) +
      ",\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  bool first = true;
  const auto next = [&] {
    text += first ? "\n" : ",\n";
    first = false;
  };
  for (std::size_t c = 0; c < profile.classes.size(); ++c) {
    const ClassProfileReport& item = profile.classes[c];
    const std::string process = ",\"pid\":" + std::to_string(c);
    next();
    text += "{\"ph\":\"M\",\"name\":\"process_name\"" + process + ",\"args\":{\"name\":" +
            QuotedText("stage " + std::to_string(item.stage) + ", ranks " + item.ranks) + "}}";
    for (std::size_t i = 0; i < item.kernels.size(); ++i) {
      const std::string time = ",\"ts\":" + std::to_string(item.kernels[i].kernel);
      next();
      text += "{\"ph\":\"C\",\"name\":\"memory\"" + process + time + ",\"args\":{";
      for (std::size_t p = 0; p < item.parts.size(); ++p) {
        text += (p == 0 ? "" : ",") + QuotedText(item.parts[p].part) + ":" +
                std::to_string(item.parts[p].bytes[i]);
      }
      text += "}}";
      next();
      text += "{\"ph\":\"X\",\"name\":" + QuotedText(item.kernels[i].kind) + process +
              ",\"tid\":" + std::to_string(item.kernels[i].stream) + time +
              ",\"dur\":1,\"args\":{\"operator\":" + QuotedText(item.kernels[i].name) +
              ",\"line\":" + QuotedText(ShortPlaceText(item.kernels[i].place)) + "}}";
    }
  }
  return text + "\n]}\n";
}

std::string GraphDot(const RunReport& run, const strategies::LocalProgram& program) {
  const Layers layers = LayersOf(program.from->traced);
  std::string text =
      "// \"drydock.dot/1\", run " + run.id +
      "\ndigraph network {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n"
      "  edge [fontname=\"sans-serif\", fontsize=10];\n";
  for (std::size_t i = 0; i < layers.names.size(); ++i) {
    const std::string label = layers.names[i].empty() ? "-" : layers.names[i];
    text += "  n" + std::to_string(i) + " [label=" +
            QuotedText(label + "\n" + std::to_string(layers.operators[i]) + " operators") + "];\n";
  }
  for (const auto& [ends, edge] : layers.edges) {
    text += "  n" + std::to_string(ends.first) + " -> n" + std::to_string(ends.second) +
            " [label=" +
            QuotedText(std::to_string(edge.tensors) +
                       (edge.tensors == 1 ? " tensor, " : " tensors, ") + BytesText(edge.bytes)) +
            "];\n";
  }
  return text + "}\n";
}

}  // namespace drydock::reports
