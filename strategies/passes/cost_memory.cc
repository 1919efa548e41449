#include "strategies/passes/cost_memory.h"

#include <limits>

#include "strategies/layout/redistribution.h"

namespace drydock::strategies {
namespace {

EdgeCost CostOfTensor(const TensorLayout& from, const TensorLayout& to, DType dtype,
                      bool enable_alltoall) {
  const Result<RedistributionCost> cost =
      CostOfRedistribution(from, to, {.enable_alltoall = enable_alltoall});
  if (!cost) {
    return {.possible = false};
  }
  const auto element_bytes = static_cast<double>(DTypeBytes(dtype));
  EdgeCost result{.communication = WithLatency(cost->forward_communication * element_bytes) +
                                   WithLatency(cost->backward_communication * element_bytes),
                  .computation = cost->computation * element_bytes};
  if (dtype == DType::kBool && result.communication > 0) {
    result.communication = std::numeric_limits<double>::infinity();
  }
  return result;
}

}  // namespace

EdgeCost CostMemory::Between(const TensorLayout& from, const TensorLayout& to, DType dtype) {
  if (!by_first_tensor_) {
    return CostOfTensor(from, to, dtype, enable_alltoall_);
  }
  const auto key_of = [](const TensorLayout& layout) {
    PlainLayout form = StandardForm(ExtendedForm(layout));
    return Form(std::move(form.device_matrix), std::move(form.tensor_map));
  };
  Key key = {key_of(from), key_of(to)};
  const auto it = known_.find(key);
  if (it != known_.end()) {
    return it->second;
  }
  const EdgeCost cost = CostOfTensor(from, to, dtype, enable_alltoall_);
  known_.emplace(std::move(key), cost);
  return cost;
}

EdgeCost CostMemory::OfEdge(const PropagationEdge& edge, const OpSharding& producer,
                            const OpSharding& consumer) {
  const TensorLayout& from = producer.outputs[static_cast<std::size_t>(edge.output)];
  const TensorLayout& to = consumer.inputs[static_cast<std::size_t>(edge.tensor)];
  if (edge.identity) {
    return {.possible = SameOwnership(from, to)};
  }
  return Between(from, to, edge.dtype);
}

}  // namespace drydock::strategies
