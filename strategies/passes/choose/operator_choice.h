#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "base/result.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/passes/choose/cost_memory.h"
#include "strategies/passes/choose/decision_cache.h"
#include "strategies/passes/choose/layout_candidates.h"
#include "strategies/passes/choose/propagation_graph.h"

namespace drydock::strategies {

/// Decides operators one by one while strategies are propagated.
///
/// Source: mindspore ccsrc/frontend/parallel/auto_parallel/graph_costmodel.cc.
class OperatorChoice {
 public:
  /// Graph, configuration, connections and assignment outlive the choice, which writes to the last
  /// two.
  OperatorChoice(const Graph& graph, const JobConfig& config, PropagationGraph& links,
                 Assignment& assignment)
      : graph_(graph),
        config_(config),
        links_(links),
        assignment_(assignment),
        costs_(config.enable_alltoall, config.compat > kOldSearch) {}

  [[nodiscard]] bool Decided(NodeId id) const;
  /// By the user.
  [[nodiscard]] bool IsGiven(NodeId id) const;
  /// Of a decided operator.
  [[nodiscard]] const OpSharding& ShardingOf(NodeId id) const;
  /// Layout that the decided consumer wants at the end of a connection.
  [[nodiscard]] const TensorLayout& WantedBy(std::size_t e) const;
  /// Layout in which a connection's decided producer leaves the tensor.
  [[nodiscard]] const TensorLayout& LeftBy(std::size_t e) const;
  /// Tensor operands that are there.
  [[nodiscard]] std::size_t OperandCount(NodeId id) const;

  /// Decides an operator from its visited connections, or as the same question was answered before.
  /// Where no candidate goes without a redistribution that is not wanted, one with it is taken.
  /// @param by_one_edge  the rule for a single connection is used
  /// @error kInvalidArgument  no strategy of the operator is legal
  [[nodiscard]] Status Answer(NodeId id, const std::vector<std::size_t>& edges, bool by_one_edge);

  /// The same whatever was answered or decided before.
  [[nodiscard]] Status DecideBy(NodeId id, const std::vector<std::size_t>& edges, bool by_one_edge);

  /// Takes one candidate. @error kInvalidArgument  there is none (null)
  [[nodiscard]] Status DecideBest(NodeId id, const Candidate* best);

  /// Notes what was decided.
  void Decide(NodeId id, SharedValue<OpSharding> sharding);

  /// Takes the first candidate with exactly this layout at the operator's end of a connection, or
  /// as the same question was answered before. False if there is none.
  [[nodiscard]] Result<bool> TakeLayout(NodeId id, const PropagationEdge& edge,
                                        const TensorLayout& wanted);

  /// Remembers what a connection between two decided operators costs: this may be the first tensor
  /// between their layouts.
  void NoteCost(std::size_t e);

  /// A weight's node lies as the operator that asks wants it.
  void DecideWeight(NodeId id, const TensorLayout& layout);

 private:
  [[nodiscard]] Result<SharedValue<OpSharding>> WithLayout(NodeId id, const PropagationEdge& edge,
                                                           const TensorLayout& wanted) const;
  [[nodiscard]] DecisionQuestion QuestionOf(NodeId id, const std::vector<std::size_t>& edges,
                                            bool by_one_edge) const;
  bool RelaxIdentity(const std::vector<std::size_t>& edges);
  [[nodiscard]] std::vector<EdgeCost> CostsWith(NodeId id, const std::vector<std::size_t>& edges,
                                                const std::vector<Candidate>& candidates);
  [[nodiscard]] bool OffersLayout(NodeId id) const;
  [[nodiscard]] OfferedLayouts OffersTo(NodeId id, const std::vector<std::size_t>& edges) const;
  [[nodiscard]] Result<std::vector<Candidate>> CandidatesFor(
      NodeId id, const std::vector<std::size_t>& edges) const;

  const Graph& graph_;
  const JobConfig& config_;
  PropagationGraph& links_;
  Assignment& assignment_;
  CostMemory costs_;
  DecisionCache cache_;
  std::set<NodeId> offering_;  ///< Decided by the search, and neighbours may take their layouts.
};

}  // namespace drydock::strategies
