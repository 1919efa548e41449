#include "strategies/passes/backward/expand_gradients.h"

#include "strategies/passes/backward/differentiate.h"
#include "strategies/passes/choose/assign.h"

/// A gradient node is a placeholder: (loss, weights...) -> gradients.
///
/// By the time it is met, the forward part stands on slices, with its collectives, mirrors and
/// virtual divisions. Its derivative is appended: the backward pass of every rank, communication
/// included, and each gradient lies as its weight does. A pass that changes what backward reads
/// (recomputation) comes between the forward part and this one.
namespace drydock::strategies {
namespace {

/// Notes in the diagnostics where gradients end.
void NoteStopped(LocalDraft& draft, const std::vector<NodeId>& stopped) {
  for (const NodeId id : stopped) {
    const Node& node = draft.builder.graph().at(id);
    AddDiagnostic(draft.diagnostics,
                  {.code = "no-backward",
                   .text = "'" + node.op +
                           "' has no backward form: gradients end there, and what "
                           "lies before it gets zeros",
                   .first_place = PlaceOf(draft.builder.graph(), node),
                   .unsupported = true});
  }
}

Status ExpandGradient(LocalDraft& draft, NodeId id) {
  const Node& node = draft.traced.at(id);
  DRYDOCK_TRY(const bool has_sens, BoolAttr(node.attrs, "has_sens", false));
  const std::size_t wrt_end = node.inputs.size() - (has_sens ? 1 : 0);
  std::vector<ValueId> wrt;
  for (std::size_t i = 1; i < wrt_end; ++i) {
    wrt.push_back(draft.Of(node.inputs[i]).id);
  }
  const ValueId sens = has_sens ? draft.Of(node.inputs.back()).id : kNoValue;
  DRYDOCK_TRY(const Derivative derivative,
              Differentiate(draft.builder, draft.Of(node.inputs.front()).id, wrt, sens));
  const std::vector<ValueId>& gradients = derivative.gradients;
  NoteStopped(draft, derivative.stopped);
  for (std::size_t i = 0; i < node.outputs.size() && i < gradients.size(); ++i) {
    Counterpart& local = draft.Of(node.outputs[i]);
    local.id = gradients[i];
    local.layout = draft.Of(node.inputs[i + 1]).layout;
    Value& value = draft.builder.mutable_graph().values[ToIndex(gradients[i])];
    if (value.name.empty() && value.kind == ValueKind::kOutput) {
      value.name = "grad." + draft.traced.at(node.inputs[i + 1]).name;
    }
  }
  return {};
}

}  // namespace

Status ExpandGradients(LocalDraft& draft, const NodeRange& part) {
  return ForEachNode(draft, part, [&draft](NodeId id) { return ExpandGradient(draft, id); });
}

}  // namespace drydock::strategies
