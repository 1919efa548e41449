#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/layout/interleave.h"
#include "strategies/operators/sharding_parts.h"

/// The rule engine for named layouts: what the user gives are device axes per dimension, so that
/// the rule only has to say which dimensions belong together. Source: mindspore
/// ops_info/operator_info.cc.
namespace drydock::strategies {
namespace {

tl::unexpected<Error> FailLayout(const OpView& view, std::string_view code, std::string message) {
  return FailInput(std::string(view.op) + ":layout-" + std::string(code), std::move(message));
}

/// Layouts of all tensors of one side ("input", "output") against shapes and devices.
Status CheckLayouts(const OpView& view, std::span<const TensorType> types,
                    const std::vector<TensorLayout>& layouts, const std::string& side,
                    const DeviceContext& devices) {
  const std::string op = "'" + std::string(view.op) + "'";
  if (layouts.size() != types.size()) {
    return FailLayout(view, "entries",
                      op + " has " + std::to_string(types.size()) + " " + side +
                          (types.size() == 1 ? "" : "s") + ", but " +
                          std::to_string(layouts.size()) + " layouts are given");
  }
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    std::string where = "the layout of ";
    where.append(side).append(" ").append(std::to_string(i)).append(" of ").append(op);
    if (layouts[i].tensor_map.size() != types[i].shape.size()) {
      return FailLayout(view, "rank",
                        where + " has " + std::to_string(layouts[i].tensor_map.size()) +
                            " dimensions, but the tensor has shape " + TupleText(types[i].shape));
    }
    TensorLayout with_shape = layouts[i];
    with_shape.shape = types[i].shape;
    if (Status status = ValidateLayout(with_shape); !status) {
      return tl::unexpected(WithNote(std::move(status).error(), "in " + where));
    }
    if (Product(layouts[i].device_matrix) != devices.stage_devices * layouts[i].interleave) {
      return FailLayout(view, "devices",
                        where + " has device matrix " + TupleText(layouts[i].device_matrix) +
                            ", which does not multiply to " +
                            std::to_string(devices.stage_devices * layouts[i].interleave) +
                            (layouts[i].interleave > 1 ? " slices on " : " devices on ") +
                            std::to_string(devices.stage_devices) + " devices");
    }
  }
  return {};
}

Status CheckOneDeviceMatrix(const OpView& view, const std::vector<TensorLayout>& layouts) {
  for (const TensorLayout& layout : layouts) {
    if (layout.device_matrix != layouts.front().device_matrix ||
        layout.interleave != layouts.front().interleave) {
      return FailLayout(
          view, "devices",
          "the layouts of '" + std::string(view.op) + "' have different device matrices " +
              TupleText(layouts.front().device_matrix) + " and " + TupleText(layout.device_matrix));
    }
  }
  return {};
}

/// "dimension 1 of input 0 (extent 64) into 4"
std::string CutText(const std::vector<TensorLayout>& layouts, const OpView& view, std::size_t input,
                    std::size_t dim) {
  return "dimension " + std::to_string(dim) + " of input " + std::to_string(input) + " (extent " +
         std::to_string(view.inputs[input].shape[dim]) + ") into " +
         std::to_string(CutsOf(layouts[input])[dim]);
}

/// Device axes of every rule axis as the given layouts say.
class AxisCollector {
 public:
  AxisCollector(const ShardRule& rule, const OpView& view, const std::vector<TensorLayout>& layouts)
      : rule_(rule),
        view_(view),
        layouts_(layouts),
        devices_(static_cast<std::size_t>(rule.axis_count)),
        where_(devices_.size()) {}

  Result<AxisDevices> Collect() && {
    // Dimensions of one axis say how it is cut; where two axes meet, what is left is the second's.
    for (const bool joined : {false, true}) {
      for (std::size_t i = 0; i < layouts_.size(); ++i) {
        for (std::size_t d = 0; d < layouts_[i].tensor_map.size(); ++d) {
          if ((rule_.inputs[i][d].size() > 1) == joined) {
            DRYDOCK_RETURN_IF_ERROR(joined ? TakeJoined(i, d) : Take(i, d));
          }
        }
      }
    }
    for (const ShardRule::Uncut& uncut : rule_.uncut) {
      const auto axis = static_cast<std::size_t>(uncut.axis);
      if (Cuts(devices_[axis])) {
        return FailLayout(view_, "uncut",
                          "the layouts of " + Op() + " cut " + where_[axis] + ", but " +
                              uncut.what + " cannot be cut");
      }
    }
    return std::move(devices_);
  }

 private:
  [[nodiscard]] std::string Op() const { return "'" + std::string(view_.op) + "'"; }

  /// Axes of extent 1 may stand anywhere.
  [[nodiscard]] bool Cuts(const std::vector<std::int64_t>& device_axes) const {
    return !Cutting(device_axes).empty();
  }

  /// Those of more than one device.
  [[nodiscard]] std::vector<std::int64_t> Cutting(std::vector<std::int64_t> device_axes) const {
    const std::vector<std::int64_t>& matrix = layouts_.front().device_matrix;
    std::erase_if(device_axes, [&matrix](std::int64_t axis) {
      return matrix[matrix.size() - 1 - static_cast<std::size_t>(axis)] == 1;
    });
    return device_axes;
  }

  Status Take(std::size_t input, std::size_t dim) {
    const std::vector<std::int64_t>& map = layouts_[input].tensor_map[dim];
    const DimAxes& axes = rule_.inputs[input][dim];
    if (axes.empty()) {
      return Cuts(map) ? FailLayout(view_, "uncut",
                                    "the layouts of " + Op() + " cut " +
                                        CutText(layouts_, view_, input, dim) +
                                        ", but this dimension cannot be cut")
                       : Status();
    }
    const auto axis = static_cast<std::size_t>(axes.front());
    const std::string where = CutText(layouts_, view_, input, dim);
    if (!where_[axis].empty() && Cutting(devices_[axis]) != Cutting(map)) {
      return FailLayout(view_, "axis",
                        "the layouts of " + Op() + " cut " + where_[axis] + " but " + where +
                            ", or along other axes; the two must be cut alike");
    }
    if (where_[axis].empty() || map.size() > devices_[axis].size()) {
      where_[axis] = where;
      devices_[axis] = map;
    }
    return {};
  }

  /// The device axes of the first rule axis stand in front, those behind them cut the second one.
  /// Which of the two is known already, by another dimension, says where one ends.
  Status TakeJoined(std::size_t input, std::size_t dim) {
    const DimAxes& axes = rule_.inputs[input][dim];
    const std::vector<std::int64_t>& map = layouts_[input].tensor_map[dim];
    const std::vector<std::int64_t>& last = devices_[static_cast<std::size_t>(axes[1])];
    if (where_[static_cast<std::size_t>(axes[0])].empty() && !last.empty() &&
        last.size() <= map.size() && std::equal(last.rbegin(), last.rend(), map.rbegin())) {
      devices_[static_cast<std::size_t>(axes[0])].assign(map.begin(), map.end() - std::ssize(last));
      where_[static_cast<std::size_t>(axes[0])] = CutText(layouts_, view_, input, dim);
      return {};
    }
    const std::vector<std::int64_t>& outer = devices_[static_cast<std::size_t>(axes[0])];
    if (outer.size() > map.size() || !std::equal(outer.begin(), outer.end(), map.begin())) {
      return FailLayout(view_, "axis",
                        "the layouts of " + Op() + " cut " + CutText(layouts_, view_, input, dim) +
                            ", but the axes of " + where_[static_cast<std::size_t>(axes[0])] +
                            " must stand in front");
    }
    const auto inner = static_cast<std::size_t>(axes[1]);
    devices_[inner].assign(map.begin() + std::ssize(outer), map.end());
    where_[inner] = CutText(layouts_, view_, input, dim);
    return {};
  }

  const ShardRule& rule_;
  const OpView& view_;
  const std::vector<TensorLayout>& layouts_;
  AxisDevices devices_;
  std::vector<std::string> where_;  ///< First dimension seen of each axis; empty: none yet.
};

bool HasAxis(const std::vector<TensorAxes>& tensors, AxisIndex axis) {
  return std::ranges::any_of(tensors, [axis](const TensorAxes& dims) {
    return std::ranges::any_of(
        dims, [axis](const DimAxes& axes) { return std::ranges::find(axes, axis) != axes.end(); });
  });
}

/// A layout of a result as those of the operands are: without copies, unless these have them.
TensorLayout LikeOperands(const TensorLayout& layout, const OpSharding& sharding) {
  return sharding.interleave > 1 ? layout : WithoutCopies(layout);
}

/// Axes that only results have, like the copies of a Tile, are cut as the results' layouts say.
void TakeResultAxes(const ShardRule& rule, const OpSharding& sharding,
                    const std::vector<TensorLayout>& out_layouts, AxisDevices& axis_devices) {
  for (std::size_t i = 0; i < out_layouts.size() && i < rule.outputs.size(); ++i) {
    const TensorLayout layout = LikeOperands(out_layouts[i], sharding);
    if (layout.device_matrix != sharding.device_matrix ||
        layout.tensor_map.size() != rule.outputs[i].size()) {
      continue;  // refused when it is compared with what follows from the inputs
    }
    for (std::size_t d = 0; d < layout.tensor_map.size(); ++d) {
      const DimAxes& axes = rule.outputs[i][d];
      if (axes.size() == 1 && !HasAxis(rule.inputs, axes.front())) {
        axis_devices[static_cast<std::size_t>(axes.front())] = layout.tensor_map[d];
      }
    }
  }
}

/// The layouts of the operands with copies only if some operand's copies differ; then all have
/// them.
Result<std::vector<TensorLayout>> WithUsedCopies(const OpEntry& entry, const OpView& view,
                                                 const std::vector<TensorLayout>& layouts) {
  if (std::ranges::any_of(layouts, CopiesDiffer)) {
    if (!entry.accepts_interleaved) {
      Error error{.code = ErrorCode::kUnsupported,
                  .message = "'" + std::string(view.op) +
                             "' is not handled with the axis 'interleaved_parallel'"};
      error.reason = std::string(view.op) + ":layout-interleaved";
      return tl::unexpected(std::move(error));
    }
    return layouts;
  }
  std::vector<TensorLayout> plain;
  std::ranges::transform(layouts, std::back_inserter(plain), WithoutCopies);
  return plain;
}

/// The layout of a result whose partial sums are scattered along dimension 0 instead of being
/// completed on every rank: the summed axes come innermost. nullopt if there is nothing to scatter.
std::optional<TensorLayout> ScatteredLayout(const AxisDevices& axis_devices,
                                            const OpSharding& sharding, std::size_t output) {
  TensorLayout layout = sharding.outputs[output];
  bool scattered = false;
  for (const OpSharding::Communication& one : sharding.communication) {
    if (static_cast<std::size_t>(one.what.output) != output || layout.tensor_map.empty()) {
      continue;
    }
    for (const AxisIndex axis : one.what.axes) {
      const auto& axes = axis_devices[static_cast<std::size_t>(axis)];
      layout.tensor_map[0].insert(layout.tensor_map[0].end(), axes.begin(), axes.end());
      scattered = true;
    }
  }
  return scattered && ValidateLayout(layout) ? std::optional(layout) : std::nullopt;
}

/// Sums of an output are scattered instead of completed.
void Scatter(OpSharding& sharding, std::size_t output, const TensorLayout& scattered) {
  sharding.outputs[output] = scattered;
  for (OpSharding::Communication& one : sharding.communication) {
    if (static_cast<std::size_t>(one.what.output) == output) {
      one.what.kind = ForwardCommunication::Kind::kReduceScatter;
    }
  }
}

/// Operators whose output layout always follows from the inputs refuse one that is given, even the
/// right one. Source: mindspore ops_info/{activation,arithmetic,layer_norm,rms_norm}_info.cc.
bool RefusesOutLayouts(const OpEntry& entry) {
  constexpr std::array<std::string_view, 3> kFamilies = {"elementwise_unary", "broadcast_binary",
                                                         "normalisation"};
  return !entry.accepts_out_layout && std::ranges::find(kFamilies, entry.family) != kFamilies.end();
}

/// Output layouts may repeat what follows from the inputs, or ask for the scattered form.
/// Source: mindspore ops_info/operator_info.cc.
Status ApplyOutLayouts(const OpEntry& entry, const OpView& view, const AxisDevices& axis_devices,
                       const std::vector<TensorLayout>& out_layouts, OpSharding& sharding) {
  if (!out_layouts.empty() && RefusesOutLayouts(entry)) {
    return FailLayout(view, "out-given",
                      "the layout of the result of '" + std::string(view.op) +
                          "' follows from its inputs and cannot be given");
  }
  for (std::size_t i = 0; i < out_layouts.size() && i < sharding.outputs.size(); ++i) {
    TensorLayout wanted = LikeOperands(out_layouts[i], sharding);
    wanted.shape = sharding.outputs[i].shape;
    const bool fits = wanted.tensor_map.size() == wanted.shape.size() && ValidateLayout(wanted);
    if (fits && SameOwnership(wanted, sharding.outputs[i])) {
      continue;
    }
    const std::optional<TensorLayout> scattered =
        entry.accepts_out_layout ? ScatteredLayout(axis_devices, sharding, i) : std::nullopt;
    if (!fits || !scattered || !SameOwnership(wanted, *scattered)) {
      Error error =
          FailLayout(view, "out",
                     "the layout of output " + std::to_string(i) + " of '" + std::string(view.op) +
                         "' is not the one that follows from its inputs")
              .value();
      error.hint = "leave it out, or give " + LayoutsText({sharding.outputs[i]}) +
                   (scattered ? " or " + LayoutsText({*scattered}) : "");
      return tl::unexpected(std::move(error));
    }
    Scatter(sharding, i, *scattered);
  }
  return {};
}

/// Operators whose layouts are the user's own responsibility. Source: mindspore
/// ops_info/batch_parallel_info.cc.
Result<OpSharding> ShardingAsGiven(const OpEntry& entry, const OpView& view,
                                   const std::vector<TensorLayout>& in_layouts,
                                   const std::vector<TensorLayout>& out_layouts,
                                   const DeviceContext& devices) {
  OpSharding sharding;
  const auto take = [&](std::span<const TensorType> types, const std::vector<TensorLayout>& given,
                        const std::string& what, std::vector<TensorLayout>& layouts) -> Status {
    DRYDOCK_RETURN_IF_ERROR(CheckLayouts(view, types, given, what, devices));
    for (std::size_t i = 0; i < types.size(); ++i) {
      layouts.push_back(given[i]);
      layouts.back().shape = types[i].shape;
    }
    return {};
  };
  DRYDOCK_RETURN_IF_ERROR(take(view.inputs, in_layouts, "input", sharding.inputs));
  DRYDOCK_RETURN_IF_ERROR(take(view.outputs, out_layouts, "output", sharding.outputs));
  for (const TensorLayout& layout : sharding.inputs) {
    sharding.strategy.push_back(CutsOf(layout));
  }
  const TensorLayout& first =
      sharding.outputs.empty() ? sharding.inputs.front() : sharding.outputs.front();
  sharding.device_matrix = first.device_matrix;
  sharding.loss_divisor = entry.kind == OpKind::kDataset ? 1 : GroupSize(ReplicaPattern(first));
  return sharding;
}

}  // namespace

Result<OpSharding> DeriveShardingFromLayouts(const OpEntry& entry, const OpView& view,
                                             const std::vector<TensorLayout>& in_layouts,
                                             const std::vector<TensorLayout>& out_layouts,
                                             const DeviceContext& devices) {
  Result<OpSharding> sharding = TryLayouts(entry, view, in_layouts, out_layouts, devices);
  if (sharding || sharding.error().code != ErrorCode::kInvalidArgument) {
    return sharding;
  }
  std::string shapes;
  for (const TensorType& type : view.inputs) {
    shapes += (shapes.empty() ? "" : ", ") + TupleText(type.shape);
  }
  Error error = WithNote(std::move(sharding).error(),
                         LayoutsText(in_layouts) + ", inputs of shapes " + shapes);
  if (!out_layouts.empty() && TryLayouts(entry, view, in_layouts, {}, devices)) {
    return tl::unexpected(std::move(error));  // only the output layout is wrong
  }
  std::vector<std::string> texts;
  for (const auto& legal : NearestLegalLayouts(entry, view, in_layouts, devices, kSuggestions)) {
    texts.push_back(LayoutsText(legal));
  }
  return tl::unexpected(WithAlternatives(std::move(error), texts, devices));
}

Result<OpSharding> TryLayouts(const OpEntry& entry, const OpView& view,
                              const std::vector<TensorLayout>& in_layouts,
                              const std::vector<TensorLayout>& out_layouts,
                              const DeviceContext& devices) {
  if (!entry.accepts_layout) {
    Error error =
        FailLayout(view, "refused", "'" + std::string(view.op) + "' does not accept layouts")
            .value();
    error.hint = "give a strategy of cuts, or set attribute self_define_shard and all layouts";
    return tl::unexpected(std::move(error));
  }
  if (entry.layouts_as_given) {
    return ShardingAsGiven(entry, view, in_layouts, out_layouts, devices);
  }
  DRYDOCK_RETURN_IF_ERROR(CheckLayouts(view, view.inputs, in_layouts, "input", devices));
  DRYDOCK_RETURN_IF_ERROR(CheckOneDeviceMatrix(view, in_layouts));
  if (in_layouts.empty()) {
    return FailLayout(view, "entries", "'" + std::string(view.op) + "' has no tensor to cut");
  }
  DRYDOCK_TRY(const std::vector<TensorLayout> layouts, WithUsedCopies(entry, view, in_layouts));
  OpSharding sharding{.device_matrix = layouts.front().device_matrix,
                      .interleave = layouts.front().interleave};
  std::ranges::transform(layouts, std::back_inserter(sharding.strategy), CutsOf);
  OpView with_layouts = view;
  with_layouts.in_layouts = &layouts;
  DRYDOCK_TRY(const ShardRule rule, RuleOf(entry, with_layouts, sharding.strategy, devices));
  DRYDOCK_TRY(AxisDevices axis_devices, AxisCollector(rule, view, layouts).Collect());
  if (entry.accepts_out_layout) {
    TakeResultAxes(rule, sharding, out_layouts, axis_devices);
  }
  DRYDOCK_RETURN_IF_ERROR(FillSharding(rule, view, axis_devices, sharding));
  if (sharding.interleave > 1) {
    sharding.device_matrix.pop_back();  // what is left is the ranks'
  }
  DRYDOCK_RETURN_IF_ERROR(ApplyOutLayouts(entry, view, axis_devices, out_layouts, sharding));
  return sharding;
}

}  // namespace drydock::strategies
