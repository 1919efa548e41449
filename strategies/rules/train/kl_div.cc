#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// KLDivLoss: labels * (log(labels) - logits), whole or as one number. Any dimension may be cut;
/// the parts of the one number are summed by an AllReduce. Source: mindspore
/// ops_info/kldiv_loss_info.cc.
namespace drydock::strategies {
namespace {

enum class Reduction : std::uint8_t { kNone, kSum, kMean, kBatchMean };

Result<Reduction> KlReductionOf(const OpView& op) {
  static constexpr std::pair<std::string_view, Reduction> kNames[] = {
      {"none", Reduction::kNone},
      {"sum", Reduction::kSum},
      {"mean", Reduction::kMean},
      {"batchmean", Reduction::kBatchMean}};
  DRYDOCK_TRY(const std::string name, TextAttr(*op.attrs, "reduction", "mean"));
  for (const auto& [known, reduction] : kNames) {
    if (known == name) {
      return reduction;
    }
  }
  return FailOp(op, "reduction", "reduction of '" + std::string(op.op) + "' is '" + name + "'",
                "use 'none', 'sum', 'mean' or 'batchmean'");
}

/// What the sum of all elements is divided by.
double DivisorOf(Reduction reduction, const Shape& shape) {
  if (reduction == Reduction::kMean) {
    return Elements({.shape = shape});
  }
  return reduction == Reduction::kBatchMean && !shape.empty() ? static_cast<double>(shape[0]) : 1;
}

Result<std::vector<TensorType>> InferKlDiv(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_TRY(const Reduction reduction, KlReductionOf(op));
  if (op.inputs[0].shape != op.inputs[1].shape) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' of logits " + TupleText(op.inputs[0].shape) +
                      " takes labels of the same shape, but they have shape " +
                      TupleText(op.inputs[1].shape));
  }
  TensorType out = op.inputs[0];
  if (reduction != Reduction::kNone) {
    out.shape.clear();
  }
  return std::vector<TensorType>{std::move(out)};
}

Result<ShardRule> ShardKlDiv(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const Reduction reduction, KlReductionOf(op));
  DRYDOCK_TRY(ShardRule rule, ShardSameShape(op, strategy));
  if (reduction != Reduction::kNone) {
    rule.outputs = {{}};
    ForwardCommunication sum{.mean = reduction == Reduction::kMean};
    sum.axes.resize(static_cast<std::size_t>(rule.axis_count));
    std::iota(sum.axes.begin(), sum.axes.end(), AxisIndex{0});
    rule.communication.push_back(std::move(sum));
  }
  return rule;
}

/// A mean over the batch of a slice counts as many times as the batch has slices.
Result<std::vector<ValueId>> LocalizeKlDiv(const LocalizeContext& context) {
  DRYDOCK_TRY(const std::vector<ValueId> loss, EmitLocal(context, context.spec.attrs));
  DRYDOCK_TRY(const Reduction reduction, KlReductionOf(context.global));
  const Strategy& strategy = context.sharding.strategy;
  const bool cut = !strategy.empty() && !strategy[0].empty() && strategy[0][0] > 1;
  if (reduction != Reduction::kBatchMean || !cut) {
    return loss;
  }
  const DType dtype = context.builder.TypeOf(loss[0]).dtype;
  const ValueId slices = context.builder.AddScalar(static_cast<double>(strategy[0][0]), dtype);
  DRYDOCK_TRY(const ValueId share, EmitHelper(context, ops::kRealDiv, {loss[0], slices}));
  return std::vector<ValueId>{share};
}

// ---- Gradient -----------------------------------------------------------------------------------

/// dY / divisor.
Result<ValueId> EmitShare(const GradientContext& context) {
  OpViewStorage storage = {};
  DRYDOCK_TRY(const Reduction reduction,
              KlReductionOf(ViewOf(context.builder.graph(), context.node, storage)));
  const Shape& shape = context.TypeOf(context.node.inputs[0]).shape;
  return EmitScaled(context, OutputGradient(context), 1 / DivisorOf(reduction, shape));
}

/// The kernel gives the gradient of the logits. That of the labels, which the reference leaves at
/// zero, is dY * (log(labels) + 1 - logits).
Result<std::vector<ValueId>> GradientOfKlDiv(const GradientContext& context) {
  const ValueId logits = context.node.inputs[0];
  const ValueId labels = context.node.inputs[1];
  std::vector<ValueId> gradients = NoGradients(context);
  if (context.wanted[0]) {
    DRYDOCK_TRY(gradients[0],
                context.Emit("KLDivLossGrad", {OutputGradient(context), logits, labels},
                             context.node.attrs));
  }
  if (context.wanted[1]) {
    const ValueId one = context.builder.AddScalar(1, context.TypeOf(labels).dtype);
    DRYDOCK_TRY(const ValueId share, EmitShare(context));
    DRYDOCK_TRY(const ValueId log, context.Emit("Log", {labels}));
    DRYDOCK_TRY(const ValueId above, context.Emit(ops::kAdd, {log, one}));
    DRYDOCK_TRY(const ValueId slope, context.Emit("Sub", {above, logits}));
    DRYDOCK_TRY(gradients[1], context.Emit(ops::kMul, {slope, share}));
  }
  return gradients;
}

Result<std::vector<TensorType>> InferKlDivGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  return std::vector<TensorType>{op.inputs[1]};
}

Result<std::vector<NdArray>> EvaluateKlDivGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const Reduction reduction, KlReductionOf(context.View()));
  const NdArray& labels = context.inputs[2];
  const double divisor = DivisorOf(reduction, labels.shape);
  return std::vector<NdArray>{
      MapArrays(context.inputs[0], labels, labels.shape,
                [divisor](double dy, double t) { return -t * dy / divisor; })};
}

Result<std::vector<NdArray>> EvaluateKlDiv(const EvaluateContext& context) {
  DRYDOCK_TRY(const Reduction reduction, KlReductionOf(context.View()));
  const NdArray& logits = context.inputs[0];
  const NdArray each = MapArrays(logits, context.inputs[1], logits.shape, [](double x, double t) {
    return t > 0 ? t * (std::log(t) - x) : 0.0;
  });
  if (reduction == Reduction::kNone) {
    return std::vector<NdArray>{each};
  }
  const double sum = std::accumulate(each.data.begin(), each.data.end(), 0.0);
  return std::vector<NdArray>{FilledArray({}, sum / DivisorOf(reduction, logits.shape))};
}

DRYDOCK_OP(KLDivLoss, .family = "loss", .signature = "KLDivLoss(reduction='mean')(logits, labels)",
           .infer = InferKlDiv, .shard = ShardKlDiv, .default_strategy = DefaultBatchAll,
           .localize = LocalizeKlDiv, .gradient = GradientOfKlDiv, .values = "-",
           .evaluate = EvaluateKlDiv, .flops = FlopsPerInput<4>, .cost = CostFamily::kCrossEntropy);

DRYDOCK_OP(KLDivLossGrad, .family = "gradient",
           .signature = "KLDivLossGrad(reduction='mean')(grad, input, target)",
           .infer = InferKlDivGrad, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateKlDivGrad, .flops = FlopsPerInput<2>);

}  // namespace
}  // namespace drydock::strategies
