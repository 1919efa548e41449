#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Stacking along a new dimension, and taking apart again. The new dimension is whole. Source:
/// docs/operators.md, Stack.
namespace drydock::strategies {
namespace {

constexpr char kAxis[] = "axis";
constexpr char kDim[] = "dim";

/// New dimension counted from the left in the result, which has one dimension more than an operand.
template <const char* Name>
Result<std::size_t> NewDim(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(*op.attrs, Name, 0));
  return NormalisedAxis(op, axis, op.inputs[0].shape.size() + 1);
}

template <const char* Name>
Result<std::vector<TensorType>> InferStack(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameShapes(op));
  DRYDOCK_TRY(const std::size_t dim, NewDim<Name>(op));
  TensorType type = op.inputs[0];
  type.shape.insert(type.shape.begin() + static_cast<std::ptrdiff_t>(dim), std::ssize(op.inputs));
  return std::vector<TensorType>{type};
}

template <const char* Name>
Result<ShardRule> ShardStack(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const std::size_t dim, NewDim<Name>(op));
  DRYDOCK_TRY(ShardRule rule, ShardSameShape(op, strategy));
  rule.outputs[0].insert(rule.outputs[0].begin() + static_cast<std::ptrdiff_t>(dim), DimAxes{});
  return rule;
}

template <const char* Name>
Result<std::vector<ValueId>> GradientOfStack(const GradientContext& context) {
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(context.node.attrs, Name, 0));
  return EmitAll(context, "Unstack", {OutputGradient(context)},
                 {{"axis", axis}, {"num", std::ssize(context.node.inputs)}});
}

/// Operands with the new dimension of extent 1, joined.
template <const char* Name>
Result<std::vector<NdArray>> EvaluateStack(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t dim, NewDim<Name>(op));
  std::vector<NdArray> parts(context.inputs.begin(), context.inputs.end());
  for (NdArray& part : parts) {
    part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  }
  return std::vector<NdArray>{ConcatArrays(parts, dim)};
}

Result<std::size_t> TakenDim(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(*op.attrs, kAxis, 0));
  return NormalisedAxis(op, axis, op.inputs[0].shape.size());
}

Result<std::vector<TensorType>> InferUnstack(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const std::size_t dim, TakenDim(op));
  TensorType type = op.inputs[0];
  const std::int64_t count = type.shape[dim];
  constexpr std::int64_t kMostParts = 65536;
  if (count > kMostParts) {
    return FailOp(op, "parts",
                  "'" + std::string(op.op) + "' of " + TupleText(type.shape) + " gives " +
                      std::to_string(count) + " tensors",
                  "the limit is " + std::to_string(kMostParts));
  }
  type.shape.erase(type.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return std::vector<TensorType>(static_cast<std::size_t>(count), type);
}

Result<std::vector<NdArray>> EvaluateUnstack(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t dim, TakenDim(op));
  std::vector<NdArray> parts = SplitArray(context.inputs[0], dim, std::ssize(context.output_types));
  for (NdArray& part : parts) {
    part.shape.erase(part.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  }
  return parts;
}

/// The gradients of the parts, stacked again; of a part that nobody reads it is zero.
Result<std::vector<ValueId>> GradientOfUnstack(const GradientContext& context) {
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(context.node.attrs, kAxis, 0));
  DRYDOCK_TRY(std::vector<ValueId> parts, GradientsOfResults(context));
  DRYDOCK_TRY(const ValueId gradient, context.Emit("Stack", std::move(parts), {{"axis", axis}}));
  return std::vector<ValueId>{gradient};
}

#define DRYDOCK_STACK(id, arguments, name, example_call)                                        \
  DRYDOCK_OP(id, .family = "shape", .signature = #id arguments, .infer = InferStack<name>,      \
             .shard = ShardStack<name>, .default_strategy = DefaultBatchAll,                    \
             .gradient = GradientOfStack<name>, .values = "-", .evaluate = EvaluateStack<name>, \
             .flops = NoFlops, .cost = CostFamily::kCast, .example = example_call)

DRYDOCK_STACK(Stack, "(axis=0)(*x)", kAxis, "(axis=1)((4, 6), (4, 6))");
DRYDOCK_STACK(StackExt, "()(*tensors, #dim=0)", kDim, "(dim=1)((4, 6), (4, 6))");

DRYDOCK_OP(Unstack, .family = "gradient", .signature = "Unstack(axis=0, num=None)(input_x)",
           .infer = InferUnstack, .gradient = GradientOfUnstack, .values = "-",
           .evaluate = EvaluateUnstack, .flops = NoFlops);

}  // namespace
}  // namespace drydock::strategies
