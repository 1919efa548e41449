#include "strategies/passes/localize/partial_results.h"

#include "strategies/layout/group_name.h"
#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/redistribute.h"

/// Forward communication: partial results are completed right behind their operator.
///
/// A cut dimension that the operator sums over (or takes the maximum of) leaves each rank with a
/// part of the result. The operator's rule names the axes; over the ranks along them stands an
/// AllReduce, or a ReduceScatter if the result stays cut, and a division for means.
///
/// Example: MatMul (m, k) x (k, n) with k cut 4 times: AllReduce of (m, n) over 4 ranks.
/// Source: mindspore/ccsrc/frontend/parallel/step_parallel.cc (ForwardCommunication)
namespace drydock::strategies {
namespace {

/// False where recomputation runs the operator again but not its communication
/// (mp_comm_recompute=False).
bool RepeatsCommunication(const Node& node) {
  return BoolAttr(node.attrs, kRecomputeCommunication, true).value_or(true);
}

}  // namespace

Result<ValueId> CompletePartial(LocalDraft& draft, NodeId id,
                                const OpSharding::Communication& communication, std::int64_t index,
                                double divisor, ValueId value) {
  NodeSpec spec = SpecOf(draft, id);
  if (GroupSize(communication.group) > 1) {
    const bool scatter = communication.what.kind == ForwardCommunication::Kind::kReduceScatter;
    spec.op = scatter ? ops::kReduceScatter : ops::kAllReduce;
    spec.inputs = {value};
    spec.attrs = {{"op", communication.what.reduce_op}};
    if (!RepeatsCommunication(draft.traced.at(id))) {
      spec.attrs.insert_or_assign(std::string(kRecompute), false);
    }
    spec.instance_name = InstanceName("forward_op_", draft.full_names[ToIndex(id)], index);
    DRYDOCK_TRY(value,
                EmitCollective(
                    draft.builder, spec, communication.group, CommReason::kPartialSum,
                    "partial " + communication.what.reduce_op + " of " + ShortNameOf(draft, id)));
  }
  if (communication.what.mean) {
    spec.op = ops::kRealDiv;
    spec.inputs = {value, draft.builder.AddScalar(divisor, draft.builder.TypeOf(value).dtype)};
    spec.attrs = {};
    DRYDOCK_TRY(value, draft.builder.Emit(std::move(spec)));
  }
  return value;
}

Result<ValueId> CompleteResult(LocalDraft& draft, NodeId id, const OpSharding& sharding,
                               std::size_t output, ValueId value) {
  std::int64_t index = 0;
  for (const OpSharding::Communication& communication : sharding.communication) {
    if (static_cast<std::size_t>(communication.what.output) != output) {
      continue;
    }
    const double divisor = static_cast<double>(GroupSize(communication.group));
    DRYDOCK_TRY(value, CompletePartial(draft, id, communication, index, divisor, value));
    ++index;
  }
  return value;
}

}  // namespace drydock::strategies
