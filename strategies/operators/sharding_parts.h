#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "strategies/operators/sharding.h"

/// What the two ways into the rule engine share: a strategy (sharding.cc) and layouts
/// (layout_sharding.cc).
namespace drydock::strategies {

/// Device axes (counted from the right) that cut each rule axis, outermost first.
using AxisDevices = std::vector<std::vector<std::int64_t>>;

/// At most this many legal alternatives are named when something is refused.
inline constexpr std::size_t kSuggestions = 3;

/// Adds "use for instance A, B or C, which are legal on 8 devices" to the remedy.
[[nodiscard]] Error WithAlternatives(Error error, const std::vector<std::string>& legal,
                                     const DeviceContext& devices);

/// The operator's rule under a strategy.
/// @error kUnsupported  the operator has none; otherwise what the rule says
[[nodiscard]] Result<ShardRule> RuleOf(const OpEntry& entry, OpView view, const Strategy& strategy,
                                       const DeviceContext& devices);

/// DeriveShardingFromLayouts without looking for legal layouts near by.
[[nodiscard]] Result<OpSharding> TryLayouts(const OpEntry& entry, const OpView& view,
                                            const std::vector<TensorLayout>& in_layouts,
                                            const std::vector<TensorLayout>& out_layouts,
                                            const DeviceContext& devices);

/// "tensor maps ((1, -1), (-1, 0)) on device matrix (2, 4)", numbered as Layout.to_dict() does.
[[nodiscard]] std::string LayoutsText(const std::vector<TensorLayout>& layouts);

/// Fills layouts, groups and communication once the device axes of every rule axis are known.
/// `sharding` has its device matrix. @error kInvalidArgument  a layout is not valid
[[nodiscard]] Status FillSharding(const ShardRule& rule, const OpView& view,
                                  const AxisDevices& devices, OpSharding& sharding);

}  // namespace drydock::strategies
