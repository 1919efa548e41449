#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/optional_operand.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Losses that compare input and target element by element: binary cross entropy of probabilities
/// and of logits, the smoothed distance, the soft margin. Each is whole or reduced to one number
/// (`reduction`), and each has a kernel of its own for the gradient of its input, which reads the
/// operands again. Example: SmoothL1Loss of 1.5 and 1 with beta 1 is 0.5 * 0.5^2 = 0.125, its slope
/// 0.5. They have no sharding rule (docs/sharding.md). Source of the formulas and of the kernels'
/// operands: mindspore: mindspore/ops/op_def/yaml/*_loss*_op.yaml (behaviour only).
namespace drydock::strategies {
namespace {

/// What a formula reads of one element.
struct Element {
  double input = 0;
  double target = 0;
  double weight = 1;    ///< Of the element; 1 where none is given.
  double positive = 1;  ///< Weight of the target's share; 1 where none is given.
  double beta = 1;      ///< Attribute `beta`.
};
using Formula = double (*)(const Element&);

double Sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double BinaryLoss(const Element& e) {
  return -e.weight * (e.target * std::log(e.input) + (1 - e.target) * std::log(1 - e.input));
}
double BinarySlope(const Element& e) {
  return e.weight * (e.input - e.target) / (e.input * (1 - e.input));
}

double LogitsLoss(const Element& e) {
  const double share = 1 + (e.positive - 1) * e.target;
  const double log = std::log1p(std::exp(-std::fabs(e.input))) + std::max(-e.input, 0.0);
  return e.weight * ((1 - e.target) * e.input + share * log);
}
double LogitsSlope(const Element& e) {
  const double share = 1 + (e.positive - 1) * e.target;
  return e.weight * ((1 - e.target) - share * Sigmoid(-e.input));
}

double SmoothLoss(const Element& e) {
  const double distance = std::fabs(e.input - e.target);
  return distance < e.beta ? 0.5 * distance * distance / e.beta : distance - 0.5 * e.beta;
}
double SmoothSlope(const Element& e) {
  const double distance = e.input - e.target;
  return std::fabs(distance) < e.beta ? distance / e.beta : std::copysign(1.0, distance);
}

double MarginLoss(const Element& e) {
  return std::log1p(std::exp(-e.target * e.input));
}
double MarginSlope(const Element& e) {
  return -e.target * Sigmoid(-e.target * e.input);
}

Result<std::string> ReductionOf(const OpView& op) {
  DRYDOCK_TRY(const std::string reduction, TextAttr(*op.attrs, "reduction", "mean"));
  if (reduction != "mean" && reduction != "sum" && reduction != "none") {
    return FailOp(op, "reduction",
                  "reduction of '" + std::string(op.op) + "' is '" + reduction + "'",
                  "use 'mean', 'sum' or 'none'");
  }
  return reduction;
}

Result<std::vector<TensorType>> InferLoss(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(const std::string reduction, ReductionOf(op));
  if (op.inputs.size() < 2 || op.inputs[0].shape != op.inputs[1].shape) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' takes an input and a target of one shape");
  }
  TensorType out = op.inputs[0];
  if (reduction != "none") {
    out.shape.clear();
  }
  return std::vector<TensorType>{std::move(out)};
}

/// Positions of the operands of a kernel; -1 = it does not read such a one.
struct Operands {
  std::int32_t input = 0;
  std::int32_t target = 1;
  std::int32_t gradient = -1;
  std::int32_t weight = -1;
  std::int32_t positive = -1;
};

const NdArray* ArrayAt(const EvaluateContext& context, std::int32_t operand) {
  return operand < 0 ? nullptr : OptionalArray(context, static_cast<std::size_t>(operand));
}

/// Element `i` of an operand that may have fewer elements along its leading dimensions.
double At(const NdArray* array, std::size_t i) {
  return array == nullptr ? 1.0 : array->data[i % array->data.size()];
}

/// `formula` of every element.
Result<NdArray> EachOf(const EvaluateContext& context, const Operands& operands, Formula formula) {
  DRYDOCK_TRY(const double beta, FloatAttr(context.attrs, "beta", 1.0));
  const NdArray& input = *ArrayAt(context, operands.input);
  NdArray result{.shape = input.shape};
  for (std::size_t i = 0; i < input.data.size(); ++i) {
    result.data.push_back(formula({.input = input.data[i],
                                   .target = At(ArrayAt(context, operands.target), i),
                                   .weight = At(ArrayAt(context, operands.weight), i),
                                   .positive = At(ArrayAt(context, operands.positive), i),
                                   .beta = beta}));
  }
  return result;
}

template <Formula F, std::int32_t Weight, std::int32_t Positive>
Result<std::vector<NdArray>> EvaluateLoss(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::string reduction, ReductionOf(context.View()));
  DRYDOCK_TRY(NdArray each, EachOf(context, {.weight = Weight, .positive = Positive}, F));
  if (reduction == "none") {
    return std::vector<NdArray>{std::move(each)};
  }
  const double sum = std::accumulate(each.data.begin(), each.data.end(), 0.0);
  const auto count = static_cast<double>(each.data.size());
  return std::vector<NdArray>{FilledArray({}, reduction == "mean" ? sum / count : sum)};
}

/// dY times the slope; a mean's is shared by all elements.
Result<std::vector<NdArray>> EvaluateSlopes(const EvaluateContext& context,
                                            const Operands& operands, Formula slope) {
  DRYDOCK_TRY(const std::string reduction, ReductionOf(context.View()));
  DRYDOCK_TRY(NdArray each, EachOf(context, operands, slope));
  const double share = reduction == "mean" ? 1 / static_cast<double>(each.data.size()) : 1;
  for (std::size_t i = 0; i < each.data.size(); ++i) {
    each.data[i] *= share * At(ArrayAt(context, operands.gradient), i);
  }
  return std::vector<NdArray>{std::move(each)};
}

constexpr Operands kBinary = {.gradient = 2, .weight = 3};
constexpr Operands kLogits = {.input = 1, .target = 2, .gradient = 0, .weight = 3, .positive = 4};
constexpr Operands kPlain = {.gradient = 2};

Result<std::vector<NdArray>> EvaluateBinaryGrad(const EvaluateContext& context) {
  return EvaluateSlopes(context, kBinary, BinarySlope);
}
Result<std::vector<NdArray>> EvaluateLogitsGrad(const EvaluateContext& context) {
  return EvaluateSlopes(context, kLogits, LogitsSlope);
}
Result<std::vector<NdArray>> EvaluateSmoothGrad(const EvaluateContext& context) {
  return EvaluateSlopes(context, kPlain, SmoothSlope);
}
Result<std::vector<NdArray>> EvaluateMarginGrad(const EvaluateContext& context) {
  return EvaluateSlopes(context, kPlain, MarginSlope);
}

template <std::size_t Input>
Result<std::vector<TensorType>> InferSlopes(const OpView& op) {
  DRYDOCK_TRY([[maybe_unused]] const std::string reduction, ReductionOf(op));
  return std::vector<TensorType>{op.inputs[Input]};
}

/// The kernel gives the gradient of the input; targets and weights have none.
Result<std::vector<ValueId>> EmitSlopes(const GradientContext& context, std::string_view kernel,
                                        std::vector<ValueId> operands) {
  std::vector<ValueId> gradients = NoGradients(context);
  if (context.wanted[0]) {
    DRYDOCK_TRY(gradients[0], context.Emit(kernel, std::move(operands), context.node.attrs));
  }
  return gradients;
}

ValueId OperandAt(const GradientContext& context, std::size_t index) {
  return index < context.node.inputs.size() ? context.node.inputs[index] : kNoValue;
}

Result<std::vector<ValueId>> GradientOfBinary(const GradientContext& context) {
  return EmitSlopes(context, "BinaryCrossEntropyGrad",
                    {OperandAt(context, 0), OperandAt(context, 1), OutputGradient(context),
                     OperandAt(context, 2)});
}
Result<std::vector<ValueId>> GradientOfLogits(const GradientContext& context) {
  return EmitSlopes(context, "BinaryCrossEntropyWithLogitsBackward",
                    {OutputGradient(context), OperandAt(context, 0), OperandAt(context, 1),
                     OperandAt(context, 2), OperandAt(context, 3)});
}
Result<std::vector<ValueId>> GradientOfSmooth(const GradientContext& context) {
  return EmitSlopes(context, "SmoothL1LossGrad",
                    {OperandAt(context, 0), OperandAt(context, 1), OutputGradient(context)});
}
Result<std::vector<ValueId>> GradientOfMargin(const GradientContext& context) {
  return EmitSlopes(context, "SoftMarginLossGrad",
                    {OperandAt(context, 0), OperandAt(context, 1), OutputGradient(context)});
}

#define DRYDOCK_LOSS(id, arguments, gradient_fn, evaluate_fn)                             \
  DRYDOCK_OP(id, .family = "loss", .signature = #id arguments, .infer = InferLoss,        \
             .gradient = gradient_fn, .evaluate = evaluate_fn, .flops = FlopsPerInput<6>, \
             .cost = CostFamily::kCrossEntropy, .example = "()((4, 6), (4, 6))")
#define DRYDOCK_LOSS_SLOPE(id, arguments, input, evaluate_fn)                                   \
  DRYDOCK_OP(id, .family = "gradient", .signature = #id arguments, .infer = InferSlopes<input>, \
             .gradient = GradientNotNeeded, .evaluate = evaluate_fn, .flops = FlopsPerInput<4>)

DRYDOCK_LOSS(BinaryCrossEntropy, "(reduction='mean')(input, target, ?weight)", GradientOfBinary,
             (EvaluateLoss<BinaryLoss, 2, -1>));
DRYDOCK_LOSS(BCEWithLogitsLoss, "(reduction='mean')(input, target, ?weight, ?posWeight)",
             GradientOfLogits, (EvaluateLoss<LogitsLoss, 2, 3>));
DRYDOCK_LOSS(SmoothL1Loss, "(beta=1.0, reduction='none')(prediction, target)", GradientOfSmooth,
             (EvaluateLoss<SmoothLoss, -1, -1>));
DRYDOCK_LOSS(SoftMarginLoss, "(reduction='mean')(input, target)", GradientOfMargin,
             (EvaluateLoss<MarginLoss, -1, -1>));

DRYDOCK_LOSS_SLOPE(BinaryCrossEntropyGrad,
                   "(reduction='mean')(input, target, grad_output, ?weight)", 0,
                   EvaluateBinaryGrad);
DRYDOCK_LOSS_SLOPE(BinaryCrossEntropyWithLogitsBackward,
                   "(reduction='mean')(grad_output, input, target, ?weight, ?posWeight)", 1,
                   EvaluateLogitsGrad);
DRYDOCK_LOSS_SLOPE(SmoothL1LossGrad, "(beta=1.0, reduction='none')(prediction, target, dout)", 0,
                   EvaluateSmoothGrad);
DRYDOCK_LOSS_SLOPE(SoftMarginLossGrad, "(reduction='mean')(predict, label, dout)", 0,
                   EvaluateMarginGrad);

}  // namespace
}  // namespace drydock::strategies
