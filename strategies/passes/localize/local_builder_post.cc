#include <algorithm>
#include <optional>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/sharding_parts.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/passes/localize/local_builder.h"
#include "strategies/passes/localize/redistribute.h"

/// What stands behind the gradients: averaging, clipping, optimizers.
///
/// Nothing there is planned. Operators work on the slices of gradients and weights as these are
/// cut; where one combines elements of different ranks (a norm), its rule says how, as for any
/// operator.
namespace drydock::strategies {
namespace {

/// Numbers (stride, extent) of the digits of a group that the script made, outermost first.
constexpr std::string_view kGroupDigits = "group_digits";

/// Group of a collective that the script writes: what `group_digits` says, all ranks without it.
Result<GroupPattern> ScriptGroup(const Node& node, std::int64_t world_size) {
  if (node.group) {
    return *node.group;
  }
  DRYDOCK_TRY(const auto given, IntListAttr(node.attrs, kGroupDigits));
  if (!given) {
    return MakeGroupPattern({RankDigit{.stride = 1, .extent = world_size}});
  }
  std::vector<RankDigit> digits;
  std::int64_t inside = world_size;  // ranks between two members that differ in the digit before
  bool sound = given->size() % 2 == 0;
  for (std::size_t i = 0; sound && i + 1 < given->size(); i += 2) {
    const RankDigit digit{.stride = (*given)[i], .extent = (*given)[i + 1]};
    sound = digit.stride >= 1 && digit.extent >= 1 && digit.stride <= inside &&
            digit.extent <= inside / digit.stride;
    inside = digit.stride;
    digits.push_back(digit);
  }
  if (!sound) {
    return FailInput(node.op + ":group", "the group of '" + node.op + "' is not within the job",
                     "group_digits are pairs of stride and extent, outermost first");
  }
  return MakeGroupPattern(std::move(digits));
}

/// Layout of a whole operand beside a cut one: like that from the right if the operator goes
/// element by element, else whole.
TensorLayout Beside(const TensorLayout& cut, const Shape& shape, bool element_by_element) {
  TensorLayout layout{.device_matrix = cut.device_matrix,
                      .tensor_map = std::vector<std::vector<std::int64_t>>(shape.size()),
                      .shape = shape};
  const std::size_t common = std::min(shape.size(), cut.shape.size());
  for (std::size_t back = 1; element_by_element && back <= common; ++back) {
    if (shape[shape.size() - back] == cut.shape[cut.shape.size() - back]) {
      layout.tensor_map[shape.size() - back] = cut.tensor_map[cut.shape.size() - back];
    }
  }
  return layout;
}

tl::unexpected<Error> FailCombination(const Node& node) {
  return Fail(ErrorCode::kUnsupported,
              "'" + node.op +
                  "' combines elements of a gradient or weight that is cut over ranks; " +
                  "its result would differ per rank",
              "use sums, means and extremes, whose parts can be combined");
}

}  // namespace

bool WorksOnSlices(const Node& node) {
  switch (node.entry->kind) {
    case OpKind::kView:
    case OpKind::kTransparent:
    case OpKind::kUpdate:
    case OpKind::kNoGradient:
      return true;
    default:
      return node.entry->elementwise || node.entry->cost == CostFamily::kArithmetic;
  }
}

SharedValue<OpSharding> LocalBuilder::FollowCuts(const Node& node) const {
  const auto cut = std::ranges::find_if(node.inputs, [this](ValueId id) { return IsCut(id); });
  std::vector<TensorLayout> layouts;
  for (const ValueId input : node.inputs) {
    if (input == kNoValue) {
      continue;
    }
    if (IsCut(input) && !locals_[ToIndex(input)].layout) {
      return {};
    }
    layouts.push_back(
        IsCut(input) ? *LayoutOf(input)
                     : Beside(*LayoutOf(*cut), traced_.at(input).type.shape, WorksOnSlices(node)));
  }
  OpEntry entry = *node.entry;
  entry.accepts_layout = true;  // said of layouts that users write
  OpViewStorage storage;
  Result<OpSharding> sharding =
      TryLayouts(entry, ViewOf(traced_, node, storage), layouts, {}, DevicesOf(config_));
  return sharding ? SharedValue<OpSharding>(*std::move(sharding)) : SharedValue<OpSharding>();
}

/// The operand as it is, or the rank's slice of it.
Result<ValueId> LocalBuilder::PostOperand(NodeId user, std::size_t operand,
                                          const TensorLayout& wanted) {
  const ValueId value = traced_.at(user).inputs[operand];
  const ValueId local = locals_[ToIndex(value)].id;
  if (SameOwnership(*LayoutOf(value), wanted)) {
    return local;
  }
  if (traced_.at(value).kind == ValueKind::kConstant) {
    return ConstantSlice(value, wanted, SpecOf(user));
  }
  const RedistributionLabel label{.producer_name = NameOf(value),
                                  .reason_text = NameOf(value) + " -> " + ShortNameOf(user),
                                  .trailing_underscore = NamesEndInUnderscore()};
  return EmitRedistribution(builder_, local, *LayoutOf(value), wanted,
                            {.enable_alltoall = config_.enable_alltoall}, label, SpecOf(user));
}

/// A state that every rank holds whole gets the whole of a value that is cut.
Status LocalBuilder::TranslateUpdate(NodeId id, NodeSpec spec) {
  const Node& node = traced_.at(id);
  const ValueId written = node.inputs.front();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    const bool gathered = input != kNoValue && !IsCut(written) && IsCut(input) &&
                          locals_[ToIndex(input)].layout &&
                          traced_.at(input).type.shape == traced_.at(written).type.shape;
    spec.inputs.push_back(input == kNoValue ? kNoValue : locals_[ToIndex(input)].id);
    if (gathered) {
      DRYDOCK_TRY(spec.inputs.back(), PostOperand(id, i, *LayoutOf(written)));
    }
  }
  return TranslateUncut(id, std::move(spec));
}

/// An operator on slices of gradients or weights.
Status LocalBuilder::TranslateSlices(NodeId id, NodeSpec spec) {
  const Node& node = traced_.at(id);
  if (node.entry->kind == OpKind::kUpdate) {
    return TranslateUpdate(id, std::move(spec));
  }
  const SharedValue<OpSharding> sharding = FollowCuts(node);
  if (!sharding && !WorksOnSlices(node)) {
    return FailCombination(node);
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    spec.inputs.push_back(input == kNoValue ? kNoValue : locals_[ToIndex(input)].id);
    if (input != kNoValue && sharding) {
      DRYDOCK_TRY(spec.inputs.back(), PostOperand(id, i, sharding->inputs[TensorIndex(node, i)]));
    }
  }
  if (!sharding) {
    return TranslateUncut(id, std::move(spec));
  }
  DRYDOCK_TRY(std::vector<ValueId> outputs, EmitLocal(id, *sharding, std::move(spec)));
  return SetResults(id, sharding, std::move(outputs));
}

/// A node of which every rank computes what was traced: whole tensors, or element by element.
Status LocalBuilder::TranslateUncut(NodeId id, NodeSpec spec) {
  const Node& node = traced_.at(id);
  if (node.entry->infer == nullptr) {
    std::vector<TensorType> types;
    for (const ValueId output : node.outputs) {
      types.push_back(traced_.at(output).type);
    }
    const NodeId local = builder_.AddNodeWithTypes(std::move(spec), std::move(types));
    SetOutputs(id, std::vector<ValueId>(builder_.graph().at(local).outputs), {});
    return {};
  }
  DRYDOCK_TRY(const NodeId local, builder_.AddNode(std::move(spec)));
  SetOutputs(id, std::vector<ValueId>(builder_.graph().at(local).outputs), {});
  return {};
}

Status LocalBuilder::TranslatePost(NodeId id) {
  const Node& node = traced_.at(id);
  NodeSpec spec = SpecOf(id);
  const bool reads_slices =
      CutsOperators(config_.mode) &&
      std::ranges::any_of(node.inputs, [this](ValueId input) { return IsCut(input); });
  if (reads_slices) {
    return TranslateSlices(id, std::move(spec));
  }
  for (const ValueId input : node.inputs) {
    spec.inputs.push_back(input == kNoValue ? kNoValue : locals_[ToIndex(input)].id);
  }
  if (node.entry->kind != OpKind::kCollective) {
    return TranslateUncut(id, std::move(spec));
  }
  const bool reducer = regions_[ToIndex(id)] == Region::kPost;
  DRYDOCK_TRY(const GroupPattern group, ScriptGroup(node, config_.world_size));
  spec.attrs.erase(std::string(kGroupDigits));
  const std::string& operand = traced_.at(node.inputs.front()).name;
  DRYDOCK_TRY(
      const ValueId output,
      EmitCollective(builder_, std::move(spec), group,
                     reducer ? CommReason::kDataParallelReducer : CommReason::kUser,
                     reducer ? "gradient averaging" + (operand.empty() ? "" : " of " + operand)
                             : "written in the script"));
  SetOutputs(id, {output}, {});
  return {};
}

}  // namespace drydock::strategies
