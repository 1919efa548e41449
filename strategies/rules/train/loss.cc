#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/strategy_check.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Losses of classifiers (mindspore ops_info/loss_info.cc). The class dimension is never cut.
namespace drydock::strategies {
namespace {

/// softmax(x) of one row of `count` elements starting at `begin`.
std::vector<double> RowSoftmax(const NdArray& x, std::size_t begin, std::size_t count) {
  double largest = x.data[begin];
  for (std::size_t c = 1; c < count; ++c) {
    largest = std::max(largest, x.data[begin + c]);
  }
  std::vector<double> row(count);
  double sum = 0;
  for (std::size_t c = 0; c < count; ++c) {
    row[c] = std::exp(x.data[begin + c] - largest);
    sum += row[c];
  }
  for (double& value : row) {
    value /= sum;
  }
  return row;
}

Status ExpectLabels(const OpView& op, const Shape& wanted) {
  if (op.inputs[1].shape != wanted) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' of logits " + TupleText(op.inputs[0].shape) +
                      " takes labels of shape " + TupleText(wanted) + ", but they have shape " +
                      TupleText(op.inputs[1].shape));
  }
  return {};
}

Status ExpectIntegerLabels(const OpView& op) {
  const DType dtype = op.inputs[1].dtype;
  if (dtype == DType::kInt32 || dtype == DType::kInt64) {
    return {};
  }
  return FailOp(op, "dtype",
                "'" + std::string(op.op) + "' takes int32 or int64 labels, but they are " +
                    std::string(DTypeName(dtype)));
}

/// -1 for a label outside [0, classes).
std::int64_t ClassOf(double label, std::size_t classes) {
  const auto value = static_cast<std::int64_t>(label);
  return value >= 0 && value < static_cast<std::int64_t>(classes) ? value : -1;
}

// ---- SoftmaxCrossEntropyWithLogits: logits, labels (n, c) -> loss (n), gradient of logits (n, c)

Result<std::vector<TensorType>> InferCrossEntropy(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectLabels(op, op.inputs[0].shape));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  const TensorType& logits = op.inputs[0];
  return std::vector<TensorType>{{.shape = {logits.shape[0]}, .dtype = logits.dtype}, logits};
}

Result<ShardRule> ShardCrossEntropy(const OpView& op, const Strategy& /*strategy*/) {
  const std::size_t rank = op.inputs[0].shape.size();
  const TensorAxes axes = AxesInOrder(rank);
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank),
                 .inputs = {axes, axes},
                 .outputs = {AxesInOrder(op.outputs[0].shape.size()), axes},
                 .loss_output = 1};
  rule.uncut.push_back({.axis = static_cast<AxisIndex>(rank) - 1, .what = "the class dimension"});
  return rule;
}

/// The forward kernel already computed the gradient of the logits; labels get none.
Result<std::vector<ValueId>> GradientOfCrossEntropy(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  DRYDOCK_TRY(const ValueId column,
              context.Emit("ExpandDims", {OutputGradient(context)}, {{"axis", -1}}));
  DRYDOCK_TRY(const ValueId gradient, context.Emit(ops::kMul, {context.node.outputs[1], column}));
  return std::vector<ValueId>{gradient, kNoValue};
}

/// loss = -sum(labels * log(softmax(logits))), gradient = softmax(logits) * sum(labels) - labels
/// with labels that sum to 1.
Result<std::vector<NdArray>> EvaluateCrossEntropy(const EvaluateContext& context) {
  const NdArray& logits = context.inputs[0];
  const NdArray& labels = context.inputs[1];
  const auto classes = static_cast<std::size_t>(logits.shape[1]);
  NdArray loss = FilledArray({logits.shape[0]}, 0.0);
  NdArray gradient{.shape = logits.shape};
  for (std::size_t n = 0; n < loss.data.size(); ++n) {
    const std::vector<double> row = RowSoftmax(logits, n * classes, classes);
    for (std::size_t c = 0; c < classes; ++c) {
      const double label = labels.data[n * classes + c];
      loss.data[n] -= label == 0 ? 0 : label * std::log(row[c]);
      gradient.data.push_back(row[c] - label);
    }
  }
  return std::vector<NdArray>{std::move(loss), std::move(gradient)};
}

// ---- SparseSoftmaxCrossEntropyWithLogits: logits (n, c), labels (n) -> mean loss, or the logits'
// gradient

/// Logits (n, c) and labels (n).
Status ExpectLogitsOfSamples(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectIntegerLabels(op));
  return ExpectLabels(op, {op.inputs[0].shape[0]});
}

Result<std::vector<TensorType>> InferSparseCrossEntropy(const OpView& op) {
  DRYDOCK_TRY(const bool is_grad, BoolAttr(*op.attrs, "is_grad", false));
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectLogitsOfSamples(op));
  return std::vector<TensorType>{is_grad ? op.inputs[0]
                                         : TensorType{.shape = {}, .dtype = op.inputs[0].dtype}};
}

/// Purely data parallel: every rank keeps the mean over its own samples, which is no sum and no
/// mean over all of them; the loss is not divided either. A cut batch must use all devices. Source:
/// mindspore ops_info/batch_parallel_info.cc.
Result<ShardRule> ShardSparseCrossEntropy(const OpView& op, const Strategy& strategy) {
  const bool cut = !strategy.empty() && !strategy[0].empty() && strategy[0][0] > 1;
  if (cut && op.device_count > 0 && strategy[0][0] != op.device_count) {
    return FailOp(op, "strategy-batch",
                  CutText(op, 0, 0, strategy[0][0]) +
                      ", but the batch must be whole or cut into all " +
                      std::to_string(op.device_count) + " devices");
  }
  std::vector<TensorAxes> inputs = {{{0}, {}}, {{0}}};
  if (op.inputs.size() > 2) {
    inputs.push_back(TensorAxes(op.inputs[2].shape.size()));
  }
  return ShardRule{.axis_count = 1,
                   .inputs = std::move(inputs),
                   .outputs = {TensorAxes(op.outputs[0].shape.size())},
                   .loss_divisor_is_one = true};
}

/// True if a gradient is the one that the backward part starts with.
bool IsSeedOfOne(const GradientContext& context, ValueId gradient) {
  const Graph& graph = context.builder.graph();
  const Value& value = graph.at(gradient);
  return value.kind == ValueKind::kOutput && graph.at(value.producer).op == "OnesLike";
}

Result<std::vector<TensorType>> InferScaledSparseCrossEntropy(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectLogitsOfSamples(op));
  return std::vector<TensorType>{op.inputs[0]};
}

constexpr char kScaledGradient[] = "_SparseCrossEntropyGrad";

/// An incoming gradient other than one scales the shares of the samples.
Result<std::vector<ValueId>> GradientOfSparseCrossEntropy(const GradientContext& context) {
  std::vector<ValueId> operands = context.node.inputs;
  const ValueId incoming = OutputGradient(context);
  if (IsSeedOfOne(context, incoming)) {
    DRYDOCK_TRY(const ValueId unit, context.Emit(context.node.op, operands, {{"is_grad", true}}));
    return std::vector<ValueId>{unit, kNoValue};
  }
  operands.push_back(incoming);
  DRYDOCK_TRY(const ValueId gradient, context.Emit(kScaledGradient, operands, {}));
  return std::vector<ValueId>{gradient, kNoValue};
}

Result<std::vector<NdArray>> EvaluateSparseCrossEntropy(const EvaluateContext& context) {
  const bool scaled = context.inputs.size() > 2;
  DRYDOCK_TRY(const bool asked, BoolAttr(context.attrs, "is_grad", false));
  const bool is_grad = asked || scaled;
  const NdArray& logits = context.inputs[0];
  const auto samples = static_cast<std::size_t>(logits.shape[0]);
  const auto classes = static_cast<std::size_t>(logits.shape[1]);
  const double incoming = scaled ? context.inputs[2].data[0] : 1;
  double loss = 0;
  NdArray gradient{.shape = logits.shape};
  for (std::size_t n = 0; n < samples; ++n) {
    const std::vector<double> row = RowSoftmax(logits, n * classes, classes);
    const std::int64_t label = ClassOf(context.inputs[1].data[n], classes);
    for (std::size_t c = 0; c < classes; ++c) {
      const bool hit = label == static_cast<std::int64_t>(c);
      loss -= hit ? std::log(row[c]) / static_cast<double>(samples) : 0;
      gradient.data.push_back(incoming * (row[c] - (hit ? 1 : 0)) / static_cast<double>(samples));
    }
  }
  return std::vector<NdArray>{is_grad ? std::move(gradient) : FilledArray({}, loss)};
}

/// Kernel of one-hot labels, which loss and gradient share: losses of the samples, gradient.
std::vector<KernelId> OneHotCrossEntropy(const LowerContext& context) {
  KernelBuilder& builder = context.builder;
  const KernelId logits = context.inputs[0];
  const KernelId labels = context.inputs[1];
  const TensorType type = context.InputType(0);
  const TensorType samples = {.shape = {type.shape[0]}, .dtype = type.dtype};
  const auto own = [&builder](Shape shape, DType dtype) {
    return builder.Constant({.shape = std::move(shape), .dtype = dtype}, "");
  };
  const KernelId both = builder.Once("one-hot cross entropy", {logits, labels}, [&] {
    const KernelId rows = builder.Kernel({.name = ops::kReshape,
                                          .inputs = {logits, own({2}, DType::kInt64)},
                                          .results = {type},
                                          .shares = {0}});
    const KernelId classes = builder.Kernel({.name = ops::kReshape,
                                             .inputs = {labels, own({1}, DType::kInt64)},
                                             .results = {context.InputType(1)},
                                             .shares = {0}});
    const KernelId codes =
        builder.Kernel({.name = "OneHot",
                        .inputs = {classes, own({}, DType::kInt64), own({}, type.dtype),
                                   own({}, type.dtype), builder.Argument(std::int64_t{-1})},
                        .results = {type}});
    return builder.Kernel({.name = "SoftmaxCrossEntropyWithLogits",
                           .inputs = {rows, codes},
                           .results = {samples, type}});
  });
  return builder.Results(both);
}

/// The gradient of the samples times the share of each in the incoming one.
Result<std::vector<KernelId>> LowerScaledSparseCrossEntropy(const LowerContext& context) {
  const std::vector<KernelId> parts = OneHotCrossEntropy(context);
  const KernelId gradient = parts[1];
  KernelBuilder& builder = context.builder;
  builder.NoteResults(parts);
  const TensorType& type = context.OutputType(0);
  const TensorType samples = {.shape = {type.shape[0]}, .dtype = type.dtype};
  const TensorType one = {.shape = {1}, .dtype = DType::kInt64};
  const TensorType number = {.shape = {}, .dtype = type.dtype};
  const KernelId incoming =
      builder.Kernel({.name = "Tile",
                      .inputs = {context.inputs[2], builder.Constant(one, "")},
                      .results = {samples}});
  const KernelId shares = builder.Kernel({.name = ops::kRealDiv,
                                          .inputs = {incoming, builder.Constant(number, "")},
                                          .results = {samples}});
  const KernelId rows =
      builder.Kernel({.name = "ExpandDims",
                      .inputs = {shares, builder.Argument(std::int64_t{-1})},
                      .results = {TensorType{.shape = {type.shape[0], 1}, .dtype = type.dtype}},
                      .shares = {0}});
  return std::vector<KernelId>{
      builder.Kernel({.name = ops::kMul, .inputs = {gradient, rows}, .results = {type}})};
}

/// On Ascend: the mean of what the operator for one-hot labels gives, or its gradient times the
/// share of a sample.
Result<std::vector<KernelId>> LowerSparseCrossEntropy(const LowerContext& context) {
  DRYDOCK_TRY(const bool is_grad, BoolAttr(context.node.attrs, "is_grad", false));
  KernelBuilder& builder = context.builder;
  const std::vector<KernelId> parts = OneHotCrossEntropy(context);
  const TensorType axes = {.shape = {1}, .dtype = DType::kInt64};
  if (!is_grad) {
    const TensorType flag = {.shape = {}, .dtype = DType::kBool};
    return std::vector<KernelId>{builder.Kernel(
        {.name = "ReduceMean",
         .inputs = {parts[0], builder.Constant(axes, ""), builder.Constant(flag, "")},
         .results = {context.OutputType(0)}})};
  }
  const TensorType& type = context.OutputType(0);
  const TensorType shares = {.shape = {type.shape[0], 1}, .dtype = type.dtype};
  const KernelId scaled = builder.Kernel(
      {.name = ops::kMul, .inputs = {parts[1], builder.Constant(shares, "")}, .results = {type}});
  const TensorType extents = {.shape = {2}, .dtype = DType::kInt64};
  return std::vector<KernelId>{builder.Kernel({.name = ops::kReshape,
                                               .inputs = {scaled, builder.Constant(extents, "")},
                                               .results = {type},
                                               .shares = {0}})};
}

DRYDOCK_OP(SoftmaxCrossEntropyWithLogits, .family = "loss",
           .signature = "SoftmaxCrossEntropyWithLogits()(logits, labels)",
           .infer = InferCrossEntropy, .shard = ShardCrossEntropy,
           .default_strategy = DefaultBatchAll, .gradient = GradientOfCrossEntropy,
           .evaluate = EvaluateCrossEntropy, .flops = FlopsPerInput<8>,
           .cost = CostFamily::kCrossEntropy);

DRYDOCK_OP(
    SparseSoftmaxCrossEntropyWithLogits, .family = "loss",
    .signature = "SparseSoftmaxCrossEntropyWithLogits(is_grad=False, sens=1.0)(logits, labels)",
    .infer = InferSparseCrossEntropy, .shard = ShardSparseCrossEntropy,
    .default_strategy = DefaultBatchAll, .gradient = GradientOfSparseCrossEntropy,
    .lower = LowerSparseCrossEntropy, .evaluate = EvaluateSparseCrossEntropy,
    .flops = FlopsPerInput<8>, .cost = CostFamily::kCrossEntropy,
    .example = "()((4, 6), int32(4))");
DRYDOCK_OP_NAMED(ScaledSparseCrossEntropyGrad, kScaledGradient, .family = "gradient",
                 .signature = "_SparseCrossEntropyGrad()(logits, labels, sens)",
                 .infer = InferScaledSparseCrossEntropy, .shard = ShardSparseCrossEntropy,
                 .default_strategy = DefaultBatchAll, .gradient = GradientNotNeeded,
                 .lower = LowerScaledSparseCrossEntropy, .evaluate = EvaluateSparseCrossEntropy,
                 .flops = FlopsPerInput<8>, .cost = CostFamily::kCrossEntropy,
                 .example = "()((4, 6), int32(4), ())");

// ---- NLLLoss: logits (n, c) or (c), labels, weight (c) -> loss, total_weight

struct NllOptions {
  std::string reduction = {};
  std::int64_t ignore_index = -100;
};

Result<NllOptions> NllOptionsOf(const OpView& op) {
  NllOptions options = {};
  DRYDOCK_TRY(options.reduction, TextAttr(*op.attrs, "reduction", "mean"));
  DRYDOCK_TRY(options.ignore_index, IntAttr(*op.attrs, "ignore_index", -100));
  if (options.reduction != "mean" && options.reduction != "sum" && options.reduction != "none") {
    return FailOp(op, "reduction",
                  "reduction of '" + std::string(op.op) + "' is '" + options.reduction + "'",
                  "use 'mean', 'sum' or 'none'");
  }
  return options;
}

Result<std::vector<TensorType>> InferNllLoss(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectIntegerLabels(op));
  const TensorType& logits = op.inputs[0];
  const Shape batch(logits.shape.begin(), logits.shape.end() - 1);
  DRYDOCK_RETURN_IF_ERROR(ExpectLabels(op, batch));
  if (op.inputs[2].shape != Shape{logits.shape.back()}) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' of logits " + TupleText(logits.shape) +
                      " takes one weight for each class, but the weights have shape " +
                      TupleText(op.inputs[2].shape));
  }
  DRYDOCK_TRY(const NllOptions options, NllOptionsOf(op));
  return std::vector<TensorType>{
      {.shape = options.reduction == "none" ? batch : Shape{}, .dtype = logits.dtype},
      {.shape = {}, .dtype = op.inputs[2].dtype}};
}

/// Class and weight of every sample; weight 0 for a label that is ignored or outside the classes.
struct NllSample {
  std::size_t element = 0;  ///< Of the logits.
  double weight = 0;
};

std::vector<NllSample> NllSamples(const NdArray& labels, const NdArray& weight,
                                  std::int64_t ignore_index) {
  const std::size_t classes = weight.data.size();
  std::vector<NllSample> samples(labels.data.size());
  for (std::size_t n = 0; n < samples.size(); ++n) {
    const std::int64_t label = ClassOf(labels.data[n], classes);
    if (label >= 0 && label != ignore_index) {
      const auto at = static_cast<std::size_t>(label);
      samples[n] = {.element = n * classes + at, .weight = weight.data[at]};
    }
  }
  return samples;
}

Result<std::vector<NdArray>> EvaluateNllLoss(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const NllOptions options, NllOptionsOf(view));
  NdArray loss = FilledArray(context.output_types[0].shape, 0.0);
  double total = 0;
  const auto samples = NllSamples(context.inputs[1], context.inputs[2], options.ignore_index);
  for (std::size_t n = 0; n < samples.size(); ++n) {
    const double own = -samples[n].weight * context.inputs[0].data[samples[n].element];
    loss.data[options.reduction == "none" ? n : 0] += own;
    total += samples[n].weight;
  }
  if (options.reduction == "mean") {
    loss.data[0] /= total;
  }
  return std::vector<NdArray>{std::move(loss), FilledArray({}, total)};
}

Result<std::vector<ValueId>> GradientOfNllLoss(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  const Node& node = context.node;
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("NLLLossGrad",
                           {node.inputs[0], OutputGradient(context), node.inputs[1], node.inputs[2],
                            node.outputs[1]},
                           node.attrs));
  return std::vector<ValueId>{gradient, kNoValue, kNoValue};
}

/// logits, gradient of the loss, labels, weight, total_weight -> gradient of the logits.
Result<std::vector<NdArray>> EvaluateNllLossGrad(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const NllOptions options, NllOptionsOf(view));
  NdArray out = FilledArray(context.inputs[0].shape, 0.0);
  const auto samples = NllSamples(context.inputs[2], context.inputs[3], options.ignore_index);
  const double divisor = options.reduction == "mean" ? context.inputs[4].data.front() : 1;
  for (std::size_t n = 0; n < samples.size(); ++n) {
    const double gradient = context.inputs[1].data[options.reduction == "none" ? n : 0];
    out.data[samples[n].element] -= samples[n].weight * gradient / divisor;
  }
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(NLLLoss, .family = "loss",
           .signature = "NLLLoss(reduction='mean', ignore_index=-100)(logits, labels, weight)",
           .infer = InferNllLoss, .gradient = GradientOfNllLoss, .evaluate = EvaluateNllLoss,
           .flops = FlopsPerInput<1>, .cost = CostFamily::kCrossEntropy,
           .example = "()((4, 6), int32(4), (6))");

DRYDOCK_OP(NLLLossGrad, .family = "gradient",
           .signature =
               "NLLLossGrad(reduction='mean', ignore_index=-100)"
               "(logits, loss_grad, labels, weight, total_weight)",
           .infer = InferFirst, .gradient = GradientNotNeeded, .evaluate = EvaluateNllLossGrad,
           .flops = FlopsPerInput<1>);

}  // namespace
}  // namespace drydock::strategies
