#include "strategies/rules/attention/ring_attention.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/attention/flash_attention.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// Ring attention. Every rank keeps its queries; keys and values travel once around the ring, and
/// after each step the partial result is joined with what is there, weighted by the softmax
/// statistics.
///
/// Backward, keys and values travel again, together with their gradients, which are complete when
/// they arrive at their owner: n shifts of the gradients, n - 1 of keys and values. The statistics
/// of the whole row are known by then, so each step's kernel gives exact parts. The node
/// `_RingAttention` stands behind the forward steps only to carry this gradient; it computes
/// nothing.
namespace drydock::strategies {
namespace {

// ---- Shift by one place in the ring -------------------------------------------------------------

/// Data of member m arrive at member m + 1, of the last at the first.
Result<std::vector<TensorType>> InferShift(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  if (!op.attrs->contains("ring")) {
    return UnsupportedForm(
        op, "'" + std::string(op.op) + "' between ranks that the script chooses is not handled");
  }
  return std::vector<TensorType>{op.inputs[0]};
}

Result<std::vector<NdArray>> RunShift(const Node& /*node*/, const std::vector<NdArray>& inputs) {
  std::vector<NdArray> shifted = inputs;
  std::rotate(shifted.begin(), shifted.end() - 1, shifted.end());
  return shifted;
}

SentBytes SentByShift(const CollectiveCall& call) {
  return EachSends(call.payload_bytes);
}

constexpr CollectiveFacts kShiftFacts = {.sent = SentByShift, .run = RunShift};

DRYDOCK_OP(
    NeighborExchange, .family = "communication",
    .signature =
        "NeighborExchange(send_rank_ids, recv_rank_ids, recv_shapes, send_shapes, recv_type, "
        "group='hccl_world_group')(x)",
    .kind = OpKind::kCollective, .infer = InferShift, .gradient = GradientNotNeeded,
    .flops = NoFlops, .cost = CostFamily::kFree, .collective = &kShiftFacts);

// ---- RingAttentionUpdate: out, max, sum of what is there and of a step -> joined ----------------

enum UpdateOperand : std::size_t { kOut, kMax, kSum, kStepOut, kStepMax, kStepSum };

Result<std::vector<TensorType>> InferUpdate(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 6, 6));
  return std::vector<TensorType>{op.inputs[kOut], op.inputs[kMax], op.inputs[kSum]};
}

Result<std::vector<NdArray>> EvaluateUpdate(const EvaluateContext& context) {
  DRYDOCK_TRY(const AttentionLayout layout, AttentionLayoutOf(context.View(), "BSH"));
  const auto& in = context.inputs;
  const Shape& statistic = in[kMax].shape;  // (B, N, S, 8)
  const auto rows = static_cast<std::int64_t>(in[kMax].data.size()) / 8;
  const std::int64_t dim = rows == 0 ? 0 : static_cast<std::int64_t>(in[kOut].data.size()) / rows;
  const AttentionIndex index{.layout = layout,
                             .batch = statistic[0],
                             .heads = statistic[1],
                             .length = statistic[2],
                             .dim = dim};
  std::vector<NdArray> joined = {in[kOut], in[kMax], in[kSum]};
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::size_t>(8 * row);
    // Without any key the statistics are 0 and say nothing.
    const bool sees_both = in[kSum].data[at] > 0 && in[kStepSum].data[at] > 0;
    const double top = sees_both               ? std::max(in[kMax].data[at], in[kStepMax].data[at])
                       : in[kSum].data[at] > 0 ? in[kMax].data[at]
                                               : in[kStepMax].data[at];
    const double before = in[kSum].data[at] * std::exp(in[kMax].data[at] - top);
    const double step = in[kStepSum].data[at] * std::exp(in[kStepMax].data[at] - top);
    const double sum = before + step;
    for (std::size_t copy = at; copy < at + 8; ++copy) {
      joined[kMax].data[copy] = top;
      joined[kSum].data[copy] = sum;
    }
    const std::size_t out = index.At(row / (statistic[1] * statistic[2]),
                                     row / statistic[2] % statistic[1], row % statistic[2]);
    for (std::size_t d = out; d < out + static_cast<std::size_t>(dim) && sum > 0; ++d) {
      joined[kOut].data[d] = (in[kOut].data[d] * before + in[kStepOut].data[d] * step) / sum;
    }
  }
  return joined;
}

DRYDOCK_OP(RingAttentionUpdate, .family = "rank",
           .signature =
               "RingAttentionUpdate(input_layout='BSH')(prev_attn_out, prev_softmax_max, "
               "prev_softmax_sum, cur_attn_out, cur_softmax_max, cur_softmax_sum)",
           .infer = InferUpdate, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateUpdate, .flops = FlopsPerInput<4>);

// ---- Operands with a column for each key --------------------------------------------------------

/// They stay with the queries' rank, which takes the columns of the keys that are there.
constexpr FlashOperand kByKey[] = {kRealShift, kDropMask, kAttnMask};
/// Their places in the call of the gradient kernel.
constexpr std::size_t kByKeyBackward[] = {4, 5, 7};

/// Which keys are with this rank after each step.
class RingPlace {
 public:
  RingPlace(const LocalizeContext& context, GroupPattern group, AxisIndex sequence)
      : context_(context), group_(std::move(group)) {
    const RankExpr& part = context.sharding.axis_parts[static_cast<std::size_t>(sequence)];
    for (const std::int64_t member : GroupRanks(group_, 0, 0)) {
      part_of_member_.push_back(ValueAt(part, member));
    }
  }

  [[nodiscard]] const GroupPattern& group() const { return group_; }

  /// The columns of `value` that belong to the keys of `step`: what member m has then began with
  /// member m - step.
  [[nodiscard]] Result<ValueId> EmitColumns(ValueId value, std::int64_t step) const {
    const auto members = std::ssize(part_of_member_);
    const std::int64_t dim = std::ssize(context_.builder.TypeOf(value).shape) - 1;
    const std::int64_t columns = context_.builder.TypeOf(value).shape.back() / members;
    std::vector<double> table;
    for (std::int64_t row = 0; row < 2 * members; ++row) {
      const std::int64_t part = part_of_member_[static_cast<std::size_t>(row % members)];
      for (std::int64_t c = 0; c < columns; ++c) {
        table.push_back(static_cast<double>(part * columns + c));
      }
    }
    DRYDOCK_TRY(const ValueId all,
                context_.builder.AddConstant(
                    {.shape = {2 * members, columns}, .dtype = DType::kInt32}, std::move(table)));
    DRYDOCK_TRY(
        const ValueId row,
        EmitRankScalar(context_, Plus(IndexExpr(group_), RankExpr{.constant = members - step}),
                       DType::kInt32));
    DRYDOCK_TRY(const ValueId own, EmitHelper(context_, "Gather", {all, row}, {{"axis", 0}}));
    return EmitHelper(context_, "Gather", {value, own}, {{"axis", dim}});
  }

 private:
  const LocalizeContext& context_;
  GroupPattern group_;
  std::vector<std::int64_t> part_of_member_ = {};
};

constexpr std::string_view kGiven = "by_key";  ///< Attribute: places in kByKey that are given.

// ---- _RingAttention: out, max, sum, query, key, value, columns of all steps -> out --------------

/// Keys, values and their gradients as they stand with the rank.
struct Travelling {
  ValueId key = kNoValue;
  ValueId value = kNoValue;
  ValueId key_gradient = kNoValue;
  ValueId value_gradient = kNoValue;
};

Status Shift(const GradientContext& context, ValueId& value) {
  DRYDOCK_TRY(
      value, context.EmitCollective(ops::kRingShift, value, *context.node.group, {{"ring", true}}));
  return {};
}

Status AddTo(const GradientContext& context, ValueId& sum, ValueId part) {
  if (sum == kNoValue) {
    sum = part;
    return {};
  }
  DRYDOCK_TRY(sum, context.Emit(ops::kAdd, {sum, part}));
  return {};
}

Result<std::vector<ValueId>> GradientOfRing(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  const Node& node = context.node;
  const ValueId dy = OutputGradient(context);
  if (dy == kNoValue || !node.group.has_value()) {
    return gradients;
  }
  const std::vector<ValueId>& in = node.inputs;
  Travelling ring{.key = in[4], .value = in[5]};
  DRYDOCK_TRY(const auto given, IntListAttr(node.attrs, std::string(kGiven)));
  std::size_t next = 6;  // Columns of the step.
  for (std::int64_t step = 0; step < GroupSize(*node.group); ++step) {
    if (step > 0) {
      for (ValueId* value : {&ring.key, &ring.value, &ring.key_gradient, &ring.value_gradient}) {
        DRYDOCK_RETURN_IF_ERROR(Shift(context, *value));
      }
    }
    std::vector<ValueId> operands = {in[3],    ring.key, ring.value, dy,    kNoValue, kNoValue,
                                     kNoValue, kNoValue, in[1],      in[2], kNoValue, in[0]};
    std::optional<std::size_t> shift;
    for (const std::int64_t place : given.value_or(std::vector<std::int64_t>())) {
      shift = kByKey[place] == kRealShift ? next : shift;
      operands[kByKeyBackward[place]] = in[next++];
    }
    DRYDOCK_TRY(const std::vector<ValueId> parts,
                EmitAll(context, "FlashAttentionScoreGrad", operands, node.attrs));
    if (shift) {
      gradients[*shift] = parts[3];
    }
    DRYDOCK_RETURN_IF_ERROR(AddTo(context, gradients[3], parts[0]));
    DRYDOCK_RETURN_IF_ERROR(AddTo(context, ring.key_gradient, parts[1]));
    DRYDOCK_RETURN_IF_ERROR(AddTo(context, ring.value_gradient, parts[2]));
  }
  DRYDOCK_RETURN_IF_ERROR(Shift(context, ring.key_gradient));
  DRYDOCK_RETURN_IF_ERROR(Shift(context, ring.value_gradient));
  gradients[4] = ring.key_gradient;
  gradients[5] = ring.value_gradient;
  return gradients;
}

DRYDOCK_OP_NAMED(RingAttention, "_RingAttention", .family = "virtual",
                 .signature =
                     "_RingAttention()(out, softmax_max, softmax_sum, query, key, value, "
                     "*columns)",
                 .kind = OpKind::kView, .infer = InferFirst, .gradient = GradientOfRing,
                 .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kFree);

/// Appends a node of several outputs.
Result<std::vector<ValueId>> EmitNode(const LocalizeContext& context, std::string_view op,
                                      std::vector<ValueId> inputs, AttrMap attrs) {
  NodeSpec spec = context.spec;
  spec.op = op;
  spec.inputs = std::move(inputs);
  spec.attrs = std::move(attrs);
  DRYDOCK_TRY(const NodeId id, context.builder.AddNode(std::move(spec)));
  return context.builder.graph().at(id).outputs;
}

constexpr std::string_view kMoves = "keys and values of ring attention";

/// What a rank holds after some steps of the ring.
struct RingState {
  std::vector<ValueId> moving = {};   ///< Keys and values of the step.
  std::vector<ValueId> columns = {};  ///< Columns of the masks, of all steps.
  std::vector<ValueId> joined = {};   ///< Result, maximum and sum of the parts so far.
  ValueId softmax_out = kNoValue;
};

/// Joins the part of one step with those before it.
Status JoinPart(const LocalizeContext& context, const std::vector<ValueId>& part,
                RingState& state) {
  if (state.joined.empty()) {
    state.joined = {part[3], part[0], part[1]};
    state.softmax_out = part[2];
    return {};
  }
  AttrMap layout;
  if (const auto it = context.spec.attrs.find("input_layout"); it != context.spec.attrs.end()) {
    layout.insert(*it);
  }
  const std::vector<ValueId>& so_far = state.joined;
  DRYDOCK_TRY(state.joined, EmitNode(context, "RingAttentionUpdate",
                                     {so_far[0], so_far[1], so_far[2], part[3], part[0], part[1]},
                                     std::move(layout)));
  return {};
}

/// All steps: keys and values go around, each rank attends to them in turn.
/// `given`: the operands of kByKey that the call has.
Status GoAround(const LocalizeContext& context, const RingPlace& place,
                const std::vector<ValueId>& inputs, const std::vector<std::int64_t>& given,
                RingState& state) {
  for (std::int64_t step = 0; step < GroupSize(place.group()); ++step) {
    for (ValueId& value : state.moving) {
      if (step > 0) {
        DRYDOCK_TRY(value, EmitGroupCollective(context, ops::kRingShift, value, {{"ring", true}},
                                               place.group(), CommReason::kRedistribution,
                                               std::string(kMoves)));
      }
    }
    std::vector<ValueId> call(kFlashOperands, kNoValue);
    call[kQuery] = inputs[kQuery];
    call[kKey] = state.moving[0];
    call[kValue] = state.moving[1];
    for (const std::int64_t i : given) {
      DRYDOCK_TRY(call[kByKey[i]], place.EmitColumns(inputs[kByKey[i]], step));
      state.columns.push_back(call[kByKey[i]]);
    }
    DRYDOCK_TRY(const std::vector<ValueId> part,
                EmitNode(context, context.global.op, std::move(call), context.spec.attrs));
    DRYDOCK_RETURN_IF_ERROR(JoinPart(context, part, state));
  }
  return {};
}

}  // namespace

Result<bool> IsRingAttention(const OpView& op, const AttentionForm& form, SparseMode mode) {
  DRYDOCK_TRY(const bool ring, BoolAttr(*op.attrs, "enable_ring_attention", false));
  DRYDOCK_TRY(const bool sequence_parallel, BoolAttr(*op.attrs, "enable_flash_sp", false));
  if (!ring && !sequence_parallel) {
    return false;
  }
  const bool plain = mode == SparseMode::kDefault && (form.layout == AttentionLayout::kBsh ||
                                                      form.layout == AttentionLayout::kBnsd);
  const bool fits = plain && OperandType(op, kPrefixLengths) == nullptr &&
                    OperandType(op, kQueryEnds) == nullptr && OperandType(op, kKeyEnds) == nullptr;
  const bool masked = op.inputs.size() > 3;
  DRYDOCK_TRY(const std::int64_t pre, IntAttr(*op.attrs, "pre_tokens", kAllTokens));
  DRYDOCK_TRY(const std::int64_t next, IntAttr(*op.attrs, "next_tokens", kAllTokens));
  const bool banded = pre < form.q_length || next < form.kv_length;
  if (!fits || (masked && (sequence_parallel || banded))) {
    return UnsupportedForm(op, "ring attention of '" + std::string(op.op) +
                                   "' is handled in layouts BSH and BNSD, in sparse mode 0, with "
                                   "masks only without enable_flash_sp and without a band");
  }
  return true;
}

Result<std::vector<ValueId>> LocalizeRingAttention(const LocalizeContext& context,
                                                   AxisIndex sequence) {
  const AxisIndex axes[] = {sequence};
  const GroupPattern group = HelperGroup(context, axes);
  std::vector<ValueId> inputs = context.spec.inputs;
  inputs.resize(kFlashOperands, kNoValue);
  std::vector<std::int64_t> given;
  for (std::size_t i = 0; i < std::size(kByKey); ++i) {
    if (inputs[kByKey[i]] != kNoValue) {
      given.push_back(static_cast<std::int64_t>(i));
    }
  }
  RingState state{.moving = {inputs[kKey], inputs[kValue]}};
  DRYDOCK_RETURN_IF_ERROR(
      GoAround(context, RingPlace(context, group, sequence), inputs, given, state));
  std::vector<ValueId> operands = state.joined;
  operands.insert(operands.end(), {inputs[kQuery], inputs[kKey], inputs[kValue]});
  operands.insert(operands.end(), state.columns.begin(), state.columns.end());
  AttrMap attrs = context.spec.attrs;
  attrs[std::string(kGiven)] = given;
  DRYDOCK_TRY(const std::vector<ValueId> out,
              EmitNode(context, "_RingAttention", std::move(operands), std::move(attrs)));
  Graph& graph = context.builder.mutable_graph();
  Node& node = graph.nodes[ToIndex(graph.at(out[0]).producer)];
  node.group = group;  // The gradient sends keys, values and their gradients around the same ring.
  node.reason_text = kMoves;
  return std::vector<ValueId>{state.joined[1], state.joined[2], state.softmax_out, out[0]};
}

}  // namespace drydock::strategies
