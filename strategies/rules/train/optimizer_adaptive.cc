#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/train/optimizer_kernels.h"
#include "strategies/rules/train/optimizer_operands.h"

/// Optimizer steps whose length adapts to each element's past gradients: RMSProp, AdaMax, Adadelta,
/// ProximalAdagrad, Adam with the largest second moment so far; and the scaling of a gradient by
/// LARS. As in optimizer.cc they write in place and work on local values. Source of the formulas:
/// mindspore: mindspore/python/mindspore/ops/operations/nn_ops.py (behaviour only).
namespace drydock::strategies {
namespace {

/// Infer function of a step with `Count` operands, the first `Written` of which it writes; the
/// gradient is operand `Gradient`.
template <std::size_t Count, std::size_t Written, std::size_t Gradient>
Result<std::vector<TensorType>> InferStep(const OpView& op) {
  std::vector<std::size_t> like_weight = {Gradient};
  for (std::size_t i = 1; i < Written; ++i) {
    like_weight.push_back(i);
  }
  return InferUpdate(op, Count, like_weight, Written);
}

/// The first `count` operands, to be changed.
std::vector<NdArray> Written(const EvaluateContext& context, std::size_t count) {
  return {context.inputs.begin(), context.inputs.begin() + static_cast<std::ptrdiff_t>(count)};
}

// ---- ApplyRMSProp: var, mean_square, moment, learning_rate, grad, decay, momentum, epsilon

Result<std::vector<NdArray>> EvaluateRmsProp(const EvaluateContext& context) {
  std::vector<NdArray> state = Written(context, 3);
  const double decay = NumberOperand(context, 5);
  for (std::size_t i = 0; i < state[0].data.size(); ++i) {
    const double gradient = context.inputs[4].data[i];
    double& square = state[1].data[i];
    double& moment = state[2].data[i];
    square = decay * square + (1 - decay) * gradient * gradient;
    moment = NumberOperand(context, 6) * moment +
             NumberOperand(context, 3) * gradient / std::sqrt(square + NumberOperand(context, 7));
    state[0].data[i] -= moment;
  }
  return state;
}

// ---- ApplyCenteredRMSProp: var, mean_gradient, mean_square, moment, grad, learning_rate, rho,
// momentum, epsilon

Result<std::vector<NdArray>> EvaluateCenteredRmsProp(const EvaluateContext& context) {
  std::vector<NdArray> state = Written(context, 4);
  const double rho = NumberOperand(context, 6);
  for (std::size_t i = 0; i < state[0].data.size(); ++i) {
    const double gradient = context.inputs[4].data[i];
    double& mean = state[1].data[i];
    double& square = state[2].data[i];
    double& moment = state[3].data[i];
    mean = rho * mean + (1 - rho) * gradient;
    square = rho * square + (1 - rho) * gradient * gradient;
    const double spread = square - mean * mean + NumberOperand(context, 8);
    moment = NumberOperand(context, 7) * moment +
             NumberOperand(context, 5) * gradient / std::sqrt(spread);
    state[0].data[i] -= moment;
  }
  return state;
}

// ---- ApplyAdaMax: var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad

Result<std::vector<NdArray>> EvaluateAdaMax(const EvaluateContext& context) {
  std::vector<NdArray> state = Written(context, 3);
  const double rate = NumberOperand(context, 4) / (1 - NumberOperand(context, 3));
  const double beta1 = NumberOperand(context, 5);
  for (std::size_t i = 0; i < state[0].data.size(); ++i) {
    const double gradient = context.inputs[8].data[i];
    double& first = state[1].data[i];
    double& largest = state[2].data[i];
    first = beta1 * first + (1 - beta1) * gradient;
    largest = std::max(NumberOperand(context, 6) * largest, std::fabs(gradient));
    state[0].data[i] -= rate * first / (largest + NumberOperand(context, 7));
  }
  return state;
}

// ---- ApplyAdadelta: var, accum, accum_update, lr, rho, epsilon, grad

Result<std::vector<NdArray>> EvaluateAdadelta(const EvaluateContext& context) {
  std::vector<NdArray> state = Written(context, 3);
  const double rho = NumberOperand(context, 4);
  const double epsilon = NumberOperand(context, 5);
  for (std::size_t i = 0; i < state[0].data.size(); ++i) {
    const double gradient = context.inputs[6].data[i];
    double& accum = state[1].data[i];
    double& updates = state[2].data[i];
    accum = rho * accum + (1 - rho) * gradient * gradient;
    const double step = std::sqrt(updates + epsilon) / std::sqrt(accum + epsilon) * gradient;
    updates = rho * updates + (1 - rho) * step * step;
    state[0].data[i] -= NumberOperand(context, 3) * step;
  }
  return state;
}

// ---- ApplyProximalAdagrad: var, accum, lr, l1, l2, grad

Result<std::vector<NdArray>> EvaluateProximalAdagrad(const EvaluateContext& context) {
  std::vector<NdArray> state = Written(context, 2);
  for (std::size_t i = 0; i < state[0].data.size(); ++i) {
    const double gradient = context.inputs[5].data[i];
    double& accum = state[1].data[i];
    accum += gradient * gradient;
    const double rate = NumberOperand(context, 2) / std::sqrt(accum);
    const double moved = state[0].data[i] - rate * gradient;
    const double kept = std::max(std::fabs(moved) - rate * NumberOperand(context, 3), 0.0);
    state[0].data[i] = std::copysign(kept / (1 + rate * NumberOperand(context, 4)), moved);
  }
  return state;
}

// ---- ApplyAdamWithAmsgradV2: var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2,
// epsilon, grad

Result<std::vector<NdArray>> EvaluateAmsgrad(const EvaluateContext& context) {
  std::vector<NdArray> state = Written(context, 4);
  const double beta1 = NumberOperand(context, 7);
  const double beta2 = NumberOperand(context, 8);
  const double rate = NumberOperand(context, 6) * std::sqrt(1 - NumberOperand(context, 5)) /
                      (1 - NumberOperand(context, 4));
  for (std::size_t i = 0; i < state[0].data.size(); ++i) {
    const double gradient = context.inputs[10].data[i];
    double& first = state[1].data[i];
    double& second = state[2].data[i];
    double& largest = state[3].data[i];
    first = beta1 * first + (1 - beta1) * gradient;
    second = beta2 * second + (1 - beta2) * gradient * gradient;
    largest = std::max(largest, second);
    state[0].data[i] -= rate * first / (std::sqrt(largest) + NumberOperand(context, 9));
  }
  return state;
}

// ---- AdamW: var, m, v, max_v, gradient, step, lr, beta1, beta2, decay, eps

Result<std::vector<TensorType>> InferAdamW(const OpView& op) {
  return InferUpdate(op, 11, {4, 1, 2, 3}, 3);
}

/// `step` is the number of this step; decay shrinks the weight before it moves. With amsgrad the
/// kernel keeps max_v as well, which belongs to the weight and not to this step's results.
Result<std::vector<NdArray>> EvaluateAdamW(const EvaluateContext& context) {
  DRYDOCK_TRY(const bool amsgrad, BoolAttr(context.attrs, "amsgrad", false));
  DRYDOCK_TRY(const bool maximize, BoolAttr(context.attrs, "maximize", false));
  std::vector<NdArray> state = Written(context, 3);
  const double step = NumberOperand(context, 5);
  const double rate = NumberOperand(context, 6);
  const double beta1 = NumberOperand(context, 7);
  const double beta2 = NumberOperand(context, 8);
  for (std::size_t i = 0; i < state[0].data.size(); ++i) {
    const double gradient = (maximize ? -1 : 1) * context.inputs[4].data[i];
    double& first = state[1].data[i];
    double& second = state[2].data[i];
    first = beta1 * first + (1 - beta1) * gradient;
    second = beta2 * second + (1 - beta2) * gradient * gradient;
    const double largest = amsgrad ? std::max(second, context.inputs[3].data[i]) : second;
    const double spread = std::sqrt(largest / (1 - std::pow(beta2, step)));
    double& weight = state[0].data[i];
    weight -= rate * NumberOperand(context, 9) * weight;
    weight -= rate / (1 - std::pow(beta1, step)) * first / (spread + NumberOperand(context, 10));
  }
  return state;
}

// ---- LARSUpdate: weight, gradient, norm_weight, norm_gradient, weight_decay, learning_rate

/// The gradient's type; norms are sums of squares.
Result<std::vector<TensorType>> InferLars(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(InferUpdate(op, 6, {1}, 1));
  return std::vector<TensorType>{op.inputs[1]};
}

Result<std::vector<NdArray>> EvaluateLars(const EvaluateContext& context) {
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.attrs, "epsilon", 1e-05));
  DRYDOCK_TRY(const double coefficient, FloatAttr(context.attrs, "hyperpara", 0.001));
  DRYDOCK_TRY(const bool use_clip, BoolAttr(context.attrs, "use_clip", false));
  const double of_weight = std::sqrt(NumberOperand(context, 2));
  const double of_gradient = std::sqrt(NumberOperand(context, 3));
  const double decay = NumberOperand(context, 4);
  double ratio = coefficient * of_weight / (of_gradient + decay * of_weight + epsilon);
  if (use_clip) {
    ratio = std::clamp(ratio / NumberOperand(context, 5), 0.0, 1.0);
  }
  NdArray result = context.inputs[1];
  for (std::size_t i = 0; i < result.data.size(); ++i) {
    result.data[i] = ratio * (result.data[i] + decay * context.inputs[0].data[i]);
  }
  return std::vector<NdArray>{std::move(result)};
}

Result<std::vector<KernelId>> LowerRmsProp(const LowerContext& context) {
  return LowerToWeight(context, false);
}

#define DRYDOCK_STEP(id, arguments, infer_fn, lower_fn, evaluate_fn, operations, positions)        \
  DRYDOCK_OP(id, .family = "optimizer", .signature = #id arguments, .kind = OpKind::kUpdate,       \
             .infer = infer_fn, .gradient = GradientNotNeeded, .lower = lower_fn, .values = "-",   \
             .returns_success = true, .evaluate = evaluate_fn, .flops = FlopsPerInput<operations>, \
             .cost = CostFamily::kFree, .writes = positions)

DRYDOCK_STEP(ApplyRMSProp,
             "(use_locking=False)"
             "(var, mean_square, moment, learning_rate, grad, decay, momentum, epsilon)",
             (InferStep<8, 3, 4>), LowerRmsProp, EvaluateRmsProp, 10, "0,1,2");
DRYDOCK_STEP(
    ApplyCenteredRMSProp,
    "(use_locking=False)"
    "(var, mean_gradient, mean_square, moment, grad, learning_rate, decay, momentum, epsilon)",
    (InferStep<9, 4, 4>), nullptr, EvaluateCenteredRmsProp, 14, "0,1,2,3");
DRYDOCK_STEP(ApplyAdaMax, "()(var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad)",
             (InferStep<9, 3, 8>), LowerWithOwnNumbers, EvaluateAdaMax, 10, "0,1,2");
DRYDOCK_STEP(ApplyAdadelta, "()(var, accum, accum_update, lr, rho, epsilon, grad)",
             (InferStep<7, 3, 6>), nullptr, EvaluateAdadelta, 14, "0,1,2");
DRYDOCK_STEP(ApplyProximalAdagrad, "(use_locking=False)(var, accum, lr, l1, l2, grad)",
             (InferStep<6, 2, 5>), nullptr, EvaluateProximalAdagrad, 12, "0,1");
DRYDOCK_STEP(ApplyAdamWithAmsgradV2,
             "(use_locking=False)"
             "(var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad)",
             (InferStep<11, 4, 10>), LowerWithOwnNumbers, EvaluateAmsgrad, 14, "0,1,2,3");

DRYDOCK_STEP(AdamW,
             "()(var, m, v, max_v, gradient, step, lr, beta1, beta2, decay, eps, #amsgrad=False, "
             "#maximize=False)",
             InferAdamW, nullptr, EvaluateAdamW, 14, "0,1,2");

DRYDOCK_OP(LARSUpdate, .family = "optimizer",
           .signature =
               "LARSUpdate(epsilon=1e-05, hyperpara=0.001, use_clip=False)"
               "(weight, gradient, norm_weight, norm_gradient, weight_decay, learning_rate)",
           .kind = OpKind::kTransparent, .infer = InferLars, .gradient = GradientNotNeeded,
           .values = "-", .evaluate = EvaluateLars, .flops = FlopsPerInput<4>,
           .cost = CostFamily::kFree, .example = "()((4, 6), (4, 6), (), (), (), ())");

}  // namespace
}  // namespace drydock::strategies
