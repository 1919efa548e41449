#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/result.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/passes/choose/cost_memory.h"
#include "strategies/passes/choose/decision_cache.h"
#include "strategies/passes/choose/propagation_graph.h"

namespace drydock::strategies {

/// Equal but for device axes of extent 1, as the reference compares layouts.
[[nodiscard]] bool SameForm(const TensorLayout& a, const TensorLayout& b);

/// Layouts in front of and behind a Reshape.
struct ReshapeLayouts {
  TensorLayout input = {};
  TensorLayout output = {};
  friend bool operator==(const ReshapeLayouts&, const ReshapeLayouts&) = default;
};

/// How layouts pass a Reshape while strategies are propagated.
///
/// It has pairs of layouts: one its producer can leave by, one some consumer can enter by. A
/// decided neighbour fixes one side; of the pairs with this side the one of least computation
/// without communication, or else the one of least communication, fixes the other side.
/// Source: mindspore auto_parallel/graph_costmodel.cc, ops_info/reshape_info.cc
class ReshapeChoice {
 public:
  /// @param given  plans before anything was propagated: these operators have one candidate
  ReshapeChoice(const Graph& graph, const PropagationGraph& links, const JobConfig& config,
                const Assignment& given);

  /// Costs of all pairs of all Reshapes in their order: the first tensor between two layouts
  /// decides what the others cost.
  [[nodiscard]] Status NoteCosts();

  /// @param reshape        node of kind kReshape
  /// @param fixed          layout at the end of the decided neighbour
  /// @param from_producer  the decided neighbour is the producer
  /// @return nullopt if no pair has this layout
  [[nodiscard]] Result<std::optional<ReshapeLayouts>> Choose(NodeId reshape,
                                                             const TensorLayout& fixed,
                                                             bool from_producer);

 private:
  /// Everything a choice depends on.
  struct Question {
    bool from_producer = true;
    TensorLayout fixed = {};
    std::vector<DecisionQuestion> neighbours = {};  ///< The Reshape itself stands first.
    friend bool operator==(const Question&, const Question&) = default;
  };
  struct Known {
    Question question = {};
    std::optional<ReshapeLayouts> answer = {};
  };

  [[nodiscard]] Question QuestionOf(NodeId reshape, const TensorLayout& fixed,
                                    bool from_producer) const;
  [[nodiscard]] Result<std::vector<TensorLayout>> LayoutsAt(const PropagationEdge& edge,
                                                            bool incoming) const;
  [[nodiscard]] Result<std::vector<TensorLayout>> Entries(NodeId reshape, bool incoming) const;
  [[nodiscard]] Result<std::vector<ReshapeLayouts>> OwnPairs(const Node& reshape) const;
  [[nodiscard]] Result<std::vector<ReshapeLayouts>> PairsOf(NodeId reshape) const;
  [[nodiscard]] DType DTypeOf(NodeId reshape) const;
  [[nodiscard]] std::vector<EdgeCost> CostsOf(NodeId reshape,
                                              const std::vector<ReshapeLayouts>& pairs);
  [[nodiscard]] Result<std::optional<ReshapeLayouts>> Search(NodeId reshape,
                                                             const TensorLayout& fixed,
                                                             bool from_producer);

  const Graph& graph_;
  const PropagationGraph& links_;
  const JobConfig& config_;
  std::vector<SharedValue<OpSharding>> given_;
  CostMemory costs_;
  std::vector<Known> known_;  ///< A ring of the latest answers: layers ask the same again.
  std::size_t oldest_ = 0;
};

}  // namespace drydock::strategies
