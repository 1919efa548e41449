#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/scalar_math.h"

/// Running sums, products and extremes along one dimension, which stays whole. Source: mindspore
/// ops_info/activation_info.cc.
namespace drydock::strategies {
namespace {

/// Dimension that is run along: attribute `axis`, which mint operators call `dim`.
Result<std::size_t> RunDim(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(*op.attrs, "axis", 0));
  DRYDOCK_TRY(const std::int64_t dim, IntAttr(*op.attrs, "dim", axis));
  return NormalisedAxis(op, dim, op.inputs[0].shape.size());
}

Result<std::vector<TensorType>> InferRun(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(RunDim(op));
  return std::vector<TensorType>{op.inputs[0]};
}

template <DType Positions>
Result<std::vector<TensorType>> InferRunWithIndices(const OpView& op) {
  DRYDOCK_TRY(auto types, InferRun(op));
  types.push_back({.shape = types[0].shape, .dtype = Positions});
  return types;
}

/// Attribute dtype if given, else int64 for bool and integers.
Result<std::vector<TensorType>> InferCumsumExt(const OpView& op) {
  DRYDOCK_TRY(auto types, InferRun(op));
  const DType dtype = types[0].dtype;
  const bool whole_numbers = !IsFloating(dtype) && !IsComplex(dtype);
  const std::string fallback(DTypeName(whole_numbers ? DType::kInt64 : dtype));
  DRYDOCK_TRY(const std::string name, TextAttr(*op.attrs, "dtype", fallback));
  DRYDOCK_TRY(types[0].dtype, ParseDType(name));
  return types;
}

Result<ShardRule> ShardRun(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const std::size_t dim, RunDim(op));
  return AxisLocalRule(op, std::span(&dim, 1),
                       "the dimension '" + std::string(op.op) + "' runs along");
}

Result<Strategy> DefaultRun(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const std::size_t dim, RunDim(op));
  return BatchStrategy(op, device_count, {dim != 0});
}

// ---- Values

/// Which elements count for element `here` of a run.
struct RunForm {
  bool exclusive = false;
  bool reverse = false;
  [[nodiscard]] bool Counts(std::int64_t i, std::int64_t here) const {
    return (reverse ? i > here : i < here) || (i == here && !exclusive);
  }
};

Result<RunForm> FormOf(const AttrMap& attrs) {
  RunForm form = {};
  DRYDOCK_TRY(form.exclusive, BoolAttr(attrs, "exclusive", false));
  DRYDOCK_TRY(form.reverse, BoolAttr(attrs, "reverse", false));
  return form;
}

/// Elements that count for each element, combined with F from `Initial` on.
template <BinaryMath F, int Initial>
Result<std::vector<NdArray>> EvaluateRun(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t dim, RunDim(view));
  DRYDOCK_TRY(const RunForm form, FormOf(context.attrs));
  const NdArray& x = context.inputs[0];
  NdArray out = FilledArray(x.shape, Initial);
  ForEachElement(x.shape, [&](std::span<const std::int64_t> index) {
    std::vector<std::int64_t> at(index.begin(), index.end());
    double& slot = out.data[OffsetOf(x.shape, index)];
    for (std::int64_t i = 0; i < x.shape[dim]; ++i) {
      if (form.Counts(i, index[dim])) {
        at[dim] = i;
        slot = F(slot, x.data[OffsetOf(x.shape, at)]);
      }
    }
  });
  return std::vector<NdArray>{std::move(out)};
}

/// Extreme so far and where it is; of equal ones the latest.
template <bool Max>
Result<std::vector<NdArray>> EvaluateRunningExtreme(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t dim, RunDim(view));
  NdArray values = context.inputs[0];
  NdArray indices = FilledArray(values.shape, 0.0);
  ForEachElement(values.shape, [&](std::span<const std::int64_t> index) {
    const std::size_t here = OffsetOf(values.shape, index);
    indices.data[here] = static_cast<double>(index[dim]);
    if (index[dim] == 0) {
      return;
    }
    std::vector<std::int64_t> at(index.begin(), index.end());
    at[dim] -= 1;
    const std::size_t before = OffsetOf(values.shape, at);
    const bool stays =
        Max ? values.data[before] > values.data[here] : values.data[before] < values.data[here];
    if (stays) {
      values.data[here] = values.data[before];
      indices.data[here] = indices.data[before];
    }
  });
  return std::vector<NdArray>{std::move(values), std::move(indices)};
}

// ---- Gradients

using Gradients = Result<std::vector<ValueId>>;

/// The gradient of a running sum runs the other way.
Gradients GradientOfCumSum(const GradientContext& context) {
  AttrMap attrs = context.node.attrs;
  DRYDOCK_TRY(const bool reverse, BoolAttr(attrs, "reverse", false));
  attrs["reverse"] = !reverse;
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit(context.node.op, {OutputGradient(context)}, std::move(attrs)));
  return std::vector<ValueId>{gradient};
}

/// `value` summed up from the other end of dimension `name`.
Result<ValueId> SummedBack(const GradientContext& context, ValueId value, const char* name) {
  const AttrMap& attrs = context.node.attrs;
  DRYDOCK_TRY(const RunForm form, FormOf(attrs));
  DRYDOCK_TRY(const std::int64_t dim, IntAttr(attrs, name, 0));
  return context.Emit("CumSum", {value},
                      {{"axis", dim}, {"exclusive", form.exclusive}, {"reverse", !form.reverse}});
}

Gradients GradientOfCumsumExt(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId sum, SummedBack(context, OutputGradient(context), "dim"));
  DRYDOCK_TRY(const ValueId gradient,
              CastTo(context, sum, context.TypeOf(context.node.inputs[0]).dtype));
  return std::vector<ValueId>{gradient};
}

/// sum of dY * Y over the products that contain an element, divided by the element; elements that
/// are exactly 0 give no number.
Gradients GradientOfCumProd(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId product, TimesGradient(context, ResultOf(context)));
  DRYDOCK_TRY(const ValueId sum, SummedBack(context, product, "axis"));
  DRYDOCK_TRY(const ValueId gradient, context.Emit(ops::kRealDiv, {sum, context.node.inputs[0]}));
  return std::vector<ValueId>{gradient};
}

/// Gradients of the values go back to where the values were; positions have none.
Gradients GradientOfRunningExtreme(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  OpViewStorage storage = {};
  DRYDOCK_TRY(const std::size_t dim,
              RunDim(ViewOf(context.builder.graph(), context.node, storage)));
  return EmitPutBack(context, context.node.outputs[1], OutputGradient(context), dim);
}

#define DRYDOCK_RUN(id, arguments, infer_fn, gradient_fn, evaluate_fn, example_call)           \
  DRYDOCK_OP(id, .family = "axis_local", .signature = #id arguments, .infer = infer_fn,        \
             .shard = ShardRun, .default_strategy = DefaultRun, .gradient = gradient_fn,       \
             .evaluate = evaluate_fn, .flops = FlopsPerInput<1>, .cost = CostFamily::kSoftmax, \
             .accepts_layout = true, .example = example_call)

DRYDOCK_RUN(CumSum, "(exclusive=False, reverse=False)(input, #axis)", InferRun, GradientOfCumSum,
            (EvaluateRun<SumOf, 0>), "(axis=1)((4, 6))");
DRYDOCK_RUN(CumsumExt, "()(input, #dim, #dtype=None)", InferCumsumExt, GradientOfCumsumExt,
            (EvaluateRun<SumOf, 0>), "(dim=1)((4, 6))");
DRYDOCK_RUN(CumProd, "(exclusive=False, reverse=False)(x, #axis)", InferRun, GradientOfCumProd,
            (EvaluateRun<ProductOf, 1>), "(axis=1)((4, 6))");
DRYDOCK_RUN(Cummax, "()(input, #axis)", InferRunWithIndices<DType::kInt64>,
            GradientOfRunningExtreme, EvaluateRunningExtreme<true>, "(axis=1)((4, 6))");
DRYDOCK_RUN(Cummin, "()(input, #axis)", InferRunWithIndices<DType::kInt32>,
            GradientOfRunningExtreme, EvaluateRunningExtreme<false>, "(axis=1)((4, 6))");

}  // namespace
}  // namespace drydock::strategies
