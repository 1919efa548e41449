#include "strategies/program/collectives.h"

#include <algorithm>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/windows/halo.h"

namespace drydock::strategies {
namespace {

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Bytes one rank sends in a ring algorithm. Source: spec capacity-model, collective volumes.
std::int64_t SentBytes(const Node& node, std::int64_t payload_bytes, std::int64_t group_size) {
  if (group_size <= 1) {
    return 0;
  }
  const std::int64_t n = group_size;
  if (node.op == ops::kAllReduce) {
    return CeilDiv(2 * (n - 1) * payload_bytes, n);
  }
  if (node.op == ops::kAllGather) {
    return (n - 1) * payload_bytes;
  }
  if (node.op == ops::kRingShift) {
    return payload_bytes;
  }
  return CeilDiv((n - 1) * payload_bytes, n);
}

bool IsExchange(const Node& node) {
  return node.op == ops::kNeighborExchange || node.op == ops::kNeighborExchangeGrad;
}

/// Adds the bytes of an exchange of border rows, which depend on the rank: at an edge there are
/// fewer neighbours.
void AddExchangeBytes(const LocalProgram& program, const Node& node, CollectiveUse& use) {
  const Result<HaloPlan> plan = HaloPlanOf(node.attrs);
  if (!plan) {
    return;
  }
  const bool backward = node.op == ops::kNeighborExchangeGrad;
  const ValueId part = backward ? node.outputs.front() : node.inputs.front();
  const TensorType& type = program.local.at(part).type;
  for (std::int64_t member = 0; member < GroupSize(use.group); ++member) {
    const std::int64_t bytes =
        HaloSentBytes(*plan, type.shape, DTypeBytes(type.dtype), member, backward);
    use.sent_bytes = member == 0 ? bytes : std::max(use.sent_bytes, bytes);
    use.least_sent_bytes = member == 0 ? bytes : std::min(use.least_sent_bytes, bytes);
  }
}

bool IsCollective(const Node& node) {
  return node.entry != nullptr && node.entry->kind == OpKind::kCollective && node.group.has_value();
}

std::int64_t PayloadBytes(const Graph& graph, const Node& node) {
  std::int64_t bytes = 0;
  for (const ValueId input : node.inputs) {
    bytes += input == kNoValue ? 0 : ByteSize(graph.at(input).type);
  }
  return bytes;
}

}  // namespace

bool RunsEachStep(const Node& node) {
  return BoolAttr(node.attrs, "each_step", true).value_or(true);
}

std::vector<CollectiveUse> CollectivesOf(const LocalProgram& program) {
  std::vector<CollectiveUse> uses;
  for (std::size_t n = 0; n < program.local.nodes.size(); ++n) {
    const Node& node = program.local.nodes[n];
    if (IsCollective(node) && RunsEachStep(node)) {
      const std::int64_t payload_bytes = PayloadBytes(program.local, node);
      uses.push_back({.node = NodeId{static_cast<std::int32_t>(n)},
                      .group = *node.group,
                      .payload_bytes = payload_bytes,
                      .sent_bytes = SentBytes(node, payload_bytes, GroupSize(*node.group))});
      uses.back().least_sent_bytes = uses.back().sent_bytes;
      if (IsExchange(node)) {
        AddExchangeBytes(program, node, uses.back());
      }
    }
  }
  return uses;
}

}  // namespace drydock::strategies
