#include "strategies/passes/localize/checkpoint.h"

#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/redistribute.h"

/// An integrated checkpoint, MindSpore's default, holds whole parameters.
///
/// When a step is done the slices of each parameter that is cut, and of each optimizer state, are
/// gathered on the device, one parameter after the other, over all ranks of the stage: also those
/// that hold the same slice send it. The host takes the result apart. Parameters that are whole on
/// every rank are read as they are.
///
/// Example: w (512, 1024) cut (1, 4) on 8 ranks: 1 MiB of each rank, 8 MiB on every rank while it
/// is saved.
/// Source: mindspore/python/mindspore/train/serialization.py (_get_merged_param_data),
/// mindspore/python/mindspore/parallel/_cell_wrapper.py
namespace drydock::strategies {

Status GatherForCheckpoint(LocalDraft& draft, NodeId id) {
  const Node& node = draft.traced.at(id);
  const GroupPattern stage =
      MakeGroupPattern({RankDigit{.stride = 1, .extent = StageDevices(draft.config)}});
  for (const ValueId input : node.inputs) {
    if (!IsCut(draft, input)) {
      continue;
    }
    NodeSpec spec = SpecOf(draft, id);
    spec.op = ops::kAllGather;
    spec.inputs = {draft.Of(input).id};
    spec.attrs[std::string(kAfterStep)] = true;
    DRYDOCK_TRY([[maybe_unused]] const ValueId whole,
                EmitCollective(draft.builder, std::move(spec), stage, CommReason::kRedistribution,
                               "checkpoint of " + NameOf(draft, input)));
  }
  return {};
}

}  // namespace drydock::strategies
