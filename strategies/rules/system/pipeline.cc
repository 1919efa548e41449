#include <cstdint>
#include <string>
#include <utility>

#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// What passes from one pipeline stage to another.
///
/// While the program of all stages is one, a tensor crosses in one node, _StageTransfer, whose
/// gradient crosses the other way. When the stages part, each transfer becomes a Send in the stage
/// that has the tensor and a Receive in the one that wants it. The member at the same place of the
/// other stage is the peer: attribute `rank_distance` says how many ranks further, `sr_tag` which
/// of the messages between the two ranks this is.
///
/// Example: 2 stages of 4 ranks; rank 1 sends to rank 5 (rank_distance 4).
/// Source: mindspore/ccsrc/frontend/parallel/pipeline_transformer/pipeline_transformer.cc
/// (InsertSend, InsertReceive)
namespace drydock::strategies {
namespace {

/// The same crossing, backwards.
Result<std::vector<ValueId>> TransferGradient(const GradientContext& context) {
  AttrMap attrs = context.node.attrs;
  std::swap(attrs["from_stage"], attrs["to_stage"]);
  std::swap(attrs[std::string(kFromPart)], attrs[std::string(kToPart)]);
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit(ops::kStageTransfer, {OutputGradient(context)}, std::move(attrs)));
  return std::vector<ValueId>{gradient};
}

DRYDOCK_OP_NAMED(StageTransfer, "_StageTransfer", .family = "virtual",
                 .signature = "_StageTransfer(from_stage=0, to_stage=0)(input)", .infer = InferSame,
                 .gradient = TransferGradient, .values = "-", .evaluate = EvaluateCopy,
                 .flops = NoFlops, .cost = CostFamily::kFree);

/// Result type of a Receive: what the other rank sends.
Result<std::vector<TensorType>> InferReceive(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const auto shape, IntListAttr(*op.attrs, "shape"));
  DRYDOCK_TRY(const std::string name, TextAttr(*op.attrs, "dtype", ""));
  if (!shape || name.empty()) {
    return FailOp(op, "attribute", "'Receive' needs attributes 'shape' and 'dtype'");
  }
  DRYDOCK_TRY(const DType dtype, ParseDType(name));
  return std::vector<TensorType>{{.shape = *shape, .dtype = dtype}};
}

SentBytes SentToPeer(const CollectiveCall& call) {
  return EachSends(call.payload_bytes);
}

SentBytes SentNothing(const CollectiveCall& /*call*/) {
  return EachSends(0);
}

Result<std::vector<NdArray>> RunAlone(const Node& node, const std::vector<NdArray>& /*inputs*/) {
  return Fail(ErrorCode::kUnsupported, "'" + node.op + "' runs between stages only");
}

/// What a stage computed is sent when the state of its parameters is there; once for each micro
/// batch, also where it is a number (the gradient of a loss that earlier stages add to).
Result<std::vector<KernelId>> LowerSend(const LowerContext& context) {
  const bool result =
      context.node.phase == Phase::kForward && !context.node.attrs.contains(kPassesWeight);
  const KernelId value = result ? context.builder.Virtual(KernelKind::kDepend,
                                                          {context.inputs[0], context.first_state})
                                : context.inputs[0];
  return std::vector<KernelId>{context.builder.Kernel(
      {.name = ops::kSend,
       .inputs = {value},
       .results = {context.OutputType()},
       .micro_use =
           context.node.attrs.contains(kPassesWeight) ? MicroUse::kFollow : MicroUse::kEach})};
}

/// Once for each micro batch, whatever it reads.
Result<std::vector<KernelId>> LowerReceive(const LowerContext& context) {
  const bool once = context.node.attrs.contains(kPassesWeight);
  const Value& read = context.graph.at(context.node.inputs[0]);
  const KernelId anchor = read.kind == ValueKind::kParameter
                              ? context.inputs[0]
                              : context.builder.Constant(read.type, std::string(kZeroText));
  return std::vector<KernelId>{
      context.builder.Kernel({.name = ops::kReceive,
                              .inputs = {anchor},
                              .results = {context.OutputType()},
                              .micro_use = once ? MicroUse::kFollow : MicroUse::kEach})};
}

/// What a kernel stands for behind Depends: the sum of a weight's uses, a scalar until accumulators
/// are read, or the rows that a sharded optimizer gets.
TensorType TypeBehind(const KernelGraph& graph, KernelId id, const TensorType& otherwise) {
  const std::vector<KernelOperand> operands = RealOperands(graph, id);
  if (operands.empty()) {
    return otherwise;
  }
  const KernelNode& kernel = graph.at(operands.front().node);
  const auto item = static_cast<std::size_t>(operands.front().item);
  return item < kernel.results.size() ? kernel.results[item].type : otherwise;
}

/// A gradient, not before one tuple of zeros that wait for each message.
std::vector<KernelId> LowerToTuple(const LowerContext& context) {
  const KernelId zero = context.builder.Constant({.shape = {}, .dtype = context.InputType(0).dtype},
                                                 std::string(kZeroText));
  std::vector<KernelId> sent;
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    sent.push_back(context.builder.Virtual(KernelKind::kDepend, {zero, context.inputs[i]}));
  }
  const KernelId all = context.builder.Virtual(KernelKind::kMakeTuple, std::move(sent));
  context.builder.graph().at(all).micro_use = MicroUse::kAll;
  return {context.builder.Virtual(KernelKind::kDepend, {context.inputs[0], all})};
}

/// Zeros, not before each message that a stage sends back, added to what stands for a gradient.
Result<std::vector<KernelId>> LowerJoinSends(const LowerContext& context) {
  DRYDOCK_TRY(const bool adds, BoolAttr(context.node.attrs, kJoinsSends, true));
  if (!adds) {
    return LowerToTuple(context);
  }
  const TensorType scalar{.shape = {}, .dtype = context.InputType(0).dtype};
  const TensorType type = TypeBehind(context.builder.graph(), context.inputs[0], scalar);
  KernelSpec sum{.name = ops::kAddN, .results = {type}, .micro_use = MicroUse::kAll};
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    const KernelId zero = context.builder.Constant(type, std::string(kZeroText));
    sum.inputs.push_back(context.builder.Virtual(KernelKind::kDepend, {zero, context.inputs[i]}));
  }
  sum.inputs.push_back(context.inputs[0]);
  return std::vector<KernelId>{context.builder.Kernel(std::move(sum))};
}

DRYDOCK_OP_NAMED(JoinSends, "_JoinSends", .family = "virtual",
                 .signature = "_JoinSends()(gradient, *sent)", .kind = OpKind::kView,
                 .infer = InferFirst, .gradient = GradientNotNeeded, .lower = LowerJoinSends,
                 .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kFree,
                 .joins_micro_batches = true);

/// Number of the rank at the other end in place of how far it is.
void NamePeer(Node& node, std::span<const std::int64_t> ranks, std::int64_t member) {
  const std::int64_t distance = IntAttr(node.attrs, kRankDistance, 0).value_or(0);
  const bool sends = node.entry->collective->point_to_point == PointToPoint::kSends;
  node.attrs[sends ? "dest_rank" : "src_rank"] =
      ranks[static_cast<std::size_t>(member)] + (sends ? distance : -distance);
  node.attrs.erase(std::string(kRankDistance));
}

constexpr CollectiveFacts kSendFacts = {.sent = SentToPeer,
                                        .run = RunAlone,
                                        .specialise = NamePeer,
                                        .point_to_point = PointToPoint::kSends,
                                        .pattern = CollectivePattern::kMessage,
                                        .ir_shows_rank_size = false};
constexpr CollectiveFacts kReceiveFacts = {.sent = SentNothing,
                                           .run = RunAlone,
                                           .specialise = NamePeer,
                                           .point_to_point = PointToPoint::kReceives,
                                           .pattern = CollectivePattern::kMessage,
                                           .ir_shows_rank_size = false};

DRYDOCK_OP(Send, .family = "communication",
           .signature =
               "Send(sr_tag, dest_rank=0, group='hccl_world_group', "
               "group_back='hccl_world_group')(input_data)",
           .kind = OpKind::kCollective, .infer = InferSame, .gradient = NoBackward,
           .lower = LowerSend, .values = "-", .flops = NoFlops, .cost = CostFamily::kFree,
           .collective = &kSendFacts);
DRYDOCK_OP(Receive, .family = "communication",
           .signature =
               "Receive(sr_tag, src_rank=0, shape=(), dtype='float32', group='hccl_world_group', "
               "group_back='hccl_world_group')(input_data)",
           .kind = OpKind::kCollective, .infer = InferReceive, .gradient = NoBackward,
           .lower = LowerReceive, .values = "-", .flops = NoFlops, .cost = CostFamily::kFree,
           .takes_reference = true, .example = "(sr_tag=0, shape=(8, 4), dtype='float32')((8, 4))",
           .collective = &kReceiveFacts);

}  // namespace
}  // namespace drydock::strategies
