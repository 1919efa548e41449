#include <cstdint>
#include <string>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"

/// Assignments to parameters: operand 0 is written in place. Source: mindspore
/// ops_info/arithmetic_info.cc.
namespace drydock::strategies {
namespace {

/// Shapes must be identical ((1,) against a scalar is tolerated); the variable keeps its type.
Result<std::vector<TensorType>> InferAssign(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  const Shape& variable = op.inputs[0].shape;
  const Shape& value = op.inputs[1].shape;
  const Shape one = {1};
  const bool scalar_like = (variable.empty() && value == one) || (value.empty() && variable == one);
  if (variable != value && !scalar_like) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' cannot write " + TupleText(value) +
                      " to a variable of shape " + TupleText(variable),
                  "assignments do not broadcast; reshape the value");
  }
  return std::vector<TensorType>{op.inputs[0]};
}

double SecondOf(double /*a*/, double b) {
  return b;
}
double SubOf(double a, double b) {
  return a - b;
}
double TimesOf(double a, double b) {
  return a * b;
}

/// New contents of the variable.
template <BinaryMath F>
Result<std::vector<NdArray>> EvaluateAssign(const EvaluateContext& context) {
  const Shape& shape = context.inputs[0].shape;
  const NdArray value = ReshapeArray(context.inputs[1], shape);
  return std::vector<NdArray>{MapArrays(context.inputs[0], value, shape, F)};
}

#define DRYDOCK_ASSIGN(id, value_fn, per_element)                                        \
  DRYDOCK_OP(id, .family = "broadcast_binary", .signature = #id "()(variable, value)",   \
             .kind = OpKind::kUpdate, .infer = InferAssign, .shard = ShardBroadcast,     \
             .default_strategy = DefaultBroadcast, .gradient = GradientNotNeeded,        \
             .evaluate = EvaluateAssign<value_fn>, .flops = FlopsPerOutput<per_element>, \
             .cost = CostFamily::kArithmetic, .accepts_layout = true, .writes = "0")

DRYDOCK_ASSIGN(Assign, SecondOf, 1);
DRYDOCK_ASSIGN(AssignAdd, SumOf, 1);
DRYDOCK_ASSIGN(AssignSub, SubOf, 1);
DRYDOCK_ASSIGN(InplaceMul, TimesOf, 1);

}  // namespace
}  // namespace drydock::strategies
