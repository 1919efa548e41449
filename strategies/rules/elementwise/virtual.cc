#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Operators without a kernel: views, the data set's entry, the loss divisor, the gradient
/// placeholder; and Cast, which takes whatever slice it gets.
namespace drydock::strategies {
namespace {

// ---- Cast ---------------------------------------------------------------------------------------

Result<std::vector<TensorType>> InferCast(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const std::string name, TextAttr(*op.attrs, "dtype", ""));
  if (name.empty()) {
    return FailOp(op, "attribute", "'Cast' needs attribute 'dtype', the element type to cast to");
  }
  DRYDOCK_TRY(const DType dtype, ParseDType(name));
  return std::vector<TensorType>{{.shape = op.inputs[0].shape, .dtype = dtype}};
}

Result<std::vector<ValueId>> CastGradient(const GradientContext& context) {
  const DType dtype = context.TypeOf(context.node.inputs[0]).dtype;
  if (!IsFloating(dtype) && !IsComplex(dtype)) {
    return NoGradients(context);
  }
  DRYDOCK_TRY(const ValueId gradient, CastTo(context, OutputGradient(context), dtype));
  return std::vector<ValueId>{gradient};
}

/// Floating types are all held as doubles; integers are cut towards zero, bool is "not zero".
Result<std::vector<NdArray>> EvaluateCast(const EvaluateContext& context) {
  const DType dtype = context.output_types[0].dtype;
  const bool exact = IsFloating(dtype) || IsComplex(dtype);
  return std::vector<NdArray>{MapArray(context.inputs[0], [&](double x) {
    if (dtype == DType::kBool) {
      return x != 0 ? 1.0 : 0.0;
    }
    return exact ? x : std::trunc(x);
  })};
}

/// Types among which casts are joined, with their width in bytes; class 0 never takes part (bool,
/// complex numbers, bfloat16).
struct CastRank {
  int kind = 0;
  int width = 0;
};

CastRank RankOf(DType dtype) {
  const auto width = static_cast<int>(DTypeBytes(dtype));
  switch (dtype) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
      return {.kind = 1, .width = width};
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64:
      return {.kind = 2, .width = width};
    case DType::kFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      return {.kind = 3, .width = width};
    default:
      return {};
  }
}

/// A cast to the type that is there; a cast of a cast whose step between lost nothing, or that
/// loses step by step. Source: mindspore irpass/cast_eliminate.cc (behaviour only).
std::optional<Simplification> SimplerCast(const SimplifyContext& context) {
  const ValueId x = context.node.inputs[0];
  const DType to = context.TypeOf(context.node.outputs[0]).dtype;
  if (context.TypeOf(x).dtype == to) {
    return Simplification{.result = x};
  }
  const Node* const inner = context.ProducerOf(x);
  if (inner == nullptr || inner->entry != context.node.entry) {
    return std::nullopt;
  }
  const CastRank first = RankOf(context.TypeOf(inner->inputs[0]).dtype);
  const CastRank between = RankOf(context.TypeOf(x).dtype);
  const CastRank last = RankOf(to);
  const bool alike = first.kind != 0 && first.kind == between.kind;
  const bool loses_nothing = alike && first.width <= between.width;
  const bool loses_in_steps = alike && last.kind == first.kind && first.width >= between.width &&
                              between.width >= last.width;
  if (loses_nothing || loses_in_steps) {
    return Simplification{.inputs = {inner->inputs[0]}, .attrs = context.node.attrs};
  }
  return std::nullopt;
}

DRYDOCK_OP(Cast, .family = "elementwise_unary", .signature = "Cast()(input, #dtype)",
           .kind = OpKind::kTransparent, .folding = Folding::kElementwise, .simplify = SimplerCast,
           .infer = InferCast, .shard = ShardElementwise, .gradient = CastGradient,
           .runs_late = true, .evaluate = EvaluateCast, .flops = NoFlops, .cost = CostFamily::kCast,
           .example = "(dtype='float16')((4, 6))", .is_cast = true);

/// A copy whose elements lie side by side, of whatever slice is there.
DRYDOCK_OP(Contiguous, .family = "elementwise_unary", .signature = "Contiguous()(input)",
           .kind = OpKind::kTransparent, .infer = InferSame, .shard = ShardElementwise,
           .gradient = GradientPassedOn, .evaluate = EvaluateCopy, .flops = NoFlops,
           .cost = CostFamily::kCast);

// ---- Views --------------------------------------------------------------------------------------

/// The value, not before the other operands; those that a second run waits for are one tuple.
Result<std::vector<KernelId>> LowerDepend(const LowerContext& context) {
  std::vector<KernelId> inputs = {context.inputs.begin(), context.inputs.end()};
  if (context.node.attrs.contains(kRecomputeDepend)) {
    const KernelId others =
        context.builder.Virtual(KernelKind::kMakeTuple, {inputs.begin() + 1, inputs.end()});
    inputs = {inputs.front(), others};
  }
  const KernelId depend = context.builder.Virtual(KernelKind::kDepend, std::move(inputs));
  if (context.node.attrs.contains(kJoinsSends)) {
    KernelNode& joined = context.builder.graph().at(depend);
    joined.micro_use = MicroUse::kAll;
    const bool made = context.graph.at(context.node.inputs.front()).kind == ValueKind::kOutput;
    if (context.OutputType().shape.empty() && !made) {
      const KernelId zero = context.builder.Constant(context.OutputType(), std::string(kZeroText));
      context.builder.graph().at(depend).inputs.front() = zero;
    }
  }
  return std::vector<KernelId>{depend};
}

DRYDOCK_OP(Load, .family = "view", .signature = "Load()(variable)", .kind = OpKind::kView,
           .infer = InferSame, .gradient = GradientPassedOn, .lower = LowerToOperand,
           .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kFree);
DRYDOCK_OP(Depend, .family = "view", .signature = "Depend()(value, expr)", .kind = OpKind::kView,
           .infer = InferFirst, .gradient = GradientPassedOn, .lower = LowerDepend,
           .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kFree,
           .takes_reference = true, .gives_reference = true);
DRYDOCK_OP(StopGradient, .family = "view", .signature = "StopGradient()(value)",
           .kind = OpKind::kNoGradient, .infer = InferSame, .gradient = GradientNotNeeded,
           .lower = LowerToOperand, .evaluate = EvaluateCopy, .flops = NoFlops,
           .cost = CostFamily::kFree);
/// Writes its operand to a file when a job runs; its kernel is not counted.
DRYDOCK_OP(TensorDump, .family = "view", .signature = "TensorDump()(#file, input_x)",
           .kind = OpKind::kNoGradient, .infer = InferSame, .gradient = GradientNotNeeded,
           .lower = LowerToOperand, .evaluate = EvaluateCopy, .flops = NoFlops,
           .cost = CostFamily::kFree, .example = "()((4, 6))");
DRYDOCK_OP(Identity, .family = "elementwise_unary", .signature = "Identity()(input_x)",
           .infer = InferSame, .shard = ShardElementwise, .gradient = GradientPassedOn,
           .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kFree,
           .elementwise = true, .accepts_layout = true);

// ---- Loss divisor -------------------------------------------------------------------------------

/// Backward divides by the number of ranks that compute the same loss; integers pass unchanged.
Result<std::vector<ValueId>> VirtualDivGradient(const GradientContext& context) {
  DRYDOCK_TRY(const double divisor, FloatAttr(context.node.attrs, "divisor", 1.0));
  const ValueId dout = OutputGradient(context);
  const DType dtype = context.TypeOf(dout).dtype;
  if (!IsFloating(dtype) && !IsComplex(dtype)) {
    return GradientPassedOn(context);
  }
  const ValueId scalar = context.builder.AddScalar(divisor, dtype);
  DRYDOCK_TRY(const ValueId gradient, context.Emit(ops::kRealDiv, {dout, scalar}));
  return std::vector<ValueId>{gradient};
}

DRYDOCK_OP_NAMED(VirtualDiv, "_VirtualDiv", .family = "virtual",
                 .signature = "_VirtualDiv(divisor=1.0)(input)", .kind = OpKind::kView,
                 .infer = InferSame, .gradient = VirtualDivGradient, .lower = LowerToOperand,
                 .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kFree,
                 .steers = true);

// ---- Data set -----------------------------------------------------------------------------------

/// Every input is an output. Source: mindspore ops_info/batch_parallel_info.cc.
Result<std::vector<TensorType>> InferAll(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, std::string::npos));
  return std::vector<TensorType>(op.inputs.begin(), op.inputs.end());
}

tl::unexpected<Error> FailDataset(const OpView& op, const Strategy& strategy, std::string why) {
  return FailOp(op, "strategy-dataset",
                "dataset strategy " + StrategyText(strategy) + " " + std::move(why),
                "cut one dimension of every input, all into the same number of parts");
}

/// The dimension an entry cuts, if any. An entry may cut one dimension only.
Result<std::optional<std::size_t>> CutDim(const OpView& op, const Strategy& strategy,
                                          std::size_t input) {
  std::optional<std::size_t> cut = {};
  for (std::size_t d = 0; d < strategy[input].size(); ++d) {
    if (strategy[input][d] == 1) {
      continue;
    }
    if (cut.has_value()) {
      return FailDataset(op, strategy,
                         "cuts more than one dimension of input " + std::to_string(input));
    }
    cut = d;
  }
  return cut;
}

/// The entry of most dimensions gives the device matrix; the cut dimension of every other entry
/// lies on its cut axis.
Result<ShardRule> ShardDataset(const OpView& op, const Strategy& strategy) {
  const std::size_t count = op.inputs.size();
  std::size_t longest = 0;
  for (std::size_t i = 1; i < count; ++i) {
    longest = op.inputs[i].shape.size() > op.inputs[longest].shape.size() ? i : longest;
  }
  const std::size_t rank = op.inputs[longest].shape.size();
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank)};
  DRYDOCK_TRY(const bool right, BoolAttr(*op.attrs, "dataset_repeat_dim_right", false));
  rule.repeat_on_left = !right;
  rule.loss_divisor_is_one = true;
  for (const TensorType& input : op.inputs) {
    rule.inputs.emplace_back(input.shape.size());
  }
  if (rank > 0) {
    rule.inputs[longest] = AxesInOrder(rank);
  }
  bool fits = strategy.size() == count;
  for (std::size_t i = 0; fits && i < count; ++i) {
    fits = strategy[i].size() == op.inputs[i].shape.size();
  }
  if (fits) {
    DRYDOCK_TRY(const auto longest_cut, CutDim(op, strategy, longest));
    for (std::size_t i = 0; i < count; ++i) {
      DRYDOCK_TRY(const auto cut, CutDim(op, strategy, i));
      if (i == longest || !cut.has_value()) {
        continue;
      }
      if (!longest_cut.has_value() || strategy[i][*cut] != strategy[longest][*longest_cut]) {
        return FailDataset(op, strategy,
                           "cuts input " + std::to_string(i) + " into " +
                               std::to_string(strategy[i][*cut]) + " parts but input " +
                               std::to_string(longest) + " differently");
      }
      rule.inputs[i][*cut] = {static_cast<AxisIndex>(*longest_cut)};
    }
  }
  rule.outputs = rule.inputs;
  return rule;
}

Result<std::vector<ValueId>> DatasetGradient(const GradientContext& context) {
  return std::vector<ValueId>(context.output_gradients.begin(), context.output_gradients.end());
}

Result<std::vector<NdArray>> EvaluateAll(const EvaluateContext& context) {
  return std::vector<NdArray>(context.inputs.begin(), context.inputs.end());
}

DRYDOCK_OP_NAMED(VirtualDataset, "_VirtualDataset", .family = "dataset",
                 .signature = "_VirtualDataset()(*data)", .kind = OpKind::kDataset,
                 .infer = InferAll, .shard = ShardDataset, .default_strategy = DefaultBatchAll,
                 .gradient = DatasetGradient, .evaluate = EvaluateAll, .flops = NoFlops,
                 .cost = CostFamily::kFree, .accepts_layout = true, .accepts_out_layout = true,
                 .layouts_as_given = true, .mirrored = "-", .example = "()((8, 6), int32(8))");

// ---- Gradient placeholder -----------------------------------------------------------------------

/// (loss, values...) -> one gradient for each value, of the value's type. With attribute has_sens
/// the last operand is the gradient to start from; of_function: a function asks, not a Cell.
Result<std::vector<TensorType>> InferGradient(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, std::string::npos));
  if (op.absent != 0) {
    return FailOp(op, "input-count", "'_Gradient' takes a loss and values, none of them left out");
  }
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(const bool has_sens, BoolAttr(*op.attrs, "has_sens", false));
  return std::vector<TensorType>(op.inputs.begin() + 1, op.inputs.end() - (has_sens ? 1 : 0));
}

DRYDOCK_OP_NAMED(Gradient, "_Gradient", .family = "virtual",
                 .signature = "_Gradient(has_sens=False, of_function=False)(loss, *values)",
                 .kind = OpKind::kGradient, .infer = InferGradient, .gradient = GradientNotNeeded,
                 .flops = NoFlops, .cost = CostFamily::kFree, .mirrored = "-");

}  // namespace
}  // namespace drydock::strategies
