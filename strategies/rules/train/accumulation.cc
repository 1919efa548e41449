#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/graph/kept_constant.h"
#include "strategies/operators/added_use.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Micro batches and accumulated gradients.
///
/// A step takes its batch in M pieces, one after the other, and keeps the sum of their gradients in
/// parameters `accu_grads.<weight>`. A program tells this for one micro batch: `_MicroBatch` takes
/// one of M pieces, `_MicroSum` adds up the losses of all. What lies between is there M times when
/// the kernels are scheduled (strategies/passes/schedule/unroll_micro.h).
///
/// A weight w with accumulator a stands behind one `_MirrorMicroStepOperator(w, a)`, each user of
/// that behind a `_VirtualAssignAdd`. Forward both are nothing. Backward:
///     t = _AccumulateGradient(a, g)     a += g, once for each micro batch and user
///     s = _AccumulatedGradient(a, t)    a when all of that is done
///     r = AllReduce(s)                  over the ranks that hold the same slice, once a step
///     _FinishGradient(s, r)             a = r
/// Where the optimizer is sharded the gradient is r itself, and a stays as it is; a weight that is
/// gathered has the scattered sum for r, and with level 2 each g is scattered instead
/// (strategies/passes/localize/weight_shard.cc).
/// Where micro batches call one graph, and each user is a matrix product alike, there is one t: the
/// gradients are X1^T Y1 + X2^T Y2 = (X1 over X2)^T (Y1 over Y2).
/// Kernels: AssignAdd and Depend(0, .) for each t, AddN of these, Depend(a, .), AllReduce, Assign.
///
/// Source: mindspore/python/mindspore/ops/_grad_experimental/grad_comm_ops.py,
/// mindspore/ccsrc/frontend/parallel/graph_util/grad_accumulation_utils.cc,
/// mindspore/ccsrc/frontend/parallel/pass/assign_add_opt.cc
namespace drydock::strategies {
namespace {

// ---- Pieces of a batch --------------------------------------------------------------------------

Result<std::int64_t> PieceRows(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t count, IntAttr(*op.attrs, "micro_size", 1));
  const std::int64_t rows = op.inputs[0].shape.front();
  if (count < 1 || rows % count != 0) {
    return FailOp(op, "micro-batch:rows",
                  "a batch of " + std::to_string(rows) + " rows cannot be cut into " +
                      std::to_string(count) + " micro batches",
                  "choose a batch that is a multiple of the number of micro batches");
  }
  return rows / count;
}

Result<std::vector<TensorType>> InferMicroBatch(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  TensorType type = op.inputs[0];
  DRYDOCK_TRY(type.shape.front(), PieceRows(op));
  return std::vector<TensorType>{std::move(type)};
}

/// Each rank takes the piece of its own rows.
Result<ShardRule> ShardMicroBatch(const OpView& op, const Strategy& /*strategy*/) {
  const std::size_t rank = op.inputs[0].shape.size();
  return ShardRule{.axis_count = static_cast<std::int32_t>(rank),
                   .inputs = {AxesInOrder(rank)},
                   .outputs = {AxesInOrder(rank)}};
}

/// The piece with number `micro_batch`.
Result<std::vector<NdArray>> EvaluateMicroBatch(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::int64_t piece, IntAttr(context.attrs, "micro_batch", 0));
  const Shape& shape = context.output_types[0].shape;
  std::vector<Range> ranges;
  for (const std::int64_t extent : shape) {
    ranges.push_back({.begin = 0, .end = extent});
  }
  ranges.front() = {.begin = piece * shape.front(), .end = (piece + 1) * shape.front()};
  return std::vector<NdArray>{SliceArray(context.inputs[0], ranges)};
}

/// One slice for each micro batch.
Result<std::vector<KernelId>> LowerMicroBatch(const LowerContext& context) {
  const Shape& shape = context.OutputType().shape;
  const std::int64_t count = context.InputType(0).shape.front() / shape.front();
  KernelBuilder& builder = context.builder;
  std::vector<KernelId> pieces;
  for (std::int64_t m = 0; m < count; ++m) {
    Shape begin(shape.size(), 0);
    Shape end = shape;
    begin.front() = m * shape.front();
    end.front() = begin.front() + shape.front();
    KernelSpec spec{
        .name = ops::kStridedSlice,
        .inputs = {context.inputs[0], builder.Argument(Attr(begin)), builder.Argument(Attr(end)),
                   builder.Argument(Attr(Shape(shape.size(), 1)))},
        .results = {context.OutputType()},
        .micro_use = MicroUse::kEach};
    spec.inputs.insert(spec.inputs.end(), 5, builder.Argument(Attr(std::int64_t{0})));
    pieces.push_back(builder.Kernel(std::move(spec)));
  }
  builder.SetCopies(pieces);
  return std::vector<KernelId>{pieces.front()};
}

DRYDOCK_OP_NAMED(MicroBatch, "_MicroBatch", .family = "virtual",
                 .signature = "_MicroBatch(micro_size=1)(input)", .infer = InferMicroBatch,
                 .shard = ShardMicroBatch, .gradient = GradientNotNeeded, .lower = LowerMicroBatch,
                 .evaluate = EvaluateMicroBatch, .flops = NoFlops, .cost = CostFamily::kFree,
                 .accepts_layout = true, .mirrored = "-", .per_micro_batch = true,
                 .example = "(micro_size=2)((32, 6))");

// ---- Sum of their losses ------------------------------------------------------------------------

Result<std::vector<KernelId>> LowerMicroSum(const LowerContext& context) {
  return std::vector<KernelId>{context.builder.Kernel({.name = ops::kAdd,
                                                       .inputs = {context.inputs[0]},
                                                       .results = {context.OutputType()},
                                                       .micro_use = MicroUse::kFold})};
}

DRYDOCK_OP_NAMED(MicroSum, "_MicroSum", .family = "virtual", .signature = "_MicroSum()(input)",
                 .infer = InferSame, .shard = ShardElementwise, .gradient = GradientPassedOn,
                 .lower = LowerMicroSum, .evaluate = EvaluateCopy, .flops = NoFlops,
                 .cost = CostFamily::kFree, .accepts_layout = true, .joins_micro_batches = true);

// ---- In front of weights ------------------------------------------------------------------------

/// Attribute of additions and their sum: the type of the number that stands for the gradient.
constexpr std::string_view kTokenType = "token_type";

/// That number is cast to the type of the sum.
bool CastsBack(const AttrMap& attrs) {
  const auto form = attrs.find(kTokenForm);
  return form != attrs.end() && form->second == Attr(std::string(kTokenCastBack));
}

/// Gradients of a weight that is cast are added as they are before the derivative of the cast: the
/// reference adds behind the Cast (graph_util/pipeline_split_utils.cc, AddVirtualAssignAdd), and
/// AssignAdd takes a value of another type than its sum (pass/remove_cast_before_assign_add.cc).
ValueId BeforeCast(const GradientContext& context, ValueId gradient) {
  const Graph& graph = context.builder.graph();
  const Value& value = graph.at(gradient);
  if (value.kind != ValueKind::kOutput) {
    return gradient;
  }
  const Node& producer = graph.at(value.producer);
  return producer.entry->is_cast && producer.phase == Phase::kBackward ? producer.inputs.front()
                                                                       : gradient;
}

/// The mean over the ranks whose sum `gradient` is.
Result<ValueId> ShareOf(const GradientContext& context, ValueId gradient) {
  const auto share = 1.0 / static_cast<double>(GroupSize(*context.node.group));
  const ValueId scalar = context.builder.AddScalar(share, context.TypeOf(gradient).dtype);
  return context.Emit(ops::kMul, {gradient, scalar});
}

Result<std::vector<ValueId>> VirtualAssignAddGradient(const GradientContext& context) {
  const AttrMap& use = context.node.attrs;
  const ValueId accumulator = context.node.inputs[1];
  const DType dtype = context.TypeOf(accumulator).dtype;
  const ValueId arriving = OutputGradient(context);
  const ValueId before = use.contains(kAddsBeforeCast) ? BeforeCast(context, arriving) : arriving;
  ValueId gradient = before;
  if (context.node.group.has_value()) {
    DRYDOCK_TRY(gradient, CastTo(context, arriving, dtype));
    DRYDOCK_TRY(gradient, context.EmitCollective(ops::kReduceScatter, gradient, *context.node.group,
                                                 {{"op", "sum"}}));
    DRYDOCK_TRY(const bool mean, BoolAttr(use, "mean_flag", false));
    if (mean) {
      DRYDOCK_TRY(gradient, ShareOf(context, gradient));
    }
  }
  AttrMap attrs;
  const auto form = use.find(kTokenForm);
  if (form != use.end() && context.TypeOf(before).dtype != dtype) {
    attrs = {*form,
             {std::string(kTokenType), std::string(DTypeName(context.TypeOf(before).dtype))}};
  }
  DRYDOCK_TRY(const ValueId token,
              context.Emit("_AccumulateGradient", {accumulator, gradient}, std::move(attrs)));
  return std::vector<ValueId>{token, kNoValue};
}

/// Tokens of all users; their sum itself is not needed.
std::vector<ValueId> TokensOf(const GradientContext& context) {
  const ValueId arriving = OutputGradient(context);
  const Value& value = context.builder.graph().at(arriving);
  const Node& producer = context.builder.graph().at(value.producer);
  return producer.entry->unordered_effect ? std::vector<ValueId>{arriving} : producer.inputs;
}

constexpr std::string_view kProduct = "MatMul";

/// The gradients behind the tokens as matrix products of the same form; empty if some is not.
std::vector<Node> ProductsOf(const GradientContext& context, const std::vector<ValueId>& tokens) {
  const Graph& graph = context.builder.graph();
  std::vector<Node> products;
  for (const ValueId token : tokens) {
    const Node& addition = graph.at(graph.at(token).producer);
    if (!addition.entry->unordered_effect) {
      return {};
    }
    const Value& gradient = graph.at(addition.inputs[1]);
    if (gradient.kind != ValueKind::kOutput || graph.at(gradient.producer).op != kProduct) {
      return {};
    }
    const Node& product = graph.at(gradient.producer);
    const Node& first = products.empty() ? product : products.front();
    if (product.attrs != first.attrs || product.inputs.size() != first.inputs.size() ||
        !std::ranges::equal(product.inputs, first.inputs, [&](ValueId a, ValueId b) {
          return context.TypeOf(a) == context.TypeOf(b);
        })) {
      return {};
    }
    products.push_back(product);
  }
  return products;
}

/// One token for all: of the product of their operands, joined where they are summed over.
Result<std::vector<ValueId>> JoinProducts(const GradientContext& context,
                                          std::vector<ValueId> tokens) {
  const std::vector<Node> products = ProductsOf(context, tokens);
  if (products.size() < 2) {
    return tokens;
  }
  const Graph& graph = context.builder.graph();
  const Node addition = graph.at(graph.at(tokens.front()).producer);
  const Node& first = products.front();
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < 2; ++i) {
    DRYDOCK_TRY(const bool transposed,
                BoolAttr(first.attrs, i == 0 ? "transpose_a" : "transpose_b", false));
    std::vector<ValueId> parts;
    parts.reserve(products.size());
    for (const Node& product : products) {
      parts.push_back(product.inputs[i]);
    }
    const std::int64_t axis = (i == 0) == transposed ? 0 : 1;
    DRYDOCK_TRY(const ValueId joined,
                context.Emit(ops::kConcat, std::move(parts), {{"axis", axis}}));
    operands.push_back(joined);
  }
  DRYDOCK_TRY(const ValueId product, context.Emit(first.op, std::move(operands), first.attrs));
  DRYDOCK_TRY(const ValueId token,
              context.Emit(addition.op, {addition.inputs[0], product}, addition.attrs));
  for (const ValueId one : tokens) {  // Without an effect they are removed with all that is dead.
    Node& abandoned = context.builder.mutable_graph().nodes[ToIndex(graph.at(one).producer)];
    abandoned.entry = FindOp(ops::kVirtualAssignAdd);
    abandoned.op = ops::kVirtualAssignAdd;
    abandoned.attrs = {};
  }
  return std::vector<ValueId>{token};
}

/// The sum over all micro batches, then over the ranks that hold the same slice.
Result<std::vector<ValueId>> MirrorMicroStepGradient(const GradientContext& context) {
  const ValueId accumulator = context.node.inputs[1];
  std::vector<ValueId> operands = TokensOf(context);
  if (context.node.attrs.contains(kJoinsProducts)) {
    DRYDOCK_TRY(operands, JoinProducts(context, std::move(operands)));
  }
  AttrMap type;
  const Graph& graph = context.builder.graph();
  const AttrMap& first = graph.at(graph.at(operands.front()).producer).attrs;
  if (const auto of_use = first.find(kTokenType); of_use != first.end() && !CastsBack(first)) {
    type.insert(*of_use);
  }
  operands.insert(operands.begin(), accumulator);
  DRYDOCK_TRY(const ValueId sum,
              context.Emit("_AccumulatedGradient", std::move(operands), std::move(type)));
  if (context.node.attrs.contains(kSentBack)) {
    return std::vector<ValueId>{sum, kNoValue};
  }
  ValueId gradient = sum;
  if (context.node.group.has_value()) {
    AttrMap attrs = {{"op", "sum"}};
    if (const auto fusion = context.node.attrs.find("fusion"); fusion != context.node.attrs.end()) {
      attrs.insert(*fusion);
    }
    DRYDOCK_TRY(gradient, context.EmitCollective(ops::kAllReduce, sum, *context.node.group,
                                                 std::move(attrs)));
    DRYDOCK_TRY(const bool mean, BoolAttr(context.node.attrs, "mean_flag", false));
    if (mean) {
      DRYDOCK_TRY(gradient, ShareOf(context, gradient));
    }
  }
  DRYDOCK_TRY(const bool hands_over, BoolAttr(context.node.attrs, kHandsOver, false));
  if (!hands_over) {
    DRYDOCK_TRY(gradient, context.Emit("_FinishGradient", {sum, gradient}));
  }
  return std::vector<ValueId>{gradient, kNoValue};
}

DRYDOCK_OP_NAMED(VirtualAssignAdd, "_VirtualAssignAdd", .family = "virtual",
                 .signature = "_VirtualAssignAdd()(input, accumulator)", .kind = OpKind::kView,
                 .infer = InferFirst, .gradient = VirtualAssignAddGradient, .lower = LowerToOperand,
                 .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kFree,
                 .steers = true);
DRYDOCK_OP_NAMED(MirrorMicroStep, "_MirrorMicroStepOperator", .family = "virtual",
                 .signature =
                     "_MirrorMicroStepOperator(group='', dev_num=1, mean_flag=False)"
                     "(input, accumulator)",
                 .kind = OpKind::kView, .infer = InferFirst, .gradient = MirrorMicroStepGradient,
                 .lower = LowerToOperand, .evaluate = EvaluateCopy, .flops = NoFlops,
                 .cost = CostFamily::kFree, .steers = true, .is_mirror = true);

// ---- Accumulation -------------------------------------------------------------------------------

/// The kernel, known as one that writes in place.
KernelId Update(const LowerContext& context, std::string_view name, std::vector<KernelId> inputs) {
  const KernelId kernel = context.builder.Kernel({.name = name,
                                                  .inputs = std::move(inputs),
                                                  .results = {context.InputType(0)},
                                                  .shares = {0}});
  context.builder.graph().at(kernel).update = true;
  return kernel;
}

/// The type of the numbers that stand for a gradient: that of the sum unless the node says another.
DType TokenTypeOf(const LowerContext& context) {
  const DType of_sum = context.InputType(0).dtype;
  const Result<std::string> said = TextAttr(context.node.attrs, kTokenType, "");
  return said && !said->empty() ? ParseDType(*said).value_or(of_sum) : of_sum;
}

KernelId Scalar(const LowerContext& context, DType dtype, std::string_view text) {
  return context.builder.Constant({.shape = {}, .dtype = dtype}, std::string(text));
}

/// A scalar, not before `kernel` is done.
KernelId Token(const LowerContext& context, KernelId scalar, KernelId kernel) {
  return context.builder.Virtual(KernelKind::kDepend, {scalar, kernel});
}

Result<std::vector<KernelId>> LowerAccumulate(const LowerContext& context) {
  const KernelId kernel =
      Update(context, "AssignAdd", {context.inputs[0], context.inputs[1], context.first_state});
  const KernelId token = Token(context, Scalar(context, TokenTypeOf(context), kZeroText), kernel);
  if (!CastsBack(context.node.attrs)) {
    return std::vector<KernelId>{token};
  }
  const DType dtype = context.InputType(0).dtype;
  const KernelId type = context.builder.Argument(Attr(std::string(DTypeName(dtype))));
  return std::vector<KernelId>{context.builder.Kernel(
      {.name = ops::kCast, .inputs = {token, type}, .results = {{.shape = {}, .dtype = dtype}}})};
}

Result<std::vector<KernelId>> LowerAccumulated(const LowerContext& context) {
  const std::vector<KernelId> tokens(context.inputs.begin() + 1, context.inputs.end());
  const KernelId sum =
      context.builder.Kernel({.name = ops::kAddN,
                              .inputs = tokens,
                              .results = {{.shape = {}, .dtype = TokenTypeOf(context)}},
                              .micro_use = MicroUse::kAll});
  return std::vector<KernelId>{
      context.builder.Virtual(KernelKind::kDepend, {context.inputs[0], sum})};
}

/// The scalar is in device memory, though most often nobody reads it.
Result<std::vector<KernelId>> LowerFinish(const LowerContext& context) {
  const KernelId one = Scalar(context, context.InputType(0).dtype, kOneText);
  KeepUnread(context.builder.graph(), one);
  const KernelId kernel =
      Update(context, "Assign", {context.inputs[0], context.inputs[1], context.first_state});
  return std::vector<KernelId>{Token(context, one, kernel)};
}

Result<std::vector<NdArray>> EvaluateSecond(const EvaluateContext& context) {
  return std::vector<NdArray>{context.inputs[1]};
}

Result<std::vector<NdArray>> EvaluateAccumulate(const EvaluateContext& context) {
  return std::vector<NdArray>{
      MapArrays(context.inputs[0], context.inputs[1], context.inputs[0].shape, SumOf)};
}

DRYDOCK_OP_NAMED(AccumulateGradient, "_AccumulateGradient", .family = "virtual",
                 .signature = "_AccumulateGradient()(accumulator, gradient)",
                 .kind = OpKind::kUpdate, .infer = InferFirst, .gradient = GradientNotNeeded,
                 .lower = LowerAccumulate, .evaluate = EvaluateAccumulate,
                 .flops = FlopsPerOutput<1>, .cost = CostFamily::kFree, .writes = "0",
                 .takes_reference = true, .unordered_effect = true);
DRYDOCK_OP_NAMED(AccumulatedGradient, "_AccumulatedGradient", .family = "virtual",
                 .signature = "_AccumulatedGradient()(accumulator, *tokens)", .kind = OpKind::kView,
                 .infer = InferFirst, .gradient = GradientNotNeeded, .lower = LowerAccumulated,
                 .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kFree,
                 .joins_micro_batches = true, .takes_reference = true);
DRYDOCK_OP_NAMED(FinishGradient, "_FinishGradient", .family = "virtual",
                 .signature = "_FinishGradient()(accumulated, gradient)", .kind = OpKind::kUpdate,
                 .infer = InferFirst, .gradient = GradientNotNeeded, .lower = LowerFinish,
                 .evaluate = EvaluateSecond, .flops = NoFlops, .cost = CostFamily::kFree,
                 .writes = "0", .takes_reference = true, .unordered_effect = true);

// ---- Without accumulators -----------------------------------------------------------------------

/// The sum over all micro batches in one piece.
Result<std::vector<ValueId>> MicroJoinGradient(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId sum, context.Emit("_AddMicroBatches", {OutputGradient(context)}));
  return std::vector<ValueId>{sum};
}

Result<std::vector<KernelId>> LowerAddMicroBatches(const LowerContext& context) {
  return std::vector<KernelId>{context.builder.Kernel({.name = ops::kAddN,
                                                       .inputs = {context.inputs[0]},
                                                       .results = {context.OutputType()},
                                                       .micro_use = MicroUse::kAll})};
}

DRYDOCK_OP_NAMED(VirtualMicroJoin, "_VirtualMicroJoin", .family = "virtual",
                 .signature = "_VirtualMicroJoin()(input)", .kind = OpKind::kView,
                 .infer = InferSame, .gradient = MicroJoinGradient, .lower = LowerToOperand,
                 .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kFree,
                 .steers = true);
DRYDOCK_OP_NAMED(AddMicroBatches, "_AddMicroBatches", .family = "virtual",
                 .signature = "_AddMicroBatches()(input)", .infer = InferSame,
                 .gradient = GradientNotNeeded, .lower = LowerAddMicroBatches,
                 .evaluate = EvaluateCopy, .flops = FlopsPerOutput<1>, .cost = CostFamily::kFree,
                 .joins_micro_batches = true);

// ---- Behind the gradients -----------------------------------------------------------------------

/// Several values under one name: who waits for it waits for all of them.
Result<std::vector<KernelId>> LowerAll(const LowerContext& context) {
  return std::vector<KernelId>{context.builder.Virtual(
      KernelKind::kMakeTuple, {context.inputs.begin(), context.inputs.end()})};
}

DRYDOCK_OP_NAMED(All, "_All", .family = "virtual", .signature = "_All()(*values)",
                 .kind = OpKind::kView, .infer = InferFirst, .gradient = GradientNotNeeded,
                 .lower = LowerAll, .evaluate = EvaluateCopy, .flops = NoFlops,
                 .cost = CostFamily::kFree, .takes_reference = true);

}  // namespace
}  // namespace drydock::strategies
