#include "strategies/passes/choose/candidate_choice.h"

#include <tuple>

#include "base/checked.h"

namespace drydock::strategies {
namespace {

std::int64_t FactorProduct(const Strategy& strategy) {
  std::int64_t product = 1;
  for (const auto& entry : strategy) {
    product *= Product(entry);
  }
  return product;
}

}  // namespace

std::optional<std::size_t> BestByOneConnection(const std::vector<Candidate>& candidates,
                                               const std::vector<EdgeCost>& costs,
                                               bool old_chooser) {
  std::optional<std::size_t> best;
  std::tuple<double, double, double, std::int64_t> best_key;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!costs[i].possible) {
      continue;
    }
    const Strategy& strategy = candidates[i].sharding.strategy;
    const bool by_communication_only = old_chooser && costs[i].communication > 0;
    const auto key =
        by_communication_only
            ? std::tuple(costs[i].communication, 0.0, 0.0, std::int64_t{0})
            : std::tuple(costs[i].communication, costs[i].computation,
                         candidates[i].forward_communication, -FactorProduct(strategy));
    const bool larger_on_tie = best && !by_communication_only && key == best_key &&
                               strategy > candidates[*best].sharding.strategy;
    if (!best || key < best_key || larger_on_tie) {
      best = i;
      best_key = key;
    }
  }
  return best;
}

std::optional<std::size_t> BestByAllConnections(const std::vector<Candidate>& candidates,
                                                const std::vector<EdgeCost>& costs) {
  std::optional<std::size_t> best;
  std::tuple<double, double, double, double> best_key;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::tuple key = {costs[i].communication, costs[i].computation, candidates[i].computation,
                            candidates[i].forward_communication};
    if (costs[i].possible && (!best || key < best_key)) {
      best = i;
      best_key = key;
    }
  }
  return best;
}

}  // namespace drydock::strategies
