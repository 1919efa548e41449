#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strategies/rules/array_math.h"
#include "strategies/rules/common_gradients.h"
#include "strategies/rules/common_rules.h"

/// Dropout (spec operators 3.12). Nothing random happens in a dry run: the reference execution
/// knows the case that nothing is dropped (keep_prob 1) and answers kUnsupported for every other.
namespace drydock::strategies {
namespace {

Result<double> KeepProbability(const AttrMap& attrs) {
  return FloatAttr(attrs, "keep_prob", 0.5);
}

Result<std::vector<TensorType>> InferDropout(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(const double keep, KeepProbability(*op.attrs));
  if (!(keep > 0 && keep <= 1)) {
    return FailOp(op, "keep-prob",
                  "keep_prob of '" + std::string(op.op) + "' is " + AttrText(keep) +
                      ", but it must be in (0, 1]");
  }
  return std::vector<TensorType>{op.inputs[0], op.inputs[0]};
}

/// Ranks that repeat the same calculation must drop the same elements: seeds of 0 (= any) become
/// one number, the same on all ranks and different for every operator of a program.
Result<std::vector<ValueId>> LocalizeDropout(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  DRYDOCK_TRY(const std::int64_t seed0, IntAttr(attrs, "Seed0", 0));
  DRYDOCK_TRY(const std::int64_t seed1, IntAttr(attrs, "Seed1", 0));
  const bool repeated = context.sharding.loss_divisor > 1;
  if (seed0 == 0 && seed1 == 0 && repeated) {
    const auto seed = static_cast<std::int64_t>(context.builder.graph().nodes.size()) + 1;
    attrs["Seed0"] = seed;
    attrs["Seed1"] = seed;
  }
  return EmitLocal(context, std::move(attrs));
}

Result<std::vector<ValueId>> GradientOfDropout(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  DRYDOCK_TRY(const double keep, KeepProbability(context.node.attrs));
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("DropoutGrad", {OutputGradient(context), context.node.outputs[1]},
                           {{"keep_prob", keep}}));
  return std::vector<ValueId>{gradient};
}

/// keep_prob 1: output = input, mask = ones. @error kUnsupported  elements would be dropped at
/// random
Result<std::vector<NdArray>> EvaluateDropout(const EvaluateContext& context) {
  DRYDOCK_TRY(const double keep, KeepProbability(context.attrs));
  if (keep != 1) {
    return Fail(
        ErrorCode::kUnsupported,
        "a dropout with keep_prob " + AttrText(keep) + " is random and has no reference result",
        "compare numbers with keep_prob=1.0");
  }
  return std::vector<NdArray>{context.inputs[0], FilledArray(context.inputs[0].shape, 1.0)};
}

/// dX = dY * mask / keep_prob.
Result<std::vector<NdArray>> EvaluateDropoutGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const double keep, KeepProbability(context.attrs));
  return std::vector<NdArray>{
      MapArrays(context.inputs[0], context.inputs[1], context.inputs[0].shape,
                [keep](double dy, double mask) { return dy * mask / keep; })};
}

DRYDOCK_OP(Dropout, .family = "random", .signature = "Dropout(keep_prob=0.5, Seed0=0, Seed1=0)(x)",
           .infer = InferDropout, .shard = ShardElementwise, .localize = LocalizeDropout,
           .gradient = GradientOfDropout, .evaluate = EvaluateDropout, .flops = FlopsPerInput<2>,
           .cost = CostFamily::kActivation, .accepts_layout = true);

DRYDOCK_OP(DropoutGrad, .family = "gradient", .signature = "DropoutGrad(keep_prob=0.5)(grad, mask)",
           .infer = InferFirst, .evaluate = EvaluateDropoutGrad, .flops = FlopsPerInput<2>);

}  // namespace
}  // namespace drydock::strategies
