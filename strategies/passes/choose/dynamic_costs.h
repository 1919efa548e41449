#pragma once

#include <map>
#include <utility>
#include <vector>

#include "strategies/passes/choose/cost_graph.h"
#include "strategies/passes/choose/propagation_graph.h"

namespace drydock::strategies {

/// What an operator costs with one of its candidates, in MindSpore's cost model.
[[nodiscard]] StepCost CostOfStep(const Graph& graph, const Node& node, const JobConfig& config,
                                  const Candidate& candidate);

/// True if a redistribution takes tensors of more dimensions than there can be, as between layouts
/// of thousands of ranks.
[[nodiscard]] bool IsTooDeep(const TensorLayout& from, const TensorLayout& to,
                             bool enable_alltoall);

/// What Reshapes cost. The first tensor between two layouts decides for all others, whatever their
/// shapes. Source: mindspore/ccsrc/frontend/parallel/auto_parallel/graph_costmodel.cc
/// (FindReshapeCostInCache)
class ReshapeCosts {
 public:
  [[nodiscard]] StepCost Between(const TensorLayout& from, const TensorLayout& to, DType dtype,
                                 bool enable_alltoall);

 private:
  using Form = std::pair<std::vector<std::int64_t>, decltype(TensorLayout::tensor_map)>;
  std::map<std::pair<Form, Form>, StepCost> known_ = {};
};

}  // namespace drydock::strategies
