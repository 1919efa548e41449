#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/rules/attention/attention_form.h"
#include "strategies/rules/attention/attention_math.h"
#include "strategies/rules/attention/flash_attention.h"
#include "strategies/rules/common/common_rules.h"

/// Fused attention for inference: prompts (all queries), increments (one query) and both in one.
/// They share the arithmetic of flash attention; quantised operands and paged caches have shapes,
/// layouts and memory, but no reference execution. Source: mindspore
/// ops_info/fused_infer_attention_score_info.cc.
namespace drydock::strategies {
namespace {

constexpr std::size_t kNone = 64;  ///< The operator has no such operand.

/// Where optional operands stand in the call, and what an operator does.
struct Places {
  std::size_t mask = kNone;
  std::size_t shift = kNone;
  std::size_t q_lengths = kNone;
  std::size_t kv_lengths = kNone;
  std::size_t operands = 3;    ///< Tensors of the call.
  bool increment = false;      ///< The query is one token; D = [b, h].
  bool gives_log_sum = false;  ///< Second result.
  std::int64_t next_tokens = 0;
};
constexpr Places kPrompt = {.mask = 3, .shift = 6, .q_lengths = 4, .kv_lengths = 5, .operands = 12};
constexpr Places kIncrement = {
    .mask = 3, .shift = 5, .kv_lengths = 4, .operands = 15, .increment = true};
constexpr Places kFused = {.mask = 4,
                           .shift = 3,
                           .q_lengths = 5,
                           .kv_lengths = 6,
                           .operands = 24,
                           .gives_log_sum = true,
                           .next_tokens = kAllTokens};

/// Scale and offset of quantised keys and values of an increment: (2, hidden) or (2, heads, 1,
/// dim).
bool IsAntiquant(std::size_t operand, const Places& places) {
  return places.increment && (operand == 11 || operand == 12);
}

bool IsPlain(std::size_t operand, const Places& places) {
  return operand < 3 || operand == places.mask || operand == places.shift ||
         operand == places.q_lengths || operand == places.kv_lengths;
}

Result<AttentionForm> FormOf(const OpView& op) {
  DRYDOCK_TRY(const AttentionLayout layout, AttentionLayoutOf(op, "BSH"));
  if (layout != AttentionLayout::kBsh && layout != AttentionLayout::kBnsd) {
    return UnsupportedForm(op, "'" + std::string(op.op) + "' is handled in layouts BSH and BNSD");
  }
  DRYDOCK_TRY(const std::int64_t heads, IntAttr(*op.attrs, "num_heads", 1));
  DRYDOCK_TRY(const AttentionForm form, AttentionFormOf(op, layout, heads));
  DRYDOCK_TRY(const std::int64_t kv_heads, IntAttr(*op.attrs, "num_key_value_heads", 0));
  if (kv_heads != 0 && kv_heads != form.kv_heads) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' has " + std::to_string(form.kv_heads) +
                      " key heads, not num_key_value_heads = " + std::to_string(kv_heads));
  }
  return form;
}

Result<bool> HasLogSum(const OpView& op) {
  return BoolAttr(*op.attrs, "softmax_lse_flag", false);
}

template <const Places& P>
Result<std::vector<TensorType>> InferAttention(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, P.operands));
  if ((op.absent & 7U) != 0) {
    return FailOp(op, "input-count", "'" + std::string(op.op) + "' needs query, key and value");
  }
  DRYDOCK_TRY(const AttentionForm form, FormOf(op));
  if (P.increment && form.q_length != 1) {
    return FailOp(
        op, "shape-mismatch",
        "'" + std::string(op.op) + "' takes one query, not " + std::to_string(form.q_length));
  }
  const DType dtype = op.inputs[0].dtype;
  std::vector<TensorType> types = {{.shape = AttentionResultShape(form), .dtype = dtype}};
  if (P.gives_log_sum) {
    DRYDOCK_TRY(const bool log_sum, HasLogSum(op));
    types.push_back({.shape = log_sum ? Shape{form.batch, form.heads, form.q_length, 1} : Shape{1},
                     .dtype = DType::kFloat32});
  }
  return types;
}

// ---- Sharding -----------------------------------------------------------------------------------

struct RuleAxes {
  AxisIndex batch = 0;
  DimAxes sequence = {};
  AxisIndex head = 1;
};

/// Dimensions (.., batch, heads, queries, keys) of a mask; two dimensions are (queries, keys), of
/// an increment (batch, keys); three (batch, queries, keys).
TensorAxes MaskAxes(const Shape& shape, const RuleAxes& axes, bool increment) {
  const auto on = [&](std::size_t d, DimAxes wanted) {
    return shape[d] == 1 ? DimAxes{} : std::move(wanted);
  };
  switch (shape.size()) {
    case 2:
      return {increment ? on(0, {axes.batch}) : on(0, axes.sequence), {}};
    case 3:
      return {on(0, {axes.batch}), on(1, axes.sequence), {}};
    case 4:
      return {on(0, {axes.batch}), on(1, {axes.head}), on(2, axes.sequence), {}};
    default:
      return TensorAxes(shape.size());
  }
}

TensorAxes OptionalAxes(const Places& places, std::size_t operand, const TensorType& type,
                        const AttentionForm& form, const RuleAxes& axes, bool compressed) {
  if (operand == places.mask && !compressed) {
    return MaskAxes(type.shape, axes, places.increment);
  }
  if (operand == places.shift) {
    return MaskAxes(type.shape, axes, false);
  }
  if (IsAntiquant(operand, places) && type.shape.size() > 1) {
    TensorAxes scales(type.shape.size());
    scales[1] = {axes.head};
    return scales;
  }
  const bool lengths = operand == places.q_lengths || operand == places.kv_lengths;
  if (lengths && type.shape == Shape{form.batch}) {
    return {{axes.batch}};
  }
  return TensorAxes(type.shape.size());
}

/// Sequence lengths given as numbers would have to differ between ranks.
Status CheckLengths(const OpView& op, std::int64_t batch_cut) {
  for (const std::string_view name : {"actual_seq_lengths", "actual_seq_lengths_kv"}) {
    DRYDOCK_TRY(const auto lengths, IntListAttr(*op.attrs, name));
    if (lengths && !lengths->empty() && batch_cut > 1) {
      return UnsupportedForm(op, "a cut batch of '" + std::string(op.op) + "' with '" +
                                     std::string(name) + "' is not handled");
    }
  }
  return {};
}

/// Cut that the query's entry gives the dimension on `axes`.
std::int64_t QueryCut(const Strategy& strategy, const TensorAxes& query, const DimAxes& axes) {
  for (std::size_t d = 0; !strategy.empty() && d < std::min(strategy[0].size(), query.size());
       ++d) {
    if (query[d] == axes && !axes.empty()) {
      return std::max<std::int64_t>(1, strategy[0][d]);
    }
  }
  return 1;
}

/// Lengths by operand or attribute.
Result<bool> HasLengths(const OpView& op, std::size_t operand, std::string_view attribute) {
  DRYDOCK_TRY(const auto given, IntListAttr(*op.attrs, attribute));
  return (operand != kNone && OperandType(op, operand) != nullptr) || (given && !given->empty());
}

/// A band that depends on actual lengths cannot be counted from the rank's slice of queries.
Status CheckCutSequence(const OpView& op, const Places& places, SparseMode mode) {
  DRYDOCK_TRY(const bool q_lengths, HasLengths(op, places.q_lengths, "actual_seq_lengths"));
  DRYDOCK_TRY(const bool kv_lengths, HasLengths(op, places.kv_lengths, "actual_seq_lengths_kv"));
  const bool from_left = mode == SparseMode::kLeftUpCausal || mode == SparseMode::kVarlenLeft;
  const bool prefix = mode == SparseMode::kPrefix || mode == SparseMode::kPrefixCompressed ||
                      mode == SparseMode::kVarlenRight;
  if (prefix || q_lengths || (kv_lengths && from_left)) {
    return UnsupportedForm(op, "a cut query sequence of '" + std::string(op.op) +
                                   "' in this sparse mode or with these lengths is not handled");
  }
  return {};
}

bool HasCompressedMask(SparseMode mode) {
  return mode != SparseMode::kDefault && mode != SparseMode::kAllMask;
}

RuleAxes RuleAxesOf(const Places& places, AttentionLayout layout) {
  if (places.increment) {
    return {.batch = 0, .sequence = {}, .head = 1};
  }
  const AttentionAxes axes = AxesOf(layout);
  return {.batch = axes.batch, .sequence = {axes.sequence}, .head = axes.head};
}

std::optional<AxisIndex> SequenceAxis(const RuleAxes& axes) {
  return axes.sequence.empty() ? std::nullopt : std::optional<AxisIndex>(axes.sequence.front());
}

/// Lengths and tables that are given an entry without cuts are whole on every rank.
void MakeWhole(const Strategy& strategy, std::vector<TensorAxes>& inputs) {
  for (std::size_t i = 3; i < std::min(strategy.size(), inputs.size()); ++i) {
    if (inputs[i].size() == 1 && strategy[i] == std::vector<std::int64_t>{1}) {
      inputs[i] = {{}};
    }
  }
}

template <const Places& P>
Result<ShardRule> ShardAttention(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const AttentionForm form, FormOf(op));
  DRYDOCK_TRY(const SparseMode mode, SparseModeOf(op));
  const RuleAxes axes = RuleAxesOf(P, form.layout);
  const TensorAxes query = OperandAxes(form.layout, axes.batch, SequenceAxis(axes), axes.head);
  const TensorAxes key =
      OperandAxes(form.layout, axes.batch, std::nullopt,
                  form.kv_heads == 1 ? std::nullopt : std::optional<AxisIndex>(axes.head));
  ShardRule rule{.axis_count = P.increment ? 2 : 3, .inputs = {query, key, key}};
  std::vector<TensorAxes> entries = rule.inputs;
  for (std::size_t operand = 3; operand < P.operands; ++operand) {
    if (const TensorType* type = OperandType(op, operand); type != nullptr) {
      rule.inputs.push_back(OptionalAxes(P, operand, *type, form, axes, HasCompressedMask(mode)));
      if (operand == P.mask || IsAntiquant(operand, P)) {
        entries.push_back(rule.inputs.back());
      }
    }
  }
  if (P.increment && entries.size() < rule.inputs.size() && strategy.size() != rule.inputs.size()) {
    rule.strategy_entries = std::move(entries);  // Lengths and tables need no entry.
  } else if (P.increment) {
    MakeWhole(strategy, rule.inputs);
  }
  rule.outputs = {query};
  if (P.gives_log_sum) {
    DRYDOCK_TRY(const bool log_sum, HasLogSum(op));
    rule.outputs.push_back(log_sum ? TensorAxes{{axes.batch}, {axes.head}, axes.sequence, {}}
                                   : TensorAxes{{}});
  }
  DRYDOCK_RETURN_IF_ERROR(CheckHeadCut(op, form, QueryCut(strategy, query, {axes.head})));
  DRYDOCK_RETURN_IF_ERROR(CheckLengths(op, QueryCut(strategy, query, {axes.batch})));
  if (QueryCut(strategy, query, axes.sequence) > 1) {
    DRYDOCK_RETURN_IF_ERROR(CheckCutSequence(op, P, mode));
  }
  return rule;
}

/// The batch of query, key, value and of whatever else has one.
template <const Places& P>
Result<Strategy> DefaultAttention(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const ShardRule rule, ShardAttention<P>(op, {}));
  Strategy strategy;
  for (const TensorAxes& entry :
       rule.strategy_entries.empty() ? rule.inputs : rule.strategy_entries) {
    strategy.emplace_back();
    for (const DimAxes& axes : entry) {
      strategy.back().push_back(axes == DimAxes{0} ? device_count : 1);
    }
  }
  return strategy;
}

template <const Places& P>
Result<std::vector<ValueId>> LocalizeAttention(const LocalizeContext& context) {
  DRYDOCK_TRY(const AttentionForm form, FormOf(context.global));
  const RuleAxes axes = RuleAxesOf(P, form.layout);
  AttrMap attrs = context.spec.attrs;
  const std::int64_t heads =
      GroupSize(context.sharding.axis_groups[static_cast<std::size_t>(axes.head)]);
  attrs["num_heads"] = form.heads / heads;
  DRYDOCK_TRY(const std::int64_t kv_heads, IntAttr(attrs, "num_key_value_heads", 0));
  if (kv_heads > 1) {
    attrs["num_key_value_heads"] = kv_heads / heads;
  }
  if (const auto sequence = SequenceAxis(axes); sequence) {
    const auto axis = static_cast<std::size_t>(*sequence);
    if (const std::int64_t parts = GroupSize(context.sharding.axis_groups[axis]); parts > 1) {
      DRYDOCK_TRY(const SparseMode mode, SparseModeOf(context.global));
      if (!attrs.contains("next_tokens")) {
        attrs["next_tokens"] = P.next_tokens;
      }
      DRYDOCK_RETURN_IF_ERROR(ShiftTokens(
          form, mode, {.number = context.sharding.axis_parts[axis], .count = parts}, attrs));
    }
  }
  return EmitLocal(context, std::move(attrs));
}

// ---- Evaluation ---------------------------------------------------------------------------------

/// Lengths of the samples from an operand or an attribute; empty if neither is given.
Result<std::vector<std::int64_t>> LengthsOf(const EvaluateContext& context, std::size_t operand,
                                            std::string_view attribute) {
  const OpView view = context.View();
  std::vector<std::int64_t> lengths;
  if (operand != kNone && PresentIndex(view, operand) >= 0) {
    for (const double length :
         context.inputs[static_cast<std::size_t>(PresentIndex(view, operand))].data) {
      lengths.push_back(static_cast<std::int64_t>(length));
    }
    return lengths;
  }
  DRYDOCK_TRY(const auto given, IntListAttr(context.attrs, attribute));
  return given.value_or(lengths);
}

void Shorten(std::vector<AttentionSequence>& sequences, const std::vector<std::int64_t>& lengths,
             std::int64_t AttentionSequence::*length) {
  for (std::size_t i = 0; i < sequences.size() && !lengths.empty(); ++i) {
    std::int64_t& one = sequences[i].*length;
    one = std::clamp<std::int64_t>(lengths[std::min(i, lengths.size() - 1)], 0, one);
  }
}

/// A mask of two or three dimensions in the form (batch, 1, queries, keys) or (queries, keys).
NdArray FourDimMask(const NdArray& mask, bool increment) {
  NdArray wide = mask;
  if (mask.shape.size() == 3) {
    wide.shape = {mask.shape[0], 1, mask.shape[1], mask.shape[2]};
  } else if (mask.shape.size() == 2 && increment) {
    wide.shape = {mask.shape[0], 1, 1, mask.shape[1]};
  }
  return wide;
}

template <const Places& P>
Result<std::vector<NdArray>> EvaluateAttention(const EvaluateContext& context) {
  const OpView view = context.View();
  const auto operand = [&](std::size_t i) -> const NdArray* {
    const std::ptrdiff_t index = i == kNone ? -1 : PresentIndex(view, i);
    return index < 0 ? nullptr : &context.inputs[static_cast<std::size_t>(index)];
  };
  for (std::size_t i = 3; i < P.operands; ++i) {
    if (operand(i) != nullptr && !IsPlain(i, P)) {
      return Fail(ErrorCode::kUnsupported,
                  "quantised or paged operands of an inference attention have no reference "
                  "execution");
    }
  }
  NdArray mask =
      operand(P.mask) == nullptr ? NdArray{} : FourDimMask(*operand(P.mask), P.increment);
  AttentionProblem problem{.query = operand(0),
                           .key = operand(1),
                           .value = operand(2),
                           .shift = operand(P.shift),
                           .mask = operand(P.mask) == nullptr ? nullptr : &mask};
  DRYDOCK_TRY(problem.form, FormOf(view));
  DRYDOCK_TRY(problem.mode, SparseModeOf(view));
  if (P.increment && problem.mask != nullptr) {
    problem.mode = SparseMode::kAllMask;  // No band: the query is the last token.
  }
  DRYDOCK_TRY(problem.pre_tokens, IntAttr(context.attrs, "pre_tokens", kAllTokens));
  DRYDOCK_TRY(problem.next_tokens, IntAttr(context.attrs, "next_tokens", P.next_tokens));
  DRYDOCK_TRY(problem.scale, FloatAttr(context.attrs, "scale_value", 1.0));
  problem.sequences = SequencesOf(problem.form, nullptr, nullptr);
  DRYDOCK_TRY(const auto q_lengths, LengthsOf(context, P.q_lengths, "actual_seq_lengths"));
  DRYDOCK_TRY(const auto kv_lengths, LengthsOf(context, P.kv_lengths, "actual_seq_lengths_kv"));
  Shorten(problem.sequences, q_lengths, &AttentionSequence::q_length);
  Shorten(problem.sequences, kv_lengths, &AttentionSequence::kv_length);
  const AttentionForm& form = problem.form;
  AttentionResult result = Attend(problem, {form.batch, form.heads, form.q_length, 8});
  std::vector<NdArray> results = {std::move(result.out)};
  if (P.gives_log_sum) {
    NdArray log_sum = FilledArray(context.output_types[1].shape, 0.0);
    for (std::size_t i = 0; log_sum.shape.size() == 4 && i < log_sum.data.size(); ++i) {
      const double sum = result.sum.data[8 * i];
      log_sum.data[i] = sum == 0 ? 0.0 : result.maximum.data[8 * i] + std::log(sum);
    }
    results.push_back(std::move(log_sum));
  }
  return results;
}

double AttentionFlops(const OpView& op) {
  const Result<AttentionForm> form = FormOf(op);
  return !form ? 0.0
               : 2.0 * Elements(op.inputs[0]) / static_cast<double>(form->dim) *
                     static_cast<double>(form->kv_length) *
                     static_cast<double>(form->dim + form->value_dim);
}

#define DRYDOCK_INFER_ATTENTION(id, places, arguments, example_call)                              \
  DRYDOCK_OP(id, .family = "attention", .signature = #id "()(" arguments ")",                     \
             .infer = InferAttention<places>, .shard = ShardAttention<places>,                    \
             .default_strategy = DefaultAttention<places>, .localize = LocalizeAttention<places>, \
             .gradient = NoBackward, .evaluate = EvaluateAttention<places>,                       \
             .flops = AttentionFlops, .cost = CostFamily::kMatMul, .work = WorkKind::kAttention,  \
             .example = example_call)

DRYDOCK_INFER_ATTENTION(
    PromptFlashAttention, kPrompt,
    "query, key, value, ?attn_mask, ?actual_seq_lengths, ?actual_seq_lengths_kv, ?pse_shift, "
    "?deq_scale1, ?quant_scale1, ?deq_scale2, ?quant_scale2, ?quant_offset2, #num_heads, "
    "#scale_value=1.0, #pre_tokens=2147483647, #next_tokens=0, #input_layout='BSH', "
    "#num_key_value_heads=0, #sparse_mode=0, #inner_precise=1",
    "(num_heads=2)((4, 8, 6), (4, 8, 6), (4, 8, 6))");
DRYDOCK_INFER_ATTENTION(
    IncreFlashAttention, kIncrement,
    "query, key, value, ?attn_mask, ?actual_seq_lengths, ?pse_shift, ?dequant_scale1, "
    "?quant_scale1, ?dequant_scale2, ?quant_scale2, ?quant_offset2, ?antiquant_scale, "
    "?antiquant_offset, ?block_table, ?kv_padding_size, #num_heads, #input_layout='BSH', "
    "#scale_value=1.0, #num_key_value_heads=0, #block_size=0, #inner_precise=1",
    "(num_heads=2)((4, 1, 6), (4, 8, 6), (4, 8, 6))");
DRYDOCK_INFER_ATTENTION(
    FusedInferAttentionScore, kFused,
    "query, key, value, ?pse_shift, ?attn_mask, ?actual_seq_lengths, ?actual_seq_lengths_kv, "
    "?dequant_scale1, ?quant_scale1, ?dequant_scale2, ?quant_scale2, ?quant_offset2, "
    "?antiquant_scale, ?antiquant_offset, ?block_table, ?query_padding_size, ?kv_padding_size, "
    "?key_antiquant_scale, ?key_antiquant_offset, ?value_antiquant_scale, "
    "?value_antiquant_offset, ?key_shared_prefix, ?value_shared_prefix, "
    "?actual_shared_prefix_len, #num_heads, #scale_value=1.0, #pre_tokens=2147483647, "
    "#next_tokens=2147483647, #input_layout='BSH', #num_key_value_heads=0, #sparse_mode=0, "
    "#inner_precise=1, #block_size=0, #antiquant_mode=0, #softmax_lse_flag=False, "
    "#key_antiquant_mode=0, #value_antiquant_mode=0",
    "(num_heads=2)((4, 8, 6), (4, 8, 6), (4, 8, 6))");

}  // namespace
}  // namespace drydock::strategies
