#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/reduce/reduction_form.h"

/// Reductions whose partial results need more than a collective of their own type: any and all,
/// which are combined as integers, and sums of squares. Source: mindspore
/// ops_info/reduce_base_method_info.cc.
namespace drydock::strategies {
namespace {

using Gradients = Result<std::vector<ValueId>>;

// ---- ReduceAny, ReduceAll

Result<std::vector<TensorType>> InferLogic(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const Reduction reduction, ReductionOf(op));
  return std::vector<TensorType>{
      {.shape = ReducedShape(op.inputs[0].shape, reduction.axes, reduction.keep_dims),
       .dtype = DType::kBool}};
}

/// What is cut and reduced is completed in the local program, behind a cast to int32.
Result<ShardRule> ShardLogic(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const Reduction reduction, ReductionOf(op));
  ShardRule rule = ReduceRule(op, reduction.axes, reduction.keep_dims, "sum", false);
  rule.communication.clear();
  return rule;
}

/// Attribute cross_batch: every rank keeps the result of its own samples if the batch dimension
/// uses all devices.
Result<bool> StaysLocal(const LocalizeContext& context) {
  DRYDOCK_TRY(const bool cross_batch, BoolAttr(context.spec.attrs, "cross_batch", false));
  const std::vector<std::int64_t> cuts = CutsOf(context.sharding.inputs[0]);
  const bool batch_uses_all = !cuts.empty() && cuts[0] == Product(context.sharding.device_matrix);
  return cross_batch && batch_uses_all;
}

/// int32 -> AllReduce -> bool: a sum for any, a product for all.
template <bool All>
Result<std::vector<ValueId>> LocalizeLogic(const LocalizeContext& context) {
  DRYDOCK_TRY(const Reduction reduction, ReductionOf(context.global));
  DRYDOCK_TRY(std::vector<ValueId> outputs, EmitLocal(context, context.spec.attrs));
  DRYDOCK_TRY(const bool stays_local, StaysLocal(context));
  std::vector<AxisIndex> cut = {};
  for (const std::size_t axis : reduction.axes) {
    if (GroupSize(context.sharding.axis_groups[axis]) > 1) {
      cut.push_back(static_cast<AxisIndex>(axis));
    }
  }
  if (cut.empty() || stays_local) {
    return outputs;
  }
  DRYDOCK_TRY(const ValueId number, EmitHelperCast(context, outputs[0], DType::kInt32));
  DRYDOCK_TRY(const ValueId combined,
              EmitHelperAllReduce(context, number, cut, "partial " + std::string(context.global.op),
                                  All ? "prod" : "sum"));
  DRYDOCK_TRY(outputs[0], EmitHelperCast(context, combined, DType::kBool));
  return outputs;
}

double AndOf(double a, double b) {
  return a != 0 && b != 0 ? 1.0 : 0.0;
}
double OrOf(double a, double b) {
  return a != 0 || b != 0 ? 1.0 : 0.0;
}

template <bool All>
Result<std::vector<NdArray>> EvaluateLogic(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const Reduction reduction, ReductionOf(op));
  return std::vector<NdArray>{ReduceArray(context.inputs[0], reduction.axes, reduction.keep_dims,
                                          All ? 1.0 : 0.0, All ? AndOf : OrOf)};
}

#define DRYDOCK_LOGIC(id, operand, is_all)                                                     \
  DRYDOCK_OP(id, .family = "reduction",                                                        \
             .signature = #id "(keep_dims=False)(" operand ", #axis=())", .infer = InferLogic, \
             .shard = ShardLogic, .localize = LocalizeLogic<is_all>,                           \
             .gradient = GradientNotNeeded, .evaluate = EvaluateLogic<is_all>,                 \
             .flops = FlopsPerInput<1>, .cost = CostFamily::kReduce, .example = "()(bool(4, 6))")

DRYDOCK_LOGIC(ReduceAny, "x", false);
DRYDOCK_LOGIC(ReduceAll, "input", true);

// ---- Sums of squares

std::vector<AxisIndex> AllAxes(std::size_t rank) {
  std::vector<AxisIndex> axes = {};
  for (std::size_t d = 0; d < rank; ++d) {
    axes.push_back(static_cast<AxisIndex>(d));
  }
  return axes;
}

double SquaresOf(const NdArray& x) {
  double sum = 0;
  for (const double value : x.data) {
    sum += value * value;
  }
  return sum;
}

/// dY * factor * operand.
template <std::size_t Operand, int Factor>
Result<ValueId> TimesOperand(const GradientContext& context) {
  const ValueId gradient = context.output_gradients[Operand];
  if (gradient == kNoValue) {
    return EmitZeros(context, context.node.inputs[Operand]);
  }
  DRYDOCK_TRY(const ValueId product,
              context.Emit(ops::kMul, {context.node.inputs[Operand], gradient}));
  return Factor == 1 ? product : EmitScaled(context, product, Factor);
}

Result<std::vector<TensorType>> InferL2Loss(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  return std::vector<TensorType>{{.shape = {}, .dtype = op.inputs[0].dtype}};
}

Result<ShardRule> ShardL2Loss(const OpView& op, const Strategy& /*strategy*/) {
  const std::size_t rank = op.inputs[0].shape.size();
  return ShardRule{.axis_count = static_cast<std::int32_t>(rank),
                   .inputs = {AxesInOrder(rank)},
                   .outputs = {TensorAxes{}},
                   .communication = {{.axes = AllAxes(rank)}}};
}

Result<std::vector<NdArray>> EvaluateL2Loss(const EvaluateContext& context) {
  return std::vector<NdArray>{FilledArray({}, 0.5 * SquaresOf(context.inputs[0]))};
}

DRYDOCK_OP(L2Loss, .family = "reduction", .signature = "L2Loss()(x)", .infer = InferL2Loss,
           .shard = ShardL2Loss, .gradient = OperandGradients<TimesOperand<0, 1>>,
           .evaluate = EvaluateL2Loss, .flops = FlopsPerInput<2>, .cost = CostFamily::kReduce,
           .accepts_layout = true);

Result<std::vector<TensorType>> InferSquareSumAll(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameShapes(op));
  const TensorType scalar{.shape = {}, .dtype = op.inputs[0].dtype};
  return std::vector<TensorType>{scalar, scalar};
}

Result<ShardRule> ShardSquareSumAll(const OpView& op, const Strategy& /*strategy*/) {
  const std::size_t rank = op.inputs[0].shape.size();
  return ShardRule{.axis_count = static_cast<std::int32_t>(rank),
                   .inputs = {AxesInOrder(rank), AxesInOrder(rank)},
                   .outputs = {TensorAxes{}, TensorAxes{}},
                   .communication = {{.output = 0, .axes = AllAxes(rank)},
                                     {.output = 1, .axes = AllAxes(rank)}}};
}

Result<std::vector<NdArray>> EvaluateSquareSumAll(const EvaluateContext& context) {
  return std::vector<NdArray>{FilledArray({}, SquaresOf(context.inputs[0])),
                              FilledArray({}, SquaresOf(context.inputs[1]))};
}

DRYDOCK_OP(SquareSumAll, .family = "reduction", .signature = "SquareSumAll()(x, y)",
           .infer = InferSquareSumAll, .shard = ShardSquareSumAll,
           .default_strategy = DefaultBatchAll,
           .gradient = OperandGradients<TimesOperand<0, 2>, TimesOperand<1, 2>>,
           .evaluate = EvaluateSquareSumAll, .flops = FlopsPerInput<4>,
           .cost = CostFamily::kReduce);

}  // namespace
}  // namespace drydock::strategies
