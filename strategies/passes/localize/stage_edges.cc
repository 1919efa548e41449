#include "strategies/passes/localize/stage_edges.h"

#include <algorithm>
#include <string>
#include <utility>

#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/copies.h"
#include "strategies/passes/localize/mirror.h"

/// Tensors that cross from stage to stage.
///
/// While the program of a rank is made, all stages are one program. An operand that is made in
/// another stage than its user passes a transfer, once per tensor and receiving stage, laid out as
/// its producer leaves it, copies of an interleaved layout joined: what has to be redistributed is
/// so where it arrives. A weight that several stages use lies in the lowest of them and is
/// transferred to the others from behind its mirror: what these send back is summed there, once.
/// Numbers between two stages tell their messages apart. What no stage makes (the data of a step)
/// is there in all of them.
///
/// Example: stage 0 ends with Add, cut ((2, 1)), stage 1 starts with MatMul, cut ((1, 2), ..): the
/// transfer has rows cut in 2; AlltoAll or AllGather and Split stand in stage 1.
/// Source: mindspore/ccsrc/frontend/parallel/pipeline_transformer/pipeline_transformer.cc
/// (CutBorder, HandleSharedParameter)
namespace drydock::strategies {
namespace {

/// Where a traced value is: -1 = in every stage.
std::int32_t HomeOf(const LocalDraft& draft, ValueId value) {
  const Value& traced = draft.traced.at(value);
  if (traced.kind == ValueKind::kParameter) {
    return draft.owners[static_cast<std::size_t>(traced.detail)];
  }
  return traced.kind == ValueKind::kOutput ? draft.traced.at(traced.producer).stage : -1;
}

Result<ValueId> Transfer(LocalDraft& draft, ValueId value, std::int32_t from, NodeId id) {
  const Node& user = draft.traced.at(id);
  const std::int32_t to = user.stage;
  DRYDOCK_RETURN_IF_ERROR(JoinCopies(draft, value));
  const Value& traced = draft.traced.at(value);
  const bool parameter = traced.kind == ValueKind::kParameter;
  ValueId sent = draft.Of(value).id;
  if (parameter) {
    DRYDOCK_TRY(sent, BehindMirror(draft, value, id));
  }
  NodeSpec spec{.op = ops::kStageTransfer, .inputs = {sent}, .scope = "Default"};
  spec.instance_name = std::string(ops::kSend);
  const std::int64_t tag = draft.border_tags[{from, to}]++;
  const std::int32_t part = parameter ? 0 : draft.traced.at(traced.producer).segment;
  spec.attrs = {{"from_stage", std::int64_t{from}},
                {"to_stage", std::int64_t{to}},
                {std::string(kFromPart), std::int64_t{part}},
                {std::string(kToPart), std::int64_t{user.segment}},
                {std::string(kTransferTag), tag}};
  if (parameter) {
    spec.attrs[std::string(kPassesWeight)] = traced.name;
  } else {
    spec.place = draft.traced.at(traced.producer).place;
  }
  DRYDOCK_TRY(const ValueId result, draft.builder.Emit(std::move(spec)));
  Node& node = draft.builder.mutable_graph().nodes.back();
  node.reason = CommReason::kStageBorder;
  node.reason_text = ShortNameOf(draft, value) + " from stage " + std::to_string(from) +
                     " to stage " + std::to_string(to);
  return result;
}

}  // namespace

Result<std::vector<BeforeStage>> EnterStage(LocalDraft& draft, NodeId id) {
  std::vector<BeforeStage> before;
  const Node& node = draft.traced.at(id);
  if (node.stage < 0) {
    return before;
  }
  for (const ValueId input : node.inputs) {
    const std::int32_t home = input == kNoValue ? -1 : HomeOf(draft, input);
    if (home < 0 || home == node.stage ||
        std::ranges::find(before, input, &BeforeStage::operand) != before.end()) {
      continue;
    }
    const auto [place, added] = draft.arrived.try_emplace({input, node.stage});
    if (added) {
      DRYDOCK_TRY(place->second.id, Transfer(draft, input, home, id));
      place->second.mirrored = place->second.id;
      if (draft.traced.at(input).kind == ValueKind::kParameter) {
        DRYDOCK_TRY(place->second.mirrored, ReceivedWeight(draft, input, place->second.id));
      }
    }
    ValueId& mirrored = draft.mirrored[ToIndex(input)];
    Counterpart& local = draft.Of(input);
    before.push_back({.operand = input,
                      .id = local.id,
                      .copies = std::exchange(local.copies, {}),
                      .mirrored = mirrored});
    local.id = place->second.id;
    mirrored = place->second.mirrored;
  }
  return before;
}

void LeaveStage(LocalDraft& draft, NodeId id, const std::vector<BeforeStage>& before) {
  const std::int32_t stage = draft.traced.at(id).stage;
  for (const BeforeStage& saved : before) {
    ValueId& mirrored = draft.mirrored[ToIndex(saved.operand)];
    draft.arrived.at({saved.operand, stage}).mirrored = mirrored;
    draft.Of(saved.operand).id = saved.id;
    draft.Of(saved.operand).copies = saved.copies;
    mirrored = saved.mirrored;
  }
}

}  // namespace drydock::strategies
