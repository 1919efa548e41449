#include <algorithm>
#include <map>

#include "reports/ir_nodes.h"
#include "strategies/layout/group_name.h"
#include "strategies/rules/known_ops.h"

namespace drydock::reports {
namespace {

using strategies::CommReason;
using strategies::Graph;
using strategies::Node;
using strategies::Phase;

std::string Hashed(const std::string& name, std::int64_t index) {
  return std::to_string(strategies::NameHash(name + "_" + std::to_string(index)));
}

/// Node that produces the first operand, null for inputs, parameters and constants.
const Node* ProducerOf(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.inputs.front() == strategies::kNoValue) {
    return nullptr;
  }
  const NodeId producer = graph.at(node.inputs.front()).producer;
  return producer == strategies::kNoNode ? nullptr : &graph.at(producer);
}

class Namer {
 public:
  Namer(const strategies::CompiledProgram& program, const Graph& graph)
      : graph_(graph), traced_names_(strategies::FullNames(program.traced)) {
    for (const Node& node : graph.nodes) {
      if (node.reason == CommReason::kPartialSum && node.phase == Phase::kForward) {
        ++forward_left_[node.origin];
      }
    }
  }

  [[nodiscard]] std::string Name(const Node& node) {
    if (!node.instance_name.empty() && node.reason == CommReason::kNone) {
      return node.instance_name;
    }
    switch (node.reason) {
      case CommReason::kPartialSum:
        return ForwardName(node);
      case CommReason::kRedistribution:
        return RedistributionName(node);
      case CommReason::kParameterGradient:
        return "grad_mirror" + std::string(strategies::ops::kMirror);
      case CommReason::kBackwardOfForward:
        return BackwardName(node);
      default:
        return node.instance_name;
    }
  }

 private:
  [[nodiscard]] std::string TracedName(NodeId origin) const {
    return origin == strategies::kNoNode ? std::string() : traced_names_[ToIndex(origin)];
  }

  /// The operators behind one forward node count from the last (0) backwards.
  [[nodiscard]] std::string ForwardName(const Node& node) {
    const std::int64_t index = --forward_left_[node.origin];
    std::string name = "forward_op_" + Hashed(TracedName(node.origin), index);
    last_collective_[node.origin] = name;
    return name;
  }

  /// Named after the producer at the head of the chain and the position in the chain.
  [[nodiscard]] std::string RedistributionName(const Node& node) {
    std::int64_t index = 0;
    const Node* producer = ProducerOf(graph_, node);
    while (producer != nullptr && producer->reason == CommReason::kRedistribution) {
      ++index;
      producer = ProducerOf(graph_, *producer);
    }
    const std::string producer_name =
        producer == nullptr ? std::string() : TracedName(producer->origin);
    std::string name = "redistribution_op_" + Hashed(producer_name, index) + node.op;
    if (node.group) {
      last_collective_[node.origin] = name;
    }
    return name;
  }

  [[nodiscard]] std::string BackwardName(const Node& node) const {
    const auto forward = last_collective_.find(node.origin);
    if (forward == last_collective_.end()) {
      return node.instance_name;
    }
    return (node.op == strategies::ops::kAllReduce ? "grad" : "grad_") + forward->second;
  }

  const Graph& graph_;
  std::vector<std::string> traced_names_;
  std::map<NodeId, std::int64_t> forward_left_;
  std::map<NodeId, std::string> last_collective_;
};

}  // namespace

std::vector<std::string> InstanceNames(const strategies::CompiledProgram& program,
                                       const Graph& graph) {
  Namer namer(program, graph);
  std::vector<std::string> names;
  names.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    names.push_back(namer.Name(node));
  }
  return names;
}

}  // namespace drydock::reports
