#include "strategies/program/micro_nodes.h"

#include <algorithm>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

namespace {

/// Attribute of the cut of a batch whose pieces go to one graph.
constexpr std::string_view kSharedGraph = "shared_graph";

/// The cut of a batch; what another stage sends for each micro batch.
bool RepeatsForMicroBatches(const Node& node) {
  return node.entry->per_micro_batch ||
         (PointToPointOf(node) == PointToPoint::kReceives && !node.attrs.contains(kPassesWeight));
}

}  // namespace

std::vector<MicroPart> MicroParts(const Graph& local) {
  std::vector<MicroPart> parts(local.nodes.size(), MicroPart::kBefore);
  std::vector<MicroPart> of_value(local.values.size(), MicroPart::kBefore);
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const Node& node = local.nodes[n];
    MicroPart part = node.phase == Phase::kOptimizer ? MicroPart::kAfter : MicroPart::kBefore;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) {
        part = std::max(part, of_value[ToIndex(input)]);
      }
    }
    if (RepeatsForMicroBatches(node)) {
      part = MicroPart::kEach;
    } else if (node.entry->joins_micro_batches) {
      part = MicroPart::kAfter;
    }
    parts[n] = part;
    for (const ValueId output : node.outputs) {
      of_value[ToIndex(output)] = part;
    }
  }
  return parts;
}

bool CallsSharedGraph(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.entry->per_micro_batch && node.attrs.contains(kSharedGraph);
  });
}

bool StageCallsSharedGraph(const Graph& local) {
  return CallsSharedGraph(local) || std::ranges::any_of(local.nodes, [](const Node& node) {
           return PointToPointOf(node) != PointToPoint::kNone &&
                  node.attrs.contains(kOfSharedGraph);
         });
}

bool IsToBeRecomputed(const Node& node) {
  const auto said = node.attrs.find(kRecompute);
  return said == node.attrs.end() ? IsInRecomputedScope(node)
                                  : BoolAttr(node.attrs, kRecompute, false).value_or(false);
}

bool CallsHandOverTuples(const Graph& local) {
  std::vector<bool> of_several(local.values.size(), false);
  for (const Node& node : local.nodes) {
    const bool backward = node.phase == Phase::kBackward;
    if (backward && std::ranges::any_of(node.inputs, [&of_several](ValueId input) {
          return input != kNoValue && of_several[ToIndex(input)];
        })) {
      return true;
    }
    const bool several = node.outputs.size() > 1 && !backward && !IsToBeRecomputed(node);
    for (const ValueId output : node.outputs) {
      of_several[ToIndex(output)] = several;
    }
  }
  return false;
}

bool CallsStayApart(const Graph& local, const JobConfig& config) {
  if (!StageCallsSharedGraph(local)) {
    return false;
  }
  const auto of_later_part = [](const Node& node) { return node.segment > 0; };
  return (config.pipeline_interleave && std::ranges::any_of(local.nodes, of_later_part)) ||
         CallsHandOverTuples(local);
}

}  // namespace drydock::strategies
