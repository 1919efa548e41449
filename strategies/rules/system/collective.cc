#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/system/fused_collective.h"

/// Collectives between the ranks of a node's group (attribute `rank_size` = ranks in it) and their
/// gradients, which are collectives of the same group. They cannot be evaluated by one rank alone.
/// Source: mindspore python/mindspore/ops/_grad_experimental/grad_comm_ops.py, mindspore ops_info/.
namespace drydock::strategies {
namespace {

Result<std::int64_t> RankSize(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t size, IntAttr(*op.attrs, "rank_size", 0));
  if (size < 1) {
    return FailOp(op, "attribute",
                  "'" + std::string(op.op) +
                      "' needs attribute 'rank_size', the number of ranks in its group");
  }
  return size;
}

/// Group of a forward collective. Unknown groups (written by the user by name) are our limit.
Result<GroupPattern> GroupOf(const GradientContext& context) {
  if (!context.node.group.has_value()) {
    return Fail(ErrorCode::kUnsupported,
                "the gradient of '" + context.node.op +
                    "' is not available for a group given by its name only");
  }
  return *context.node.group;
}

/// Backward collective with the forward one's number of fusion and the parameter that it is for.
Result<ValueId> EmitBackward(const GradientContext& context, std::string_view op, ValueId input,
                             const GroupPattern& group, AttrMap attrs) {
  for (const char* name : {"fusion", "parameter"}) {
    if (const auto found = context.node.attrs.find(name); found != context.node.attrs.end()) {
      attrs.insert(*found);
    }
  }
  return context.EmitCollective(op, input, group, std::move(attrs));
}

/// Times 1 / (ranks of the group) if attribute mean_flag is set.
Result<ValueId> MeanIfAsked(const GradientContext& context, ValueId value, std::int64_t size) {
  DRYDOCK_TRY(const bool mean, BoolAttr(context.node.attrs, "mean_flag", false));
  if (!mean) {
    return value;
  }
  const ValueId share =
      context.builder.AddScalar(1.0 / static_cast<double>(size), context.TypeOf(value).dtype);
  return context.Emit(ops::kMul, {value, share});
}

Result<ValueId> EmitSum(const GradientContext& context, ValueId value, const GroupPattern& group) {
  return EmitBackward(context, ops::kAllReduce, value, group, {{"op", "sum"}});
}

// ---- What they do -------------------------------------------------------------------------------

Result<NdArray> Reduce(const Node& node, const std::vector<NdArray>& inputs) {
  DRYDOCK_TRY(const std::string op, TextAttr(node.attrs, "op", "sum"));
  NdArray result = inputs.front();
  for (std::size_t m = 1; m < inputs.size(); ++m) {
    for (std::size_t i = 0; i < result.data.size(); ++i) {
      const double a = result.data[i];
      const double b = inputs[m].data[i];
      if (op == "sum") {
        result.data[i] = a + b;
      } else if (op == "max") {
        result.data[i] = std::max(a, b);
      } else if (op == "min") {
        result.data[i] = std::min(a, b);
      } else if (op == "prod") {
        result.data[i] = a * b;
      } else {
        return Fail(ErrorCode::kUnsupported, "reduction '" + op + "' has no reference execution");
      }
    }
  }
  return result;
}

Result<std::vector<NdArray>> RunAllReduce(const Node& node, const std::vector<NdArray>& inputs) {
  DRYDOCK_TRY(const NdArray reduced, Reduce(node, inputs));
  return std::vector<NdArray>(inputs.size(), reduced);
}

Result<std::vector<NdArray>> RunAllGather(const Node& /*node*/,
                                          const std::vector<NdArray>& inputs) {
  return std::vector<NdArray>(inputs.size(), ConcatArrays(inputs, 0));
}

Result<std::vector<NdArray>> RunReduceScatter(const Node& node,
                                              const std::vector<NdArray>& inputs) {
  DRYDOCK_TRY(const NdArray reduced, Reduce(node, inputs));
  return SplitArray(reduced, 0, std::ssize(inputs));
}

/// Member q receives part q of every member.
Result<std::vector<NdArray>> RunAlltoAll(const Node& node, const std::vector<NdArray>& inputs) {
  DRYDOCK_TRY(const std::int64_t split_dim, IntAttr(node.attrs, "split_dim", 0));
  DRYDOCK_TRY(const std::int64_t concat_dim, IntAttr(node.attrs, "concat_dim", 0));
  std::vector<std::vector<NdArray>> pieces;  // [member][part]
  pieces.reserve(inputs.size());
  for (const NdArray& input : inputs) {
    pieces.push_back(SplitArray(input, static_cast<std::size_t>(split_dim), std::ssize(inputs)));
  }
  std::vector<NdArray> results;
  for (std::size_t q = 0; q < inputs.size(); ++q) {
    std::vector<NdArray> received;
    received.reserve(pieces.size());
    for (const std::vector<NdArray>& parts : pieces) {
      received.push_back(parts[q]);
    }
    results.push_back(ConcatArrays(received, static_cast<std::size_t>(concat_dim)));
  }
  return results;
}

/// In a ring of n ranks a payload is cut into n blocks; each of the n - 1 steps sends one.
SentBytes SentOnce(const CollectiveCall& call) {
  return EachSends(ScaledUp(call.payload_bytes, call.group_size - 1, call.group_size));
}

/// Once round to reduce, once round to spread the results.
SentBytes SentTwice(const CollectiveCall& call) {
  return EachSends(ScaledUp(call.payload_bytes, 2 * (call.group_size - 1), call.group_size));
}

/// The payload itself is a block.
SentBytes SentToAllOthers(const CollectiveCall& call) {
  return EachSends(ScaledUp(call.payload_bytes, call.group_size - 1, 1));
}

constexpr CollectiveFacts kAllReduceFacts = {.sent = SentTwice,
                                             .run = RunAllReduce,
                                             .reduces_to_all = true,
                                             .pattern = CollectivePattern::kAllReduce,
                                             .ir_shows_rank_size = false};
constexpr CollectiveFacts kAllGatherFacts = {
    .sent = SentToAllOthers, .run = RunAllGather, .pattern = CollectivePattern::kAllGather};
constexpr CollectiveFacts kReduceScatterFacts = {
    .sent = SentOnce, .run = RunReduceScatter, .pattern = CollectivePattern::kReduceScatter};
constexpr CollectiveFacts kAlltoAllFacts = {
    .sent = SentOnce, .run = RunAlltoAll, .pattern = CollectivePattern::kAllToAll};

// ---- AllReduce ----------------------------------------------------------------------------------

/// x == y as a factor: where a maximum or minimum came from.
Result<ValueId> ChosenHere(const GradientContext& context) {
  const ValueId x = context.node.inputs[0];
  DRYDOCK_TRY(const ValueId equal, context.Emit("Equal", {x, context.node.outputs[0]}));
  return CastTo(context, equal, context.TypeOf(x).dtype);
}

/// sum: AllReduce of dY; max, min: that times (x == y); prod: AllReduce of dY * y, divided by x.
Result<std::vector<ValueId>> AllReduceGradient(const GradientContext& context) {
  DRYDOCK_TRY(const GroupPattern group, GroupOf(context));
  DRYDOCK_TRY(const std::string op, TextAttr(context.node.attrs, "op", "sum"));
  ValueId gradient = OutputGradient(context);
  if (op == "prod") {
    DRYDOCK_TRY(gradient, context.Emit(ops::kMul, {gradient, context.node.outputs[0]}));
  }
  DRYDOCK_TRY(gradient, EmitSum(context, gradient, group));
  if (op == "prod") {
    DRYDOCK_TRY(gradient, context.Emit(ops::kRealDiv, {gradient, context.node.inputs[0]}));
  } else if (op == "max" || op == "min") {
    DRYDOCK_TRY(const ValueId chosen, ChosenHere(context));
    DRYDOCK_TRY(gradient, context.Emit(ops::kMul, {gradient, chosen}));
  }
  return std::vector<ValueId>{gradient};
}

DRYDOCK_OP(AllReduce, .family = "communication",
           .signature = "AllReduce(op='sum', group='hccl_world_group')(input_x)",
           .kind = OpKind::kCollective, .infer = InferSame, .gradient = AllReduceGradient,
           .lower = LowerAllReduce, .values = "-", .flops = NoFlops, .cost = CostFamily::kFree,
           .collective = &kAllReduceFacts);

// ---- AllGather and ReduceScatter ----------------------------------------------------------------

Result<std::vector<TensorType>> InferAllGather(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_TRY(const std::int64_t size, RankSize(op));
  TensorType type = op.inputs[0];
  DRYDOCK_TRY(type.shape[0], MulChecked(type.shape[0], size));
  return std::vector<TensorType>{type};
}

Result<std::vector<ValueId>> AllGatherGradient(const GradientContext& context) {
  DRYDOCK_TRY(const bool done, BoolAttr(context.node.attrs, "scattered", false));
  if (done) {  // by the users, one by one
    return GradientPassedOn(context);
  }
  DRYDOCK_TRY(const GroupPattern group, GroupOf(context));
  DRYDOCK_TRY(
      const ValueId scattered,
      EmitBackward(context, ops::kReduceScatter, OutputGradient(context), group, {{"op", "sum"}}));
  DRYDOCK_TRY(const ValueId gradient, MeanIfAsked(context, scattered, GroupSize(group)));
  return std::vector<ValueId>{gradient};
}

Result<std::vector<TensorType>> InferReduceScatter(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_TRY(const std::int64_t size, RankSize(op));
  TensorType type = op.inputs[0];
  if (type.shape[0] % size != 0) {
    return FailOp(op, "not-divisible",
                  "'ReduceScatter' cannot cut dimension 0 of " + TupleText(type.shape) + " into " +
                      std::to_string(size) + " parts, one for each rank of its group");
  }
  type.shape[0] /= size;
  return std::vector<TensorType>{type};
}

Result<std::vector<ValueId>> ReduceScatterGradient(const GradientContext& context) {
  DRYDOCK_TRY(const GroupPattern group, GroupOf(context));
  DRYDOCK_TRY(const std::string op, TextAttr(context.node.attrs, "op", "sum"));
  if (op != "sum") {
    return Fail(ErrorCode::kUnsupported,
                "the gradient of 'ReduceScatter' is only defined for sums, not for '" + op + "'");
  }
  DRYDOCK_TRY(const ValueId gradient,
              EmitBackward(context, ops::kAllGather, OutputGradient(context), group, {}));
  return std::vector<ValueId>{gradient};
}

DRYDOCK_OP(AllGather, .family = "communication",
           .signature = "AllGather(group='hccl_world_group')(input_x)", .kind = OpKind::kCollective,
           .infer = InferAllGather, .gradient = AllGatherGradient, .lower = LowerAllGather,
           .values = "-", .flops = NoFlops, .cost = CostFamily::kFree,
           .collective = &kAllGatherFacts);
DRYDOCK_OP(ReduceScatter, .family = "communication",
           .signature = "ReduceScatter(op='sum', group='hccl_world_group')(input_x)",
           .kind = OpKind::kCollective, .infer = InferReduceScatter,
           .gradient = ReduceScatterGradient, .lower = LowerReduceScatter, .values = "-",
           .flops = NoFlops, .cost = CostFamily::kFree, .collective = &kReduceScatterFacts);

// ---- AlltoAll -----------------------------------------------------------------------------------

struct Exchange {
  std::int64_t parts = 1;
  std::size_t split_dim = 0;
  std::size_t concat_dim = 0;
};

Result<Exchange> ExchangeOf(const OpView& op) {
  const std::size_t rank = op.inputs[0].shape.size();
  DRYDOCK_TRY(const std::int64_t parts, IntAttr(*op.attrs, "split_count", 0));
  DRYDOCK_TRY(const std::int64_t split, IntAttr(*op.attrs, "split_dim", 0));
  DRYDOCK_TRY(const std::int64_t concat, IntAttr(*op.attrs, "concat_dim", 0));
  Exchange exchange{.parts = parts};
  for (const std::int64_t dim : {split, concat}) {
    if (dim < -static_cast<std::int64_t>(rank) || dim >= static_cast<std::int64_t>(rank)) {
      return FailOp(op, "index",
                    "dimension " + std::to_string(dim) + " of 'AlltoAll' is outside a tensor of " +
                        std::to_string(rank) + " dimensions");
    }
  }
  DRYDOCK_TRY(exchange.split_dim, NormalisedAxis(op, split, rank));
  DRYDOCK_TRY(exchange.concat_dim, NormalisedAxis(op, concat, rank));
  DRYDOCK_TRY(const std::int64_t ranks, IntAttr(*op.attrs, "rank_size", parts));
  if (ranks != parts) {
    return FailOp(op, "split-count",
                  "'AlltoAll' cuts its operand into " + std::to_string(parts) +
                      " parts, but there are " + std::to_string(ranks) + " ranks in its group",
                  "use split_count=" + std::to_string(ranks));
  }
  return exchange;
}

Result<std::vector<TensorType>> InferAlltoAll(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_TRY(const Exchange exchange, ExchangeOf(op));
  TensorType type = op.inputs[0];
  const std::int64_t extent = type.shape[exchange.split_dim];
  if (exchange.parts < 1 || extent % exchange.parts != 0) {
    return FailOp(op, "not-divisible",
                  "'AlltoAll' cannot cut dimension " + std::to_string(exchange.split_dim) + " of " +
                      TupleText(type.shape) + " into " + std::to_string(exchange.parts) + " parts");
  }
  type.shape[exchange.split_dim] = extent / exchange.parts;
  DRYDOCK_TRY(type.shape[exchange.concat_dim],
              MulChecked(type.shape[exchange.concat_dim], exchange.parts));
  return std::vector<TensorType>{type};
}

/// The same exchange with the two dimensions swapped.
Result<std::vector<ValueId>> AlltoAllGradient(const GradientContext& context) {
  DRYDOCK_TRY(const GroupPattern group, GroupOf(context));
  const auto attr = [&context](std::string_view name) {
    const auto found = context.node.attrs.find(name);
    return found == context.node.attrs.end() ? Attr(0) : found->second;
  };
  DRYDOCK_TRY(const ValueId gradient,
              EmitBackward(context, ops::kAlltoAll, OutputGradient(context), group,
                           {{"split_count", attr("split_count")},
                            {"split_dim", attr("concat_dim")},
                            {"concat_dim", attr("split_dim")}}));
  return std::vector<ValueId>{gradient};
}

/// All extents in front of a dimension are 1: bringing it to the front moves nothing.
bool IsFirstInEffect(const Shape& shape, std::size_t dim) {
  return std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(dim),
                     [](std::int64_t extent) { return extent == 1; });
}

KernelId ReshapeKernel(const LowerContext& context, KernelId value, Shape shape) {
  // The back end makes it when equal constants have been merged.
  const KernelId target =
      context.builder.Constant({.shape = {std::ssize(shape)}, .dtype = DType::kInt64}, "");
  return context.builder.Kernel(
      {.name = ops::kReshape,
       .inputs = {value, target},
       .results = {{.shape = std::move(shape), .dtype = context.InputType(0).dtype}},
       .shares = {0},
       .view = true});
}

/// Dimension `from` moves to position `to`.
KernelId MoveKernel(const LowerContext& context, KernelId value, const Shape& shape,
                    std::size_t from, std::size_t to) {
  std::vector<std::int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(from));
  Shape moved;
  for (const std::int64_t dim : order) {
    moved.push_back(shape[static_cast<std::size_t>(dim)]);
  }
  const KernelId permutation = context.builder.Argument(Attr(order));
  return context.builder.Kernel(
      {.name = "Transpose",
       .inputs = {value, permutation},
       .results = {{.shape = std::move(moved), .dtype = context.InputType(0).dtype}},
       .view = true});
}

/// The kernel exchanges equal parts of dimension 0; what lies elsewhere is brought there before and
/// back behind it. Source: mindspore ccsrc/backend/common/pass/mindir/all_to_all_unify_mindir.cc
/// (behaviour only).
Result<std::vector<KernelId>> LowerAlltoAll(const LowerContext& context) {
  OpViewStorage storage = {};
  DRYDOCK_TRY(const Exchange exchange, ExchangeOf(ViewOf(context.graph, context.node, storage)));
  const std::int64_t parts = exchange.parts;
  KernelId value = context.inputs[0];
  Shape shape = context.InputType(0).shape;
  if (exchange.split_dim > 0) {
    Shape rows = shape;
    rows[0] *= parts;
    rows[exchange.split_dim] /= parts;
    if (!IsFirstInEffect(shape, exchange.split_dim)) {
      Shape apart = shape;
      apart[exchange.split_dim] /= parts;
      apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(exchange.split_dim), parts);
      value = ReshapeKernel(context, value, apart);
      value = MoveKernel(context, value, apart, exchange.split_dim, 0);
    }
    value = ReshapeKernel(context, value, rows);
    shape = rows;
  }
  value =
      context.builder.Kernel({.name = "AllToAll",
                              .inputs = {value},
                              .results = {{.shape = shape, .dtype = context.InputType(0).dtype}}});
  if (exchange.concat_dim > 0) {
    const Shape& out = context.OutputType().shape;
    if (!IsFirstInEffect(out, exchange.concat_dim)) {
      Shape apart = shape;
      apart[0] /= parts;
      apart.insert(apart.begin(), parts);
      value = ReshapeKernel(context, value, apart);
      value = MoveKernel(context, value, apart, 0, exchange.concat_dim);
    }
    value = ReshapeKernel(context, value, out);
  }
  return std::vector<KernelId>{value};
}

DRYDOCK_OP(AlltoAll, .family = "communication",
           .signature =
               "AlltoAll(split_count, split_dim, concat_dim, "
               "group='hccl_world_group')(input_x)",
           .kind = OpKind::kCollective, .infer = InferAlltoAll, .gradient = AlltoAllGradient,
           .lower = LowerAlltoAll, .flops = NoFlops, .cost = CostFamily::kFree,
           .collective = &kAlltoAllFacts);

// ---- Broadcast ----------------------------------------------------------------------------------

Result<std::vector<ValueId>> EachGradientPassedOn(const GradientContext& context) {
  return std::vector<ValueId>(context.output_gradients.begin(), context.output_gradients.end());
}

/// What the rank gives that attribute root_rank names.
Result<std::vector<NdArray>> RunBroadcast(const Node& node, const std::vector<NdArray>& inputs) {
  DRYDOCK_TRY(const std::int64_t root, IntAttr(node.attrs, "root_rank", 0));
  if (!node.group) {
    return Fail(ErrorCode::kUnsupported,
                "'Broadcast' in a group given by its name only has no reference execution");
  }
  const std::vector<std::int64_t> members = GroupRanks(*node.group, root, 0);
  const auto place = std::ranges::find(members, root) - members.begin();
  if (place >= std::ssize(inputs)) {
    return FailInput("Broadcast:root-rank",
                     "rank " + std::to_string(root) + " is in no group of 'Broadcast'");
  }
  return std::vector<NdArray>(inputs.size(), inputs[static_cast<std::size_t>(place)]);
}

/// Along a chain all members but the last one send the payload on.
SentBytes SentAlongChain(const CollectiveCall& call) {
  return {.most = call.group_size > 1 ? call.payload_bytes : 0, .least = 0};
}

constexpr CollectiveFacts kBroadcastFacts = {
    .sent = SentAlongChain, .run = RunBroadcast, .pattern = CollectivePattern::kBroadcast};

DRYDOCK_OP(Broadcast, .family = "communication",
           .signature = "Broadcast(root_rank, group='hccl_world_group')(*input_x) -> *",
           .kind = OpKind::kCollective, .infer = InferEach, .gradient = EachGradientPassedOn,
           .lower = LowerAllReduce, .values = "-", .flops = NoFlops, .cost = CostFamily::kFree,
           .collective = &kBroadcastFacts);

// ---- Mirror of a parameter ----------------------------------------------------------------------

/// Nothing forward; backward the sum of the gradient over the ranks that hold the same slice.
Result<std::vector<ValueId>> MirrorGradient(const GradientContext& context) {
  DRYDOCK_TRY(const std::int64_t devices, IntAttr(context.node.attrs, "dev_num", 1));
  if (devices == 1) {
    return GradientPassedOn(context);
  }
  DRYDOCK_TRY(const GroupPattern group, GroupOf(context));
  DRYDOCK_TRY(const ValueId sum, EmitSum(context, OutputGradient(context), group));
  DRYDOCK_TRY(const ValueId gradient, MeanIfAsked(context, sum, devices));
  return std::vector<ValueId>{gradient};
}

DRYDOCK_OP_NAMED(MirrorOperator, "_MirrorOperator", .family = "virtual",
                 .signature = "_MirrorOperator(group='', dev_num=1, mean_flag=False)(input)",
                 .kind = OpKind::kView, .infer = InferSame, .gradient = MirrorGradient,
                 .lower = LowerToOperand, .evaluate = EvaluateCopy, .flops = NoFlops,
                 .cost = CostFamily::kFree, .steers = true, .is_mirror = true);

}  // namespace
}  // namespace drydock::strategies
