#include "strategies/passes/backward/expand_gradients.h"

#include "base/checked.h"
#include "strategies/passes/backward/differentiate.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/passes/communicate/number_fusion.h"
#include "strategies/passes/localize/operands.h"
#include "strategies/passes/localize/redistribute.h"

/// A gradient node is a placeholder: (loss, weights...) -> gradients.
///
/// By the time it is met, the forward part stands on slices, with its collectives, mirrors and
/// virtual divisions. Its derivative is appended: the backward pass of every rank, communication
/// included, and each gradient lies as its weight does. A pass that changes what backward reads
/// (recomputation) comes between the forward part and this one. Gradients that come in from the
/// script (sens) are brought into the layout of the result that they belong to.
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
                   .kind = DiagnosticKind::kLimit});
  }
}

/// Per value of the local program: elements of the whole parameter, 0 for other values.
std::vector<std::int64_t> WholeElements(const LocalDraft& draft) {
  std::vector<std::int64_t> elements(draft.builder.graph().values.size(), 0);
  for (const Parameter& parameter : draft.traced.parameters) {
    elements[ToIndex(draft.Of(parameter.value).id)] =
        Product(draft.traced.at(parameter.value).type.shape);
  }
  return elements;
}

/// The incoming gradient as the rank's part of the result asks for it. Source:
/// mindspore/ccsrc/frontend/parallel/step_parallel.cc (SplitSens)
Result<ValueId> IncomingGradient(LocalDraft& draft, NodeId id) {
  const Node& node = draft.traced.at(id);
  const ValueId loss = node.inputs.front();
  const ValueId sens = node.inputs.back();
  const SharedValue<TensorLayout> wanted = LayoutOf(draft, loss);
  const bool cut = CutsOperators(draft.config.mode) && IsCut(draft, loss) &&
                   draft.traced.at(sens).type.shape == draft.traced.at(loss).type.shape;
  if (!cut || SameOwnership(*LayoutOf(draft, sens), *wanted)) {
    return draft.Of(sens).id;
  }
  if (draft.traced.at(sens).kind == ValueKind::kConstant) {
    return SliceConstant(draft, sens, *wanted, SpecOf(draft, id));
  }
  NodeSpec base = SpecOf(draft, id);
  base.phase = Phase::kBackward;
  DRYDOCK_TRY(const auto chain,
              InferRedistribution(*LayoutOf(draft, sens), *wanted, OptionsOf(draft.config)));
  return EmitRedistribution(draft.builder, draft.Of(sens).id, chain,
                            LabelOf(draft, sens, NameOf(draft, sens) + " -> incoming gradient"),
                            base);
}

Status ExpandGradient(LocalDraft& draft, NodeId id) {
  const Node& node = draft.traced.at(id);
  DRYDOCK_TRY(const bool has_sens, BoolAttr(node.attrs, "has_sens", false));
  const std::size_t wrt_end = node.inputs.size() - (has_sens ? 1 : 0);
  std::vector<ValueId> wrt;
  for (std::size_t i = 1; i < wrt_end; ++i) {
    wrt.push_back(draft.Of(node.inputs[i]).id);
  }
  ValueId sens = kNoValue;
  if (has_sens) {
    DRYDOCK_TRY(sens, IncomingGradient(draft, id));
  }
  NumberGradientFusion(draft.builder.mutable_graph(), draft.Of(node.inputs.front()).id,
                       WholeElements(draft), draft.config.fusion,
                       draft.config.optimizer_sharding.level < 3);
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
