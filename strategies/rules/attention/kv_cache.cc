#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/optional_operand.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// Caches of keys and values for inference, written in place. Positions are whole on every rank; a
/// rank with a part of the batch uses its own part of them. Source: mindspore
/// ops_info/kv_cache_mgr_info.cc.
namespace drydock::strategies {
namespace {

tl::unexpected<Error> FailCache(const OpView& op, const std::string& why) {
  return FailOp(op, "shape-mismatch", "'" + std::string(op.op) + "': " + why);
}

/// The same operator with input `operand` reduced to the rank's part of the batch (rule axis 0), if
/// it has one entry for each sample.
Result<std::vector<ValueId>> EmitWithOwnPositions(const LocalizeContext& context,
                                                  std::size_t operand) {
  NodeSpec spec = context.spec;
  const Shape& positions = context.global.inputs[operand].shape;
  if (!positions.empty() && positions[0] == context.global.inputs[0].shape[0]) {
    DRYDOCK_TRY(spec.inputs[operand], EmitOwnSlice(context, spec.inputs[operand], 0, 0));
  }
  return EmitLocal(context, std::move(spec));
}

/// Writes rows of `updates` into `cache` from position positions[sample] of dimension `axis` on.
void WriteRows(NdArray& cache, const NdArray& positions, const NdArray& updates, std::size_t axis,
               bool add) {
  std::size_t n = 0;
  ForEachElement(updates.shape, [&](std::span<const std::int64_t> at) {
    std::vector<std::int64_t> target(at.begin(), at.end());
    const std::size_t sample = std::min(static_cast<std::size_t>(at[0]), positions.data.size() - 1);
    target[axis] += static_cast<std::int64_t>(positions.data[sample]);
    if (target[axis] >= 0 && target[axis] < cache.shape[axis]) {
      double& slot = cache.data[OffsetOf(cache.shape, target)];
      slot = add ? slot + updates.data[n] : updates.data[n];
    }
    ++n;
  });
}

// ---- KVCacheMgr: past (b, h, s, d), current, valid_seq_len --------------------------------------

Result<std::vector<TensorType>> InferCacheManager(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 4, 4));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 4, 4));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 2, 1, 1));
  const Shape& past = op.inputs[0].shape;
  const Shape& current = op.inputs[1].shape;
  if (past[0] != current[0] || past[1] != current[1] || past[3] != current[3] ||
      op.inputs[2].shape[0] < 1) {
    return FailCache(op, "a cache of shape " + TupleText(past) + " cannot take rows of shape " +
                             TupleText(current));
  }
  return std::vector<TensorType>{op.inputs[0]};
}

/// Axes [b, h, 1, 1].
Result<ShardRule> ShardCacheManager(const OpView& /*op*/, const Strategy& /*strategy*/) {
  const TensorAxes cache = {{0}, {1}, {}, {}};
  return ShardRule{.axis_count = 4,
                   .inputs = {cache, cache, {{}}},
                   .outputs = {cache},
                   .loss_divisor_is_one = true};
}

Result<std::vector<ValueId>> LocalizeCacheManager(const LocalizeContext& context) {
  return EmitWithOwnPositions(context, 2);
}

Result<std::vector<NdArray>> EvaluateCacheManager(const EvaluateContext& context) {
  NdArray cache = context.inputs[0];
  WriteRows(cache, context.inputs[2], context.inputs[1], 2, false);
  return std::vector<NdArray>{std::move(cache)};
}

DRYDOCK_OP(KVCacheMgr, .family = "attention",
           .signature = "KVCacheMgr()(past, current, valid_seq_len)", .infer = InferCacheManager,
           .shard = ShardCacheManager, .localize = LocalizeCacheManager, .gradient = NoBackward,
           .evaluate = EvaluateCacheManager, .flops = NoFlops,
           .example = "()((4, 2, 8, 3), (4, 2, 1, 3), int32(4))");

// ---- KVCacheScatterUpdate: var, indices, updates ------------------------------------------------

/// Dimension that positions count: 2 of four, 1 of two or three.
std::size_t SequenceOf(const Shape& var) {
  return var.size() == 4 ? 2 : 1;
}

Result<std::vector<TensorType>> InferScatterUpdate(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 4));
  const Shape& var = op.inputs[0].shape;
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 2, var.size(), var.size()));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 1, 1));
  DRYDOCK_TRY(const std::int64_t given, IntAttr(*op.attrs, "axis", -2));
  DRYDOCK_TRY(const std::size_t axis, NormalisedAxis(op, given, var.size()));
  for (std::size_t d = 0; d < var.size(); ++d) {
    if (d != axis && var[d] != op.inputs[2].shape[d]) {
      return FailCache(op, "a cache of shape " + TupleText(var) + " cannot take updates of shape " +
                               TupleText(op.inputs[2].shape));
    }
  }
  if (axis == 0 || op.inputs[1].shape[0] != var[0]) {
    return FailCache(op, "needs one index for each of the " + std::to_string(var[0]) +
                             " samples along a later dimension");
  }
  return std::vector<TensorType>{op.inputs[0]};
}

/// The sequence is told by the rank of the cache, not by `axis`, as in the original.
Result<ShardRule> ShardScatterUpdate(const OpView& op, const Strategy& /*strategy*/) {
  const Shape& var = op.inputs[0].shape;
  const TensorAxes axes = AxesInOrder(var.size());
  ShardRule rule{.axis_count = static_cast<std::int32_t>(var.size()),
                 .inputs = {axes, {{}}, axes},
                 .outputs = {axes}};
  rule.uncut.push_back({.axis = static_cast<AxisIndex>(SequenceOf(var)), .what = "the sequence"});
  return rule;
}

Result<std::vector<ValueId>> LocalizeScatterUpdate(const LocalizeContext& context) {
  return EmitWithOwnPositions(context, 1);
}

Result<std::vector<NdArray>> EvaluateScatterUpdate(const EvaluateContext& context) {
  NdArray cache = context.inputs[0];
  DRYDOCK_TRY(const std::int64_t given, IntAttr(context.attrs, "axis", -2));
  DRYDOCK_TRY(const std::size_t axis, NormalisedAxis(context.View(), given, cache.shape.size()));
  DRYDOCK_TRY(const std::string reduce, TextAttr(context.attrs, "reduce", "none"));
  WriteRows(cache, context.inputs[1], context.inputs[2], axis, reduce == "add");
  return std::vector<NdArray>{std::move(cache)};
}

DRYDOCK_OP(KVCacheScatterUpdate, .family = "attention",
           .signature = "KVCacheScatterUpdate()(var, indices, updates, #axis, #reduce)",
           .infer = InferScatterUpdate, .shard = ShardScatterUpdate,
           .localize = LocalizeScatterUpdate, .gradient = NoBackward,
           .evaluate = EvaluateScatterUpdate, .flops = NoFlops, .writes = "0", .mirrored = "-",
           .example = "()((4, 2, 8, 3), int32(4), (4, 2, 1, 3))");

// ---- ReshapeAndCache: key, value, key_cache, value_cache, slot_mapping --------------------------

enum CacheOperand : std::size_t { kKey, kValue, kKeyCache, kValueCache, kSlots };

Status CheckRows(const OpView& op, const TensorType* rows, const TensorType* cache) {
  const bool fits = rows != nullptr && cache != nullptr &&
                    (rows->shape.size() == 2 || rows->shape.size() == 3) &&
                    (cache->shape.size() == 3 || cache->shape.size() == 4) && cache->shape[0] > 0 &&
                    cache->shape[1] > 0;
  if (fits) {
    std::int64_t hidden = 1;
    for (std::size_t d = 2; d < cache->shape.size(); ++d) {
      hidden *= cache->shape[d];
    }
    if (rows->shape.back() == hidden) {
      return {};
    }
  }
  return FailCache(op,
                   "rows (b, s, hidden) or (tokens, hidden) and a cache (blocks, block size, "
                   "hidden) must fit");
}

Result<std::vector<TensorType>> InferReshapeAndCache(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 5));
  const TensorType* cache = OptionalType(op, kKeyCache);
  DRYDOCK_RETURN_IF_ERROR(CheckRows(op, OptionalType(op, kKey), cache));
  if (OptionalType(op, kValue) != nullptr || OptionalType(op, kValueCache) != nullptr) {
    DRYDOCK_RETURN_IF_ERROR(CheckRows(op, OptionalType(op, kValue), OptionalType(op, kValueCache)));
  }
  if (OptionalType(op, kSlots) == nullptr) {
    return FailOp(op, "input-count", "'" + std::string(op.op) + "' needs slot_mapping");
  }
  return std::vector<TensorType>{*cache};
}

/// Axes [b, c0, c1, s, h].
Result<ShardRule> ShardReshapeAndCache(const OpView& op, const Strategy& /*strategy*/) {
  const auto cache_axes = [](const TensorType& type) {
    TensorAxes axes(type.shape.size());
    axes[0] = {1};
    axes[1] = {2};
    axes[2] = {4};
    return axes;
  };
  ShardRule rule{.axis_count = 5};
  for (const std::size_t operand : {kKey, kValue, kKeyCache, kValueCache, kSlots}) {
    const TensorType* type = OptionalType(op, operand);
    if (type == nullptr) {
      continue;
    }
    const bool cache = operand == kKeyCache || operand == kValueCache;
    rule.inputs.push_back(cache                     ? cache_axes(*type)
                          : operand == kSlots       ? TensorAxes(type->shape.size())
                          : type->shape.size() == 2 ? TensorAxes{{0}, {4}}
                                                    : TensorAxes{{0}, {3}, {4}});
  }
  rule.outputs = {cache_axes(*OptionalType(op, kKeyCache))};
  rule.uncut = {{.axis = 1, .what = "a cache's blocks"},
                {.axis = 2, .what = "a cache's block"},
                {.axis = 3, .what = "the sequence"}};
  return rule;
}

/// The batch of key and value.
Result<Strategy> DefaultReshapeAndCache(const OpView& op, std::int64_t device_count) {
  std::vector<bool> batch(op.inputs.size(), false);
  batch[0] = true;
  if (PresentIndex(op, kValue) == 1) {
    batch[1] = true;
  }
  return BatchStrategy(op, device_count, batch);
}

/// Ranks with different tokens hold the same cache: each writes the tokens of all.
Result<std::vector<ValueId>> LocalizeReshapeAndCache(const LocalizeContext& context) {
  const AxisIndex tokens[] = {0};
  const GroupPattern group = HelperGroup(context, tokens);
  NodeSpec spec = context.spec;
  for (const std::size_t operand : {kKey, kValue}) {
    if (GroupSize(group) > 1 && spec.inputs[operand] != kNoValue) {
      DRYDOCK_TRY(spec.inputs[operand],
                  EmitGroupCollective(context, ops::kAllGather, spec.inputs[operand], {}, group,
                                      CommReason::kRedistribution,
                                      "tokens of all ranks that share the cache"));
    }
  }
  return EmitLocal(context, std::move(spec));
}

void WriteSlots(NdArray& cache, const NdArray& rows, const NdArray& slots) {
  const auto hidden = static_cast<std::size_t>(rows.shape.back());
  const std::size_t lines = cache.data.size() / std::max<std::size_t>(1, hidden);
  for (std::size_t token = 0; token < slots.data.size(); ++token) {
    const double slot = slots.data[token];
    if (slot < 0 || slot >= static_cast<double>(lines) || (token + 1) * hidden > rows.data.size()) {
      continue;
    }
    const auto from = rows.data.begin() + static_cast<std::ptrdiff_t>(token * hidden);
    std::copy_n(
        from, hidden,
        cache.data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(slot) * hidden));
  }
}

/// Results: both caches; the operator's only output is the first.
Result<std::vector<NdArray>> EvaluateReshapeAndCache(const EvaluateContext& context) {
  const OpView view = context.View();
  const auto operand = [&](std::size_t i) -> const NdArray& {
    return context.inputs[static_cast<std::size_t>(PresentIndex(view, i))];
  };
  std::vector<NdArray> caches = {operand(kKeyCache)};
  WriteSlots(caches[0], operand(kKey), operand(kSlots));
  if (OptionalType(view, kValueCache) != nullptr) {
    caches.push_back(operand(kValueCache));
    WriteSlots(caches[1], operand(kValue), operand(kSlots));
  }
  return caches;
}

DRYDOCK_OP(ReshapeAndCache, .family = "attention",
           .signature = "ReshapeAndCache()(key, ?value, ?key_cache, ?value_cache, ?slot_mapping)",
           .infer = InferReshapeAndCache, .shard = ShardReshapeAndCache,
           .default_strategy = DefaultReshapeAndCache, .localize = LocalizeReshapeAndCache,
           .gradient = NoBackward, .evaluate = EvaluateReshapeAndCache, .flops = NoFlops,
           .writes = "2,3", .mirrored = "-",
           .example = "()((4, 1, 6), (4, 1, 6), (3, 2, 6), (3, 2, 6), int32(4))");

// ---- GenerateEodMaskV2: inputs, ele_pos, cur_step, seed -----------------------------------------
// Flips bits at chosen steps to test fault detection: it has no value to compute in a dry run.

Result<std::vector<TensorType>> InferEodMask(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 4, 4));
  return std::vector<TensorType>{op.inputs[0]};
}

Result<ShardRule> ShardEodMask(const OpView& op, const Strategy& /*strategy*/) {
  const TensorAxes axes = AxesInOrder(op.inputs[0].shape.size());
  ShardRule rule{.axis_count = static_cast<std::int32_t>(axes.size()),
                 .inputs = {axes},
                 .outputs = {axes},
                 .strategy_entries = {axes}};
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    rule.inputs.emplace_back(op.inputs[i].shape.size());
  }
  return rule;
}

/// Dimension 0 of the only strategy entry.
Result<Strategy> DefaultEodMask(const OpView& op, std::int64_t device_count) {
  Strategy strategy = BatchStrategy(op, device_count, {true});
  strategy.resize(1);
  return strategy;
}

DRYDOCK_OP(GenerateEodMaskV2, .family = "attention",
           .signature =
               "GenerateEodMaskV2()(inputs, ele_pos, cur_step, seed, #start, #steps, #error_mode, "
               "#flip_mode, #multiply_factor, #bit_pos, #flip_probability)",
           .infer = InferEodMask, .shard = ShardEodMask, .default_strategy = DefaultEodMask,
           .gradient = NoBackward, .flops = NoFlops,
           .example = "()((4, 6), int64(), int64(), int64())");

}  // namespace
}  // namespace drydock::strategies
