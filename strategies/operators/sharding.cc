#include "strategies/operators/sharding.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/layout/interleave.h"
#include "strategies/operators/sharding_parts.h"
#include "strategies/operators/strategy_check.h"

/// The rule engine: axis mapping + strategy -> device matrix, tensor maps, layouts, groups.
///
/// The device matrix lists the cuts of the operator's axes in rule order. If its product is smaller
/// than the stage, the calculation is repeated: an axis for the repetition is appended (or
/// prepended for data-set nodes) and belongs to no tensor, so ranks along it hold equal slices.
namespace drydock::strategies {
namespace {

/// Any operator may say on which side its repetition goes. Source: mindspore
/// ops_info/operator_info.cc.
constexpr std::string_view kRepeatOnRight = "repeated_num_in_dev_matrix_right_";

TensorLayout LayoutOf(const OpSharding& sharding, const TensorAxes& axes,
                      const AxisDevices& devices, const Shape& shape) {
  TensorLayout layout{
      .device_matrix = sharding.device_matrix, .shape = shape, .interleave = sharding.interleave};
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

/// Number of the rank's part of a rule axis; the first device axis is the outermost cut.
RankExpr PartOf(const OpSharding& sharding, const std::vector<std::int64_t>& device_axes) {
  RankExpr part;
  for (const std::int64_t axis : device_axes) {
    const RankDigit digit = AxisDigit(
        sharding.device_matrix, sharding.device_matrix.size() - 1 - static_cast<std::size_t>(axis));
    part = Plus(Times(part, digit.extent), DigitTimes(digit, 1));
  }
  return Canonical(part);
}

/// A layout that follows from the strategy may still not fit a tensor the strategy does not name.
Status CheckFits(const OpView& view, std::string_view side, std::size_t index,
                 const TensorLayout& layout) {
  Status status = ValidateLayout(layout);
  if (!status) {
    Error error = std::move(status).error();
    error.message = std::string(side) + " " + std::to_string(index) + " of '" +
                    std::string(view.op) + "' cannot be cut so: " + error.message;
    error.reason = std::string(view.op) + ":strategy-" + std::string(side);
    return tl::unexpected(std::move(error));
  }
  return {};
}

}  // namespace

Status FillSharding(const ShardRule& rule, const OpView& view, const AxisDevices& devices,
                    OpSharding& sharding) {
  for (std::size_t i = 0; i < view.inputs.size(); ++i) {
    sharding.inputs.push_back(LayoutOf(sharding, rule.inputs[i], devices, view.inputs[i].shape));
    DRYDOCK_RETURN_IF_ERROR(CheckFits(view, "input", i, sharding.inputs.back()));
  }
  for (std::size_t i = 0; i < view.outputs.size(); ++i) {
    sharding.outputs.push_back(LayoutOf(sharding, rule.outputs[i], devices, view.outputs[i].shape));
    DRYDOCK_RETURN_IF_ERROR(CheckFits(view, "output", i, sharding.outputs.back()));
  }
  for (std::int32_t axis = 0; axis < rule.axis_count; ++axis) {
    sharding.axis_groups.push_back(PatternOf(sharding, devices, {axis}));
    sharding.axis_parts.push_back(PartOf(sharding, devices[static_cast<std::size_t>(axis)]));
  }
  for (const ForwardCommunication& what : rule.communication) {
    GroupPattern group = PatternOf(sharding, devices, what.axes);
    if (GroupSize(group) > 1) {
      sharding.communication.push_back({.what = what, .group = std::move(group)});
    }
  }
  const auto loss_output = static_cast<std::size_t>(rule.loss_output);
  if (!rule.loss_divisor_is_one && loss_output < sharding.outputs.size()) {
    sharding.loss_divisor =
        GroupSize(AcrossRanks(ReplicaPattern(sharding.outputs[loss_output]), sharding.interleave));
  }
  return {};
}

Error WithAlternatives(Error error, const std::vector<std::string>& legal,
                       const DeviceContext& devices) {
  if (legal.empty()) {
    return error;
  }
  std::string text = error.hint.empty() ? "use for instance " : error.hint + "; for instance ";
  for (std::size_t i = 0; i < legal.size(); ++i) {
    text += i == 0 ? "" : i + 1 == legal.size() ? " or " : ", ";
    text += legal[i];
  }
  text += legal.size() == 1 ? ", which is legal on " : ", which are legal on ";
  error.hint = text + std::to_string(devices.stage_devices) + " devices";
  return error;
}

Result<ShardRule> RuleOf(const OpEntry& entry, OpView view, const Strategy& strategy,
                         const DeviceContext& devices) {
  view.device_count = devices.stage_devices;
  if (entry.shard == nullptr) {
    return Fail(ErrorCode::kUnsupported,
                "operator '" + std::string(view.op) + "' has no sharding rule");
  }
  if (!CheckCutRange(view, strategy)) {
    const auto whole = entry.shard(view, {});
    return tl::unexpected(CheckCutRange(view, strategy, whole ? &*whole : nullptr).error());
  }
  DRYDOCK_TRY(ShardRule rule, entry.shard(view, strategy));
  if (view.attrs != nullptr) {
    DRYDOCK_TRY(const bool right, BoolAttr(*view.attrs, kRepeatOnRight, !rule.repeat_on_left));
    rule.repeat_on_left = !right;
  }
  if (rule.inputs.size() != view.inputs.size()) {
    return FailInput(std::string(view.op) + ":input-count",
                     "'" + std::string(view.op) + "' takes " + std::to_string(rule.inputs.size()) +
                         " tensors when it is cut, but " + std::to_string(view.inputs.size()) +
                         " are given");
  }
  DRYDOCK_CHECK(rule.outputs.size() == view.outputs.size());
  return rule;
}

namespace {

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

std::string ShapesText(std::span<const TensorType> types) {
  std::string text;
  for (const TensorType& type : types) {
    text += (text.empty() ? "" : ", ") + TupleText(type.shape);
  }
  return text;
}

/// Says what was cut how, and which strategies near by are legal.
Error WithSuggestion(Error error, const OpEntry& entry, const OpView& view,
                     const Strategy& strategy, const DeviceContext& devices) {
  error =
      WithNote(std::move(error), "strategy " + StrategyText(strategy) + " of inputs with shapes " +
                                     ShapesText(view.inputs) + " on " +
                                     std::to_string(devices.stage_devices) + " devices");
  OpView plain = view;
  plain.out_strategy = nullptr;
  if (view.out_strategy != nullptr && TrySharding(entry, plain, strategy, devices)) {
    error.hint = error.hint.empty() ? "leave out_strategy out" : error.hint;
    return error;
  }
  const std::vector<Strategy> nearest =
      NearestLegalStrategies(entry, view, strategy, devices, kSuggestions);
  std::vector<std::string> texts;
  texts.reserve(nearest.size());
  for (const Strategy& one : nearest) {
    texts.push_back(StrategyText(one));
  }
  return WithAlternatives(std::move(error), texts, devices);
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
  if (!sharding && sharding.error().code == ErrorCode::kInvalidArgument) {
    return tl::unexpected(
        WithSuggestion(std::move(sharding).error(), entry, view, strategy, devices));
  }
  return sharding;
}

}  // namespace drydock::strategies
