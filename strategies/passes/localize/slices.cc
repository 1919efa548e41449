#include "strategies/passes/localize/slices.h"

#include <algorithm>

#include "base/text.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/passes/localize/partial_results.h"

/// The operator on the rank's slices.
///
/// Mostly that is the same operator with the same attributes: shapes follow from the slices. Where
/// attributes depend on the slice (the depth of a OneHot, the window of a shuffle), the operator's
/// entry makes its local form. The result is checked against its layout, so that a rule that says
/// something else than the operator does is found here.
///
/// Example: MatMul (64, 128) x (128, 32) cut ((2, 4), (4, 1)): each rank multiplies
/// (32, 32) x (32, 32), and partial_results.cc sums what comes out.
namespace drydock::strategies {
namespace {

/// For operators whose result types only the traced graph knows.
std::vector<ValueId> EmitWithTypes(LocalDraft& draft, NodeId id, const OpSharding& sharding,
                                   NodeSpec spec) {
  const Node& node = draft.traced.at(id);
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    types.push_back({.shape = SliceShape(sharding.outputs[i]),
                     .dtype = draft.traced.at(node.outputs[i]).type.dtype});
  }
  const NodeId local = draft.builder.AddNodeWithTypes(std::move(spec), std::move(types));
  return draft.builder.graph().at(local).outputs;
}

/// A rank's own result that no layout describes is for its gradient alone.
Status CheckNotRead(const LocalDraft& draft, NodeId id, std::size_t output) {
  const Graph& traced = draft.traced;
  const Node& node = traced.at(id);
  const ValueId value = node.outputs[output];
  const auto reads = [value](const Node& one) {
    return std::ranges::find(one.inputs, value) != one.inputs.end();
  };
  if (std::any_of(traced.nodes.begin() + ToInt(id), traced.nodes.end(), reads) ||
      std::ranges::find(traced.outputs, value) != traced.outputs.end()) {
    return Fail(ErrorCode::kUnsupported,
                "result " + std::to_string(output) + " of '" + node.op +
                    "' is read, but with these cuts the ranks' parts of it are not the whole",
                "cut into other slices, or leave the operator whole");
  }
  return {};
}

}  // namespace

Result<std::vector<ValueId>> EmitOnSlices(LocalDraft& draft, NodeId id, const OpSharding& sharding,
                                          NodeSpec spec) {
  const Node& node = draft.traced.at(id);
  DRYDOCK_TRY(const bool as_given, IsSelfDefined(node));
  if (const std::string_view rule = draft.plans[ToIndex(id)].fallback_rule; !rule.empty()) {
    spec.attrs.insert_or_assign(std::string(rule), true);
  }
  if (node.entry->infer == nullptr) {
    return EmitWithTypes(draft, id, sharding, std::move(spec));
  }
  if (node.entry->localize != nullptr && !as_given) {
    OpViewStorage storage;
    const OpView view = ViewOf(draft.traced, node, storage);
    return node.entry->localize(LocalizeContext{
        .builder = draft.builder, .global = view, .sharding = sharding, .spec = spec});
  }
  DRYDOCK_TRY(const NodeId local, draft.builder.AddNode(std::move(spec)));
  Node& emitted = draft.builder.mutable_graph().nodes[ToIndex(local)];
  emitted.in_strategy = sharding.strategy;
  return emitted.outputs;
}

Status TakeResults(LocalDraft& draft, NodeId id, const SharedValue<OpSharding>& sharding,
                   std::vector<ValueId> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNoValue) {
      DRYDOCK_RETURN_IF_ERROR(CheckNotRead(draft, id, i));
      continue;
    }
    DRYDOCK_TRY(outputs[i], CompleteResult(draft, id, *sharding, i, outputs[i]));
    DRYDOCK_RETURN_IF_ERROR(CheckLocalResult(draft, id, i, outputs[i], sharding->outputs[i]));
  }
  SetOutputs(draft, id, outputs, sharding);
  return {};
}

Status CheckLocalResult(const LocalDraft& draft, NodeId id, std::size_t output, ValueId local,
                        const TensorLayout& layout) {
  const Shape expected = SliceShape(layout);
  const Shape& actual = draft.builder.TypeOf(local).shape;
  if (actual == expected) {
    return {};
  }
  const Node& node = draft.traced.at(id);
  const std::string text = "local result " + std::to_string(output) + " of '" + node.op +
                           "' has shape " + TupleText(actual) + ", its layout says " +
                           TupleText(expected);
  DRYDOCK_TRY(const bool as_given, IsSelfDefined(node));
  if (as_given) {
    return FailInput(node.op + ":layout-result", text,
                     "give output layouts that fit what the operator makes of its input slices");
  }
  return Fail(ErrorCode::kInternal, text);
}

}  // namespace drydock::strategies
