#include "strategies/passes/localize/mirror.h"

#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/redistribute.h"

/// The gradient of a weight is summed over the ranks that hold the same slice of it.
///
/// In front of all its users stands one mirror: an identity whose derivative is an AllReduce over
/// these ranks. Differentiation meets it like any other operator, and what it leaves behind is the
/// collective; the identity itself is removed with the other helpers (CleanLocal).
///
/// Example: w (64, 32) cut (1, 4) on 8 ranks: ranks 0 and 4 hold the same quarter and sum its
/// gradient. A weight that is cut into 8 needs none.
/// Source: mindspore/ccsrc/frontend/parallel/parallel_processer.cc (InsertMirrorOps)
namespace drydock::strategies {

Result<ValueId> MirroredWeight(LocalDraft& draft, ValueId weight) {
  ValueId& mirrored = draft.mirrored[ToIndex(weight)];
  if (mirrored != kNoValue) {
    return mirrored;
  }
  mirrored = draft.Of(weight).id;
  const GroupPattern replicas = ReplicaPattern(*LayoutOf(draft, weight));
  if (!draft.differentiated[ToIndex(weight)] || GroupSize(replicas) <= 1) {
    return mirrored;
  }
  const Value& traced = draft.traced.at(weight);
  NodeSpec spec{.op = ops::kMirror, .inputs = {mirrored}, .scope = "Default"};
  spec.instance_name = std::string(ops::kMirror);
  const Parameter& parameter = draft.traced.parameters[static_cast<std::size_t>(traced.detail)];
  spec.attrs = {{"dev_num", GroupSize(replicas)},
                {"mean_flag", draft.config.gradients_mean},
                {"fusion", parameter.comm_fusion},
                {"parameter", traced.name}};
  DRYDOCK_TRY(mirrored,
              EmitCollective(draft.builder, std::move(spec), replicas,
                             CommReason::kParameterGradient, "gradient of " + traced.name));
  return mirrored;
}

}  // namespace drydock::strategies
