#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/scalar_math.h"
#include "strategies/rules/reduce/reduction_form.h"

/// Reductions over listed dimensions (mindspore ops_info/reduce_base_method_info.cc): any dimension
/// may be cut; what is cut and reduced leaves partial results that an AllReduce completes.
namespace drydock::strategies {
namespace {

Result<std::vector<TensorType>> InferReduction(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const Reduction reduction, ReductionOf(op));
  return std::vector<TensorType>{
      {.shape = ReducedShape(op.inputs[0].shape, reduction.axes, reduction.keep_dims),
       .dtype = op.inputs[0].dtype}};
}

/// The mint operators: attribute dtype if given, else int64 for bool and narrow integers.
Result<std::vector<TensorType>> InferSumExt(const OpView& op) {
  DRYDOCK_TRY(auto types, InferReduction(op));
  const DType dtype = types[0].dtype;
  const bool narrow = dtype == DType::kBool || dtype == DType::kUInt8 || dtype == DType::kInt8 ||
                      dtype == DType::kInt16 || dtype == DType::kInt32;
  const std::string fallback(DTypeName(narrow ? DType::kInt64 : dtype));
  DRYDOCK_TRY(const std::string name, TextAttr(*op.attrs, "dtype", fallback));
  DRYDOCK_TRY(types[0].dtype, ParseDType(name));
  return types;
}

/// Attribute dtype if given, else the input's type, which must be floating then.
Result<std::vector<TensorType>> InferMeanExt(const OpView& op) {
  DRYDOCK_TRY(auto types, InferReduction(op));
  DRYDOCK_TRY(const std::string name, TextAttr(*op.attrs, "dtype", ""));
  if (!name.empty()) {
    DRYDOCK_TRY(types[0].dtype, ParseDType(name));
  } else {
    DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  }
  return types;
}

/// What distinguishes the reductions from each other.
enum class Reducer : std::uint8_t { kSum, kMean, kMax, kMin, kProd };

constexpr const char* ReduceOpName(Reducer reducer) {
  switch (reducer) {
    case Reducer::kMax:
      return "max";
    case Reducer::kMin:
      return "min";
    case Reducer::kProd:
      return "prod";
    default:
      return "sum";
  }
}

/// Attribute cross_batch: every rank keeps the reduction of its own samples. A mean does so only if
/// the batch dimension uses all devices.
Result<bool> StaysLocal(const OpView& op, const Strategy& strategy, Reducer reducer) {
  DRYDOCK_TRY(const bool cross_batch, BoolAttr(*op.attrs, "cross_batch", false));
  if (!cross_batch || reducer != Reducer::kMean) {
    return cross_batch;
  }
  return !strategy.empty() && !strategy[0].empty() && strategy[0][0] == op.device_count;
}

template <Reducer R>
Result<ShardRule> ShardReduction(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const Reduction reduction, ReductionOf(op));
  ShardRule rule =
      ReduceRule(op, reduction.axes, reduction.keep_dims, ReduceOpName(R), R == Reducer::kMean);
  DRYDOCK_TRY(const bool stays_local, StaysLocal(op, strategy, R));
  if (stays_local) {
    rule.communication.clear();
  }
  return rule;
}

Result<std::vector<ValueId>> GradientOfSum(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId spread, SpreadGradient(context));
  DRYDOCK_TRY(const ValueId gradient,
              CastTo(context, spread, context.TypeOf(context.node.inputs[0]).dtype));
  return std::vector<ValueId>{gradient};
}

/// Elements that go into one result.
double CountOf(const GradientContext& context) {
  return Elements(context.TypeOf(context.node.inputs[0])) /
         std::max(Elements(context.TypeOf(context.node.outputs[0])), 1.0);
}

/// As the sum's, divided by a number that is an attribute.
Result<std::vector<ValueId>> GradientOfMeanExt(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId spread, SpreadGradient(context));
  DRYDOCK_TRY(const ValueId quotient,
              context.Emit("Divs", {spread}, {{"other", CountOf(context)}}));
  DRYDOCK_TRY(const ValueId gradient,
              CastTo(context, quotient, context.TypeOf(context.node.inputs[0]).dtype));
  return std::vector<ValueId>{gradient};
}

/// As the sum's, divided by the number of elements that went into one result.
Result<std::vector<ValueId>> GradientOfMean(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId spread, SpreadGradient(context));
  const TensorType in = context.TypeOf(context.node.inputs[0]);
  const TensorType out = context.TypeOf(context.node.outputs[0]);
  const double count = CountOf(context);
  const ValueId divisor = context.builder.AddScalar(count, out.dtype);
  DRYDOCK_TRY(const ValueId quotient, context.Emit(ops::kRealDiv, {spread, divisor}));
  DRYDOCK_TRY(const ValueId gradient, CastTo(context, quotient, in.dtype));
  return std::vector<ValueId>{gradient};
}

/// Equal extremes share the gradient: dX = dY / number of such elements * (X == Y).
Result<std::vector<ValueId>> GradientOfExtreme(const GradientContext& context) {
  const ValueId x = context.node.inputs[0];
  OpViewStorage storage = {};
  DRYDOCK_TRY(const Reduction reduction,
              ReductionOf(ViewOf(context.builder.graph(), context.node, storage)));
  DRYDOCK_TRY(const ValueId kept_out, WithReducedDims(context, context.node.outputs[0]));
  DRYDOCK_TRY(const ValueId kept_gradient, WithReducedDims(context, OutputGradient(context)));
  DRYDOCK_TRY(const ValueId equal, context.Emit("Equal", {kept_out, x}));
  DRYDOCK_TRY(const ValueId chosen,
              CastTo(context, equal, context.TypeOf(OutputGradient(context)).dtype));
  const std::vector<std::int64_t> axes(reduction.axes.begin(), reduction.axes.end());
  DRYDOCK_TRY(const ValueId count,
              context.Emit(ops::kSumExt, {chosen},
                           {{"dim", axes},
                            {"keepdim", true},
                            {"dtype", std::string(DTypeName(context.TypeOf(chosen).dtype))}}));
  DRYDOCK_TRY(const ValueId share, context.Emit("Div", {kept_gradient, count}));
  DRYDOCK_TRY(const ValueId gradient, context.Emit(ops::kMul, {share, chosen}));
  return std::vector<ValueId>{gradient};
}

/// dX = dY * product(X) / X. The product is computed again, so that only X is kept; elements of X
/// that are exactly 0 give no number.
Result<std::vector<ValueId>> GradientOfProduct(const GradientContext& context) {
  const ValueId x = context.node.inputs[0];
  AttrMap attrs = context.node.attrs;
  attrs["keep_dims"] = true;
  DRYDOCK_TRY(const ValueId product, context.Emit(context.node.op, {x}, std::move(attrs)));
  DRYDOCK_TRY(const ValueId kept_gradient, WithReducedDims(context, OutputGradient(context)));
  DRYDOCK_TRY(const ValueId scaled, context.Emit(ops::kMul, {kept_gradient, product}));
  DRYDOCK_TRY(const ValueId gradient, context.Emit(ops::kRealDiv, {scaled, x}));
  return std::vector<ValueId>{gradient};
}

template <Reducer R>
NdArray Reduced(const NdArray& x, const Reduction& reduction) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (R) {
    case Reducer::kMax:
      return ReduceArray(x, reduction.axes, reduction.keep_dims, -kInfinity, MaxOf);
    case Reducer::kMin:
      return ReduceArray(x, reduction.axes, reduction.keep_dims, kInfinity, MinOf);
    case Reducer::kProd:
      return ReduceArray(x, reduction.axes, reduction.keep_dims, 1.0, ProductOf);
    default:
      return ReduceArray(x, reduction.axes, reduction.keep_dims, 0.0, SumOf);
  }
}

template <Reducer R>
Result<std::vector<NdArray>> EvaluateReduction(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const Reduction reduction, ReductionOf(view));
  NdArray out = Reduced<R>(context.inputs[0], reduction);
  if constexpr (R == Reducer::kMean) {
    const double count =
        Elements(context.input_types[0]) / std::max(Elements(context.output_types[0]), 1.0);
    out = MapArray(out, [count](double sum) { return sum / count; });
  }
  return std::vector<NdArray>{std::move(out)};
}

/// Axes are a tuple; where none are given, the back end makes a tensor of all of them, for every
/// kernel. Source: mindspore/ccsrc/backend/common/pass (reduce_axis_update).
Result<std::vector<KernelId>> LowerReduction(const LowerContext& context) {
  const AttrMap& attrs = context.node.attrs;
  KernelBuilder& builder = context.builder;
  DRYDOCK_TRY(const auto axes, IntListAttr(attrs, "axis"));
  const std::int64_t rank = std::ssize(context.InputType(0).shape);
  std::vector<KernelId> arguments = {
      axes && !axes->empty() ? builder.Argument(Attr(*axes))
                             : builder.Constant({.shape = {rank}, .dtype = DType::kInt64}, "")};
  for (const SignatureArgument& argument : builder.ArgumentsOf(*context.node.entry)) {
    if (argument.name != "axis") {
      DRYDOCK_TRY(const bool flag, BoolAttr(attrs, argument.name, false));
      arguments.push_back(builder.Argument(flag));
    }
  }
  return LowerTo(context, context.node.op, std::move(arguments));
}

DRYDOCK_OP(ReduceSum, .family = "reduction",
           .signature = "ReduceSum(keep_dims=False, skip_mode=False)(x, #axis=())",
           .folding = Folding::kWhole, .infer = InferReduction,
           .shard = ShardReduction<Reducer::kSum>, .gradient = GradientOfSum,
           .lower = LowerReduction, .values = "axis,keep_dims,skip_mode",
           .evaluate = EvaluateReduction<Reducer::kSum>, .flops = FlopsPerInput<1>,
           .cost = CostFamily::kReduce);

DRYDOCK_OP(ReduceMean, .family = "reduction",
           .signature = "ReduceMean(keep_dims=False)(x, #axis=())", .folding = Folding::kWhole,
           .infer = InferReduction, .shard = ShardReduction<Reducer::kMean>,
           .gradient = GradientOfMean, .lower = LowerReduction, .values = "axis,keep_dims",
           .evaluate = EvaluateReduction<Reducer::kMean>, .flops = FlopsPerInput<1>,
           .cost = CostFamily::kReduce);

DRYDOCK_OP(ReduceMax, .family = "reduction", .signature = "ReduceMax(keep_dims=False)(x, #axis=())",
           .folding = Folding::kWhole, .infer = InferReduction,
           .shard = ShardReduction<Reducer::kMax>, .gradient = GradientOfExtreme,
           .lower = LowerReduction, .values = "axis,keep_dims",
           .evaluate = EvaluateReduction<Reducer::kMax>, .flops = FlopsPerInput<1>,
           .cost = CostFamily::kReduce);

DRYDOCK_OP(ReduceMin, .family = "reduction", .signature = "ReduceMin(keep_dims=False)(x, #axis=())",
           .folding = Folding::kWhole, .infer = InferReduction,
           .shard = ShardReduction<Reducer::kMin>, .gradient = GradientOfExtreme,
           .lower = LowerReduction, .values = "axis,keep_dims",
           .evaluate = EvaluateReduction<Reducer::kMin>, .flops = FlopsPerInput<1>,
           .cost = CostFamily::kReduce);

DRYDOCK_OP(ReduceProd, .family = "reduction",
           .signature = "ReduceProd(keep_dims=False)(x, #axis=())", .folding = Folding::kWhole,
           .infer = InferReduction, .shard = ShardReduction<Reducer::kProd>,
           .gradient = GradientOfProduct, .lower = LowerReduction, .values = "axis,keep_dims",
           .evaluate = EvaluateReduction<Reducer::kProd>, .flops = FlopsPerInput<1>,
           .cost = CostFamily::kReduce);

#define DRYDOCK_MINT_REDUCTION(id, arguments, infer_fn, reducer, gradient_fn)                   \
  DRYDOCK_OP(id, .family = "reduction", .signature = #id arguments, .folding = Folding::kWhole, \
             .infer = infer_fn, .shard = ShardReduction<reducer>, .gradient = gradient_fn,      \
             .evaluate = EvaluateReduction<reducer>, .flops = FlopsPerInput<1>,                 \
             .cost = CostFamily::kReduce, .accepts_layout = true)

DRYDOCK_MINT_REDUCTION(SumExt, "()(input, #dim=None, #keepdim=False, #dtype=None)", InferSumExt,
                       Reducer::kSum, GradientOfSum);
DRYDOCK_MINT_REDUCTION(MeanExt, "()(input, #dim=None, #keepdim=False, #dtype=None)", InferMeanExt,
                       Reducer::kMean, GradientOfMeanExt);
DRYDOCK_MINT_REDUCTION(Max, "()(input)", InferReduction, Reducer::kMax, GradientOfExtreme);

}  // namespace
}  // namespace drydock::strategies
