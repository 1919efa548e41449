#include "strategies/rules/sharding.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/rules/strategy_check.h"

/// The rule engine: axis mapping + strategy -> device matrix, tensor maps, layouts, groups.
///
/// The device matrix lists the cuts of the operator's axes in rule order. If its product is smaller
/// than the stage, the calculation is repeated: an axis for the repetition is appended (or
/// prepended for data-set nodes) and belongs to no tensor, so ranks along it hold equal slices.
namespace drydock::strategies {
namespace {

/// Device axes (counted from the right) that cut each rule axis, outermost first.
using AxisDevices = std::vector<std::vector<std::int64_t>>;

TensorLayout LayoutOf(const std::vector<std::int64_t>& device_matrix, const TensorAxes& axes,
                      const AxisDevices& devices, const Shape& shape) {
  TensorLayout layout{.device_matrix = device_matrix, .tensor_map = {}, .shape = shape};
  for (std::size_t d = 0; d < axes.size(); ++d) {
    std::vector<std::int64_t> map;
    for (const AxisIndex axis : axes[d]) {
      const auto& of_axis = devices[static_cast<std::size_t>(axis)];
      map.insert(map.end(), of_axis.begin(), of_axis.end());
    }
    layout.tensor_map.push_back(std::move(map));
  }
  return layout;
}

GroupPattern PatternOf(const OpSharding& sharding, const AxisDevices& devices,
                       const std::vector<AxisIndex>& axes) {
  std::vector<std::size_t> from_left;
  for (const AxisIndex axis : axes) {
    for (const std::int64_t device_axis : devices[static_cast<std::size_t>(axis)]) {
      from_left.push_back(sharding.device_matrix.size() - 1 -
                          static_cast<std::size_t>(device_axis));
    }
  }
  return AxesPattern(sharding.device_matrix, from_left);
}

/// Fills layouts, groups and communication once the device axes of every rule axis are known.
Status FillSharding(const ShardRule& rule, const OpView& view, const AxisDevices& devices,
                    OpSharding& sharding) {
  for (std::size_t i = 0; i < view.inputs.size(); ++i) {
    sharding.inputs.push_back(
        LayoutOf(sharding.device_matrix, rule.inputs[i], devices, view.inputs[i].shape));
    DRYDOCK_RETURN_IF_ERROR(ValidateLayout(sharding.inputs.back()));
  }
  for (std::size_t i = 0; i < view.outputs.size(); ++i) {
    sharding.outputs.push_back(
        LayoutOf(sharding.device_matrix, rule.outputs[i], devices, view.outputs[i].shape));
    DRYDOCK_RETURN_IF_ERROR(ValidateLayout(sharding.outputs.back()));
  }
  for (std::int32_t axis = 0; axis < rule.axis_count; ++axis) {
    sharding.axis_groups.push_back(PatternOf(sharding, devices, {axis}));
    const auto& digits = sharding.axis_groups.back().digits;
    sharding.axis_digits.push_back(digits.size() == 1 ? digits.front() : RankDigit{});
  }
  for (const ForwardCommunication& what : rule.communication) {
    GroupPattern group = PatternOf(sharding, devices, what.axes);
    if (GroupSize(group) > 1) {
      sharding.communication.push_back({.what = what, .group = std::move(group)});
    }
  }
  const auto loss_output = static_cast<std::size_t>(rule.loss_output);
  if (!rule.loss_divisor_is_one && loss_output < sharding.outputs.size()) {
    sharding.loss_divisor = GroupSize(ReplicaPattern(sharding.outputs[loss_output]));
  }
  return {};
}

Result<ShardRule> RuleOf(const OpEntry& entry, OpView view, const Strategy& strategy,
                         const DeviceContext& devices) {
  view.device_count = devices.stage_devices;
  if (entry.shard == nullptr) {
    return Fail(ErrorCode::kUnsupported,
                "operator '" + std::string(view.op) + "' has no sharding rule");
  }
  DRYDOCK_RETURN_IF_ERROR(CheckCutRange(view, strategy));
  DRYDOCK_TRY(ShardRule rule, entry.shard(view, strategy));
  DRYDOCK_CHECK(rule.inputs.size() == view.inputs.size());
  DRYDOCK_CHECK(rule.outputs.size() == view.outputs.size());
  return rule;
}

Status CheckOutStrategy(const OpEntry& entry, const OpView& view) {
  if (view.out_strategy != nullptr && entry.accepts_out_strategy) {
    return CheckCutRange(view, *view.out_strategy);
  }
  if (view.out_strategy != nullptr && !entry.accepts_out_strategy) {
    return FailInput(std::string(view.op) + ":strategy-out",
                     "'" + std::string(view.op) + "' does not accept an output strategy",
                     "remove out_strategy; the output layout follows from the inputs");
  }
  return {};
}

Error WithSuggestion(Error error, const OpEntry& entry, const OpView& view,
                     const Strategy& strategy, const DeviceContext& devices) {
  if (error.code != ErrorCode::kInvalidArgument || !error.hint.empty()) {
    return error;
  }
  const std::optional<Strategy> nearest = NearestLegalStrategy(entry, view, strategy, devices);
  if (nearest) {
    error.hint = "use for instance " + StrategyText(*nearest) + ", which is legal on " +
                 std::to_string(devices.stage_devices) + " devices";
  }
  return error;
}

tl::unexpected<Error> FailLayout(const OpView& view, std::string_view code, std::string message) {
  return FailInput(std::string(view.op) + ":layout-" + std::string(code), std::move(message));
}

Status CheckLayouts(const OpView& view, const std::vector<TensorLayout>& layouts,
                    const DeviceContext& devices) {
  if (layouts.size() != view.inputs.size()) {
    return FailLayout(view, "entries",
                      "'" + std::string(view.op) + "' takes " + std::to_string(view.inputs.size()) +
                          " layouts, but " + std::to_string(layouts.size()) + " are given");
  }
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (layouts[i].device_matrix != layouts.front().device_matrix) {
      return FailLayout(view, "devices",
                        "the layouts of '" + std::string(view.op) +
                            "' have different device matrices " +
                            TupleText(layouts.front().device_matrix) + " and " +
                            TupleText(layouts[i].device_matrix));
    }
    if (layouts[i].tensor_map.size() != view.inputs[i].shape.size()) {
      return FailLayout(view, "rank",
                        "layout " + std::to_string(i) + " of '" + std::string(view.op) + "' has " +
                            std::to_string(layouts[i].tensor_map.size()) +
                            " dimensions, but the tensor has shape " +
                            TupleText(view.inputs[i].shape));
    }
    TensorLayout with_shape = layouts[i];
    with_shape.shape = view.inputs[i].shape;
    DRYDOCK_RETURN_IF_ERROR(ValidateLayout(with_shape));
  }
  if (!layouts.empty() && Product(layouts.front().device_matrix) != devices.stage_devices) {
    return FailLayout(view, "devices",
                      "the device matrix " + TupleText(layouts.front().device_matrix) + " of '" +
                          std::string(view.op) + "' does not multiply to " +
                          std::to_string(devices.stage_devices) + " devices");
  }
  return {};
}

/// Device axes of every rule axis as the given layouts say.
Result<AxisDevices> AxisDevicesOf(const ShardRule& rule, const OpView& view,
                                  const std::vector<TensorLayout>& layouts) {
  AxisDevices devices(static_cast<std::size_t>(rule.axis_count));
  std::vector<bool> seen(devices.size(), false);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    for (std::size_t d = 0; d < layouts[i].tensor_map.size(); ++d) {
      const std::vector<std::int64_t>& map = layouts[i].tensor_map[d];
      const DimAxes& axes = rule.inputs[i][d];
      if (axes.empty()) {
        if (!map.empty()) {
          return FailLayout(view, "uncut",
                            "the layout of input " + std::to_string(i) + " of '" +
                                std::string(view.op) + "' cuts dimension " + std::to_string(d) +
                                ", which cannot be cut");
        }
        continue;
      }
      const auto axis = static_cast<std::size_t>(axes.front());
      if (seen[axis] && devices[axis] != map) {
        return FailLayout(view, "axis",
                          "the layouts of '" + std::string(view.op) + "' cut dimension " +
                              std::to_string(d) + " of input " + std::to_string(i) +
                              " differently from the dimension it is tied to");
      }
      seen[axis] = true;
      devices[axis] = map;
    }
  }
  for (const ShardRule::Uncut& uncut : rule.uncut) {
    if (!devices[static_cast<std::size_t>(uncut.axis)].empty()) {
      return FailLayout(view, "uncut",
                        "the layouts of '" + std::string(view.op) + "' cut " + uncut.what +
                            ", which cannot be cut");
    }
  }
  return devices;
}

}  // namespace

Result<OpSharding> TrySharding(const OpEntry& entry, const OpView& view, const Strategy& strategy,
                               const DeviceContext& devices) {
  DRYDOCK_RETURN_IF_ERROR(CheckOutStrategy(entry, view));
  DRYDOCK_TRY(const ShardRule rule, RuleOf(entry, view, strategy, devices));
  DRYDOCK_TRY(const std::vector<std::int64_t> cuts, AxisCuts(rule, view, strategy, devices));
  OpSharding sharding{.strategy = strategy, .device_matrix = cuts};
  const std::int64_t repeat = devices.stage_devices / Product(cuts);
  std::int64_t shift = 0;
  if (repeat > 1) {
    shift = rule.repeat_on_left ? 0 : 1;
    sharding.device_matrix.insert(
        rule.repeat_on_left ? sharding.device_matrix.begin() : sharding.device_matrix.end(),
        repeat);
  }
  AxisDevices axis_devices;
  for (std::int64_t axis = 0; axis < rule.axis_count; ++axis) {
    axis_devices.push_back({rule.axis_count - 1 - axis + shift});
  }
  if (sharding.device_matrix.empty()) {
    sharding.device_matrix = {1};
  }
  DRYDOCK_RETURN_IF_ERROR(FillSharding(rule, view, axis_devices, sharding));
  return sharding;
}

Result<OpSharding> DeriveSharding(const OpEntry& entry, const OpView& view,
                                  const Strategy& strategy, const DeviceContext& devices) {
  Result<OpSharding> sharding = TrySharding(entry, view, strategy, devices);
  if (!sharding) {
    return tl::unexpected(
        WithSuggestion(std::move(sharding).error(), entry, view, strategy, devices));
  }
  return sharding;
}

Result<OpSharding> DeriveShardingFromLayouts(const OpEntry& entry, const OpView& view,
                                             const std::vector<TensorLayout>& in_layouts,
                                             const std::vector<TensorLayout>& out_layouts,
                                             const DeviceContext& devices) {
  if (!entry.accepts_layout) {
    return FailLayout(view, "refused", "'" + std::string(view.op) + "' does not accept layouts");
  }
  DRYDOCK_RETURN_IF_ERROR(CheckLayouts(view, in_layouts, devices));
  Strategy strategy;
  for (std::size_t i = 0; i < in_layouts.size(); ++i) {
    strategy.push_back(CutsOf(in_layouts[i]));
  }
  DRYDOCK_TRY(const ShardRule rule, RuleOf(entry, view, strategy, devices));
  DRYDOCK_TRY(const AxisDevices axis_devices, AxisDevicesOf(rule, view, in_layouts));
  OpSharding sharding{.strategy = strategy, .device_matrix = in_layouts.front().device_matrix};
  DRYDOCK_RETURN_IF_ERROR(FillSharding(rule, view, axis_devices, sharding));
  for (std::size_t i = 0; i < out_layouts.size() && i < sharding.outputs.size(); ++i) {
    TensorLayout wanted = out_layouts[i];
    wanted.shape = sharding.outputs[i].shape;
    if (wanted.tensor_map.size() != wanted.shape.size() ||
        !SameOwnership(wanted, sharding.outputs[i])) {
      return Fail(ErrorCode::kUnsupported,
                  "output layout of '" + std::string(view.op) +
                      "' differs from the one that follows from its inputs",
                  "leave the output layout out");
    }
  }
  return sharding;
}

}  // namespace drydock::strategies
