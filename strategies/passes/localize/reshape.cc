#include "strategies/passes/localize/reshape.h"

#include <optional>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/passes/localize/copies.h"
#include "strategies/passes/localize/mirror.h"
#include "strategies/passes/localize/operands.h"
#include "strategies/passes/localize/redistribute.h"
#include "strategies/passes/localize/weight_shard.h"

/// Reshape has no strategy of its own: it takes what its producer leaves and gives what its first
/// consumer with a strategy wants, and the redistribution between the two shapes is worked out as
/// one chain with the Reshape inside. Where nobody wants anything, the result is whole; but where
/// only another Reshape follows, this one does nothing, and the next starts from the layout in
/// front of it.
///
/// Example: (8, 4, 16) cut (2, 1, 1) to (32, 16) wanted (2, 1): a local Reshape of (4, 4, 16) to
/// (16, 16) and no communication.
/// Source: mindspore/ccsrc/frontend/parallel/ops_info/reshape_info.cc, parallel_preprocessor.cc
/// (InitReshapeOpInfo)
namespace drydock::strategies {
namespace {

/// What follows by a plain Reshape of the slices, as the user promises that it is what is meant
/// (attribute skip_redistribution).
Result<ValueId> ReshapeOfSlices(LocalDraft& draft, NodeId id, ValueId local,
                                const TensorLayout& to) {
  const Shape slice = SliceShape(to);
  if (Product(slice) != Product(draft.builder.TypeOf(local).shape)) {
    return tl::unexpected(WithPlace(
        FailInput("Reshape:skip-redistribution",
                  "'Reshape' with skip_redistribution gets slices of " +
                      TupleText(draft.builder.TypeOf(local).shape) +
                      ", which do not fill those of " + TupleText(slice) +
                      " that are wanted behind it",
                  "cut its neighbours into equally many parts, or leave the attribute out")
            .value(),
        PlaceOf(draft.traced, draft.traced.at(id))));
  }
  NodeSpec spec = SpecOf(draft, id);
  spec.inputs = {local};
  spec.attrs = {{"shape", slice}};
  return draft.builder.Emit(std::move(spec));
}

/// The chain between the two layouts, counted if it is more than the Reshape itself.
Result<ValueId> ReshapeChain(LocalDraft& draft, NodeId id, ValueId local, const TensorLayout& to) {
  const Node& node = draft.traced.at(id);
  const ValueId input = node.inputs.front();
  const RedistributionLabel label{.producer_name = NameOf(draft, input),
                                  .reason_text = ShortNameOf(draft, id)};
  RedistributionOptions options = OptionsOf(draft.config);
  options.keep_reshape = true;
  options.cheapest = draft.config.redistribution == RedistributionSearch::kOptimal;
  const std::size_t before = draft.builder.graph().nodes.size();
  const TensorLayout from = *UsedLayout(draft, input);
  DRYDOCK_TRY(const auto chain, InferRedistribution(from, to, options));
  DRYDOCK_TRY(const ValueId result,
              EmitRedistribution(draft.builder, local, chain, label, SpecOf(draft, id)));
  MarkCommunication(draft.builder, node, before);
  const std::size_t added = draft.builder.graph().nodes.size() - before;
  if (added > 1) {
    ++draft.redistribution_count;
  } else if (added == 1) {
    // A single local Reshape is the user's own operator, not an inserted one.
    Node& reshape = draft.builder.mutable_graph().nodes.back();
    reshape.instance_name = node.instance_name;
    reshape.reason = CommReason::kNone;
    reshape.reason_text.clear();
  }
  return result;
}

}  // namespace

Status LocalizeReshape(LocalDraft& draft, NodeId id) {
  const Node& node = draft.traced.at(id);
  const ValueId input = node.inputs.front();
  const ValueId output = node.outputs.front();
  const std::optional<TensorLayout> wanted = draft.wanted.Of(output);
  const TensorLayout to =
      wanted ? JoinedLayout(*wanted)
             : ReplicatedLayout(StageDevices(draft.config), draft.traced.at(output).type.shape);
  ValueId local = draft.Of(input).id;
  if (draft.traced.at(input).kind == ValueKind::kParameter) {
    DRYDOCK_TRY(local, MirroredWeight(draft, id, 0));
  }
  DRYDOCK_TRY(const bool skip, BoolAttr(node.attrs, "skip_redistribution", false));
  if (!wanted && !skip && draft.wanted.IsReshaped(output, draft.regions)) {
    SetOutputs(draft, id, {local}, {});
    draft.Of(output).layout = UsedLayout(draft, input);
    return {};
  }
  DRYDOCK_TRY(const ValueId result,
              skip ? ReshapeOfSlices(draft, id, local, to) : ReshapeChain(draft, id, local, to));
  SetOutputs(draft, id, {result}, {});
  draft.Of(output).layout = to;
  return {};
}

}  // namespace drydock::strategies
