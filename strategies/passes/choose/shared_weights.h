#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/passes/choose/propagation_graph.h"
#include "strategies/program/traced_plan.h"

namespace drydock::strategies {

/// A weight that several operators of the forward part use.
struct SharedWeight {
  /// Where an operator wants the weight.
  struct Use {
    NodeId consumer = kNoNode;
    std::size_t operand = 0;
    bool converted = false;  ///< Through a Cast, behind which it may be redistributed.
  };
  ValueId parameter = kNoValue;
  std::vector<Use> uses = {};  ///< In node order.
};

/// Weights with more than one use among the operators that the search works on; operators behind
/// one Cast count as one. Source: mindspore/ccsrc/frontend/parallel/step_auto_parallel.cc
/// (AugmentCostGraph)
[[nodiscard]] std::vector<SharedWeight> FindSharedWeights(const Graph& graph,
                                                          const std::vector<Region>& regions);

/// Appends one node per shared weight, which passes it on as it is: the k-th one is node
/// `graph.nodes.size() + k` of the graph that was given.
[[nodiscard]] Graph WithWeightNodes(Graph graph, const std::vector<SharedWeight>& weights);

/// What a search works on: the graph with its weight nodes, and which region each node is in.
struct SearchedGraph {
  const Graph& graph;
  const std::vector<Region>& regions;
  const std::vector<SharedWeight>& weights;
};

/// Lets `search` choose on the graph with its weight nodes. They have no plan afterwards.
[[nodiscard]] Status SearchWithWeights(
    const Graph& graph, const std::vector<Region>& regions, Assignment& assignment,
    const std::function<Status(const SearchedGraph&, Assignment&)>& search);

/// Connects the last nodes of the graph, one per weight, with the operators that use it. No
/// redistribution is wanted on these connections.
void ConnectWeights(const Graph& graph, const std::vector<SharedWeight>& weights,
                    PropagationGraph& links);

}  // namespace drydock::strategies
