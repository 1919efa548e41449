#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strategies/graph/kept_constant.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/attention/attention_form.h"
#include "strategies/rules/attention/ring_attention.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"

/// The operators that ring attention is made of, besides the attention itself: a shift by one place
/// in the ring, as one exchange or as a message to each side, and the joining of a step's result
/// with what is there.
///
/// The joining is one operator here, which can be evaluated, and some twenty kernels at run time.
/// Source: mindspore pass/flash_sp.cc (behaviour only), orders of kernels of MindSpore 2.10.
namespace drydock::strategies {
namespace {

// ---- Shift by one place in the ring -------------------------------------------------------------

Result<std::vector<TensorType>> InferShift(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  if (!op.attrs->contains(kRingDirection)) {
    return UnsupportedForm(
        op, "'" + std::string(op.op) + "' between ranks that the script chooses is not handled");
  }
  return std::vector<TensorType>{op.inputs[0]};
}

bool GoesForward(const Node& node) {
  return TextAttr(node.attrs, kRingDirection, "").value_or("") == kRingForward;
}

/// Forward, data of member m arrive at member m + 1, of the last one at the first.
Result<std::vector<NdArray>> RunShift(const Node& node, const std::vector<NdArray>& inputs) {
  std::vector<NdArray> shifted = inputs;
  const auto first = GoesForward(node) ? shifted.end() - 1 : shifted.begin() + 1;
  std::rotate(shifted.begin(), first, shifted.end());
  return shifted;
}

SentBytes SentByShift(const CollectiveCall& call) {
  return EachSends(call.payload_bytes);
}

/// Reshape to one dimension and back stand around the exchange.
Result<std::vector<KernelId>> LowerExchange(const LowerContext& context) {
  KernelBuilder& builder = context.builder;
  const TensorType& type = context.OutputType();
  DRYDOCK_TRY(const std::int64_t elements, ElementCount(type.shape));
  const TensorType flat{.shape = {elements}, .dtype = type.dtype};
  const KernelId row = builder.Kernel({.name = ops::kReshape,
                                       .inputs = {context.inputs[0], builder.Argument(flat.shape)},
                                       .results = {flat}});
  const KernelId moved = builder.Kernel({.name = "AlltoAllV", .inputs = {row}, .results = {flat}});
  builder.graph().at(moved).communication = true;
  return std::vector<KernelId>{builder.Kernel(
      {.name = ops::kReshape, .inputs = {moved, builder.Argument(type.shape)}, .results = {type}})};
}

constexpr CollectiveFacts kExchangeFacts = {.sent = SentByShift, .run = RunShift};

DRYDOCK_OP(
    NeighborExchange, .family = "communication",
    .signature =
        "NeighborExchange(send_rank_ids, recv_rank_ids, recv_shapes, send_shapes, recv_type, "
        "group='hccl_world_group')(x)",
    .kind = OpKind::kCollective, .infer = InferShift, .gradient = GradientNotNeeded,
    .lower = LowerExchange, .flops = NoFlops, .cost = CostFamily::kFree,
    .collective = &kExchangeFacts);

// ---- The same as two messages -------------------------------------------------------------------

/// Number of the rank at the other end.
void NamePeer(Node& node, std::span<const std::int64_t> ranks, std::int64_t member) {
  const bool sends = node.entry->collective->shown == ops::kSend;
  const auto size = static_cast<std::int64_t>(ranks.size());
  const std::int64_t step = GoesForward(node) == sends ? 1 : -1;
  node.attrs[sends ? "dest_rank" : "src_rank"] =
      ranks[static_cast<std::size_t>((member + step + size) % size)];
}

Result<std::vector<NdArray>> RunSend(const Node& /*node*/, const std::vector<NdArray>& inputs) {
  return inputs;
}

SentBytes SentByReceiving(const CollectiveCall& /*call*/) {
  return EachSends(0);
}

/// The gradient of what is received leaves zeros of its shape behind, which nobody reads.
Result<std::vector<KernelId>> LowerRingSend(const LowerContext& context) {
  if (context.node.phase == Phase::kBackward) {
    KeepUnread(context.builder.graph(),
               context.builder.Constant(context.OutputType(), std::string(kZeroText)));
  }
  return LowerTo(context, ops::kSend);
}

Result<std::vector<KernelId>> LowerRingReceive(const LowerContext& context) {
  return LowerTo(context, ops::kReceive);
}

constexpr CollectiveFacts kRingSendFacts = {.sent = SentByShift,
                                            .run = RunSend,
                                            .specialise = NamePeer,
                                            .ir_shows_rank_size = false,
                                            .shown = ops::kSend};
constexpr CollectiveFacts kRingReceiveFacts = {.sent = SentByReceiving,
                                               .run = RunShift,
                                               .specialise = NamePeer,
                                               .ir_shows_rank_size = false,
                                               .shown = ops::kReceive};

DRYDOCK_OP(RingSend, .family = "communication", .signature = "RingSend()(x)",
           .kind = OpKind::kCollective, .infer = InferShift, .gradient = GradientNotNeeded,
           .lower = LowerRingSend, .flops = NoFlops, .cost = CostFamily::kFree,
           .collective = &kRingSendFacts);
DRYDOCK_OP(RingReceive, .family = "communication", .signature = "RingReceive()(sent)",
           .kind = OpKind::kCollective, .infer = InferShift, .gradient = GradientNotNeeded,
           .lower = LowerRingReceive, .flops = NoFlops, .cost = CostFamily::kFree,
           .collective = &kRingReceiveFacts);

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

/// The kernels of one joining.
class UpdateKernels {
 public:
  explicit UpdateKernels(const LowerContext& context)
      : builder_(context.builder),
        out_(context.OutputType(kOut)),
        statistic_(context.OutputType(kMax)) {}

  /// exp(maximum - top) * sum: how much of the new sum one part has.
  KernelId Part(KernelId maximum, KernelId top, KernelId sum) {
    return Statistic("Mul", {Statistic("Exp", {Statistic("Sub", {maximum, top})}), sum});
  }

  KernelId Statistic(std::string_view name, std::vector<KernelId> inputs) {
    return builder_.Kernel({.name = name, .inputs = std::move(inputs), .results = {statistic_}});
  }

  KernelId Result(std::string_view name, std::vector<KernelId> inputs) {
    return builder_.Kernel({.name = name, .inputs = std::move(inputs), .results = {out_}});
  }

  /// part / sum, a number for each element of the attention instead of eight for each row.
  KernelId Weight(KernelId part, KernelId sum, bool heads_inside) {
    const KernelId share = Statistic("RealDiv", {part, sum});
    TensorType column = statistic_;
    column.shape[3] = 1;
    KernelId weight = builder_.Results(
        builder_.Kernel({.name = ops::kSplit,
                         .inputs = {share, builder_.Argument(3), builder_.Argument(8)},
                         .results = std::vector<TensorType>(8, column)}))[0];
    column.dtype = out_.dtype;
    if (out_.dtype != statistic_.dtype) {
      weight = builder_.Kernel(
          {.name = ops::kCast,
           .inputs = {weight, builder_.Argument(std::string(DTypeName(column.dtype)))},
           .results = {column}});
    }
    if (heads_inside) {
      std::swap(column.shape[1], column.shape[2]);
      weight = builder_.Kernel({.name = "Transpose",
                                .inputs = {weight, builder_.Argument(Shape{0, 2, 1, 3})},
                                .results = {column}});
    }
    const std::int64_t dim = heads_inside ? out_.shape[2] / statistic_.shape[1] : out_.shape[3];
    column.shape[3] = dim;
    weight = builder_.Kernel({.name = "Tile",
                              .inputs = {weight, builder_.Argument(Shape{1, 1, 1, dim})},
                              .results = {column}});
    return heads_inside ? Result(ops::kReshape, {weight, builder_.Argument(out_.shape)}) : weight;
  }

 private:
  KernelBuilder& builder_;
  TensorType out_;
  TensorType statistic_;
};

Result<std::vector<KernelId>> LowerUpdate(const LowerContext& context) {
  DRYDOCK_TRY(const std::string layout, TextAttr(context.node.attrs, "input_layout", "BSH"));
  const bool heads_inside = layout == "BSH";
  const auto& in = context.inputs;
  UpdateKernels kernels(context);
  const KernelId top = kernels.Statistic("Maximum", {in[kMax], in[kStepMax]});
  const KernelId before = kernels.Part(in[kMax], top, in[kSum]);
  const KernelId step = kernels.Part(in[kStepMax], top, in[kStepSum]);
  const KernelId sum = kernels.Statistic(ops::kAdd, {before, step});
  const KernelId old_share = kernels.Weight(before, sum, heads_inside);
  const KernelId weighted = kernels.Result("Mul", {old_share, in[kOut]});
  const KernelId new_share = kernels.Weight(step, sum, heads_inside);
  KernelId out =
      kernels.Result(ops::kAdd, {weighted, kernels.Result("Mul", {new_share, in[kStepOut]})});
  for (const KernelId statistic : {top, sum}) {
    out = context.builder.Virtual(KernelKind::kDepend, {out, statistic});
  }
  return std::vector<KernelId>{out, top, sum};
}

DRYDOCK_OP(RingAttentionUpdate, .family = "rank",
           .signature =
               "RingAttentionUpdate(input_layout='BSH')(prev_attn_out, prev_softmax_max, "
               "prev_softmax_sum, cur_attn_out, cur_softmax_max, cur_softmax_sum)",
           .infer = InferUpdate, .gradient = GradientNotNeeded, .lower = LowerUpdate, .values = "-",
           .evaluate = EvaluateUpdate, .flops = FlopsPerInput<4>);

}  // namespace

Result<std::vector<KernelId>> LowerFlash(const LowerContext& context) {
  DRYDOCK_TRY(std::vector<KernelId> results, LowerByDefault(context));
  if (context.node.attrs.contains(kRingMask)) {
    constexpr std::int64_t kSide = 2048;
    KernelGraph& graph = context.builder.graph();
    const KernelId kernel = RealOperands(graph, results.front()).front().node;
    const KernelId mask = context.builder.Constant(
        {.shape = {kSide, kSide}, .dtype = DType::kUInt8}, "mask of ring attention");
    graph.at(kernel).inputs.push_back(mask);
  }
  return results;
}

}  // namespace drydock::strategies
