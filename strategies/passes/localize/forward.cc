#include "strategies/passes/localize/forward.h"

#include "strategies/passes/localize/behind_gradients.h"
#include "strategies/passes/localize/copies.h"
#include "strategies/passes/localize/loss_division.h"
#include "strategies/passes/localize/merge_gathers.h"
#include "strategies/passes/localize/mirror.h"
#include "strategies/passes/localize/operands.h"
#include "strategies/passes/localize/reshape.h"
#include "strategies/passes/localize/slices.h"
#include "strategies/passes/localize/stage_edges.h"
#include "strategies/passes/localize/weight_shard.h"

/// The forward part of a step, node by node, each in the same steps:
///
///   operands        of another stage pass to that of the node       stage_edges.cc
///                   in the layouts that the strategy wants          operands.cc
///     weights       pass their mirror                               mirror.cc
///   loss division   in front of the operator that makes the loss    loss_division.cc
///   the operator    on slices                                       slices.cc
///   partial results are completed right behind it                   partial_results.cc
///   at the end      equal AllGathers of one result become one       merge_gathers.cc
///
/// Other kinds of nodes: a Reshape is part of a redistribution (reshape.cc), interleaved ones are
/// done once per copy (copies.cc), the data set hands inputs out as they are, and what has neither
/// strategy nor rule works on whatever its operands are. Where no operator is cut, a rank computes
/// what was traced.
namespace drydock::strategies {
namespace {

Status LocalizePlanned(LocalDraft& draft, NodeId id, const SharedValue<OpSharding>& sharding) {
  const Node& node = draft.traced.at(id);
  std::vector<ValueId> operands(node.inputs.size(), kNoValue);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNoValue) {
      DRYDOCK_TRY(operands[i], BringOperand(draft, id, i, sharding->inputs[TensorIndex(node, i)]));
    }
  }
  DRYDOCK_TRY(operands, DivideLoss(draft, id, *sharding, std::move(operands)));
  NodeSpec spec = SpecOf(draft, id);
  spec.inputs = std::move(operands);
  DRYDOCK_TRY(std::vector<ValueId> outputs, EmitOnSlices(draft, id, *sharding, std::move(spec)));
  return TakeResults(draft, id, sharding, std::move(outputs));
}

/// Casts, Depend and the like: local values in, local values out, laid out like the first operand.
Status LocalizePassing(LocalDraft& draft, NodeId id) {
  const Node& node = draft.traced.at(id);
  NodeSpec spec = SpecOf(draft, id);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    ValueId local = input == kNoValue ? kNoValue : draft.Of(input).id;
    if (input != kNoValue && draft.traced.at(input).kind == ValueKind::kParameter) {
      DRYDOCK_TRY(local, MirroredWeight(draft, id, i));
    }
    spec.inputs.push_back(local);
  }
  DRYDOCK_TRY(const NodeId local, draft.builder.AddNode(std::move(spec)));
  SetOutputs(draft, id, std::vector<ValueId>(draft.builder.graph().at(local).outputs), {});
  if (node.inputs.empty() || node.inputs.front() == kNoValue) {
    return {};
  }
  const Shape& shape = draft.traced.at(node.inputs.front()).type.shape;
  for (const ValueId output : node.outputs) {
    if (draft.traced.at(output).type.shape == shape) {
      draft.Of(output).layout = UsedLayout(draft, node.inputs.front());
    }
  }
  return {};
}

Status LocalizeDataset(LocalDraft& draft, NodeId id, const SharedValue<OpSharding>& sharding) {
  std::vector<ValueId> ids;
  for (const ValueId input : draft.traced.at(id).inputs) {
    ids.push_back(draft.Of(input).id);
  }
  SetOutputs(draft, id, ids, sharding);
  return {};
}

Status LocalizeNode(LocalDraft& draft, NodeId id) {
  const SharedValue<OpSharding>& sharding = draft.plans[ToIndex(id)].sharding;
  if (!CutsOperators(draft.config.mode)) {
    return LocalizeOnLocalValues(draft, id);
  }
  switch (draft.traced.at(id).entry->kind) {
    case OpKind::kDataset:
      return LocalizeDataset(draft, id, sharding);
    case OpKind::kReshape:
      return LocalizeReshape(draft, id);
    default:
      break;
  }
  if (!sharding) {
    return LocalizePassing(draft, id);
  }
  return sharding->interleave > 1 ? LocalizeCopies(draft, id, *sharding)
                                  : LocalizePlanned(draft, id, sharding);
}

}  // namespace

Status LocalizeForward(LocalDraft& draft, const NodeRange& part) {
  const std::size_t first = draft.builder.graph().nodes.size();
  DRYDOCK_RETURN_IF_ERROR(ForEachNode(draft, part, [&draft](NodeId id) -> Status {
    DRYDOCK_TRY(const std::vector<BeforeStage> before, EnterStage(draft, id));
    Status status = LocalizeNode(draft, id);
    LeaveStage(draft, id, before);
    return status;
  }));
  MergeGathers(draft, first);
  return {};
}

}  // namespace drydock::strategies
