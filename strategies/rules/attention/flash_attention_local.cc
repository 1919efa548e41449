#include <algorithm>
#include <utility>

#include "strategies/rules/attention/flash_attention.h"
#include "strategies/rules/attention/ring_attention.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// Flash attention in the program of one rank: its heads, the band of keys that its own queries
/// see, and where its own packed sequences end. Source: mindspore
/// ops_info/flash_attention_score_info.cc.
namespace drydock::strategies {
namespace {

/// Ends of the rank's own sequences, counted from its first token.
Result<ValueId> EmitOwnEnds(const LocalizeContext& context, ValueId ends, std::int64_t tokens,
                            const RankExpr& part) {
  DRYDOCK_TRY(const ValueId begin,
              EmitRankScalar(context, Times(part, tokens), context.builder.TypeOf(ends).dtype));
  return EmitHelper(context, "Sub", {ends, begin});
}

/// max(0, min(ends - begin, length)).
Result<ValueId> EmitClipped(const LocalizeContext& context, ValueId ends, const RankExpr& begin,
                            std::int64_t length) {
  const DType dtype = context.builder.TypeOf(ends).dtype;
  DRYDOCK_TRY(const ValueId number, EmitRankScalar(context, begin, dtype));
  DRYDOCK_TRY(const ValueId shifted, EmitHelper(context, "Sub", {ends, number}));
  DRYDOCK_TRY(const ValueId positive, EmitHelper(context, "ReLU", {shifted}));
  const ValueId most = context.builder.AddScalar(static_cast<double>(length), dtype);
  return EmitHelper(context, "Minimum", {positive, most});
}

/// Ends of the sequences in the rank's own queries, which may be the middle of one, and in the keys
/// that these see: a sequence that goes on behind the own queries loses as many keys at its end as
/// it loses queries, so that the last own query sees the last key that is left.
Status ClipEnds(const LocalizeContext& context, const AttentionForm& form, std::int64_t batch_parts,
                std::int64_t sequence_parts, std::vector<ValueId>& inputs) {
  const AttentionAxes axes = AxesOf(form.layout);
  const RankExpr& batch = context.sharding.axis_parts[static_cast<std::size_t>(axes.batch)];
  const RankExpr& part = context.sharding.axis_parts[static_cast<std::size_t>(axes.sequence)];
  const std::int64_t keys = form.kv_length / batch_parts;
  const std::int64_t queries = form.q_length / batch_parts / sequence_parts;
  const RankExpr first = Times(Plus(Times(batch, sequence_parts), part), queries);
  const RankExpr end = Plus(first, RankExpr{.constant = queries});
  DRYDOCK_TRY(const ValueId behind, EmitClipped(context, inputs[kQueryEnds], end, form.q_length));
  DRYDOCK_TRY(const ValueId seen, EmitHelper(context, "Sub", {inputs[kKeyEnds], behind}));
  DRYDOCK_TRY(inputs[kKeyEnds], EmitClipped(context, seen, Times(batch, keys), keys));
  DRYDOCK_TRY(inputs[kQueryEnds], EmitClipped(context, inputs[kQueryEnds], first, queries));
  return {};
}

}  // namespace

Status ShiftTokens(const AttentionForm& form, SparseMode mode, const OwnPart& queries,
                   AttrMap& attrs) {
  if (mode == SparseMode::kAllMask) {
    return {};
  }
  const std::int64_t own = form.q_length / queries.count;
  const bool given = mode == SparseMode::kDefault || mode == SparseMode::kBand;
  // The reference takes the query length, which hides keys where there are more keys than queries.
  std::int64_t pre = std::max(form.q_length, form.kv_length);
  std::int64_t next = 0;
  if (given) {
    DRYDOCK_TRY(pre, IntAttr(attrs, "pre_tokens", kAllTokens));
    DRYDOCK_TRY(next, IntAttr(attrs, "next_tokens", kAllTokens));
  }
  // Where the own slice's band begins: at the upper left corner for modes 0, 2 and 8 ...
  RankExpr shift = Times(queries.number, own);
  if (mode == SparseMode::kLeftUpCausal || mode == SparseMode::kVarlenLeft) {
    shift.constant = own - form.kv_length;  // ... which the band mode counts from the lower right,
  } else if (mode != SparseMode::kDefault) {
    shift.constant = own - form.q_length;  // ... as modes 3 and 4 do by themselves.
  }
  attrs["pre_tokens"] = Plus({.constant = pre}, Times(shift, -1));
  attrs["next_tokens"] = Plus({.constant = next}, shift);
  if (mode != SparseMode::kDefault) {
    attrs["sparse_mode"] = static_cast<std::int64_t>(SparseMode::kBand);
  }
  return {};
}

Result<std::vector<ValueId>> LocalizeFlash(const LocalizeContext& context) {
  DRYDOCK_TRY(const AttentionForm form, FlashFormOf(context.global));
  DRYDOCK_TRY(const SparseMode mode, SparseModeOf(context.global));
  const AttentionAxes axes = AxesOf(form.layout);
  const auto cut_of = [&](AxisIndex axis) {
    return GroupSize(context.sharding.axis_groups[static_cast<std::size_t>(axis)]);
  };
  NodeSpec spec = context.spec;
  const bool shares = context.sharding.axis_groups.size() > kSharedHeads;
  spec.attrs["head_num"] =
      form.heads / cut_of(axes.head) / (shares ? cut_of(kSharedHeads) : std::int64_t{1});
  const LocalizeContext local{.builder = context.builder,
                              .global = context.global,
                              .sharding = context.sharding,
                              .spec = spec};
  if (form.IsPacked() && cut_of(axes.sequence) > 1) {
    DRYDOCK_RETURN_IF_ERROR(
        ClipEnds(context, form, cut_of(axes.batch), cut_of(axes.sequence), spec.inputs));
    return EmitLocal(local, spec.attrs);
  }
  if (cut_of(axes.sequence) > 1) {
    DRYDOCK_TRY(const bool ring, IsRingAttention(context.global, form, mode));
    if (ring) {
      return LocalizeRingAttention(local, axes.sequence);
    }
    const auto axis = static_cast<std::size_t>(axes.sequence);
    DRYDOCK_RETURN_IF_ERROR(ShiftTokens(
        form, mode, {.number = context.sharding.axis_parts[axis], .count = cut_of(axes.sequence)},
        spec.attrs));
  }
  if (form.IsPacked() && cut_of(axes.batch) > 1) {
    const std::int64_t parts = cut_of(axes.batch);
    const RankExpr& part = context.sharding.axis_parts[static_cast<std::size_t>(axes.batch)];
    DRYDOCK_TRY(spec.inputs[kQueryEnds],
                EmitOwnEnds(context, spec.inputs[kQueryEnds], form.q_length / parts, part));
    DRYDOCK_TRY(spec.inputs[kKeyEnds],
                EmitOwnEnds(context, spec.inputs[kKeyEnds], form.kv_length / parts, part));
  }
  return EmitLocal(local, spec.attrs);
}

}  // namespace drydock::strategies
