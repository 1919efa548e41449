#include "strategies/passes/prepare/rewrite.h"

#include <algorithm>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

namespace drydock::strategies {
namespace {

bool HasKind(const Node& node, OpKind kind) {
  return node.entry != nullptr && node.entry->kind == kind;
}

ValueId Follow(const std::vector<ValueId>& replacement, ValueId id) {
  while (id != kNoValue && replacement[ToIndex(id)] != kNoValue) {
    id = replacement[ToIndex(id)];
  }
  return id;
}

/// Moves the values that survive and remembers their new ids.
class ValueMover {
 public:
  ValueMover(Graph& from, Graph& to) : from_(from), to_(to), map_(from.values.size(), kNoValue) {}

  ValueId Move(ValueId id) {
    if (id == kNoValue || map_[ToIndex(id)] != kNoValue) {
      return id == kNoValue ? kNoValue : map_[ToIndex(id)];
    }
    map_[ToIndex(id)] = ValueId{static_cast<std::int32_t>(to_.values.size())};
    to_.values.push_back(std::move(from_.values[ToIndex(id)]));
    return map_[ToIndex(id)];
  }

  [[nodiscard]] ValueId MapOf(ValueId id) const {
    return id == kNoValue ? kNoValue : map_[ToIndex(id)];
  }

 private:
  Graph& from_;
  Graph& to_;
  std::vector<ValueId> map_;
};

void MoveDetails(Graph& from, const ValueMover& mover, Graph& to) {
  for (const Parameter& parameter : from.parameters) {
    const ValueId id = mover.MapOf(parameter.value);
    if (id != kNoValue) {
      to.values[ToIndex(id)].detail = static_cast<std::int32_t>(to.parameters.size());
      to.parameters.push_back(parameter);
      to.parameters.back().value = id;
      to.parameters.back().state_of = mover.MapOf(parameter.state_of);
    }
  }
  for (Constant& constant : from.constants) {
    const ValueId id = mover.MapOf(constant.value);
    if (id != kNoValue) {
      to.values[ToIndex(id)].detail = static_cast<std::int32_t>(to.constants.size());
      to.constants.push_back(std::move(constant));
      to.constants.back().value = id;
    }
  }
}

bool IsLive(const Node& node, const std::vector<bool>& live_values) {
  const bool writes = node.entry != nullptr && !node.entry->writes.empty();
  return HasKind(node, OpKind::kUpdate) || writes || node.attrs.contains(kAfterStep) ||
         PointToPointOf(node) == PointToPoint::kSends || node.attrs.contains(kRunsUnread) ||
         std::ranges::any_of(node.outputs, [&](ValueId id) { return live_values[ToIndex(id)]; });
}

/// Which of the nodes with keep[n] reach an output or a parameter, operands replaced.
std::vector<bool> LiveNodes(const Graph& graph, const std::vector<bool>& keep,
                            const std::vector<ValueId>& replacement) {
  std::vector<bool> live_values(graph.values.size(), false);
  for (const ValueId output : graph.outputs) {
    live_values[ToIndex(Follow(replacement, output))] = true;
  }
  std::vector<bool> live(graph.nodes.size(), false);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    live[n] = keep[n] && IsLive(graph.nodes[n], live_values);
    if (live[n]) {
      for (const ValueId input : graph.nodes[n].inputs) {
        if (input != kNoValue) {
          live_values[ToIndex(Follow(replacement, input))] = true;
        }
      }
    }
  }
  return live;
}

bool OnlySteers(const Node& node) {
  return node.entry != nullptr && node.entry->steers;
}

/// Forward result of an operator whose first dimension divides.
bool TakesOutputNode(const Graph& graph, const std::vector<Region>& regions, ValueId id,
                     std::int64_t device_count) {
  const Value& value = graph.at(id);
  return value.kind == ValueKind::kOutput && !value.type.shape.empty() &&
         value.type.shape[0] % device_count == 0 &&
         regions[ToIndex(value.producer)] == Region::kForward &&
         !OnlySteers(graph.at(value.producer));
}

/// A state of the optimizer or a sum of gradients: what reads it belongs to no network.
bool IsState(const Graph& graph, ValueId id) {
  const Value& value = graph.at(id);
  if (value.kind != ValueKind::kParameter) {
    return false;
  }
  const ParameterRole role = graph.parameters[static_cast<std::size_t>(value.detail)].role;
  return role == ParameterRole::kOptimizerState || role == ParameterRole::kAccumulatedGradient;
}

}  // namespace

std::vector<Region> ClassifyNodes(const Graph& graph) {
  std::vector<bool> after_gradient(graph.values.size(), false);
  std::vector<Region> regions(graph.nodes.size(), Region::kForward);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool depends = std::ranges::any_of(node.inputs, [&](ValueId id) {
      return id != kNoValue && (after_gradient[ToIndex(id)] || IsState(graph, id));
    });
    if (HasKind(node, OpKind::kGradient)) {
      regions[n] = Region::kGradient;
    } else if (node.attrs.contains(kOwnBackward)) {
      regions[n] = Region::kPost;  // on slices as they are, and a model for what backward does
      continue;
    } else if (depends || HasKind(node, OpKind::kUpdate) || node.phase == Phase::kOptimizer) {
      regions[n] = Region::kPost;
    }
    // What is written in front of the loss (a counter, a cache) may be read in front of it.
    const bool before = !depends && node.phase == Phase::kForward;
    if (regions[n] == Region::kGradient || (regions[n] == Region::kPost && !before)) {
      for (const ValueId output : node.outputs) {
        after_gradient[ToIndex(output)] = true;
      }
    }
  }
  return regions;
}

Graph Rewrite(Graph graph, const std::vector<bool>& keep, const std::vector<ValueId>& replacement) {
  Graph result{.name = std::move(graph.name), .stacks = std::move(graph.stacks)};
  result.values.reserve(graph.values.size());
  ValueMover mover(graph, result);
  for (const ValueId input : graph.inputs) {
    result.inputs.push_back(mover.Move(input));
  }
  // Nodes close ranks where they are: of large graphs there is never a second list.
  result.nodes = std::move(graph.nodes);
  std::size_t kept = 0;
  for (std::size_t n = 0; n < result.nodes.size(); ++n) {
    if (!keep[n]) {
      continue;
    }
    Node& node = result.nodes[n];
    for (ValueId& input : node.inputs) {
      input = mover.Move(Follow(replacement, input));
    }
    for (ValueId& output : node.outputs) {
      output = mover.Move(output);
      result.values[ToIndex(output)].producer = NodeId{static_cast<std::int32_t>(kept)};
    }
    if (kept != n) {
      result.nodes[kept] = std::move(node);
    }
    ++kept;
  }
  result.nodes.resize(kept);
  for (const ValueId output : graph.outputs) {
    result.outputs.push_back(mover.Move(Follow(replacement, output)));
  }
  MoveDetails(graph, mover, result);
  return result;
}

Graph RemoveDeadNodes(Graph graph) {
  const std::vector<ValueId> same(graph.values.size(), kNoValue);
  const std::vector<bool> live =
      LiveNodes(graph, std::vector<bool>(graph.nodes.size(), true), same);
  return Rewrite(std::move(graph), live, same);
}

Graph CleanLocal(Graph graph, bool all) {
  std::vector<ValueId> replacement(graph.values.size(), kNoValue);
  std::vector<bool> keep(graph.nodes.size(), true);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (OnlySteers(node) && (all || !IsInRecomputedScope(node))) {
      replacement[ToIndex(node.outputs.front())] = node.inputs.front();
      keep[n] = false;
    }
  }
  const std::vector<bool> live = LiveNodes(graph, keep, replacement);
  return Rewrite(std::move(graph), live, replacement);
}

Graph InsertDatasetNode(Graph graph) {
  const bool there = std::ranges::any_of(
      graph.nodes, [](const Node& node) { return HasKind(node, OpKind::kDataset); });
  if (graph.inputs.empty() || there) {
    return graph;
  }
  Node dataset{.op = std::string(ops::kVirtualDataset),
               .entry = FindOp(ops::kVirtualDataset),
               .inputs = graph.inputs,
               .scope = "Default"};
  DRYDOCK_CHECK(dataset.entry != nullptr);
  std::vector<ValueId> fed(graph.values.size(), kNoValue);
  graph.values.reserve(graph.values.size() + graph.inputs.size());
  for (const ValueId input : graph.inputs) {
    const ValueId output{static_cast<std::int32_t>(graph.values.size())};
    fed[ToIndex(input)] = output;
    graph.values.push_back({.kind = ValueKind::kOutput,
                            .type = graph.at(input).type,
                            .producer = NodeId{-1},
                            .output_index = static_cast<std::int32_t>(dataset.outputs.size())});
    dataset.outputs.push_back(output);
  }
  for (Node& node : graph.nodes) {
    for (ValueId& input : node.inputs) {
      input = input != kNoValue && fed[ToIndex(input)] != kNoValue ? fed[ToIndex(input)] : input;
    }
  }
  // One of several results may be an input; an input that is the only result stays what it is.
  if (graph.outputs.size() > 1) {
    for (ValueId& output : graph.outputs) {
      output = fed[ToIndex(output)] != kNoValue ? fed[ToIndex(output)] : output;
    }
  }
  graph.nodes.reserve(graph.nodes.size() + 1);
  graph.nodes.insert(graph.nodes.begin(), std::move(dataset));
  for (Value& value : graph.values) {
    if (value.kind == ValueKind::kOutput) {
      value.producer = NodeId{static_cast<std::int32_t>(ToInt(value.producer)) + 1};
    }
  }
  return graph;
}

Graph AppendOutputNodes(Graph graph, const std::vector<Region>& regions, std::int64_t device_count,
                        bool full_batch) {
  for (ValueId& output : graph.outputs) {
    if (!TakesOutputNode(graph, regions, output, full_batch ? 1 : device_count)) {
      continue;
    }
    const ValueId result{static_cast<std::int32_t>(graph.values.size())};
    const NodeId id{static_cast<std::int32_t>(graph.nodes.size())};
    graph.nodes.push_back({.op = std::string(ops::kVirtualOutput),
                           .entry = FindOp(ops::kVirtualOutput),
                           .inputs = {output},
                           .outputs = {result},
                           .attrs = {{"full_batch", full_batch}},
                           .scope = "Default",
                           .place = graph.at(graph.at(output).producer).place,
                           .stage = graph.at(graph.at(output).producer).stage,
                           .segment = graph.at(graph.at(output).producer).segment});
    graph.values.push_back(
        {.kind = ValueKind::kOutput, .type = graph.at(output).type, .producer = id});
    output = result;
  }
  return graph;
}

}  // namespace drydock::strategies
