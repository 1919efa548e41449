#include "strategies/passes/communicate/fuse.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "strategies/passes/communicate/fusion_groups.h"

namespace drydock::strategies {
namespace {

/// Tensors named in the reason of a fused collective before "and n more".
constexpr std::size_t kNamedTensors = 3;
/// Attribute: the parameter that a collective is for; a list of those of a fused one.
constexpr const char* kOfParameter = "parameter";

using Segment = std::vector<std::size_t>;  ///< Node indices in the order of the operands.

Node FusedNode(const Graph& graph, const Segment& members) {
  Node fused = graph.nodes[members.front()];
  fused.inputs.clear();
  fused.outputs.clear();
  fused.reason_text.clear();
  Attr::List parameters = {};
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Node& member = graph.nodes[members[i]];
    fused.inputs.insert(fused.inputs.end(), member.inputs.begin(), member.inputs.end());
    fused.outputs.insert(fused.outputs.end(), member.outputs.begin(), member.outputs.end());
    if (const auto of = member.attrs.find(kOfParameter); of != member.attrs.end()) {
      parameters.push_back(of->second);
    }
    if (i < kNamedTensors) {
      fused.reason_text += (i > 0 ? "; " : "") + member.reason_text;
    }
  }
  if (members.size() > kNamedTensors) {
    fused.reason_text += "; and " + std::to_string(members.size() - kNamedTensors) + " more";
  }
  if (!parameters.empty()) {
    fused.attrs.insert_or_assign(kOfParameter, Attr(std::move(parameters)));
  }
  return fused;
}

/// Who uses the results of each of some nodes.
struct Consumers {
  std::vector<std::size_t> first = {};     ///< Those of node n begin at list[first[n]].
  std::vector<std::size_t> list = {};      ///< Once for every operand.
  std::vector<std::size_t> operands = {};  ///< Of each node, results of other nodes only.
};

Consumers ConsumersOf(const std::vector<Node*>& nodes, std::size_t value_count) {
  constexpr std::size_t kLeaf = static_cast<std::size_t>(-1);
  std::vector<std::size_t> producer(value_count, kLeaf);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const ValueId output : nodes[n]->outputs) {
      producer[ToIndex(output)] = n;
    }
  }
  const auto for_each_edge = [&](auto visit) {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      for (const ValueId input : nodes[n]->inputs) {
        if (input != kNoValue && producer[ToIndex(input)] != kLeaf) {
          visit(producer[ToIndex(input)], n);
        }
      }
    }
  };
  Consumers consumers{.first = std::vector<std::size_t>(nodes.size() + 1, 0),
                      .operands = std::vector<std::size_t>(nodes.size(), 0)};
  for_each_edge([&](std::size_t from, std::size_t to) {
    ++consumers.first[from + 1];
    ++consumers.operands[to];
  });
  std::partial_sum(consumers.first.begin(), consumers.first.end(), consumers.first.begin());
  consumers.list.resize(consumers.first.back());
  std::vector<std::size_t> next = consumers.first;
  for_each_edge([&](std::size_t from, std::size_t to) { consumers.list[next[from]++] = to; });
  return consumers;
}

/// Order of `nodes` in which operands come first, otherwise by `position`; empty if there is a
/// cycle.
std::vector<std::size_t> Schedule(const std::vector<Node*>& nodes, std::size_t value_count,
                                  const std::vector<std::size_t>& position) {
  const Consumers consumers = ConsumersOf(nodes, value_count);
  std::vector<std::size_t> missing = consumers.operands;
  const auto later = [&position](std::size_t a, std::size_t b) {
    return position[a] > position[b];
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> ready(later);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (missing[n] == 0) {
      ready.push(n);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t n = ready.top();
    ready.pop();
    order.push_back(n);
    for (std::size_t i = consumers.first[n]; i < consumers.first[n + 1]; ++i) {
      if (--missing[consumers.list[i]] == 0) {
        ready.push(consumers.list[i]);
      }
    }
  }
  return order.size() == nodes.size() ? order : std::vector<std::size_t>{};
}

/// Keeps the nodes at `slots`, in that order.
void PutInOrder(Graph& graph, const std::vector<std::size_t>& slots) {
  std::vector<Node> moved;
  // Nodes usually keep their order and close ranks where they are, without a second list.
  const bool in_place = std::ranges::is_sorted(slots);
  std::vector<Node>& target = in_place ? graph.nodes : moved;
  target.resize(in_place ? graph.nodes.size() : slots.size());
  for (std::size_t n = 0; n < slots.size(); ++n) {
    if (!in_place || slots[n] != n) {
      target[n] = std::move(graph.nodes[slots[n]]);
    }
    for (std::size_t i = 0; i < target[n].outputs.size(); ++i) {
      Value& value = graph.values[ToIndex(target[n].outputs[i])];
      value.producer = NodeId{static_cast<std::int32_t>(n)};
      value.output_index = static_cast<std::int32_t>(i);
    }
  }
  target.resize(slots.size());
  if (!in_place) {
    graph.nodes = std::move(moved);
  }
}

Graph Join(Graph local, const std::vector<Segment>& segments) {
  std::vector<bool> replaced(local.nodes.size(), false);
  std::vector<Node> fused;
  fused.reserve(segments.size());  // `nodes` points into it
  std::vector<Node*> nodes;
  std::vector<std::size_t> position;
  for (const Segment& segment : segments) {
    fused.push_back(FusedNode(local, segment));
    nodes.push_back(&fused.back());
    position.push_back(std::ranges::max(segment));
    for (const std::size_t member : segment) {
      replaced[member] = true;
    }
  }
  for (std::size_t n = 0; n < local.nodes.size(); ++n) {
    if (!replaced[n]) {
      nodes.push_back(&local.nodes[n]);
      position.push_back(n);
    }
  }
  const std::vector<std::size_t> order = Schedule(nodes, local.values.size(), position);
  if (order.empty()) {
    return local;  // two fused collectives would wait for each other: keep them apart
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    local.nodes[position[i]] = std::move(fused[i]);
  }
  std::vector<std::size_t> slots;
  slots.reserve(order.size());
  for (const std::size_t n : order) {
    slots.push_back(position[n]);
  }
  PutInOrder(local, slots);
  return local;
}

}  // namespace

Graph FuseCollectives(Graph local, const JobConfig& config) {
  const std::vector<Segment> segments = FusionGroups(local, config);
  if (!segments.empty()) {
    local = Join(std::move(local), segments);
  }
  SettleScatteredSums(local, config);
  return local;
}

}  // namespace drydock::strategies
