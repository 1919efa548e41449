#include "strategies/rules/attention/flash_attention.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "strategies/rules/attention/ring_attention.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Fused attention for training. Batch and heads are independent; a cut query sequence keeps all
/// keys on every rank, and the band of keys that a query sees is counted from the rank's own slice.
/// With ring attention the keys are cut as well and pass from rank to rank (ring_attention.cc).
/// Layouts may cut query heads further than key heads: 32 query heads along (a, b), 2 key heads
/// along a = 2 leave each rank one key head, which the ranks along b share.
namespace drydock::strategies {
namespace {

constexpr std::int64_t kCompressedMask = 2048;
constexpr std::int64_t kStatistics = 8;

bool IsCompressed(SparseMode mode) {
  return mode == SparseMode::kLeftUpCausal || mode == SparseMode::kRightDownCausal ||
         mode == SparseMode::kBand || mode == SparseMode::kVarlenLeft ||
         mode == SparseMode::kVarlenRight || mode == SparseMode::kPrefixCompressed;
}

// ---- Inference ----------------------------------------------------------------------------------

tl::unexpected<Error> FailOperand(const OpView& op, std::string_view name, const Shape& shape,
                                  const std::string& wanted) {
  return FailOp(op, "shape-mismatch",
                "'" + std::string(op.op) + "' takes '" + std::string(name) + "' of shape " +
                    wanted + ", but it has shape " + TupleText(shape));
}

/// True if every extent is the wanted one, or 1 where that may be.
bool Fits(const Shape& shape, const Shape& wanted, const std::vector<bool>& may_be_one) {
  bool fits = shape.size() == wanted.size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d) {
    fits = shape[d] == wanted[d] || (may_be_one[d] && shape[d] == 1);
  }
  return fits;
}

Status CheckMask(const OpView& op, const AttentionForm& form, SparseMode mode) {
  const TensorType* mask = OperandType(op, kAttnMask);
  if (mask == nullptr) {
    return {};
  }
  if (IsCompressed(mode)) {
    const bool fits = mode == SparseMode::kPrefixCompressed ||
                      mask->shape == Shape{kCompressedMask, kCompressedMask};
    return fits ? Status() : FailOperand(op, "attn_mask", mask->shape, "(2048, 2048)");
  }
  const Shape plane = {form.q_length, form.kv_length};
  const Shape full = {form.batch, form.heads, form.q_length, form.kv_length};
  const bool fits = form.IsPacked() || Fits(mask->shape, plane, {false, false}) ||
                    Fits(mask->shape, full, {true, true, false, false});
  return fits ? Status() : FailOperand(op, "attn_mask", mask->shape, TupleText(plane));
}

Status CheckOptional(const OpView& op, const AttentionForm& form) {
  const Shape full = {form.batch, form.heads, form.q_length, form.kv_length};
  if (const TensorType* shift = OperandType(op, kRealShift);
      shift != nullptr && !form.IsPacked() &&
      !Fits(shift->shape, full, {true, false, true, false})) {
    return FailOperand(op, "real_shift", shift->shape, TupleText(full));
  }
  const Shape bits = {form.batch, form.heads, form.q_length, form.kv_length / 8};
  if (const TensorType* drop = OperandType(op, kDropMask);
      drop != nullptr && (drop->shape != bits || form.kv_length % 8 != 0)) {
    return FailOperand(op, "drop_mask", drop->shape, TupleText(bits));
  }
  if (OperandType(op, kPaddingMask) != nullptr) {
    return UnsupportedForm(op, "'padding_mask' of '" + std::string(op.op) + "' is not handled");
  }
  const TensorType* q_ends = OperandType(op, kQueryEnds);
  const TensorType* k_ends = OperandType(op, kKeyEnds);
  if (form.IsPacked() &&
      (q_ends == nullptr || k_ends == nullptr || q_ends->shape != k_ends->shape)) {
    return FailOp(op, "attribute",
                  "'" + std::string(op.op) +
                      "' of packed sequences needs actual_seq_qlen and actual_seq_kvlen of one "
                      "shape");
  }
  for (const std::size_t lengths : {kPrefixLengths, kQueryEnds, kKeyEnds}) {
    const TensorType* type = OperandType(op, lengths);
    if (type != nullptr && type->shape.size() != 1) {
      return FailOperand(op, "sequence lengths", type->shape, "(batch,)");
    }
  }
  return {};
}

Shape StatisticShape(const AttentionForm& form) {
  if (form.layout == AttentionLayout::kTnd) {
    return {form.q_length, form.heads, kStatistics};
  }
  if (form.layout == AttentionLayout::kTh) {
    return {form.q_length, form.heads * kStatistics};
  }
  return {form.batch, form.heads, form.q_length, kStatistics};
}

Result<std::vector<TensorType>> InferFlash(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, kFlashOperands));
  if ((op.absent & 7U) != 0) {
    return FailOp(op, "input-count", "'" + std::string(op.op) + "' needs query, key and value");
  }
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(const AttentionForm form, FlashFormOf(op));
  DRYDOCK_TRY(const SparseMode mode, SparseModeOf(op));
  DRYDOCK_RETURN_IF_ERROR(CheckMask(op, form, mode));
  DRYDOCK_RETURN_IF_ERROR(CheckOptional(op, form));
  const DType dtype = op.inputs[0].dtype;
  if (op.inputs[1].dtype != dtype || op.inputs[2].dtype != dtype) {
    return FailOp(op, "dtype-mismatch",
                  "query, key and value of '" + std::string(op.op) + "' must be of one type");
  }
  const TensorType statistic{.shape = StatisticShape(form), .dtype = DType::kFloat32};
  return std::vector<TensorType>{statistic,
                                 statistic,
                                 {.shape = {1}, .dtype = dtype},
                                 {.shape = AttentionResultShape(form), .dtype = dtype}};
}

// ---- Sharding -----------------------------------------------------------------------------------

/// Axes of a mask or shift whose dimensions end in (batch, heads, queries, keys).
TensorAxes MaskAxes(const Shape& shape, const AttentionAxes& axes, const DimAxes& heads) {
  const DimAxes by_role[] = {{axes.batch}, heads, {axes.sequence}, {}};
  TensorAxes result;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    result.push_back(shape[d] == 1 ? DimAxes{} : by_role[4 - shape.size() + d]);
  }
  return result;
}

TensorAxes OptionalAxes(std::size_t operand, const TensorType& type, const AttentionAxes& axes,
                        const DimAxes& heads, SparseMode mode) {
  switch (operand) {
    case kAttnMask:
      return IsCompressed(mode) || type.shape.size() > 4 ? TensorAxes(type.shape.size())
                                                         : MaskAxes(type.shape, axes, heads);
    case kRealShift:
    case kDropMask:
      return type.shape.size() > 4 ? TensorAxes(type.shape.size())
                                   : MaskAxes(type.shape, axes, heads);
    default:
      return {{axes.batch}};
  }
}

/// The cut of a dimension of an operand, 1 if the strategy does not say.
std::int64_t CutOf(const Strategy& strategy, std::size_t operand, std::size_t dim) {
  return operand < strategy.size() && dim < strategy[operand].size() ? strategy[operand][dim] : 1;
}

/// True if query heads are cut further than key heads, of which each rank then has one. Other
/// ranks would need parts of several key heads, and a strategy without names cannot say it.
bool SharesKeyHeads(const AttentionForm& form, const Strategy& strategy) {
  const std::size_t heads = HeadDim(form.layout);
  const std::int64_t cut = CutOf(strategy, kQuery, heads);
  return form.kv_heads > 1 && CutOf(strategy, kKey, heads) == form.kv_heads &&
         cut > form.kv_heads && cut % form.kv_heads == 0;
}

/// The largest cut that a strategy gives an axis.
std::int64_t CutOfAxis(const ShardRule& rule, const Strategy& strategy, AxisIndex axis) {
  std::int64_t cut = 1;
  for (std::size_t i = 0; i < std::min(strategy.size(), rule.inputs.size()); ++i) {
    for (std::size_t d = 0; d < std::min(strategy[i].size(), rule.inputs[i].size()); ++d) {
      cut = rule.inputs[i][d] == DimAxes{axis} ? std::max(cut, strategy[i][d]) : cut;
    }
  }
  return cut;
}

/// True if queries are cut inside packed sequences: more often than keys.
bool CutsInsideSequences(const AttentionForm& form, const Strategy& strategy) {
  return form.IsPacked() && strategy.size() > 1 && !strategy[0].empty() && !strategy[1].empty() &&
         strategy[0][0] != strategy[1][0];
}

/// Queries may be cut inside packed sequences where each sees the keys up to its own place.
Status CheckInsideSequences(const OpView& op, const AttentionForm& form, SparseMode mode,
                            const Strategy& strategy) {
  const bool fits = form.layout == AttentionLayout::kTnd && mode == SparseMode::kRightDownCausal &&
                    form.q_length == form.kv_length && strategy[1][0] > 0 &&
                    strategy[0][0] % strategy[1][0] == 0;
  return fits ? Status()
              : FailOp(op, "strategy-packed",
                       "queries of '" + std::string(op.op) +
                           "' cut inside packed sequences need layout TND, sparse mode 3, as many "
                           "keys as queries, and parts of the keys that are cut further",
                       "cut queries and keys alike");
}

Status CheckSequence(const OpView& op, const AttentionForm& form, SparseMode mode,
                     std::int64_t cut) {
  const TensorType* drop = OperandType(op, kDropMask);
  DRYDOCK_TRY(const bool ring, IsRingAttention(op, form, mode));
  if (ring && drop != nullptr && form.kv_length / 8 % cut != 0) {
    return UnsupportedForm(op, "'drop_mask' of '" + std::string(op.op) +
                                   "' in ring attention needs whole bytes for each part of the "
                                   "keys");
  }
  const bool has_prefix = mode == SparseMode::kPrefix || mode == SparseMode::kPrefixCompressed;
  if (cut > 1 && (has_prefix || mode == SparseMode::kVarlenRight)) {
    return UnsupportedForm(op, "a cut query sequence of '" + std::string(op.op) +
                                   "' in sparse mode " + std::to_string(static_cast<int>(mode)) +
                                   " is not handled");
  }
  return {};
}

/// Ranks that share a key head have as many query heads each.
Status CheckSharedHeads(const OpView& op, const AttentionForm& form, std::int64_t cut) {
  AttentionForm one_key = form;
  one_key.kv_heads = 1;
  return CheckHeadCut(op, one_key, cut);
}

Result<ShardRule> ShardFlash(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const AttentionForm form, FlashFormOf(op));
  DRYDOCK_TRY(const SparseMode mode, SparseModeOf(op));
  DRYDOCK_TRY(const bool ring, IsRingAttention(op, form, mode));
  const AttentionAxes axes = AxesOf(form.layout);
  TensorAxes query = OperandAxes(form.layout, axes.batch, axes.sequence, axes.head);
  const TensorAxes key = OperandAxes(
      form.layout, axes.batch, ring ? std::optional<AxisIndex>(axes.sequence) : std::nullopt,
      form.kv_heads == 1 ? std::nullopt : std::optional<AxisIndex>(axes.head));
  const bool shares = SharesKeyHeads(form, strategy);
  const DimAxes heads = shares ? DimAxes{axes.head, kSharedHeads} : DimAxes{axes.head};
  query[HeadDim(form.layout)] = heads;
  ShardRule rule{.axis_count = shares ? kSharedHeads + 1 : kSharedHeads,
                 .inputs = {query, key, key}};
  for (std::size_t operand = kRealShift; operand < kFlashOperands; ++operand) {
    if (const TensorType* type = OperandType(op, operand); type != nullptr) {
      rule.inputs.push_back(OptionalAxes(operand, *type, axes, heads, mode));
    }
  }
  TensorAxes statistic = TensorAxes{{axes.batch}, heads, {axes.sequence}, {}};
  if (form.IsPacked()) {
    statistic = OperandAxes(form.layout, axes.batch, {}, axes.head);
    statistic[HeadDim(form.layout)] = heads;
  }
  if (CutsInsideSequences(form, strategy)) {
    DRYDOCK_RETURN_IF_ERROR(CheckInsideSequences(op, form, mode, strategy));
    query[0] = statistic[0] = {axes.batch, axes.sequence};
    rule.inputs[kQuery] = query;
  } else if (form.IsPacked()) {
    rule.uncut.push_back({.axis = axes.sequence, .what = "the inside of packed sequences"});
  }
  rule.outputs = {statistic, statistic, {{}}, query};
  DRYDOCK_RETURN_IF_ERROR(
      shares ? CheckSharedHeads(op, form, CutOf(strategy, kQuery, HeadDim(form.layout)))
             : CheckHeadCut(op, form, CutOfAxis(rule, strategy, axes.head)));
  DRYDOCK_RETURN_IF_ERROR(CheckSequence(op, form, mode, CutOfAxis(rule, strategy, axes.sequence)));
  return rule;
}

/// The batch of every operand that has one.
Result<Strategy> DefaultFlash(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const ShardRule rule, ShardFlash(op, {}));
  DRYDOCK_TRY(const AttentionForm form, FlashFormOf(op));
  const DimAxes batch = {AxesOf(form.layout).batch};
  Strategy strategy = WholeStrategy(op);
  // Operands beyond the rule, or of another rank, are refused when the rule is applied.
  for (std::size_t i = 0; i < std::min(strategy.size(), rule.inputs.size()); ++i) {
    for (std::size_t d = 0; d < std::min(strategy[i].size(), rule.inputs[i].size()); ++d) {
      strategy[i][d] = rule.inputs[i][d] == batch ? device_count : 1;
    }
  }
  return strategy;
}

// ---- Gradient -----------------------------------------------------------------------------------

/// Places of the forward operands in the call of the gradient kernel.
const std::vector<std::size_t> kBackwardPlaces = {0, 1, 2, 4, 5, 6, 7, 12, 13, 14};
enum FlashGradOperand : std::size_t { kDy = 3, kMaximum = 8, kSum = 9, kResult = 11 };

/// Only the attention itself has a gradient: the statistics are for the backward kernel.
Result<std::vector<ValueId>> GradientOfFlash(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  const Node& node = context.node;
  const ValueId dy = context.output_gradients[3];
  if (dy == kNoValue) {
    return gradients;
  }
  std::vector<ValueId> inputs = node.inputs;
  inputs.resize(kFlashOperands, kNoValue);
  const std::vector<ValueId> operands = {
      inputs[kQuery],         inputs[kKey],       inputs[kValue],       dy,
      inputs[kRealShift],     inputs[kDropMask],  inputs[kPaddingMask], inputs[kAttnMask],
      node.outputs[0],        node.outputs[1],    node.outputs[2],      node.outputs[3],
      inputs[kPrefixLengths], inputs[kQueryEnds], inputs[kKeyEnds]};
  DRYDOCK_TRY(const std::vector<ValueId> all,
              EmitAll(context, "FlashAttentionScoreGrad", operands, node.attrs));
  for (std::size_t i = 0; i < 3; ++i) {
    gradients[i] = all[i];
  }
  if (gradients.size() > kRealShift && node.inputs[kRealShift] != kNoValue) {
    gradients[kRealShift] = all[3];
  }
  return gradients;
}

Result<std::vector<TensorType>> InferFlashGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 7, 15));
  const TensorType* shift = OperandType(op, kBackwardPlaces[kRealShift]);
  return std::vector<TensorType>{
      op.inputs[0], op.inputs[1], op.inputs[2],
      shift != nullptr ? *shift : TensorType{.shape = {1}, .dtype = op.inputs[0].dtype}};
}

// ---- Evaluation and cost ------------------------------------------------------------------------

const std::vector<std::size_t> kForwardPlaces = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

Result<std::vector<NdArray>> EvaluateFlash(const EvaluateContext& context) {
  DRYDOCK_TRY(const AttentionProblem problem, FlashProblemOf(context, kForwardPlaces));
  AttentionResult result = Attend(problem, context.output_types[0].shape);
  return std::vector<NdArray>{std::move(result.maximum), std::move(result.sum),
                              FilledArray({1}, 0.0), std::move(result.out)};
}

Result<std::vector<NdArray>> EvaluateFlashGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const AttentionProblem problem, FlashProblemOf(context, kBackwardPlaces));
  const OpView view = context.View();
  const auto operand = [&](std::size_t place) -> const NdArray& {
    return context.inputs[static_cast<std::size_t>(PresentIndex(view, place))];
  };
  const AttentionResult forward{
      .maximum = operand(kMaximum), .sum = operand(kSum), .out = operand(kResult)};
  AttentionGradients gradients = AttendBackward(problem, operand(kDy), forward);
  if (gradients.shift.data.empty()) {
    gradients.shift = FilledArray(context.output_types[3].shape, 0.0);
  }
  return std::vector<NdArray>{std::move(gradients.query), std::move(gradients.key),
                              std::move(gradients.value), std::move(gradients.shift)};
}

/// Two products of every query with every key it sees: half of them in causal attention.
double FlashFlops(const OpView& op) {
  const Result<AttentionForm> form = FlashFormOf(op);
  const Result<SparseMode> mode = SparseModeOf(op);
  if (!form || !mode) {
    return 0;
  }
  const TensorType* ends = OperandType(op, kQueryEnds);
  const double sequences = form->IsPacked() && ends != nullptr ? Elements(*ends) : 1.0;
  const bool causal = *mode == SparseMode::kLeftUpCausal || *mode == SparseMode::kVarlenLeft ||
                      *mode == SparseMode::kRightDownCausal;
  const double pairs = static_cast<double>(form->batch) * static_cast<double>(form->heads) *
                       static_cast<double>(form->q_length) * static_cast<double>(form->kv_length) /
                       sequences;
  return 2.0 * pairs * static_cast<double>(form->dim + form->value_dim) * (causal ? 0.5 : 1.0);
}

double FlashGradFlops(const OpView& op) {
  return 2.5 * FlashFlops(op);
}

#define DRYDOCK_FLASH_ATTRS                                                                    \
  "(head_num, keep_prob=1.0, scale_value=1.0, pre_tokens=2147483647, next_tokens=2147483647, " \
  "inner_precise=0, input_layout='BSH', sparse_mode=0)"

DRYDOCK_OP(FlashAttentionScore, .family = "attention",
           .signature = "FlashAttentionScore" DRYDOCK_FLASH_ATTRS
                        "(query, key, value, ?real_shift, ?drop_mask, ?padding_mask, ?attn_mask, "
                        "?prefix, ?actual_seq_qlen, ?actual_seq_kvlen)",
           .infer = InferFlash, .shard = ShardFlash, .default_strategy = DefaultFlash,
           .localize = LocalizeFlash, .gradient = GradientOfFlash, .lower = LowerFlash,
           .evaluate = EvaluateFlash, .flops = FlashFlops, .cost = CostFamily::kMatMul,
           .work = WorkKind::kAttention, .accepts_layout = true,
           .example =
               "(head_num=2)((4, 8, 6), (4, 8, 6), (4, 8, 6), (4, 2, 8, 8), uint8(4, 2, 8, 1), "
               "None, uint8(8, 8))");
DRYDOCK_OP(FlashAttentionScoreGrad, .family = "gradient",
           .signature = "FlashAttentionScoreGrad" DRYDOCK_FLASH_ATTRS
                        "(query, key, value, dy, ?pse_shift, ?drop_mask, ?padding_mask, "
                        "?attn_mask, softmax_max, softmax_sum, ?softmax_in, attention_in, ?prefix, "
                        "?actual_seq_qlen, ?actual_seq_kvlen)",
           .infer = InferFlashGrad, .gradient = GradientNotNeeded, .lower = LowerFlash,
           .evaluate = EvaluateFlashGrad, .flops = FlashGradFlops, .work = WorkKind::kAttention);

}  // namespace

const TensorType* OperandType(const OpView& op, std::size_t operand) {
  const std::ptrdiff_t index = PresentIndex(op, operand);
  return index < 0 ? nullptr : &op.inputs[static_cast<std::size_t>(index)];
}

Result<SparseMode> SparseModeOf(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t mode, IntAttr(*op.attrs, "sparse_mode", 0));
  if (mode < 0 || mode > static_cast<std::int64_t>(SparseMode::kVarlenLeft)) {
    return FailOp(op, "attribute",
                  "'" + std::string(op.op) + "' has no sparse mode " + std::to_string(mode));
  }
  return static_cast<SparseMode>(mode);
}

Result<AttentionForm> FlashFormOf(const OpView& op) {
  DRYDOCK_TRY(const AttentionLayout layout, AttentionLayoutOf(op, "BSH"));
  DRYDOCK_TRY(const std::int64_t heads, IntAttr(*op.attrs, "head_num", 0));
  return AttentionFormOf(op, layout, heads);
}

Result<AttentionProblem> FlashProblemOf(const EvaluateContext& context,
                                        const std::vector<std::size_t>& places) {
  const OpView view = context.View();
  const auto operand = [&](std::size_t i) -> const NdArray* {
    const std::ptrdiff_t index = PresentIndex(view, places[i]);
    return index < 0 ? nullptr : &context.inputs[static_cast<std::size_t>(index)];
  };
  AttentionProblem problem{.query = operand(kQuery),
                           .key = operand(kKey),
                           .value = operand(kValue),
                           .shift = operand(kRealShift),
                           .drop = operand(kDropMask),
                           .mask = operand(kAttnMask),
                           .prefix = operand(kPrefixLengths)};
  DRYDOCK_TRY(problem.form, FlashFormOf(view));
  DRYDOCK_TRY(problem.mode, SparseModeOf(view));
  DRYDOCK_TRY(problem.pre_tokens, IntAttr(context.attrs, "pre_tokens", kAllTokens));
  DRYDOCK_TRY(problem.next_tokens, IntAttr(context.attrs, "next_tokens", kAllTokens));
  DRYDOCK_TRY(problem.scale, FloatAttr(context.attrs, "scale_value", 1.0));
  DRYDOCK_TRY(problem.keep_prob, FloatAttr(context.attrs, "keep_prob", 1.0));
  problem.sequences = SequencesOf(problem.form, operand(kQueryEnds), operand(kKeyEnds));
  return problem;
}

}  // namespace drydock::strategies
