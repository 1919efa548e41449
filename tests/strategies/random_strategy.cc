#include "tests/strategies/random_strategy.h"

#include <algorithm>

#include "base/checked.h"
#include "strategies/operators/strategy_check.h"

namespace drydock::strategies {
namespace {

using Random = std::mt19937_64;

std::size_t Below(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random() % count);
}

/// A divisor of `devices` that divides `extent`; large ones as often as small ones.
std::int64_t RandomCut(std::int64_t extent, std::int64_t devices, Random& random) {
  std::vector<std::int64_t> cuts;
  for (std::int64_t cut = 1; cut <= devices; ++cut) {
    if (devices % cut == 0 && extent % cut == 0) {
      cuts.push_back(cut);
    }
  }
  return cuts[Below(random, cuts.size())];
}

/// Cuts of the extents, visited in random order, whose product divides the devices.
std::vector<std::int64_t> RandomCuts(const std::vector<std::int64_t>& extents, std::int64_t devices,
                                     Random& random) {
  std::vector<std::size_t> order(extents.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    std::swap(order[i], order[Below(random, i + 1)]);
  }
  std::vector<std::int64_t> cuts(extents.size(), 1);
  for (const std::size_t i : order) {
    cuts[i] = RandomCut(extents[i], devices, random);
    devices /= cuts[i];
  }
  return cuts;
}

/// Factors of `devices` in random order, each at least 2.
std::vector<std::int64_t> RandomMatrix(std::int64_t devices, Random& random) {
  std::vector<std::int64_t> matrix;
  while (devices > 1) {
    std::int64_t factor = 1;
    while (factor == 1) {
      factor = RandomCut(devices, devices, random);
    }
    matrix.push_back(factor);
    devices /= factor;
  }
  if (matrix.empty() || Below(random, 6) == 0) {
    matrix.insert(matrix.begin() + static_cast<std::ptrdiff_t>(Below(random, matrix.size() + 1)),
                  1);
  }
  return matrix;
}

/// One try; not checked.
Strategy Draft(const ShardRule& rule, const OpView& view, const DeviceContext& devices,
               Random& random) {
  const StrategyEntries entries = EntriesOf(rule, view);
  if (Below(random, 4) > 0) {
    std::vector<std::int64_t> extents = AxisExtents(rule, view);
    for (const ShardRule::Uncut& uncut : rule.uncut) {
      extents[static_cast<std::size_t>(uncut.axis)] = 1;
    }
    return StrategyFromCuts(entries, RandomCuts(extents, devices.stage_devices, random));
  }
  Strategy strategy;
  for (const Shape& extents : entries.extents) {
    strategy.push_back(RandomCuts(extents, devices.stage_devices, random));
  }
  return strategy;
}

bool CutsAnything(const Strategy& strategy) {
  return std::ranges::any_of(strategy, [](const auto& entry) {
    return std::ranges::any_of(entry, [](std::int64_t cut) { return cut > 1; });
  });
}

/// Device axes (counted from the right) given to each rule axis; some stay unused.
std::vector<std::vector<std::int64_t>> DealDeviceAxes(const ShardRule& rule, const OpView& view,
                                                      const std::vector<std::int64_t>& matrix,
                                                      Random& random) {
  const std::vector<std::int64_t> extents = AxisExtents(rule, view);
  std::vector<std::vector<std::int64_t>> dealt(extents.size());
  std::vector<std::int64_t> cuts(extents.size(), 1);
  for (std::size_t i = 0; i < matrix.size() && !extents.empty(); ++i) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      const std::size_t axis = Below(random, extents.size());
      const std::int64_t cut = cuts[axis] * matrix[i];
      if (extents[axis] % cut == 0) {
        const auto device_axis = static_cast<std::int64_t>(matrix.size() - 1 - i);
        auto& list = dealt[axis];
        list.insert(Below(random, 2) == 0 ? list.begin() : list.end(), device_axis);
        cuts[axis] = cut;
        break;
      }
    }
  }
  return dealt;
}

std::vector<TensorLayout> DraftLayouts(const ShardRule& rule, const OpView& view,
                                       const DeviceContext& devices, Random& random) {
  const std::vector<std::int64_t> matrix = RandomMatrix(devices.stage_devices, random);
  const auto dealt = DealDeviceAxes(rule, view, matrix, random);
  std::vector<TensorLayout> layouts;
  for (std::size_t i = 0; i < view.inputs.size(); ++i) {
    TensorLayout layout{.device_matrix = matrix, .tensor_map = {}, .shape = view.inputs[i].shape};
    for (std::size_t d = 0; d < layout.shape.size(); ++d) {
      const DimAxes& axes = rule.inputs[i][d];
      layout.tensor_map.push_back(axes.empty() ? std::vector<std::int64_t>()
                                               : dealt[static_cast<std::size_t>(axes.front())]);
    }
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

}  // namespace

std::optional<Strategy> RandomStrategy(const OpEntry& entry, const OpView& view,
                                       const DeviceContext& devices, Random& random, int attempts) {
  if (entry.shard == nullptr) {
    return std::nullopt;
  }
  const auto rule = entry.shard(view, {});
  const auto candidates = EnumerateStrategies(entry, view, devices, {});
  for (int attempt = 0; rule && candidates && attempt < attempts; ++attempt) {
    const bool listed = !candidates->empty() && Below(random, 3) == 0;
    Strategy strategy = listed ? (*candidates)[Below(random, candidates->size())]
                               : Draft(*rule, view, devices, random);
    if (CutsAnything(strategy) && TrySharding(entry, view, strategy, devices)) {
      return strategy;
    }
  }
  return std::nullopt;
}

std::optional<std::vector<TensorLayout>> RandomLayouts(const OpEntry& entry, const OpView& view,
                                                       const DeviceContext& devices,
                                                       Random& random) {
  if (!entry.accepts_layout || entry.shard == nullptr || view.inputs.empty()) {
    return std::nullopt;
  }
  const auto rule = entry.shard(view, {});
  for (int attempt = 0; rule && attempt < 10; ++attempt) {
    std::vector<TensorLayout> layouts = DraftLayouts(*rule, view, devices, random);
    if (DeriveShardingFromLayouts(entry, view, layouts, {}, devices)) {
      return layouts;
    }
  }
  return std::nullopt;
}

std::optional<Strategy> RandomOutStrategy(const OpEntry& entry, OpView view,
                                          const Strategy& strategy, const DeviceContext& devices,
                                          Random& random) {
  for (int attempt = 0; entry.accepts_out_strategy && attempt < 10; ++attempt) {
    Strategy out;
    for (const TensorType& output : view.outputs) {
      out.push_back(RandomCuts(output.shape, devices.stage_devices, random));
    }
    view.out_strategy = &out;
    if (TrySharding(entry, view, strategy, devices)) {
      return out;
    }
  }
  return std::nullopt;
}

}  // namespace drydock::strategies
