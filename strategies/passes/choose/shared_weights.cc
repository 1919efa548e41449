#include "strategies/passes/choose/shared_weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/wanted_layout.h"

namespace drydock::strategies {
namespace {

/// The parameter an operand is, behind operators that pass layouts on.
struct WeightSource {
  ValueId parameter = kNoValue;
  NodeId cast = kNoNode;  ///< The Cast nearest to the parameter, if there is one.
};

WeightSource WeightBehind(const Graph& graph, ValueId value) {
  WeightSource source;
  while (value != kNoValue && graph.at(value).kind == ValueKind::kOutput) {
    const Node& node = graph.at(graph.at(value).producer);
    if (!PassesLayoutOn(node)) {
      return {};
    }
    source.cast = node.entry->is_cast ? graph.at(value).producer : source.cast;
    value = node.inputs.front();
  }
  if (value != kNoValue && graph.at(value).kind == ValueKind::kParameter) {
    source.parameter = value;
  }
  return source;
}

}  // namespace

std::vector<SharedWeight> FindSharedWeights(const Graph& graph,
                                            const std::vector<Region>& regions) {
  std::map<ValueId, SharedWeight> weights;
  // What the reference counts as users: operators by operand, or a Cast.
  std::map<ValueId, std::set<std::pair<NodeId, std::size_t>>> users;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (regions[n] != Region::kForward || !TakesPart(node)) {
      continue;
    }
    const NodeId id{static_cast<std::int32_t>(n)};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const WeightSource source = WeightBehind(graph, node.inputs[i]);
      if (source.parameter == kNoValue) {
        continue;
      }
      const bool converted = source.cast != kNoNode;
      users[source.parameter].insert(converted ? std::pair(source.cast, std::size_t{0})
                                               : std::pair(id, i));
      weights[source.parameter].uses.push_back(
          {.consumer = id, .operand = i, .converted = converted});
    }
  }
  std::vector<SharedWeight> shared;
  for (auto& [parameter, weight] : weights) {
    if (users[parameter].size() > 1) {
      weight.parameter = parameter;
      shared.push_back(std::move(weight));
    }
  }
  return shared;
}

Graph WithWeightNodes(Graph graph, const std::vector<SharedWeight>& weights) {
  const OpEntry& pass_on = *FindOp(ops::kOnesLike);
  for (const SharedWeight& weight : weights) {
    const ValueId result{static_cast<std::int32_t>(graph.values.size())};
    const NodeId node{static_cast<std::int32_t>(graph.nodes.size())};
    graph.values.push_back({.type = graph.at(weight.parameter).type, .producer = node});
    graph.nodes.push_back({.op = std::string(pass_on.name),
                           .entry = &pass_on,
                           .inputs = {weight.parameter},
                           .outputs = {result}});
  }
  return graph;
}

void ConnectWeights(const Graph& graph, const std::vector<SharedWeight>& weights,
                    PropagationGraph& links) {
  const std::size_t first = graph.nodes.size() - weights.size();
  for (std::size_t k = 0; k < weights.size(); ++k) {
    for (const SharedWeight::Use& use : weights[k].uses) {
      const Node& consumer = graph.at(use.consumer);
      links.successors[first + k].push_back(links.edges.size());
      links.predecessors[ToIndex(use.consumer)].push_back(links.edges.size());
      links.edges.push_back(
          {.producer = NodeId{static_cast<std::int32_t>(first + k)},
           .consumer = use.consumer,
           .tensor = static_cast<std::int32_t>(TensorIndex(consumer, use.operand)),
           .dtype = graph.at(consumer.inputs[use.operand]).type.dtype,
           .identity = !use.converted,
           .from_weight = true});
    }
  }
}

Status SearchWithWeights(const Graph& graph, const std::vector<Region>& regions,
                         Assignment& assignment,
                         const std::function<Status(const SearchedGraph&, Assignment&)>& search) {
  const std::vector<SharedWeight> weights = FindSharedWeights(graph, regions);
  if (weights.empty()) {
    return search({.graph = graph, .regions = regions, .weights = weights}, assignment);
  }
  const Graph augmented = WithWeightNodes(graph, weights);
  std::vector<Region> all_regions = regions;
  all_regions.resize(augmented.nodes.size(), Region::kForward);
  assignment.plans.resize(augmented.nodes.size());
  Status status =
      search({.graph = augmented, .regions = all_regions, .weights = weights}, assignment);
  assignment.plans.resize(graph.nodes.size());
  return status;
}

}  // namespace drydock::strategies
