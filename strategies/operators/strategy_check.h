#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "strategies/operators/sharding.h"

namespace drydock::strategies {

/// Slices of one tensor, at most.
inline constexpr std::int64_t kMaxSlices = std::int64_t{1} << 31;

/// How refusals name a cut: "strategy of 'X' cuts dimension 1 of input 0 (extent 6) into 4". Inputs
/// or dimensions that are not there have no extent.
[[nodiscard]] std::string CutText(const OpView& view, std::size_t input, std::size_t dim,
                                  std::int64_t cut);

/// What every rule may rely on, whatever the operator: each cut is at least 1, and no entry cuts
/// into more slices than kMaxSlices, so that products of cuts fit 64 bits.
/// @param rule  the rule of another strategy of the operator, to name extents where the entries
///              describe something else than the inputs; may be null
/// @error kInvalidArgument  "<Op>:strategy-cut|product"
[[nodiscard]] Status CheckCutRange(const OpView& view, const Strategy& strategy,
                                   const ShardRule* rule = nullptr);

/// Extents and axes of each strategy entry of an operator.
struct StrategyEntries {
  std::vector<TensorAxes> axes = {};
  std::vector<Shape> extents = {};
};

/// What the entries of a strategy describe: the inputs, or what the rule says instead.
[[nodiscard]] StrategyEntries EntriesOf(const ShardRule& rule, const OpView& view);

/// Extent of each axis: greatest common divisor of the extents tied to it (1 broadcasts).
[[nodiscard]] std::vector<std::int64_t> AxisExtents(const ShardRule& rule, const OpView& view);

/// Cut of each axis under a strategy that passed CheckCutRange; also checks everything of mindspore
/// ops_info/operator_info.cc and the rule.
/// @error kInvalidArgument  reason
/// "<Op>:strategy-entries|rank|divisible|power|axis|uncut|product"
[[nodiscard]] Result<std::vector<std::int64_t>> AxisCuts(const ShardRule& rule, const OpView& view,
                                                         const Strategy& strategy,
                                                         const DeviceContext& devices);

/// The strategy that gives axis `a` the cut `cuts[a]`.
[[nodiscard]] Strategy StrategyFromCuts(const StrategyEntries& entries,
                                        const std::vector<std::int64_t>& cuts);

}  // namespace drydock::strategies
