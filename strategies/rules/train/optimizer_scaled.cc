#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/train/optimizer_kernels.h"
#include "strategies/rules/train/optimizer_operands.h"

/// Optimizer steps whose step length follows from past gradients or from norms. Like those of
/// optimizer.cc they write in place and work on local values; a norm is that of the local slice.
/// Source of the formulas: mindspore: mindspore/python/mindspore/ops/operations/nn_ops.py,
/// mindspore/python/mindspore/nn/optim/lamb.py (behaviour only).
namespace drydock::strategies {
namespace {

// ---- Lamb: var, m, v, lr, beta1, beta2, epsilon, decay, global_step, gradient

Result<std::vector<TensorType>> InferLamb(const OpView& op) {
  return InferUpdate(op, 10, {1, 2, 9}, 3);
}

double Norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value * value;
  }
  return std::sqrt(sum);
}

Result<std::vector<NdArray>> EvaluateLamb(const EvaluateContext& context) {
  NdArray weight = context.inputs[0];
  NdArray first = context.inputs[1];
  NdArray second = context.inputs[2];
  const double beta1 = NumberOperand(context, 4);
  const double beta2 = NumberOperand(context, 5);
  const double step = NumberOperand(context, 8) + 1;
  std::vector<double> update(weight.data.size());
  for (std::size_t i = 0; i < update.size(); ++i) {
    const double gradient = context.inputs[9].data[i];
    first.data[i] = beta1 * first.data[i] + (1 - beta1) * gradient;
    second.data[i] = beta2 * second.data[i] + (1 - beta2) * gradient * gradient;
    const double m = first.data[i] / (1 - std::pow(beta1, step));
    const double v = second.data[i] / (1 - std::pow(beta2, step));
    update[i] =
        m / (std::sqrt(v) + NumberOperand(context, 6)) + NumberOperand(context, 7) * weight.data[i];
  }
  const double weight_norm = Norm(weight.data);
  const double update_norm = Norm(update);
  const double ratio = weight_norm > 0 && update_norm > 0 ? weight_norm / update_norm : 1.0;
  for (std::size_t i = 0; i < update.size(); ++i) {
    weight.data[i] -= NumberOperand(context, 3) * ratio * update[i];
  }
  return std::vector<NdArray>{std::move(weight), std::move(first), std::move(second)};
}

// ---- ApplyFtrl: var, accum, linear, grad, lr, l1, l2, lr_power

Result<std::vector<TensorType>> InferFtrl(const OpView& op) {
  return InferUpdate(op, 8, {1, 2, 3}, 3);
}

Result<std::vector<NdArray>> EvaluateFtrl(const EvaluateContext& context) {
  NdArray weight = context.inputs[0];
  NdArray accum = context.inputs[1];
  NdArray linear = context.inputs[2];
  const double rate = NumberOperand(context, 4);
  const double power = NumberOperand(context, 7);
  for (std::size_t i = 0; i < weight.data.size(); ++i) {
    const double gradient = context.inputs[3].data[i];
    const double before = std::pow(accum.data[i], -power);
    accum.data[i] += gradient * gradient;
    const double after = std::pow(accum.data[i], -power);
    linear.data[i] += gradient - (after - before) / rate * weight.data[i];
    const double l1 = NumberOperand(context, 5);
    const double excess = (linear.data[i] > 0 ? l1 : -l1) - linear.data[i];
    weight.data[i] = std::fabs(linear.data[i]) > l1
                         ? excess / (after / rate + 2 * NumberOperand(context, 6))
                         : 0.0;
  }
  return std::vector<NdArray>{std::move(weight), std::move(accum), std::move(linear)};
}

Result<std::vector<KernelId>> LowerFtrl(const LowerContext& context) {
  return LowerToWeight(context, true);
}

// ---- ApplyAdagrad: var, accum, lr, grad

Result<std::vector<TensorType>> InferAdagrad(const OpView& op) {
  return InferUpdate(op, 4, {1, 3}, 2);
}

Result<std::vector<NdArray>> EvaluateAdagrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const bool update_slots, BoolAttr(context.attrs, "update_slots", true));
  NdArray weight = context.inputs[0];
  NdArray accum = context.inputs[1];
  for (std::size_t i = 0; i < weight.data.size(); ++i) {
    const double gradient = context.inputs[3].data[i];
    accum.data[i] += update_slots ? gradient * gradient : 0.0;
    weight.data[i] -= NumberOperand(context, 2) * gradient / std::sqrt(accum.data[i]);
  }
  return std::vector<NdArray>{std::move(weight), std::move(accum)};
}

DRYDOCK_OP(
    Lamb, .family = "optimizer",
    .signature = "Lamb()(var, m, v, lr, beta1, beta2, epsilon, decay, global_step, gradient)",
    .kind = OpKind::kUpdate, .infer = InferLamb, .gradient = GradientNotNeeded, .lower = LowerLamb,
    .returns_success = true, .evaluate = EvaluateLamb, .flops = FlopsPerInput<20>,
    .cost = CostFamily::kFree, .writes = "0,1,2");

DRYDOCK_OP(ApplyFtrl, .family = "optimizer",
           .signature =
               "ApplyFtrl(use_locking=False)"
               "(var, accum, linear, grad, lr, l1, l2, lr_power)",
           .kind = OpKind::kUpdate, .infer = InferFtrl, .gradient = GradientNotNeeded,
           .lower = LowerFtrl, .values = "-", .returns_success = true, .evaluate = EvaluateFtrl,
           .flops = FlopsPerInput<16>, .cost = CostFamily::kFree, .writes = "0,1,2");

DRYDOCK_OP(ApplyAdagrad, .family = "optimizer",
           .signature = "ApplyAdagrad(update_slots=True)(var, accum, lr, grad)",
           .kind = OpKind::kUpdate, .infer = InferAdagrad, .gradient = GradientNotNeeded,
           .values = "-", .returns_success = true, .evaluate = EvaluateAdagrad,
           .flops = FlopsPerInput<5>, .cost = CostFamily::kFree, .writes = "0,1");

}  // namespace
}  // namespace drydock::strategies
