#include "strategies/rules/attention/ring_attention.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/attention/flash_attention.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// Ring attention. Every rank keeps its queries; keys and values travel once around the ring,
/// joined into one tensor, and after each step the partial result is joined with what is there,
/// weighted by the softmax statistics (ring_steps.cc).
///
/// Backward, the steps are gone through from the last to the first one. The statistics of the whole
/// row are known by then, so each step's kernel gives exact parts. Gradients of keys and values
/// travel the other way and are added up on it, n - 1 times; they are complete when they arrive at
/// their owner. With messages (enable_ra_send_recv) keys and values go back with them; in exchanges
/// those of all steps are kept. The node `_RingAttention` stands behind the forward steps only to
/// carry this gradient; it computes nothing.
namespace drydock::strategies {
namespace {

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

/// How an attention's data go around, by what the script set on it.
Result<RingTransfer> TransferOf(const AttrMap& attrs) {
  DRYDOCK_TRY(const bool messages, BoolAttr(attrs, "enable_ra_send_recv", false));
  return messages ? RingTransfer::kSendReceive : RingTransfer::kExchange;
}

/// Keys and values, or their gradients.
struct Pair {
  ValueId key = kNoValue;
  ValueId value = kNoValue;
  ValueId joined = kNoValue;  ///< Both as one tensor, as they came from another rank.
};

/// `pair` one place further in the ring. The two travel as one tensor; where they differ in shape,
/// which MindSpore does not know, each by itself.
/// @param emit  (operator, operands, attributes) -> results
/// @param move  (operator, operand, attributes) -> result, a collective over the ring
template <typename Emit, typename Move>
Result<Pair> MovePair(const Pair& pair, bool alike, RingTransfer transfer,
                      std::string_view direction, const Emit& emit, const Move& move) {
  const AttrMap attrs = {{std::string(kRingDirection), std::string(direction)}};
  const auto shift = [&](ValueId value) -> Result<ValueId> {
    if (transfer == RingTransfer::kExchange) {
      return move(ops::kRingShift, value, attrs);
    }
    DRYDOCK_TRY(const ValueId sent, move("RingSend", value, attrs));
    return move("RingReceive", sent, attrs);
  };
  if (!alike) {
    DRYDOCK_TRY(const ValueId key, shift(pair.key));
    DRYDOCK_TRY(const ValueId value, shift(pair.value));
    return Pair{.key = key, .value = value};
  }
  ValueId joined = pair.joined;
  if (joined == kNoValue) {
    const std::vector<ValueId> both = {pair.key, pair.value};
    DRYDOCK_TRY(const std::vector<ValueId> made, emit(ops::kConcat, both, AttrMap{{"axis", 0}}));
    joined = made[0];
  }
  DRYDOCK_TRY(const ValueId moved, shift(joined));
  DRYDOCK_TRY(const std::vector<ValueId> parts, emit(ops::kSplit, std::vector<ValueId>{moved},
                                                     AttrMap{{"axis", 0}, {"output_num", 2}}));
  return Pair{.key = parts[0], .value = parts[1], .joined = moved};
}

// ---- _RingAttention: out, max, sum, query, keys and values, columns of all steps -> out ---------

/// Operands of `_RingAttention`. In exchanges keys and values of all steps; with messages those of
/// the first and the last step, and the tensor in which the latter came.
enum RingOperand : std::size_t { kOut, kMaximum, kSum, kRingQuery, kRingKeys };

/// The gradient of a ring, from its last step to the first.
class RingGradient {
 public:
  RingGradient(const GradientContext& context, RingTransfer transfer, std::int64_t steps,
               std::vector<std::int64_t> given)
      : context_(context),
        in_(context.node.inputs),
        transfer_(transfer),
        steps_(steps),
        given_(std::move(given)),
        gradients_(NoGradients(context)) {}

  Result<std::vector<ValueId>> Run(ValueId dy) && {
    Pair with = KeptKeys(steps_ - 1);
    Pair arrived;  // Gradients of the steps behind, from the next rank.
    for (std::int64_t step = steps_ - 1; step >= 0; --step) {
      DRYDOCK_TRY(Pair sum, Step(step, with, dy));
      if (arrived.key != kNoValue) {
        DRYDOCK_TRY(sum.key, context_.Emit(ops::kAddN, {sum.key, arrived.key}));
        DRYDOCK_TRY(sum.value, context_.Emit(ops::kAddN, {sum.value, arrived.value}));
      }
      if (step == 0) {
        gradients_[kRingKeys] = sum.key;
        gradients_[kRingKeys + 1] = sum.value;
        break;
      }
      DRYDOCK_TRY(arrived, SendBack(sum));
      if (transfer_ == RingTransfer::kSendReceive) {
        DRYDOCK_TRY(with, SendBack(with));
      } else {
        with = KeptKeys(step - 1);
      }
    }
    gradients_[kRingQuery] = query_parts_.front();
    if (query_parts_.size() > 1) {
      DRYDOCK_TRY(gradients_[kRingQuery], context_.Emit(ops::kAddN, query_parts_));
    }
    return std::move(gradients_);
  }

 private:
  [[nodiscard]] std::size_t FirstColumn() const {
    const std::size_t kept =
        transfer_ == RingTransfer::kExchange ? 2 * static_cast<std::size_t>(steps_) : 5;
    return kRingKeys + kept;
  }

  [[nodiscard]] Pair KeptKeys(std::int64_t step) const {
    if (transfer_ == RingTransfer::kSendReceive) {
      Pair last{.key = in_[kRingKeys + 2], .value = in_[kRingKeys + 3]};
      last.joined = Alike(last) ? in_[kRingKeys + 4] : kNoValue;
      return last;
    }
    const std::size_t at = kRingKeys + 2 * static_cast<std::size_t>(step);
    return {.key = in_[at], .value = in_[at + 1]};
  }

  [[nodiscard]] bool Alike(const Pair& pair) const {
    return context_.TypeOf(pair.key) == context_.TypeOf(pair.value);
  }

  /// Gradients of the keys and values that step `step` attends to. That of the queries is added up:
  /// in exchanges at the end, with messages at once.
  Result<Pair> Step(std::int64_t step, const Pair& with, ValueId dy) {
    std::vector<ValueId> operands = {in_[kRingQuery], with.key,  with.value, dy,
                                     kNoValue,        kNoValue,  kNoValue,   kNoValue,
                                     in_[kMaximum],   in_[kSum], kNoValue,   in_[kOut]};
    std::size_t next = FirstColumn() + static_cast<std::size_t>(step) * given_.size();
    std::optional<std::size_t> shift;
    for (const std::int64_t place : given_) {
      shift = kByKey[place] == kRealShift ? next : shift;
      operands[kByKeyBackward[place]] = in_[next++];
    }
    AttrMap attrs = context_.node.attrs;
    if (step > 0) {
      attrs.erase(std::string(kRingMask));
    }
    DRYDOCK_TRY(const std::vector<ValueId> parts,
                EmitAll(context_, "FlashAttentionScoreGrad", operands, std::move(attrs)));
    if (shift) {
      gradients_[*shift] = parts[3];
    }
    query_parts_.push_back(parts[0]);
    if (transfer_ == RingTransfer::kSendReceive && query_parts_.size() > 1) {
      DRYDOCK_TRY(const ValueId sum, context_.Emit(ops::kAdd, {parts[0], query_parts_.front()}));
      query_parts_ = {sum};
    }
    return Pair{.key = parts[1], .value = parts[2]};
  }

  [[nodiscard]] Result<Pair> SendBack(const Pair& pair) const {
    return MovePair(
        pair, Alike(pair), transfer_, kRingBackward,
        [this](std::string_view op, std::vector<ValueId> inputs, AttrMap attrs) {
          return EmitAll(context_, op, std::move(inputs), std::move(attrs));
        },
        [this](std::string_view op, ValueId input, AttrMap attrs) {
          return context_.EmitCollective(op, input, *context_.node.group, std::move(attrs));
        });
  }

  const GradientContext& context_;
  const std::vector<ValueId>& in_;
  RingTransfer transfer_;
  std::int64_t steps_;
  std::vector<std::int64_t> given_;
  std::vector<ValueId> gradients_;
  std::vector<ValueId> query_parts_ = {};
};

Result<std::vector<ValueId>> GradientOfRing(const GradientContext& context) {
  const Node& node = context.node;
  const ValueId dy = OutputGradient(context);
  if (dy == kNoValue || !node.group.has_value()) {
    return NoGradients(context);
  }
  DRYDOCK_TRY(const RingTransfer transfer, TransferOf(node.attrs));
  DRYDOCK_TRY(const auto given, IntListAttr(node.attrs, kGiven));
  return RingGradient(context, transfer, GroupSize(*node.group),
                      given.value_or(std::vector<std::int64_t>()))
      .Run(dy);
}

DRYDOCK_OP_NAMED(
    RingAttention, "_RingAttention", .family = "virtual",
    .signature = "_RingAttention()(out, softmax_max, softmax_sum, query, *keys_and_columns)",
    .kind = OpKind::kView, .infer = InferFirst, .gradient = GradientOfRing, .lower = LowerToOperand,
    .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kFree);

// ---- Forward ------------------------------------------------------------------------------------

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

/// The forward steps of one attention.
class Ring {
 public:
  Ring(const LocalizeContext& context, RingPlace place, RingTransfer transfer)
      : context_(context),
        place_(std::move(place)),
        transfer_(transfer),
        inputs_(context.spec.inputs) {
    inputs_.resize(kFlashOperands, kNoValue);
    for (std::size_t i = 0; i < std::size(kByKey); ++i) {
      if (inputs_[kByKey[i]] != kNoValue) {
        given_.push_back(static_cast<std::int64_t>(i));
      }
    }
  }

  /// Keys and values go around, each rank attends to them in turn.
  Result<std::vector<ValueId>> Run() && {
    const std::int64_t steps = GroupSize(place_.group());
    Pair with{.key = inputs_[kKey], .value = inputs_[kValue]};
    for (std::int64_t step = 0; step < steps; ++step) {
      if (transfer_ == RingTransfer::kExchange || step == 0 || step == steps - 1) {
        kept_.insert(kept_.end(), {with.key, with.value});
      }
      if (transfer_ == RingTransfer::kSendReceive && step == steps - 1) {
        kept_.push_back(with.joined == kNoValue ? with.key : with.joined);
      }
      with.joined = kNoValue;  // Forward, what came is joined anew.
      Pair next;
      if (step < steps - 1) {
        DRYDOCK_TRY(next, SendOn(with));
      }
      DRYDOCK_RETURN_IF_ERROR(Step(step, with));
      with = next;
    }
    return End();
  }

 private:
  Status Step(std::int64_t step, const Pair& with) {
    std::vector<ValueId> call(kFlashOperands, kNoValue);
    call[kQuery] = inputs_[kQuery];
    call[kKey] = with.key;
    call[kValue] = with.value;
    for (const std::int64_t i : given_) {
      DRYDOCK_TRY(call[kByKey[i]], place_.EmitColumns(inputs_[kByKey[i]], step));
      columns_.push_back(call[kByKey[i]]);
    }
    AttrMap attrs = context_.spec.attrs;
    if (step == 0 && MakesMask()) {
      attrs[std::string(kRingMask)] = true;
    }
    DRYDOCK_TRY(const std::vector<ValueId> part,
                EmitNode(context_, context_.global.op, std::move(call), std::move(attrs)));
    return JoinPart(part);
  }

  /// Without a mask MindSpore's ring makes its own one.
  [[nodiscard]] bool MakesMask() const { return inputs_[kAttnMask] == kNoValue; }

  /// Joins the part of one step with those before it.
  Status JoinPart(const std::vector<ValueId>& part) {
    if (joined_.empty()) {
      joined_ = {part[3], part[0], part[1]};
      softmax_out_ = part[2];
      return {};
    }
    AttrMap layout;
    if (const auto it = context_.spec.attrs.find("input_layout"); it != context_.spec.attrs.end()) {
      layout.insert(*it);
    }
    DRYDOCK_TRY(joined_, EmitNode(context_, "RingAttentionUpdate",
                                  {joined_[0], joined_[1], joined_[2], part[3], part[0], part[1]},
                                  std::move(layout)));
    return {};
  }

  [[nodiscard]] Result<Pair> SendOn(const Pair& pair) const {
    const bool alike = context_.builder.TypeOf(pair.key) == context_.builder.TypeOf(pair.value);
    return MovePair(
        pair, alike, transfer_, kRingForward,
        [this](std::string_view op, std::vector<ValueId> inputs, AttrMap attrs) {
          return EmitNode(context_, op, std::move(inputs), std::move(attrs));
        },
        [this](std::string_view op, ValueId input, AttrMap attrs) {
          return EmitGroupCollective(context_, op, input, std::move(attrs), place_.group(),
                                     CommReason::kRedistribution, std::string(kMoves));
        });
  }

  Result<std::vector<ValueId>> End() {
    std::vector<ValueId> operands = joined_;
    operands.push_back(inputs_[kQuery]);
    operands.insert(operands.end(), kept_.begin(), kept_.end());
    operands.insert(operands.end(), columns_.begin(), columns_.end());
    AttrMap attrs = context_.spec.attrs;
    attrs[std::string(kGiven)] = given_;
    if (MakesMask()) {
      attrs[std::string(kRingMask)] = true;
    }
    DRYDOCK_TRY(const std::vector<ValueId> out,
                EmitNode(context_, "_RingAttention", std::move(operands), std::move(attrs)));
    Graph& graph = context_.builder.mutable_graph();
    Node& node = graph.nodes[ToIndex(graph.at(out[0]).producer)];
    node.group = place_.group();  // The gradient sends around the same ring.
    node.reason_text = kMoves;
    return std::vector<ValueId>{joined_[1], joined_[2], softmax_out_, out[0]};
  }

  const LocalizeContext& context_;
  RingPlace place_;
  RingTransfer transfer_;
  std::vector<ValueId> inputs_;
  std::vector<std::int64_t> given_ = {};  ///< The operands of kByKey that the call has.
  std::vector<ValueId> kept_ = {};        ///< Keys and values that backward begins with.
  std::vector<ValueId> columns_ = {};     ///< Columns of the masks, of all steps.
  std::vector<ValueId> joined_ = {};      ///< Result, maximum and sum of the parts so far.
  ValueId softmax_out_ = kNoValue;
};

/// Settings of the ring are True or False and nothing else, and those that say how data go around
/// it need one. An integer for enable_ra_send_recv is left out by the reference; it is refused
/// here.
Status CheckSettings(const OpView& op) {
  bool ring = false;
  std::string_view how;
  for (const std::string_view name : {"enable_ring_attention", "enable_ra_send_recv",
                                      "enable_ra_context_parallel", "enable_flash_sp"}) {
    const auto given = op.attrs->find(name);
    if (given == op.attrs->end() || IsNone(given->second)) {
      continue;
    }
    const bool* on = std::get_if<bool>(&given->second.value);
    if (on == nullptr) {
      return FailOp(op, "ring-setting",
                    "'" + std::string(name) + "' of '" + std::string(op.op) +
                        "' is True or False, but it is " + AttrText(given->second),
                    "give add_prim_attr a bool");
    }
    ring = ring || (*on && name == "enable_ring_attention");
    if (*on && name.starts_with("enable_ra_")) {
      how = name;
    }
  }
  if (!ring && !how.empty()) {
    return FailOp(op, "ring-missing",
                  "'" + std::string(how) + "' of '" + std::string(op.op) +
                      "' says how keys go around a ring, but enable_ring_attention is not set",
                  "set enable_ring_attention to True as well");
  }
  return {};
}

}  // namespace

Result<bool> IsRingAttention(const OpView& op, const AttentionForm& form, SparseMode mode) {
  DRYDOCK_RETURN_IF_ERROR(CheckSettings(op));
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
  DRYDOCK_TRY(const RingTransfer transfer, TransferOf(context.spec.attrs));
  return Ring(context, RingPlace(context, HelperGroup(context, axes), sequence), transfer).Run();
}

}  // namespace drydock::strategies
