#include "strategies/passes/choose/choice_tables.h"

#include <limits>

#include "strategies/layout/plain_layout.h"
#include "strategies/passes/choose/cost_memory.h"
#include "strategies/passes/choose/dynamic_costs.h"

/// Costs of the ways between layouts.
///
/// Layouts that cut a tensor alike have one standard form, whose number stands for them; the way
/// from one number to another is found once.
namespace drydock::strategies {

double CommunicationWeight(const JobConfig& config) {
  constexpr double kWeight = 400;
  constexpr double kWeightOnGpu = 50;
  return config.device_target == "GPU" ? kWeightOnGpu : kWeight;
}

std::uint32_t WayCosts::NumberOf(const TensorLayout& layout) {
  PlainLayout form = StandardForm(ExtendedForm(layout));
  const auto next = static_cast<std::uint32_t>(layouts_.size());
  const auto [known, is_new] = numbers_.try_emplace(
      Form{layout.shape, std::move(form.device_matrix), std::move(form.tensor_map)}, next);
  if (is_new) {
    layouts_.push_back(layout);
  }
  return known->second;
}

double WayCosts::Between(std::uint32_t from, std::uint32_t to, DType dtype) {
  constexpr unsigned kNumberBits = 28;
  if (from == to) {
    return 0;
  }
  const std::uint64_t key =
      (static_cast<std::uint64_t>(dtype) << kNumberBits | from) << kNumberBits | to;
  const auto [known, is_new] = known_.try_emplace(key, 0.0);
  if (is_new) {
    known->second = WorkOut(layouts_[from], layouts_[to], dtype);
  }
  return known->second;
}

double WayCosts::WorkOut(const TensorLayout& from, const TensorLayout& to, DType dtype) const {
  constexpr double kImpossible = std::numeric_limits<double>::infinity();
  const double weight = CommunicationWeight(config_);
  if (from.shape != to.shape) {  // A Reshape in between.
    const StepCost cost = ReshapeCosts().Between(from, to, dtype, config_.enable_alltoall);
    return cost.computation == kImpossible ? kImpossible
                                           : cost.computation + weight * cost.Partial();
  }
  const EdgeCost cost = CostMemory(config_.enable_alltoall, false).Between(from, to, dtype);
  // Few ranks have no deep layouts, so that nothing has to be worked out for them.
  constexpr std::int64_t kManyRanks = 64;
  const bool possible = cost.possible && (StageDevices(config_) <= kManyRanks ||
                                          !IsTooDeep(from, to, config_.enable_alltoall));
  return possible ? cost.computation + weight * cost.communication : kImpossible;
}

}  // namespace drydock::strategies
