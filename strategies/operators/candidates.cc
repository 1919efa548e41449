#include <algorithm>
#include <bit>
#include <numeric>

#include "base/checked.h"
#include "strategies/operators/sharding.h"
#include "strategies/operators/strategy_check.h"

/// Default and candidate strategies (mindspore ops_info/operator_info.cc).
namespace drydock::strategies {
namespace {

/// Walks all cuts of the axes, first axis outermost, factors ascending.
class CutEnumerator {
 public:
  CutEnumerator(std::vector<std::int64_t> extents, std::vector<bool> cuttable)
      : extents_(std::move(extents)), cuttable_(std::move(cuttable)), cuts_(extents_.size(), 1) {}

  /// All combinations of powers of two whose product is at most `devices` (a power of two).
  [[nodiscard]] std::vector<std::vector<std::int64_t>> PowersOfTwo(std::int64_t devices) {
    result_.clear();
    Walk(0, devices);
    return std::move(result_);
  }

 private:
  void Walk(std::size_t axis, std::int64_t remaining) {
    if (axis == extents_.size()) {
      result_.push_back(cuts_);
      return;
    }
    for (std::int64_t factor = 1; factor <= remaining; factor *= 2) {
      const bool allowed = factor == 1 || (cuttable_[axis] && extents_[axis] % factor == 0);
      if (allowed && remaining % factor == 0) {
        cuts_[axis] = factor;
        Walk(axis + 1, remaining / factor);
      }
    }
    cuts_[axis] = 1;
  }

  std::vector<std::int64_t> extents_;
  std::vector<bool> cuttable_;
  std::vector<std::int64_t> cuts_;
  std::vector<std::vector<std::int64_t>> result_;
};

std::vector<bool> CuttableAxes(const ShardRule& rule, const CandidateScope& scope) {
  std::vector<bool> cuttable(static_cast<std::size_t>(rule.axis_count), true);
  for (const ShardRule::Uncut& uncut : rule.uncut) {
    cuttable[static_cast<std::size_t>(uncut.axis)] = false;
  }
  for (const AxisIndex axis : scope.searched_only ? rule.not_searched : std::vector<AxisIndex>()) {
    cuttable[static_cast<std::size_t>(axis)] = false;
  }
  return cuttable;
}

/// For device counts that are no power of two: one factor of each candidate takes the odd part.
std::vector<std::vector<std::int64_t>> WithOddPart(
    const std::vector<std::vector<std::int64_t>>& candidates, std::int64_t odd,
    const std::vector<std::int64_t>& extents, const std::vector<bool>& cuttable) {
  std::vector<std::vector<std::int64_t>> result;
  for (const std::vector<std::int64_t>& cuts : candidates) {
    for (std::size_t axis = 0; axis < cuts.size(); ++axis) {
      if (cuttable[axis] && extents[axis] % (cuts[axis] * odd) == 0) {
        result.push_back(cuts);
        result.back()[axis] *= odd;
      }
    }
  }
  if (!candidates.empty()) {
    result.emplace_back(candidates.front().size(), 1);
  }
  return result;
}

/// Correction of mindspore ops_info/operator_info.cc: reduce the batch cut to what divides all
/// extents it applies to.
void ReduceToDivisor(const StrategyEntries& entries, std::int64_t devices, Strategy& strategy) {
  std::int64_t common = devices;
  for (std::size_t i = 0; i < strategy.size(); ++i) {
    for (std::size_t d = 0; d < strategy[i].size(); ++d) {
      if (strategy[i][d] > 1 && strategy[i][d] != devices) {
        return;
      }
      common = strategy[i][d] > 1 ? std::gcd(common, entries.extents[i][d]) : common;
    }
  }
  for (auto& entry : strategy) {
    for (std::int64_t& cut : entry) {
      cut = cut > 1 ? common : cut;
    }
  }
}

}  // namespace

Strategy ReplicatedStrategy(const OpEntry& entry, const OpView& view) {
  if (entry.shard != nullptr) {
    if (const Result<ShardRule> rule = entry.shard(view, {}); rule) {
      const std::vector<std::int64_t> ones(static_cast<std::size_t>(rule->axis_count), 1);
      return StrategyFromCuts(EntriesOf(*rule, view), ones);
    }
  }
  Strategy strategy;
  for (const TensorType& type : view.inputs) {
    strategy.emplace_back(type.shape.size(), 1);
  }
  return strategy;
}

Result<Strategy> DefaultStrategy(const OpEntry& entry, const OpView& view,
                                 const DeviceContext& devices) {
  Strategy strategy = ReplicatedStrategy(entry, view);
  if (entry.default_strategy != nullptr) {
    DRYDOCK_TRY(strategy, entry.default_strategy(view, devices.stage_devices));
  } else if (!strategy.empty() && !strategy.front().empty()) {
    strategy.front().front() = devices.stage_devices;
  }
  DRYDOCK_TRY(const ShardRule rule, entry.shard(view, strategy));
  const StrategyEntries entries = EntriesOf(rule, view);
  const bool same_form = std::ranges::equal(
      strategy, entries.extents, [](const auto& a, const auto& b) { return a.size() == b.size(); });
  if (same_form) {
    ReduceToDivisor(entries, devices.stage_devices, strategy);
  }
  return strategy;
}

Result<std::vector<Strategy>> EnumerateStrategies(const OpEntry& entry, const OpView& view,
                                                  const DeviceContext& devices,
                                                  const CandidateScope& scope) {
  DRYDOCK_TRY(const ShardRule rule, entry.shard(view, {}));
  const std::vector<std::int64_t> extents = AxisExtents(rule, view);
  const std::vector<bool> cuttable = CuttableAxes(rule, scope);
  const std::int64_t power = devices.stage_devices & -devices.stage_devices;
  const std::int64_t odd = devices.stage_devices / power;
  std::vector<std::vector<std::int64_t>> all = CutEnumerator(extents, cuttable).PowersOfTwo(power);
  if (odd > 1) {
    all = WithOddPart(all, odd, extents, cuttable);
  }
  const StrategyEntries entries = EntriesOf(rule, view);
  std::vector<Strategy> strategies;
  for (const std::vector<std::int64_t>& cuts : all) {
    const std::int64_t product = Product(cuts);
    if (!scope.fully_use_devices || product == devices.stage_devices || product == 1) {
      strategies.push_back(StrategyFromCuts(entries, cuts));
    }
  }
  return strategies;
}

}  // namespace drydock::strategies
