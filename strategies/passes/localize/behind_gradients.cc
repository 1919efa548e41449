#include "strategies/passes/localize/behind_gradients.h"

#include <algorithm>
#include <optional>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/sharding_parts.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/passes/localize/checkpoint.h"
#include "strategies/passes/localize/global_norm.h"
#include "strategies/passes/localize/operands.h"
#include "strategies/passes/localize/redistribute.h"
#include "strategies/passes/localize/slices.h"
#include "strategies/passes/localize/stage_edges.h"

/// What stands behind the gradients: averaging, clipping, optimizers.
///
/// Nothing there is planned. Operators work on the slices of gradients and weights as these are
/// cut, and nothing is exchanged, even where one combines elements: the norm that Lamb takes of a
/// weight is that of the slice. Exceptions are the norm of all gradients (global_norm.cc) and
/// operators with the attribute `keep_alive`, the row and column means of AdaFactor, whose parts
/// are completed as in front of the gradients. Collectives that the script writes keep the groups
/// that it names.
///
/// Example: the mean square of a step (64, 32) that is cut (4, 1): each rank takes that of its
/// (16, 32).
/// Source: mindspore/ccsrc/frontend/parallel/parameter_manager.cc (HandleCameAndAdaFactorOpt),
/// parallel_postprocessor.cc
namespace drydock::strategies {
namespace {

/// Numbers (stride, extent) of the digits of a group that the script made, outermost first.
constexpr std::string_view kGroupDigits = "group_digits";

/// Group of a collective that the script writes: what `group_digits` says, all ranks without it;
/// of the whole job, also where only a stage of it runs the collective.
Result<GroupPattern> ScriptGroup(const Node& node, const JobConfig& config) {
  const bool of_job = config.pipeline_stages > 1;
  const std::int64_t world_size = config.world_size;
  if (node.group) {
    return *node.group;
  }
  DRYDOCK_TRY(const auto given, IntListAttr(node.attrs, kGroupDigits));
  if (!given) {
    GroupPattern all = MakeGroupPattern({RankDigit{.stride = 1, .extent = world_size}});
    all.of_job = of_job;
    return all;
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
  GroupPattern group = MakeGroupPattern(std::move(digits));
  group.of_job = of_job;
  return group;
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

/// The attribute of operators whose parts are completed.
constexpr std::string_view kSpansRanks = "keep_alive";

/// How an operator works on its operands as they are cut; absent if no layout says.
SharedValue<OpSharding> FollowCuts(const LocalDraft& draft, const Node& node) {
  const auto cut =
      std::ranges::find_if(node.inputs, [&draft](ValueId id) { return IsCut(draft, id); });
  std::vector<TensorLayout> layouts;
  for (const ValueId input : node.inputs) {
    if (input == kNoValue) {
      continue;
    }
    if (IsCut(draft, input) && !draft.Of(input).layout) {
      return {};
    }
    layouts.push_back(IsCut(draft, input)
                          ? *LayoutOf(draft, input)
                          : Beside(*LayoutOf(draft, *cut), draft.traced.at(input).type.shape,
                                   WorksOnSlices(node)));
  }
  OpEntry entry = *node.entry;
  entry.accepts_layout = true;  // said of layouts that users write
  OpViewStorage storage;
  Result<OpSharding> sharding =
      TryLayouts(entry, ViewOf(draft.traced, node, storage), layouts, {}, DevicesOf(draft.config));
  if (sharding && !BoolAttr(node.attrs, kSpansRanks, false).value_or(false)) {
    sharding->communication.clear();
  }
  return sharding ? SharedValue<OpSharding>(*std::move(sharding)) : SharedValue<OpSharding>();
}

/// The operand as it is, or the rank's slice of it.
Result<ValueId> PostOperand(LocalDraft& draft, NodeId user, std::size_t operand,
                            const TensorLayout& wanted) {
  const ValueId value = draft.traced.at(user).inputs[operand];
  const ValueId local = draft.Of(value).id;
  if (SameOwnership(*LayoutOf(draft, value), wanted)) {
    return local;
  }
  if (draft.traced.at(value).kind == ValueKind::kConstant) {
    return SliceConstant(draft, value, wanted, SpecOf(draft, user));
  }
  const RedistributionLabel label =
      LabelOf(draft, value, NameOf(draft, value) + " -> " + ShortNameOf(draft, user));
  DRYDOCK_TRY(const auto chain,
              InferRedistribution(*LayoutOf(draft, value), wanted, OptionsOf(draft.config)));
  return EmitRedistribution(draft.builder, local, chain, label, SpecOf(draft, user));
}

/// A replicated optimizer state is updated from the gathered value.
Status LocalizeUpdate(LocalDraft& draft, NodeId id, NodeSpec spec) {
  const Node& node = draft.traced.at(id);
  const ValueId written = node.inputs.front();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    const bool gathered = input != kNoValue && !IsCut(draft, written) && IsCut(draft, input) &&
                          draft.Of(input).layout &&
                          draft.traced.at(input).type.shape == draft.traced.at(written).type.shape;
    spec.inputs.push_back(input == kNoValue ? kNoValue : draft.Of(input).id);
    if (gathered) {
      DRYDOCK_TRY(spec.inputs.back(), PostOperand(draft, id, i, *LayoutOf(draft, written)));
    }
  }
  DRYDOCK_RETURN_IF_ERROR(EmitAsTraced(draft, id, std::move(spec)));
  for (const ValueId output : node.outputs) {  // what is written may be read in front of the loss
    if (draft.traced.at(output).type.shape == draft.traced.at(written).type.shape) {
      draft.Of(output).layout = draft.Of(written).layout;
    }
  }
  return {};
}

/// An operator on slices of gradients or weights.
Status LocalizeSlices(LocalDraft& draft, NodeId id, NodeSpec spec) {
  const Node& node = draft.traced.at(id);
  if (node.entry->kind == OpKind::kUpdate) {
    return LocalizeUpdate(draft, id, std::move(spec));
  }
  const SharedValue<OpSharding> sharding = FollowCuts(draft, node);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    spec.inputs.push_back(input == kNoValue ? kNoValue : draft.Of(input).id);
    if (input != kNoValue && sharding) {
      DRYDOCK_TRY(spec.inputs.back(),
                  PostOperand(draft, id, i, sharding->inputs[TensorIndex(node, i)]));
    }
  }
  if (!sharding) {
    return EmitAsTraced(draft, id, std::move(spec));
  }
  DRYDOCK_TRY(std::vector<ValueId> outputs, EmitOnSlices(draft, id, *sharding, std::move(spec)));
  return TakeResults(draft, id, sharding, std::move(outputs));
}

Status EmitScriptCollective(LocalDraft& draft, NodeId id, NodeSpec spec) {
  const Node& node = draft.traced.at(id);
  const bool reducer = draft.regions[ToIndex(id)] == Region::kPost;
  DRYDOCK_TRY(const GroupPattern group, ScriptGroup(node, draft.config));
  spec.attrs.erase(std::string(kGroupDigits));
  const std::string& operand = draft.traced.at(node.inputs.front()).name;
  DRYDOCK_TRY(
      const ValueId output,
      EmitCollective(draft.builder, std::move(spec), group,
                     reducer ? CommReason::kDataParallelReducer : CommReason::kUser,
                     reducer ? "gradient averaging" + (operand.empty() ? "" : " of " + operand)
                             : "written in the script"));
  const Graph& local = draft.builder.graph();  // One that takes a tuple has a result for each.
  const Node& made = local.at(local.at(output).producer);
  SetOutputs(draft, id, {made.outputs.begin(), made.outputs.end()}, {});
  return {};
}

/// Which node of a cell's own backward pass this is; empty for all others.
std::string PartOfOwnBackward(const Node& node) {
  return TextAttr(node.attrs, kOwnBackward, "").value_or("");
}

/// What a cell's own backward pass returns for an operand lies as the operand does.
Status BringAnswers(LocalDraft& draft, NodeId id, NodeSpec& spec) {
  const Node& node = draft.traced.at(id);
  const std::size_t count = node.inputs.size() / 2;
  for (std::size_t i = count; i < node.inputs.size(); ++i) {
    const ValueId operand = node.inputs[i - count];
    if (node.inputs[i] != kNoValue && operand != kNoValue &&
        draft.traced.at(operand).type.shape == draft.traced.at(node.inputs[i]).type.shape) {
      DRYDOCK_TRY(spec.inputs[i], PostOperand(draft, id, i, *LayoutOf(draft, operand)));
    }
  }
  return {};
}

/// Where the gradients enter a cell's own backward pass, cut as the results of the cell are, and
/// where its answers leave it. Neither runs where it stands (backward/own_backward.cc).
Status LocalizeEndsOfOwnBackward(LocalDraft& draft, NodeId id) {
  const Node& node = draft.traced.at(id);
  NodeSpec spec = SpecOf(draft, id);
  spec.attrs.erase(std::string(kRunsUnread));
  for (const ValueId input : node.inputs) {
    if (input != kNoValue && draft.Of(input).id == kNoValue) {
      return Fail(ErrorCode::kUnsupported,
                  "a cell with a backward pass of its own gets or gives what is interleaved",
                  "cut what goes through this cell without interleaved_parallel");
    }
    spec.inputs.push_back(input == kNoValue ? kNoValue : draft.Of(input).id);
  }
  const bool begins = PartOfOwnBackward(node) == kOwnBegins;
  if (!begins && CutsOperators(draft.config.mode)) {
    DRYDOCK_RETURN_IF_ERROR(BringAnswers(draft, id, spec));
  }
  DRYDOCK_RETURN_IF_ERROR(EmitAsTraced(draft, id, std::move(spec)));
  for (std::size_t i = 0; begins && i < node.outputs.size(); ++i) {
    draft.Of(node.outputs[i]).layout = draft.Of(node.inputs[i]).layout;
  }
  return {};
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

Status LocalizeOnLocalValues(LocalDraft& draft, NodeId id) {
  const Node& node = draft.traced.at(id);
  if (node.entry->saves) {
    return CutsOperators(draft.config.mode) ? GatherForCheckpoint(draft, id) : Status();
  }
  if (const std::string part = PartOfOwnBackward(node); part == kOwnBegins || part == kOwnEnds) {
    return LocalizeEndsOfOwnBackward(draft, id);
  }
  NodeSpec spec = SpecOf(draft, id);
  const bool reads_slices =
      CutsOperators(draft.config.mode) &&
      std::ranges::any_of(node.inputs, [&draft](ValueId input) { return IsCut(draft, input); });
  if (reads_slices) {
    return LocalizeSlices(draft, id, std::move(spec));
  }
  for (const ValueId input : node.inputs) {
    spec.inputs.push_back(input == kNoValue ? kNoValue : draft.Of(input).id);
  }
  if (CutsOperators(draft.config.mode)) {
    DRYDOCK_RETURN_IF_ERROR(JoinGlobalNorm(draft, id, spec));
  }
  return node.entry->kind == OpKind::kCollective ? EmitScriptCollective(draft, id, std::move(spec))
                                                 : EmitAsTraced(draft, id, std::move(spec));
}

Status LocalizeBehindGradients(LocalDraft& draft, const NodeRange& part) {
  return ForEachNode(draft, part, [&draft](NodeId id) -> Status {
    // What a cell of a stage writes may come from another stage.
    DRYDOCK_TRY(const std::vector<BeforeStage> before, EnterStage(draft, id));
    Status status = LocalizeOnLocalValues(draft, id);
    LeaveStage(draft, id, before);
    return status;
  });
}

}  // namespace drydock::strategies
