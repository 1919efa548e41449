#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/rules/sharding.h"

namespace drydock::strategies {

/// Extents and axes of each strategy entry of an operator.
struct StrategyEntries {
  std::vector<TensorAxes> axes = {};
  std::vector<Shape> extents = {};
};

/// What the entries of a strategy describe: the inputs, or what the rule says instead.
[[nodiscard]] StrategyEntries EntriesOf(const ShardRule& rule, const OpView& view);

/// Extent of each axis: greatest common divisor of the extents tied to it (1 broadcasts).
[[nodiscard]] std::vector<std::int64_t> AxisExtents(const ShardRule& rule, const OpView& view);

/// Cuts below 1, before any rule looks at the strategy.
/// @error kInvalidArgument  "<Op>:strategy-cut"
[[nodiscard]] Status CheckPositiveCuts(const OpView& view, const Strategy& strategy);

/// Cut of each axis under a strategy; also checks everything of spec operators 1.3 and the rule.
/// @error kInvalidArgument  reason
/// "<Op>:strategy-entries|rank|cut|divisible|power|axis|uncut|product"
[[nodiscard]] Result<std::vector<std::int64_t>> AxisCuts(const ShardRule& rule, const OpView& view,
                                                         const Strategy& strategy,
                                                         const DeviceContext& devices);

/// The strategy that gives axis `a` the cut `cuts[a]`.
[[nodiscard]] Strategy StrategyFromCuts(const StrategyEntries& entries,
                                        const std::vector<std::int64_t>& cuts);

}  // namespace drydock::strategies
