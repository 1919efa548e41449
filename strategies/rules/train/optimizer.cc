#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/train/optimizer_kernels.h"

/// Optimizer steps: kernels that write a weight and its states in place.
///
/// They run behind the gradients, on local values, and have no sharding rule. Results are the new
/// values of the written operands in the order of OpEntry::writes and share their storage. Source
/// of the formulas: mindspore: mindspore/python/mindspore/ops/operations/nn_ops.py (behaviour
/// only).
namespace drydock::strategies {
namespace {

/// The states and the gradient have the weight's shape; the rest is one number each.
/// @error kInvalidArgument  "<op>:shape-mismatch"
Status CheckOperands(const OpView& op, std::size_t count,
                     std::span<const std::size_t> like_weight) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, count, count));
  const Shape& weight = op.inputs[0].shape;
  for (std::size_t i = 1; i < count; ++i) {
    const Shape& shape = op.inputs[i].shape;
    const bool full = std::ranges::find(like_weight, i) != like_weight.end();
    if (full && shape != weight) {
      return FailOp(op, "shape-mismatch",
                    "'" + std::string(op.op) + "' updates a weight of shape " + TupleText(weight) +
                        ", but input " + std::to_string(i) + " has shape " + TupleText(shape));
    }
    if (!full && Elements(op.inputs[i]) != 1) {
      return FailOp(op, "shape-mismatch",
                    "'" + std::string(op.op) + "' takes one number in input " + std::to_string(i) +
                        ", but its shape is " + TupleText(shape));
    }
  }
  return {};
}

double ScalarOf(const EvaluateContext& context, std::size_t input) {
  return context.inputs[input].data.front();
}

// ---- ApplyMomentum: variable, accumulation, learning_rate, gradient, momentum

Result<std::vector<TensorType>> InferApplyMomentum(const OpView& op) {
  constexpr std::size_t kFull[] = {1, 3};
  DRYDOCK_RETURN_IF_ERROR(CheckOperands(op, 5, kFull));
  return std::vector<TensorType>{op.inputs[0], op.inputs[1]};
}

Result<std::vector<NdArray>> EvaluateApplyMomentum(const EvaluateContext& context) {
  DRYDOCK_TRY(const bool nesterov, BoolAttr(context.attrs, "use_nesterov", false));
  DRYDOCK_TRY(const double scale, FloatAttr(context.attrs, "gradient_scale", 1.0));
  NdArray variable = context.inputs[0];
  NdArray accumulation = context.inputs[1];
  const double rate = ScalarOf(context, 2);
  const double momentum = ScalarOf(context, 4);
  for (std::size_t i = 0; i < variable.data.size(); ++i) {
    const double gradient = context.inputs[3].data[i] * scale;
    double& sum = accumulation.data[i];
    sum = sum * momentum + gradient;
    variable.data[i] -= rate * (nesterov ? gradient + sum * momentum : sum);
  }
  return std::vector<NdArray>{std::move(variable), std::move(accumulation)};
}

// ---- SGD: parameters, gradient, learning_rate, accum, momentum, stat

Result<std::vector<TensorType>> InferSgd(const OpView& op) {
  constexpr std::size_t kFull[] = {1, 3, 5};
  DRYDOCK_RETURN_IF_ERROR(CheckOperands(op, 6, kFull));
  return std::vector<TensorType>{op.inputs[0], op.inputs[3], op.inputs[5]};
}

/// `stat` is positive until the first step with momentum, in which the sum starts without
/// dampening.
Result<std::vector<NdArray>> EvaluateSgd(const EvaluateContext& context) {
  DRYDOCK_TRY(const double dampening, FloatAttr(context.attrs, "dampening", 0.0));
  DRYDOCK_TRY(const double weight_decay, FloatAttr(context.attrs, "weight_decay", 0.0));
  DRYDOCK_TRY(const bool nesterov, BoolAttr(context.attrs, "nesterov", false));
  NdArray weight = context.inputs[0];
  NdArray sums = context.inputs[3];
  NdArray stat = context.inputs[5];
  const double rate = ScalarOf(context, 2);
  const double momentum = ScalarOf(context, 4);
  for (std::size_t i = 0; i < weight.data.size(); ++i) {
    double step = context.inputs[1].data[i] + weight_decay * weight.data[i];
    if (momentum > 0) {
      const bool first = stat.data[i] > 0;
      sums.data[i] = first ? step : sums.data[i] * momentum + (1 - dampening) * step;
      stat.data[i] = first ? 0 : stat.data[i];
      step = nesterov ? step + momentum * sums.data[i] : sums.data[i];
    }
    weight.data[i] -= rate * step;
  }
  return std::vector<NdArray>{std::move(weight), std::move(sums), std::move(stat)};
}

// ---- Adam: var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient

/// Weight and both moments while an Adam step is computed.
struct AdamState {
  NdArray weight = {};
  NdArray first = {};
  NdArray second = {};
};

std::vector<TensorType> AdamResults(const OpView& op) {
  return {op.inputs[0], op.inputs[1], op.inputs[2]};
}

Result<std::vector<TensorType>> InferAdam(const OpView& op) {
  constexpr std::size_t kFull[] = {1, 2, 9};
  DRYDOCK_RETURN_IF_ERROR(CheckOperands(op, 10, kFull));
  return AdamResults(op);
}

/// Moves both moments towards the gradient of element `i`.
void MoveMoments(AdamState& state, std::size_t i, double gradient, double beta1, double beta2) {
  state.first.data[i] = beta1 * state.first.data[i] + (1 - beta1) * gradient;
  state.second.data[i] = beta2 * state.second.data[i] + (1 - beta2) * gradient * gradient;
}

std::vector<NdArray> ResultsOf(AdamState state) {
  return {std::move(state.weight), std::move(state.first), std::move(state.second)};
}

Result<std::vector<NdArray>> EvaluateAdam(const EvaluateContext& context) {
  DRYDOCK_TRY(const bool nesterov, BoolAttr(context.attrs, "use_nesterov", false));
  AdamState state{
      .weight = context.inputs[0], .first = context.inputs[1], .second = context.inputs[2]};
  const double beta1 = ScalarOf(context, 6);
  const double beta2 = ScalarOf(context, 7);
  const double epsilon = ScalarOf(context, 8);
  const double rate =
      ScalarOf(context, 5) * std::sqrt(1 - ScalarOf(context, 4)) / (1 - ScalarOf(context, 3));
  for (std::size_t i = 0; i < state.weight.data.size(); ++i) {
    const double gradient = context.inputs[9].data[i];
    MoveMoments(state, i, gradient, beta1, beta2);
    const double m = state.first.data[i];
    const double direction = nesterov ? beta1 * m + (1 - beta1) * gradient : m;
    state.weight.data[i] -= rate * direction / (std::sqrt(state.second.data[i]) + epsilon);
  }
  return ResultsOf(std::move(state));
}

// ---- AdamWeightDecay: var, m, v, lr, beta1, beta2, epsilon, decay, gradient

Result<std::vector<TensorType>> InferAdamWeightDecay(const OpView& op) {
  constexpr std::size_t kFull[] = {1, 2, 8};
  DRYDOCK_RETURN_IF_ERROR(CheckOperands(op, 9, kFull));
  return AdamResults(op);
}

Result<std::vector<NdArray>> EvaluateAdamWeightDecay(const EvaluateContext& context) {
  AdamState state{
      .weight = context.inputs[0], .first = context.inputs[1], .second = context.inputs[2]};
  const double rate = ScalarOf(context, 3);
  const double epsilon = ScalarOf(context, 6);
  const double decay = ScalarOf(context, 7);
  for (std::size_t i = 0; i < state.weight.data.size(); ++i) {
    MoveMoments(state, i, context.inputs[8].data[i], ScalarOf(context, 4), ScalarOf(context, 5));
    double& weight = state.weight.data[i];
    weight -=
        rate * (state.first.data[i] / (std::sqrt(state.second.data[i]) + epsilon) + decay * weight);
  }
  return ResultsOf(std::move(state));
}

/// A kernel that returns the weight alone, although it writes its state, too.
Result<std::vector<KernelId>> LowerToWeight(const LowerContext& context) {
  const KernelId step =
      context.builder.Kernel({.name = context.node.op,
                              .inputs = {context.inputs.begin(), context.inputs.end()},
                              .results = {context.OutputType(0)},
                              .shares = {0}});
  return std::vector<KernelId>(context.node.outputs.size(), step);
}

/// Every step has its rates of decay and its epsilon as constants of its own.
Result<std::vector<KernelId>> LowerAdam(const LowerContext& context) {
  constexpr std::size_t kFirst = 6;
  constexpr std::size_t kEnd = 9;
  std::vector<KernelId> inputs(context.inputs.begin(), context.inputs.end());
  for (std::size_t i = kFirst; i < kEnd; ++i) {
    if (context.builder.graph().at(inputs[i]).kind == KernelKind::kConstant) {
      inputs[i] = context.builder.Constant(TensorType(context.builder.TypeOf(inputs[i])), "");
    }
  }
  return LowerTo({.builder = context.builder,
                  .graph = context.graph,
                  .node = context.node,
                  .inputs = inputs,
                  .state = context.state},
                 context.node.op);
}

DRYDOCK_OP(ApplyMomentum, .family = "optimizer",
           .signature =
               "ApplyMomentum(use_nesterov=False, use_locking=False, gradient_scale=1.0)"
               "(variable, accumulation, learning_rate, gradient, momentum)",
           .kind = OpKind::kUpdate, .infer = InferApplyMomentum, .gradient = GradientNotNeeded,
           .lower = LowerToWeight, .values = "-", .returns_success = true,
           .evaluate = EvaluateApplyMomentum, .flops = FlopsPerInput<4>, .cost = CostFamily::kFree,
           .writes = "0,1");

DRYDOCK_OP(SGD, .family = "optimizer",
           .signature =
               "SGD(dampening=0.0, weight_decay=0.0, nesterov=False)"
               "(parameters, gradient, learning_rate, accum, momentum, stat)",
           .kind = OpKind::kUpdate, .infer = InferSgd, .gradient = GradientNotNeeded,
           .lower = LowerToWeight, .values = "-", .returns_success = true, .evaluate = EvaluateSgd,
           .flops = FlopsPerInput<6>, .cost = CostFamily::kFree, .writes = "0,3,5");

DRYDOCK_OP(Adam, .family = "optimizer",
           .signature =
               "Adam(use_locking=False, use_nesterov=False)"
               "(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient)",
           .kind = OpKind::kUpdate, .infer = InferAdam, .gradient = GradientNotNeeded,
           .lower = LowerAdam, .values = "-", .returns_success = true, .evaluate = EvaluateAdam,
           .flops = FlopsPerInput<12>, .cost = CostFamily::kFree, .writes = "0,1,2");

DRYDOCK_OP(AdamWeightDecay, .family = "optimizer",
           .signature =
               "AdamWeightDecay(use_locking=False)"
               "(var, m, v, lr, beta1, beta2, epsilon, decay, gradient)",
           .kind = OpKind::kUpdate, .infer = InferAdamWeightDecay, .gradient = GradientNotNeeded,
           .lower = LowerAdamWeightDecay, .evaluate = EvaluateAdamWeightDecay,
           .flops = FlopsPerInput<14>, .cost = CostFamily::kFree, .writes = "0,1,2");

}  // namespace
}  // namespace drydock::strategies
