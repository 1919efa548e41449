#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/passes/choose/assign.h"

namespace drydock::strategies {

/// One strategy an operator may get, with its costs in bytes per device.
struct Candidate {
  OpSharding sharding = {};
  double computation = 0;
  double forward_communication = 0;  ///< "communication without parameter", refined.
};

/// Producer -> consumer connection between two operators that have strategies or are Reshape,
/// looking through operators that pass layouts on.
struct PropagationEdge {
  NodeId producer = kNoNode;
  std::int32_t output = 0;
  NodeId consumer = kNoNode;
  std::int32_t tensor = 0;  ///< Index among the consumer's present operands.
  DType dtype = DType::kFloat32;
  /// No redistribution is wanted here: an element-wise producer under
  /// elementwise_op_strategy_follow. Source: mindspore graph_costmodel.cc.
  bool identity = false;
  bool from_weight = false;  ///< The producer stands for a weight that several operators use.
};

/// True for a member of a tuple of operands: what Concat joins.
[[nodiscard]] bool IsTupleMember(const Node& node, std::size_t operand);

/// True for operators that the search works on, Reshape included.
[[nodiscard]] bool TakesPart(const Node& node);

/// Operators and connections the search works on.
struct PropagationGraph {
  std::vector<PropagationEdge> edges = {};
  std::vector<std::vector<std::size_t>> successors = {};    ///< Edges out of each node, in order.
  std::vector<std::vector<std::size_t>> predecessors = {};  ///< Edges into each node, in order.
};

/// @param elementwise_follow  connections behind element-wise operators become identity ones
[[nodiscard]] PropagationGraph ConnectOperators(const Graph& graph,
                                                const std::vector<Region>& regions,
                                                bool elementwise_follow);

/// One way to cut an operator, with what it costs. Source: mindspore ops_info/operator_info.cc.
[[nodiscard]] Candidate CandidateWithCosts(const Node& node, const OpView& view,
                                           const JobConfig& config, OpSharding sharding);

/// All legal candidates of a node in enumeration order, with costs.
/// Source: mindspore ops_info/operator_info.cc.
[[nodiscard]] Result<std::vector<Candidate>> CandidatesOf(const Graph& graph, const Node& node,
                                                          const JobConfig& config);

/// A decided sharding as a candidate (costs of its operator are not needed any more).
[[nodiscard]] Candidate DecidedCandidate(const OpSharding& sharding);

/// Cost of one connection between two candidates.
struct EdgeCost {
  double communication = 0;
  double computation = 0;
  bool possible = true;
};

/// Messages are charged for latency: up to a threshold a constant, above it a bias (bytes).
/// Source: mindspore ccsrc/frontend/parallel/auto_parallel/graph_costmodel.cc.
[[nodiscard]] double WithLatency(double bytes);

/// Bytes of the slice of a tensor.
[[nodiscard]] double SliceBytes(const TensorLayout& layout, DType dtype);

/// The last release that searches in the older way: whole devices, its own order of costs.
inline constexpr CompatRelease kOldSearch = {.major = 2, .minor = 0};

}  // namespace drydock::strategies
