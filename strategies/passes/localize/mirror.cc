#include "strategies/passes/localize/mirror.h"

#include <algorithm>
#include <string_view>

#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/redistribute.h"
#include "strategies/passes/localize/weight_shard.h"

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
namespace {

/// Position `operand` in a list like "0,1"; every position in an empty one.
bool Lists(std::string_view positions, std::size_t operand) {
  const std::string wanted = std::to_string(operand);
  while (!positions.empty()) {
    const std::size_t end = std::min(positions.find(','), positions.size());
    if (positions.substr(0, end) == wanted) {
      return true;
    }
    positions.remove_prefix(std::min(end + 1, positions.size()));
  }
  return false;
}

/// The operator itself, or one behind it if it only passes the weight on.
bool GivesMirror(const LocalDraft& draft, NodeId user, std::size_t operand) {
  const Node& node = draft.traced.at(user);
  if (operand != 0 || !PassesLayoutOn(node) || node.outputs.empty()) {
    return node.entry->mirrored.empty() || Lists(node.entry->mirrored, operand);
  }
  const ValueId passed = node.outputs.front();
  const std::vector<NodeId>& users = draft.wanted.UsersOf(passed);
  return users.empty() || std::ranges::any_of(users, [&](NodeId next) {
           const std::vector<ValueId>& inputs = draft.traced.at(next).inputs;
           const auto at = std::ranges::find(inputs, passed) - inputs.begin();
           return GivesMirror(draft, next, static_cast<std::size_t>(at));
         });
}

}  // namespace

Result<ValueId> MirroredWeight(LocalDraft& draft, NodeId user, std::size_t operand) {
  const ValueId weight = draft.traced.at(user).inputs[operand];
  if (draft.shards.contains(weight)) {
    return GatheredWeight(draft, weight);
  }
  if (!GivesMirror(draft, user, operand)) {
    return draft.Of(weight).id;
  }
  ValueId& mirrored = draft.mirrored[ToIndex(weight)];
  if (mirrored != kNoValue) {
    return mirrored;
  }
  DRYDOCK_TRY(mirrored, EmitMirror(draft, weight, ReplicaPattern(*LayoutOf(draft, weight))));
  return mirrored;
}

Result<ValueId> EmitMirror(LocalDraft& draft, ValueId weight, const GroupPattern& replicas) {
  const ValueId local = draft.Of(weight).id;
  if (!draft.differentiated[ToIndex(weight)] || GroupSize(replicas) <= 1) {
    return local;
  }
  const Value& traced = draft.traced.at(weight);
  NodeSpec spec{.op = ops::kMirror, .inputs = {local}, .scope = "Default"};
  spec.instance_name = std::string(ops::kMirror);
  const Parameter& parameter = draft.traced.parameters[static_cast<std::size_t>(traced.detail)];
  spec.attrs = {{"dev_num", GroupSize(replicas)},
                {"mean_flag", draft.config.gradients_mean},
                {"fusion", parameter.comm_fusion},
                {"parameter", traced.name}};
  return EmitCollective(draft.builder, std::move(spec), replicas, CommReason::kParameterGradient,
                        "gradient of " + traced.name);
}

}  // namespace drydock::strategies
