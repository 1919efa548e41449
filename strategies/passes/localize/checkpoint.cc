#include "strategies/passes/localize/checkpoint.h"

#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/redistribute.h"

/// An integrated checkpoint, MindSpore's default, holds whole parameters.
///
/// When a step is done the slices of each parameter that is cut, and of each optimizer state, are
/// gathered on the device, one parameter after the other, over all ranks of the stage: also those
/// that hold the same slice send it. The host takes the result apart. Parameters that are whole on
/// every rank are read as they are. Rows that a sharded optimizer spread are gathered to the slice
/// first, among the ranks that share it.
///
/// Example: w (512, 1024) cut (1, 4) on 8 ranks: 1 MiB of each rank, 8 MiB on every rank while it
/// is saved.
/// Source: mindspore/python/mindspore/train/serialization.py (_get_merged_param_data),
/// mindspore/python/mindspore/parallel/_cell_wrapper.py
namespace drydock::strategies {
namespace {

/// How the rows of a parameter, or of the weight that a state belongs to, are spread; null if not.
const WeightShard* ShardOf(const LocalDraft& draft, ValueId value) {
  const Value& traced = draft.traced.at(value);
  if (traced.kind != ValueKind::kParameter) {
    return nullptr;
  }
  const Parameter& parameter = draft.traced.parameters[static_cast<std::size_t>(traced.detail)];
  const ValueId weight = parameter.state_of == kNoValue ? value : parameter.state_of;
  const auto found = draft.shards.find(weight);
  const bool alike = found != draft.shards.end() && draft.Of(value).layout &&
                     *draft.Of(value).layout == found->second.shard.layout;
  return alike ? &found->second : nullptr;
}

Result<ValueId> GatherOver(LocalDraft& draft, NodeId id, ValueId value, ValueId local,
                           const GroupPattern& group) {
  NodeSpec spec = SpecOf(draft, id);
  spec.op = ops::kAllGather;
  spec.inputs = {local};
  spec.attrs[std::string(kAfterStep)] = true;
  return EmitCollective(draft.builder, std::move(spec), group, CommReason::kRedistribution,
                        "checkpoint of " + NameOf(draft, value));
}

}  // namespace

Status GatherForCheckpoint(LocalDraft& draft, NodeId id) {
  const Node& node = draft.traced.at(id);
  const GroupPattern stage =
      MakeGroupPattern({RankDigit{.stride = 1, .extent = StageDevices(draft.config)}});
  for (const ValueId input : node.inputs) {
    if (!IsCut(draft, input)) {
      continue;
    }
    ValueId local = draft.Of(input).id;
    const WeightShard* const shard = ShardOf(draft, input);
    if (shard != nullptr) {
      DRYDOCK_TRY(local, GatherOver(draft, id, input, local, shard->shard.gather_group));
    }
    if (draft.builder.TypeOf(local).shape != draft.traced.at(input).type.shape) {
      DRYDOCK_TRY(local, GatherOver(draft, id, input, local, stage));
    }
  }
  return {};
}

}  // namespace drydock::strategies
