#include "strategies/passes/choose/cost_memory.h"

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

std::uint32_t CostMemory::NumberOf(const TensorLayout& layout) {
  PlainLayout form = StandardForm(ExtendedForm(layout));
  const auto next = static_cast<std::uint32_t>(forms_.size());
  return forms_.try_emplace({std::move(form.device_matrix), std::move(form.tensor_map)}, next)
      .first->second;
}

CostMemory::First& CostMemory::FirstBetween(const TensorLayout& from, const TensorLayout& to,
                                            DType dtype) {
  constexpr int kHalf = 32;
  const std::uint64_t key = std::uint64_t{NumberOf(from)} << kHalf | NumberOf(to);
  const auto it = known_.find(key);
  return it != known_.end()
             ? it->second
             : known_.emplace(key, First{.from = from, .to = to, .dtype = dtype}).first->second;
}

EdgeCost CostMemory::Between(const TensorLayout& from, const TensorLayout& to, DType dtype) {
  if (!by_first_tensor_) {
    return CostOfTensor(from, to, dtype, enable_alltoall_);
  }
  First& first = FirstBetween(from, to, dtype);
  if (!first.cost) {
    first.cost = CostOfTensor(first.from, first.to, first.dtype, enable_alltoall_);
  }
  return *first.cost;
}

void CostMemory::Note(const TensorLayout& from, const TensorLayout& to, DType dtype) {
  if (by_first_tensor_) {
    static_cast<void>(FirstBetween(from, to, dtype));
  }
}

void CostMemory::NoteEdge(const PropagationEdge& edge, const OpSharding& producer,
                          const OpSharding& consumer) {
  if (!edge.identity) {
    Note(producer.outputs[static_cast<std::size_t>(edge.output)],
         consumer.inputs[static_cast<std::size_t>(edge.tensor)], edge.dtype);
  }
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
