#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/scalar_math.h"

/// More element-wise operators of tensors that broadcast: remainders and quotients of all kinds,
/// sums with a factor, comparisons with a tolerance, blends. Source: mindspore
/// ops_info/arithmetic_info.cc.
namespace drydock::strategies {
namespace {

// ---- Values -------------------------------------------------------------------------------------

double FloorQuotientOf(double a, double b) {
  return std::floor(a / b);
}
double TruncatedQuotientOf(double a, double b) {
  return std::trunc(a / b);
}
double FloorRemainderOf(double a, double b) {
  return a - b * std::floor(a / b);
}
double TruncatedRemainderOf(double a, double b) {
  return std::fmod(a, b);
}
double MulNoNanOf(double a, double b) {
  return b == 0 ? 0.0 : a * b;
}
double HypotOf(double a, double b) {
  return std::hypot(a, b, 0.0);  // the form of three is the library's own: no symbol of glibc 2.35
}
double NextAfterOf(double a, double b) {
  return std::nextafter(a, b);
}
double CrossEntropyOf(double x, double label) {
  return std::max(x, 0.0) - x * label + std::log1p(std::exp(-std::fabs(x)));
}

using Gradients = Result<std::vector<ValueId>>;

// ---- Remainders and quotients

constexpr char kFloorDiv[] = "FloorDiv";
constexpr char kTruncateDiv[] = "TruncateDiv";

/// -dY * quotient(a, b): slope of the remainder by the divisor.
template <const char* QuotientOp>
Result<ValueId> RemainderByDivisor(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId quotient,
              context.Emit(QuotientOp, {LeftOf(context), RightOf(context)}));
  DRYDOCK_TRY(const ValueId product, TimesGradient(context, quotient));
  return context.Emit("Neg", {product});
}

enum class Rounding : std::uint8_t { GradientNotNeeded, kTrunc, kFloor };

/// Attribute rounding_mode: None, 'trunc' or 'floor' (also by number: 1 = trunc, 2 = floor).
Result<Rounding> RoundingOf(const AttrMap& attrs) {
  if (const auto number = IntAttr(attrs, "rounding_mode", 0); number) {
    return *number == 1   ? Rounding::kTrunc
           : *number == 2 ? Rounding::kFloor
                          : Rounding::GradientNotNeeded;
  }
  DRYDOCK_TRY(const std::string name, TextAttr(attrs, "rounding_mode", ""));
  return name == "trunc"   ? Rounding::kTrunc
         : name == "floor" ? Rounding::kFloor
                           : Rounding::GradientNotNeeded;
}

Result<std::vector<TensorType>> InferDivMod(const OpView& op) {
  DRYDOCK_TRY(const Rounding rounding, RoundingOf(*op.attrs));
  return rounding == Rounding::GradientNotNeeded ? InferBroadcastToFloat(op) : InferBroadcast(op);
}

/// dY / b.
Result<ValueId> OverDivisor(const GradientContext& context) {
  return context.Emit("Div", {OutputGradient(context), RightOf(context)});
}

/// -dY / b * (a / b); the result is not kept, so the quotient is computed again.
Result<ValueId> QuotientByDivisor(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId scaled, OverDivisor(context));
  DRYDOCK_TRY(const ValueId quotient, context.Emit("Div", {LeftOf(context), RightOf(context)}));
  DRYDOCK_TRY(const ValueId product, context.Emit(ops::kMul, {scaled, quotient}));
  return context.Emit("Neg", {product});
}

/// A rounded quotient has no slope.
Gradients GradientOfDivMod(const GradientContext& context) {
  DRYDOCK_TRY(const Rounding rounding, RoundingOf(context.node.attrs));
  return rounding == Rounding::GradientNotNeeded
             ? OperandGradients<OverDivisor, QuotientByDivisor>(context)
             : NoGradients(context);
}

Result<std::vector<NdArray>> EvaluateDivMod(const EvaluateContext& context) {
  DRYDOCK_TRY(const Rounding rounding, RoundingOf(context.attrs));
  switch (rounding) {
    case Rounding::kTrunc:
      return EvaluateBinary<TruncatedQuotientOf>(context);
    case Rounding::kFloor:
      return EvaluateBinary<FloorQuotientOf>(context);
    default:
      return EvaluateBinary<QuotientOf>(context);
  }
}

// ---- Sums with a factor: input + alpha * other, input + value * tensor1 * tensor2

/// Attribute alpha must suit the operands' type. Source: mindspore ops/infer.
Result<std::vector<TensorType>> InferWithAlpha(const OpView& op) {
  DRYDOCK_TRY(auto types, InferBroadcast(op));
  const auto alpha = op.attrs->find("alpha");
  const bool is_number = alpha != op.attrs->end();
  const bool is_float = is_number && std::holds_alternative<double>(alpha->second.value);
  const bool is_bool = is_number && std::holds_alternative<bool>(alpha->second.value);
  const DType dtype = types[0].dtype;
  if ((is_float && !IsFloating(dtype) && !IsComplex(dtype)) || (is_bool && dtype != DType::kBool)) {
    return FailOp(op, "alpha",
                  "alpha of '" + std::string(op.op) + "' is " + AttrText(alpha->second) +
                      ", which does not suit operands of type " + std::string(DTypeName(dtype)),
                  "use an integer alpha for integer operands");
  }
  return types;
}

Result<double> AlphaOf(const AttrMap& attrs) {
  return FloatAttr(attrs, "alpha", 1.0);
}

template <int Sign>
Result<std::vector<NdArray>> EvaluateWithAlpha(const EvaluateContext& context) {
  DRYDOCK_TRY(const double alpha, AlphaOf(context.attrs));
  return std::vector<NdArray>{
      MapArrays(context.inputs[0], context.inputs[1], context.output_types[0].shape,
                [alpha](double a, double b) { return a + Sign * alpha * b; })};
}

template <int Sign>
Result<ValueId> TimesAlpha(const GradientContext& context) {
  DRYDOCK_TRY(const double alpha, AlphaOf(context.node.attrs));
  const double factor = Sign * alpha;
  return factor == 1.0 ? GradientItself(context)
                       : EmitScaled(context, OutputGradient(context), factor);
}

Result<std::vector<TensorType>> InferAddcmul(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_TRY(const Shape first, BroadcastShapes(op, op.inputs[0].shape, op.inputs[1].shape));
  DRYDOCK_TRY(Shape shape, BroadcastShapes(op, first, op.inputs[2].shape));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

/// dY * value * the other factor.
template <std::size_t Other>
Result<ValueId> TimesFactor(const GradientContext& context) {
  DRYDOCK_TRY(const double value, FloatAttr(context.node.attrs, "value", 1.0));
  DRYDOCK_TRY(const ValueId product, TimesGradient(context, context.node.inputs[Other]));
  return value == 1.0 ? product : EmitScaled(context, product, value);
}

Result<std::vector<NdArray>> EvaluateAddcmul(const EvaluateContext& context) {
  DRYDOCK_TRY(const double value, FloatAttr(context.attrs, "value", 1.0));
  const Shape& shape = context.output_types[0].shape;
  const NdArray product = MapArrays(context.inputs[1], context.inputs[2], shape,
                                    [value](double a, double b) { return value * a * b; });
  return std::vector<NdArray>{MapArrays(context.inputs[0], product, shape, SumOf)};
}

// ---- Comparisons with a tolerance

Result<std::vector<NdArray>> EvaluateApproximateEqual(const EvaluateContext& context) {
  DRYDOCK_TRY(const double tolerance, FloatAttr(context.attrs, "tolerance", 1e-5));
  return std::vector<NdArray>{
      MapArrays(context.inputs[0], context.inputs[1], context.output_types[0].shape,
                [=](double a, double b) { return std::fabs(a - b) < tolerance ? 1.0 : 0.0; })};
}

Result<std::vector<NdArray>> EvaluateIsClose(const EvaluateContext& context) {
  DRYDOCK_TRY(const double relative, FloatAttr(context.attrs, "rtol", 1e-5));
  DRYDOCK_TRY(const double absolute, FloatAttr(context.attrs, "atol", 1e-8));
  DRYDOCK_TRY(const bool equal_nan, BoolAttr(context.attrs, "equal_nan", true));
  const auto close = [=](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) {
      return equal_nan && std::isnan(a) && std::isnan(b);
    }
    return a == b || std::fabs(a - b) <= absolute + relative * std::fabs(b);
  };
  return std::vector<NdArray>{
      MapArrays(context.inputs[0], context.inputs[1], context.output_types[0].shape,
                [&](double a, double b) { return close(a, b) ? 1.0 : 0.0; })};
}

// ---- Products and roots

Result<ValueId> NoNanLeft(const GradientContext& context) {
  return context.Emit("MulNoNan", {OutputGradient(context), RightOf(context)});
}
Result<ValueId> NoNanRight(const GradientContext& context) {
  return context.Emit("MulNoNan", {LeftOf(context), OutputGradient(context)});
}

/// dY * leg / hypotenuse.
template <ValueId (*Leg)(const GradientContext&)>
Result<ValueId> LegOverResult(const GradientContext& context) {
  return TimesGradient(context, context.Emit("Div", {Leg(context), ResultOf(context)}));
}

// ---- SigmoidCrossEntropyWithLogits

Result<std::vector<TensorType>> InferCrossEntropy(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameShapes(op));
  return InferBroadcastSameFloating(op);
}

/// Labels are data: as in the reference they get no gradient.
Gradients GradientOfCrossEntropy(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("SigmoidCrossEntropyWithLogitsGrad",
                           {LeftOf(context), RightOf(context), OutputGradient(context)}));
  return std::vector<ValueId>{gradient, kNoValue};
}

/// (sigmoid(x) - label) * dY.
Result<std::vector<NdArray>> EvaluateCrossEntropyGrad(const EvaluateContext& context) {
  NdArray out = context.inputs[2];
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    const double sigmoid = 1.0 / (1.0 + std::exp(-context.inputs[0].data[i]));
    out.data[i] *= sigmoid - context.inputs[1].data[i];
  }
  return std::vector<NdArray>{out};
}

// ---- Entries

#define DRYDOCK_ARITHMETIC(id, arguments, infer_fn, gradient_fn, evaluate_fn, per_element)    \
  DRYDOCK_OP(id, .family = "broadcast_binary", .signature = #id arguments, .infer = infer_fn, \
             .shard = ShardBroadcast, .default_strategy = DefaultBroadcast,                   \
             .gradient = gradient_fn, .evaluate = evaluate_fn,                                \
             .flops = FlopsPerOutput<per_element>, .cost = CostFamily::kArithmetic,           \
             .elementwise = true, .accepts_layout = true, .accepts_interleaved = true)

DRYDOCK_ARITHMETIC(Mod, "()(x, y)", InferBroadcast,
                   (OperandGradients<GradientItself, RemainderByDivisor<kTruncateDiv>>),
                   EvaluateBinary<TruncatedRemainderOf>, 1);
DRYDOCK_ARITHMETIC(TruncateMod, "()(x, y)", InferBroadcast,
                   (OperandGradients<GradientItself, RemainderByDivisor<kTruncateDiv>>),
                   EvaluateBinary<TruncatedRemainderOf>, 1);
DRYDOCK_ARITHMETIC(FmodTensor, "()(input, other)", InferBroadcast,
                   (OperandGradients<GradientItself, RemainderByDivisor<kTruncateDiv>>),
                   EvaluateBinary<TruncatedRemainderOf>, 1);
DRYDOCK_ARITHMETIC(RemainderTensorTensor, "()(input, other)", InferBroadcast,
                   (OperandGradients<GradientItself, RemainderByDivisor<kFloorDiv>>),
                   EvaluateBinary<FloorRemainderOf>, 1);
DRYDOCK_ARITHMETIC(TruncateDiv, "()(x, y)", InferBroadcast, GradientNotNeeded,
                   EvaluateBinary<TruncatedQuotientOf>, 1);
DRYDOCK_ARITHMETIC(DivMod, "()(input, other, #rounding_mode=None)", InferDivMod, GradientOfDivMod,
                   EvaluateDivMod, 1);
DRYDOCK_ARITHMETIC(AddExt, "()(input, other, #alpha=1)", InferWithAlpha,
                   (OperandGradients<GradientItself, TimesAlpha<1>>), EvaluateWithAlpha<1>, 1);
DRYDOCK_ARITHMETIC(SubExt, "()(input, other, #alpha=1)", InferWithAlpha,
                   (OperandGradients<GradientItself, TimesAlpha<-1>>), EvaluateWithAlpha<-1>, 1);
DRYDOCK_ARITHMETIC(AddcmulExt, "()(input, tensor1, tensor2, #value=1)", InferAddcmul,
                   (OperandGradients<GradientItself, TimesFactor<2>, TimesFactor<1>>),
                   EvaluateAddcmul, 3);
DRYDOCK_ARITHMETIC(ApproximateEqual, "(tolerance=1e-5)(x, y)", InferBroadcastBool,
                   GradientNotNeeded, EvaluateApproximateEqual, 1);
DRYDOCK_ARITHMETIC(IsClose, "()(input, other, #rtol=1e-5, #atol=1e-8, #equal_nan=True)",
                   InferBroadcastBool, GradientNotNeeded, EvaluateIsClose, 1);
DRYDOCK_ARITHMETIC(MulNoNan, "()(x, y)", InferBroadcast, (OperandGradients<NoNanLeft, NoNanRight>),
                   EvaluateBinary<MulNoNanOf>, 1);
DRYDOCK_ARITHMETIC(Hypot, "()(x1, x2)", InferBroadcastSameFloating,
                   (OperandGradients<LegOverResult<LeftOf>, LegOverResult<RightOf>>),
                   EvaluateBinary<HypotOf>, 1);
DRYDOCK_ARITHMETIC(NextAfter, "()(input, other)", InferBroadcastSameFloating,
                   (OperandGradients<GradientItself>), EvaluateBinary<NextAfterOf>, 1);

DRYDOCK_ARITHMETIC(SigmoidCrossEntropyWithLogits, "()(logits, label)", InferCrossEntropy,
                   GradientOfCrossEntropy, EvaluateBinary<CrossEntropyOf>, 6);
DRYDOCK_OP(SigmoidCrossEntropyWithLogitsGrad, .family = "gradient",
           .signature = "SigmoidCrossEntropyWithLogitsGrad()(logits, label, dout)",
           .infer = InferFirst, .gradient = GradientNotNeeded, .evaluate = EvaluateCrossEntropyGrad,
           .flops = FlopsPerInput<6>);

}  // namespace
}  // namespace drydock::strategies
