#include "strategies/passes/localize/global_norm.h"

#include <algorithm>

#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/redistribute.h"

/// The norm of all gradients together, over all ranks of the job.
///
/// Clipping marks the sum of squares of each gradient with the attribute `grad_scale`. A rank sums
/// the squares of its slice; what several ranks hold alike is divided by their number, and one
/// AllReduce of the total stands in front of the root, however many gradients there are. In a
/// pipeline that is the total of the stage, and one more AllReduce over the ranks at the same place
/// of all stages follows. Accumulated gradients are gradients.
///
/// Example: two weights on 8 ranks, one whole, one cut into 4:
///     ExpandDims(RealDiv(sum1, 8)), ExpandDims(RealDiv(sum2, 2)) -> AddN -> AllReduce(8) -> Sqrt
/// Source: mindspore/ccsrc/frontend/parallel/parallel_postprocessor.cc (HandleGlobalNormScale)
namespace drydock::strategies {
namespace {

constexpr std::string_view kPartOfNorm = "grad_scale";

/// A gradient, or what the gradients of micro batches are summed in.
bool IsGradient(const Graph& traced, ValueId value) {
  const Value& item = traced.at(value);
  if (item.kind == ValueKind::kOutput) {
    return traced.at(item.producer).entry->kind == OpKind::kGradient;
  }
  return item.kind == ValueKind::kParameter &&
         traced.parameters[static_cast<std::size_t>(item.detail)].role ==
             ParameterRole::kAccumulatedGradient;
}

/// Ranks that hold the same slice of the gradient that a value was made of; 1 if of none.
std::int64_t ReplicasOfGradient(const LocalDraft& draft, ValueId value) {
  while (value != kNoValue && !IsGradient(draft.traced, value)) {
    const Value& item = draft.traced.at(value);
    const bool made =
        item.kind == ValueKind::kOutput && !draft.traced.at(item.producer).inputs.empty();
    value = made ? draft.traced.at(item.producer).inputs.front() : kNoValue;
  }
  return value == kNoValue ? 1 : GroupSize(ReplicaPattern(*LayoutOf(draft, value)));
}

Result<ValueId> Share(LocalDraft& draft, NodeId id, ValueId sum, std::int64_t replicas) {
  NodeSpec spec = SpecOf(draft, id);
  const DType dtype = draft.builder.TypeOf(sum).dtype;
  spec.op = ops::kRealDiv;
  spec.attrs = {};
  spec.inputs = {sum, draft.builder.AddScalar(static_cast<double>(replicas), dtype)};
  return draft.builder.Emit(std::move(spec));
}

Result<ValueId> SumOver(LocalDraft& draft, NodeId id, ValueId sum, const GroupPattern& group) {
  NodeSpec spec = SpecOf(draft, id);
  spec.op = ops::kAllReduce;
  spec.attrs = {{"op", "sum"}};
  spec.inputs = {sum};
  return EmitCollective(draft.builder, std::move(spec), group, CommReason::kPartialSum,
                        "norm of all gradients");
}

Result<ValueId> Total(LocalDraft& draft, NodeId id, ValueId sum) {
  const std::int64_t devices = StageDevices(draft.config);
  DRYDOCK_TRY(const ValueId total,
              SumOver(draft, id, sum, MakeGroupPattern({{.stride = 1, .extent = devices}})));
  if (draft.config.pipeline_stages == 1) {
    return total;
  }
  GroupPattern stages =
      MakeGroupPattern({{.stride = devices, .extent = draft.config.pipeline_stages}});
  stages.of_job = true;
  return SumOver(draft, id, total, stages);
}

}  // namespace

Status JoinGlobalNorm(LocalDraft& draft, NodeId id, NodeSpec& spec) {
  const Node& node = draft.traced.at(id);
  DRYDOCK_TRY(const bool marked, BoolAttr(node.attrs, kPartOfNorm, false));
  const bool part = std::ranges::any_of(node.inputs, [&draft](ValueId input) {
    return input != kNoValue && draft.norm_parts[ToIndex(input)];
  });
  if (part && node.entry->roots_norm) {
    DRYDOCK_TRY(spec.inputs.front(), Total(draft, id, spec.inputs.front()));
    return {};
  }
  if (const std::int64_t replicas = marked ? ReplicasOfGradient(draft, node.inputs.front()) : 1;
      replicas > 1) {
    DRYDOCK_TRY(spec.inputs.front(), Share(draft, id, spec.inputs.front(), replicas));
  }
  for (const ValueId output : node.outputs) {
    draft.norm_parts[ToIndex(output)] = part || marked;
  }
  return {};
}

}  // namespace drydock::strategies
