#include "strategies/passes/localize/mirror.h"

#include <algorithm>
#include <string_view>

#include "strategies/operators/added_use.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/pynative.h"
#include "strategies/passes/localize/redistribute.h"
#include "strategies/passes/localize/weight_shard.h"
#include "strategies/program/micro_nodes.h"

/// The gradient of a weight is summed over the ranks that hold the same slice of it.
///
/// In front of all its users stands one mirror: an identity whose derivative is an AllReduce over
/// these ranks. Differentiation meets it like any other operator, and what it leaves behind is the
/// collective; the identity itself is removed with the other helpers (CleanLocal).
///
/// Example: w (64, 32) cut (1, 4) on 8 ranks: ranks 0 and 4 hold the same quarter and sum its
/// gradient. A weight that is cut into 8 needs none.
///
/// With several micro batches the gradients of all are added up first: in the accumulator of the
/// weight if it has one, which each user adds to, else by a sum of them
/// (strategies/rules/train/accumulation.cc). In PyNative mode no gradient is summed.
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
  if (RunsInPyNative(node)) {
    return false;
  }
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

NodeSpec MirrorSpec(const LocalDraft& draft, ValueId weight, const GroupPattern& replicas,
                    std::string_view op) {
  const Value& traced = draft.traced.at(weight);
  const Parameter& parameter = draft.traced.parameters[static_cast<std::size_t>(traced.detail)];
  return {.op = op,
          .inputs = {draft.Of(weight).id},
          .attrs = {{"dev_num", GroupSize(replicas)},
                    {"mean_flag", draft.config.gradients_mean},
                    {"fusion", parameter.comm_fusion},
                    {"parameter", traced.name}},
          .scope = "Default",
          .instance_name = std::string(op)};
}

Result<ValueId> EmitOver(LocalDraft& draft, ValueId weight, const GroupPattern& replicas,
                         NodeSpec spec) {
  return EmitCollective(draft.builder, std::move(spec), replicas, CommReason::kParameterGradient,
                        "gradient of " + draft.traced.at(weight).name);
}

/// A weight whose gradient is the sum of those of all micro batches, if there are several.
Result<ValueId> JoinMicroBatches(LocalDraft& draft, ValueId weight, ValueId local) {
  if (draft.config.micro_batches == 1 || !draft.differentiated[ToIndex(weight)]) {
    return local;
  }
  return draft.builder.Emit({.op = ops::kVirtualMicroJoin, .inputs = {local}, .scope = "Default"});
}

/// A use of a weight whose gradients of all micro batches are added up, before the derivative of
/// the weight's cast.
NodeSpec AddedUse(const LocalDraft& draft, ValueId value, ValueId accumulator) {
  NodeSpec spec{.op = ops::kVirtualAssignAdd, .inputs = {value, accumulator}, .scope = "Default"};
  spec.attrs[std::string(kAddsBeforeCast)] = true;
  if (!CallsSharedGraph(draft.traced)) {
    spec.attrs[std::string(kTokenForm)] = std::string(kTokenCastBack);
  }
  return spec;
}

/// A weight for a user that asks for no sum over ranks: gradients of micro batches are added up all
/// the same, and the sum is the gradient.
Result<ValueId> WithoutMirror(LocalDraft& draft, ValueId weight, ValueId accumulator) {
  const ValueId local = draft.Of(weight).id;
  if (accumulator == kNoValue) {
    return JoinMicroBatches(draft, weight, local);
  }
  DRYDOCK_TRY(const ValueId summed, ReceivedWeight(draft, weight, local));
  return draft.builder.Emit(AddedUse(draft, summed, accumulator));
}

}  // namespace

Result<ValueId> MirroredWeight(LocalDraft& draft, NodeId user, std::size_t operand) {
  const ValueId weight = draft.traced.at(user).inputs[operand];
  const ValueId accumulator = AccumulatorOf(draft, weight);
  if (draft.shards.contains(weight)) {
    DRYDOCK_TRY(const ValueId gathered, GatheredWeight(draft, weight));
    return accumulator == kNoValue ? JoinMicroBatches(draft, weight, gathered)
                                   : AccumulatedUse(draft, weight, gathered);
  }
  if (!GivesMirror(draft, user, operand)) {
    return WithoutMirror(draft, weight, accumulator);
  }
  return BehindMirror(draft, weight, user);
}

Result<ValueId> ReceivedWeight(LocalDraft& draft, ValueId weight, ValueId received) {
  const ValueId accumulator = AccumulatorOf(draft, weight);
  if (accumulator == kNoValue) {
    return received;
  }
  NodeSpec spec{.op = ops::kMirrorMicroStep,
                .inputs = {received, accumulator},
                .attrs = {{std::string(kSentBack), true}},
                .scope = "Default",
                .instance_name = std::string(ops::kMirrorMicroStep)};
  if (CallsSharedGraph(draft.traced)) {
    spec.attrs[std::string(kJoinsProducts)] = true;
  }
  return draft.builder.Emit(std::move(spec));
}

Result<ValueId> BehindMirror(LocalDraft& draft, ValueId weight, NodeId user) {
  const ValueId accumulator = AccumulatorOf(draft, weight);
  ValueId& mirrored = draft.mirrored[ToIndex(weight)];
  if (accumulator != kNoValue) {
    if (mirrored == kNoValue) {
      const GroupPattern replicas = ReplicaPattern(*LayoutOf(draft, weight));
      DRYDOCK_TRY(mirrored, EmitMicroMirror(draft, weight, draft.Of(weight).id, replicas));
    }
    return draft.builder.Emit(AddedUse(draft, mirrored, accumulator));
  }
  if (mirrored != kNoValue) {
    return mirrored;
  }
  DRYDOCK_TRY(const ValueId mirror,
              EmitMirror(draft, weight, ReplicaPattern(*LayoutOf(draft, weight)),
                         draft.traced.at(user).scope));
  DRYDOCK_TRY(mirrored, JoinMicroBatches(draft, weight, mirror));
  return mirrored;
}

Result<ValueId> EmitMirror(LocalDraft& draft, ValueId weight, const GroupPattern& replicas,
                           const std::string& scope) {
  if (!draft.differentiated[ToIndex(weight)] || GroupSize(replicas) <= 1) {
    return draft.Of(weight).id;
  }
  NodeSpec spec = MirrorSpec(draft, weight, replicas, ops::kMirror);
  spec.scope = scope;
  return EmitOver(draft, weight, replicas, std::move(spec));
}

ValueId AccumulatorOf(const LocalDraft& draft, ValueId weight) {
  const ValueId summed_in = draft.accumulators[ToIndex(weight)];
  return summed_in == kNoValue || !draft.differentiated[ToIndex(weight)] ? kNoValue
                                                                         : draft.Of(summed_in).id;
}

Result<ValueId> EmitMicroMirror(LocalDraft& draft, ValueId weight, ValueId value,
                                const GroupPattern& replicas) {
  NodeSpec spec = MirrorSpec(draft, weight, replicas, ops::kMirrorMicroStep);
  spec.inputs = {value, AccumulatorOf(draft, weight)};
  spec.attrs[std::string(kHandsOver)] = draft.config.enable_parallel_optimizer;
  if (CallsSharedGraph(draft.traced)) {
    spec.attrs[std::string(kJoinsProducts)] = true;
  }
  return GroupSize(replicas) == 1 ? draft.builder.Emit(std::move(spec))
                                  : EmitOver(draft, weight, replicas, std::move(spec));
}

}  // namespace drydock::strategies
