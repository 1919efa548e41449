#include "strategies/passes/localize/weight_shard.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "strategies/operators/added_use.h"
#include "strategies/operators/known_ops.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/passes/localize/mirror.h"
#include "strategies/passes/localize/redistribute.h"

/// A sharded optimizer: ranks that would all hold the same slice of a weight hold some rows of it
/// each.
///
/// Its optimizer states lie as the weight does. In front of the operators of the network stands one
/// AllGather for all of them; its derivative is the ReduceScatter that leaves each rank the sum of
/// its rows, so there is no mirror. If not all replicas share one copy (shard_size), the mirror
/// stands in front of the gather and sums over the ranks with the same rows. In a pipeline a
/// weight whose first user casts it to half precision is cast first, so that half as much is sent.
/// Level 3 gathers once more for the backward pass (backward/regather.cc).
///
/// Accumulated gradients are those of the slice that operators use, and scattered once a step;
/// levels 2 and 3 scatter each and keep the sum of the rank's rows. Level 3 gathers for each micro
/// batch anew.
///
/// Stays whole: what is smaller than the threshold (the whole parameter counts), what says
/// parallel_optimizer=False, what has no replicas, what its rows or the group size do not allow,
/// and a weight that several pipeline stages use.
///
/// Example: w (512, 2048) cut (1, 2) on 8 ranks: slices (512, 1024) on 4 ranks each. A rank stores
/// (128, 1024), and both moments in the same way.
/// Source: mindspore/ccsrc/frontend/parallel/parallel_optimizer/opt_param_mgr.cc,
/// mindspore/ccsrc/frontend/parallel/parallel_preprocessor.cc (InsertParallelOpt)
namespace drydock::strategies {
namespace {

constexpr std::int64_t kBytesPerKb = 1024;

/// Forward operators of one stage read the parameter and none writes it.
bool OnlyReadForward(const LocalDraft& draft, ValueId value) {
  bool read = false;
  std::int32_t stage = -1;
  for (const NodeId user : draft.wanted.UsersOf(value)) {
    if (draft.regions[ToIndex(user)] != Region::kForward) {
      continue;
    }
    const Node& node = draft.traced.at(user);
    for (const std::size_t written : WrittenOperands(*node.entry)) {
      if (written < node.inputs.size() && node.inputs[written] == value) {
        return false;
      }
    }
    if (read && node.stage != stage) {
      return false;
    }
    stage = node.stage;
    read = true;
  }
  return read;
}

bool Qualifies(const LocalDraft& draft, const Parameter& parameter) {
  return draft.config.enable_parallel_optimizer && parameter.parallel_optimizer &&
         parameter.state_of == kNoValue && OnlyReadForward(draft, parameter.value) &&
         ByteSize(draft.traced.at(parameter.value).type) >=
             draft.config.optimizer_sharding.threshold_kb * kBytesPerKb;
}

/// Where the script makes a parameter; where it first uses it if only that is known.
std::optional<SourcePlace> MadeOrUsedAt(const LocalDraft& draft, ValueId value) {
  if (std::optional<SourcePlace> made = MadePlaceOf(draft.traced, value)) {
    return made;
  }
  const std::vector<NodeId>& users = draft.wanted.UsersOf(value);
  return users.empty() ? std::nullopt : PlaceOf(draft.traced, draft.traced.at(users.front()));
}

/// What would shard rows that the replicas do not divide.
std::string ShardedInstead(std::int64_t rows, std::int64_t replicas, std::int64_t size) {
  const std::int64_t fitting = std::gcd(rows, size > 1 ? std::min(size, replicas) : replicas);
  return fitting > 1 ? ". A shard_size of " + std::to_string(fitting) + " divides both"
                     : ". Give it more rows, or say parallel_optimizer=False if it is to be whole";
}

/// Replicas that nobody divides.
void NoteWhole(LocalDraft& draft, ValueId value, const TensorLayout& used) {
  const std::int64_t replicas = GroupSize(ReplicaPattern(used));
  if (replicas <= 1 || used.shape.empty()) {
    return;
  }
  const std::int64_t size = draft.config.optimizer_sharding.shard_size;
  const bool by_group = size > 1 && size < replicas && replicas % size != 0;
  AddDiagnostic(
      draft.diagnostics,
      {.code = "optimizer-whole",
       .text =
           "a parameter stays whole on the ranks that hold the same slice, although the "
           "optimizer is sharded: '" +
           draft.traced.at(value).name + "' " +
           (by_group
                ? "has " + std::to_string(replicas) + " replicas, which groups of " +
                      std::to_string(size) + " do not fill. Choose a shard_size that divides " +
                      std::to_string(replicas)
                : "has slices of " + std::to_string(SliceShape(used)[0]) + " rows, which " +
                      std::to_string(size > 1 ? std::min(size, replicas) : replicas) +
                      " ranks do not divide" + ShardedInstead(SliceShape(used)[0], replicas, size)),
       .first_place = MadeOrUsedAt(draft, value)});
}

/// Groups of which the reference's mirror does not follow the replicas.
void NoteForeignMirror(LocalDraft& draft, ValueId value, const OptimizerShard& shard) {
  if (shard.mirror_group.digits.empty() || shard.mirror_group == ReplicaPattern(shard.layout)) {
    return;
  }
  AddDiagnostic(draft.diagnostics,
                {.code = "optimizer-foreign-mirror",
                 .text = "groups of the sharded optimizer (shard_size) sum the gradient of '" +
                         draft.traced.at(value).name +
                         "' over ranks that hold other rows: MindSpore takes the columns of all "
                         "ranks, which is right only where replicas lie farthest apart. Leave "
                         "shard_size out",
                 .first_place = MadeOrUsedAt(draft, value)});
}

/// The half precision to which the first operator casts the weight, if it does.
std::optional<DType> HalfPrecision(const LocalDraft& draft, ValueId weight) {
  const bool once = draft.config.pipeline_stages == 1 && draft.config.micro_batches == 1;
  if (draft.traced.at(weight).type.dtype != DType::kFloat32 || once) {
    return std::nullopt;
  }
  for (const NodeId user : draft.wanted.UsersOf(weight)) {
    const Node& node = draft.traced.at(user);
    if (draft.regions[ToIndex(user)] != Region::kForward) {
      continue;
    }
    const DType type = draft.traced.at(node.outputs.front()).type.dtype;
    const bool half = type == DType::kFloat16 || type == DType::kBFloat16;
    return node.entry->is_cast && half ? std::optional(type) : std::nullopt;
  }
  return std::nullopt;
}

/// The rows of a weight as they are sent.
Result<ValueId> InHalfPrecision(LocalDraft& draft, ValueId weight, ValueId rows) {
  const std::optional<DType> half = HalfPrecision(draft, weight);
  if (!half) {
    return rows;
  }
  NodeSpec cast{.op = ops::kCast, .inputs = {rows}, .scope = "Default"};
  cast.attrs = {{"dtype", std::string(DTypeName(*half))}};
  DRYDOCK_TRY(const ValueId result, draft.builder.Emit(std::move(cast)));
  draft.builder.mutable_graph().nodes.back().reason = CommReason::kOptimizerShard;
  return result;
}

NodeSpec GatherSpec(const LocalDraft& draft, ValueId weight, ValueId rows) {
  const Value& traced = draft.traced.at(weight);
  const Parameter& parameter = draft.traced.parameters[static_cast<std::size_t>(traced.detail)];
  const std::string_view name = draft.config.optimizer_sharding.level == 3
                                    ? "parallel_optimizer_allgather"
                                    : "parallel_optimizer_allgather_not_recompute";
  return {.op = ops::kAllGather,
          .inputs = {rows},
          .attrs = {{"mean_flag", draft.config.gradients_mean},
                    {"fusion", parameter.comm_fusion},
                    {"parameter", traced.name}},
          .scope = "Default",
          .instance_name = std::string(name)};
}

/// Weights are gathered for each micro batch.
bool GathersEach(const LocalDraft& draft) {
  return draft.config.optimizer_sharding.level == 3;
}

/// Gradients of micro batches are scattered one by one.
bool ScattersEach(const LocalDraft& draft) {
  return draft.config.optimizer_sharding.level >= 2;
}

}  // namespace

Result<TensorLayout> StoredLayout(LocalDraft& draft, const Parameter& parameter,
                                  TensorLayout used) {
  if (!Qualifies(draft, parameter)) {
    return used;
  }
  DRYDOCK_TRY(std::optional<OptimizerShard> shard,
              ShardForOptimizer(used, draft.config.optimizer_sharding.shard_size));
  if (!shard) {
    NoteWhole(draft, parameter.value, used);
    return used;
  }
  NoteForeignMirror(draft, parameter.value, *shard);
  TensorLayout stored = shard->layout;
  draft.shards.emplace(parameter.value,
                       WeightShard{.used = std::move(used), .shard = *std::move(shard)});
  return stored;
}

SharedValue<TensorLayout> UsedLayout(const LocalDraft& draft, ValueId value) {
  const auto shard = draft.shards.find(value);
  return shard == draft.shards.end() ? LayoutOf(draft, value) : shard->second.used;
}

Result<ValueId> GatheredWeight(LocalDraft& draft, ValueId weight) {
  WeightShard& shard = draft.shards.at(weight);
  if (shard.gathered != kNoValue) {
    return shard.gathered;
  }
  const bool accumulates = AccumulatorOf(draft, weight) != kNoValue;
  const bool scatters_each = accumulates && ScattersEach(draft);
  // Means of accumulated gradients are taken over the groups before they are scattered, sums
  // behind that: recorded.
  const bool means = accumulates && draft.config.gradients_mean;
  ValueId rows = draft.Of(weight).id;
  if (scatters_each) {
    DRYDOCK_TRY(rows, EmitMicroMirror(draft, weight, rows, shard.shard.mirror_group));
  } else if (!means) {
    DRYDOCK_TRY(rows, EmitMirror(draft, weight, shard.shard.mirror_group, "Default"));
  }
  DRYDOCK_TRY(rows, InHalfPrecision(draft, weight, rows));
  NodeSpec spec = GatherSpec(draft, weight, rows);
  if (scatters_each) {
    spec.attrs["scattered"] = true;
  }
  if (accumulates && GathersEach(draft)) {
    spec.attrs[std::string(kEachMicroBatch)] = true;
    spec.attrs["mean_flag"] = false;  // What is scattered is divided, one by one.
  }
  DRYDOCK_TRY(shard.gathered, EmitCollective(draft.builder, std::move(spec),
                                             shard.shard.gather_group, CommReason::kOptimizerShard,
                                             "rows of " + draft.traced.at(weight).name));
  if (accumulates && !scatters_each) {
    DRYDOCK_TRY(shard.gathered, EmitMicroMirror(draft, weight, shard.gathered,
                                                means ? shard.shard.mirror_group : GroupPattern()));
  }
  return shard.gathered;
}

Result<ValueId> AccumulatedUse(LocalDraft& draft, ValueId weight, ValueId gathered) {
  NodeSpec spec{.op = ops::kVirtualAssignAdd,
                .inputs = {gathered, AccumulatorOf(draft, weight)},
                .attrs = {{std::string(kAddsBeforeCast), true},
                          {std::string(kTokenForm), std::string(kTokenOfUse)}},
                .scope = "Default"};
  if (!ScattersEach(draft)) {
    return draft.builder.Emit(std::move(spec));
  }
  if (GathersEach(draft)) {  // The sum stands between the cast and the gather.
    spec.attrs[std::string(kTokenForm)] = std::string(kTokenCastBack);
    spec.attrs["mean_flag"] = draft.config.gradients_mean;
  }
  return EmitCollective(draft.builder, std::move(spec), draft.shards.at(weight).shard.gather_group,
                        CommReason::kParameterGradient,
                        "gradient of " + draft.traced.at(weight).name);
}

TensorLayout AccumulatorLayout(const LocalDraft& draft, ValueId weight) {
  return ScattersEach(draft) ? *LayoutOf(draft, weight) : *UsedLayout(draft, weight);
}

}  // namespace drydock::strategies
