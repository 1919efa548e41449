#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Element-wise functions of one tensor and plain numbers, which are attributes and take no part in
/// the sharding. Source: mindspore ops_info/activation_info.cc.
namespace drydock::strategies {
namespace {

// ---- Numbers beside the tensor

/// An attribute that is one number, with the value it has when the script does not give it.
struct NumberAttr {
  const char* name = "";
  double fallback = 0.0;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr NumberAttr kNoNumber = {};
constexpr NumberAttr kAlpha = {"alpha", 1.0};
constexpr NumberAttr kLambda = {"lambd", 0.5};
constexpr NumberAttr kSlope = {"negative_slope", 0.01};
constexpr NumberAttr kBeta = {"beta", 1.0};
constexpr NumberAttr kThreshold = {"threshold", 20.0};
constexpr NumberAttr kLeast = {"min", -kInfinity};
constexpr NumberAttr kMost = {"max", kInfinity};
constexpr NumberAttr kOther = {"other", 1.0};
constexpr NumberAttr kFirst = {"input", 1.0};
constexpr NumberAttr kExponent = {"exponent", 1.0};

/// f(x, p, q) of one tensor and up to two numbers.
using NumberMath = double (*)(double x, double p, double q);
/// f(dy, x, p, q).
using NumberSlope = double (*)(double dy, double x, double p, double q);

Result<double> NumberOf(const AttrMap& attrs, const NumberAttr& number) {
  return FloatAttr(attrs, number.name, number.fallback);
}

template <NumberMath F, const NumberAttr& P, const NumberAttr& Q = kNoNumber>
Result<std::vector<NdArray>> EvaluateWithNumbers(const EvaluateContext& context) {
  DRYDOCK_TRY(const double p, NumberOf(context.attrs, P));
  DRYDOCK_TRY(const double q, NumberOf(context.attrs, Q));
  return std::vector<NdArray>{MapArray(context.inputs[0], [p, q](double x) { return F(x, p, q); })};
}

template <NumberSlope F, const NumberAttr& P, const NumberAttr& Q = kNoNumber>
Result<std::vector<NdArray>> EvaluateSlope(const EvaluateContext& context) {
  DRYDOCK_TRY(const double p, NumberOf(context.attrs, P));
  DRYDOCK_TRY(const double q, NumberOf(context.attrs, Q));
  const NdArray& dy = context.inputs[0];
  return std::vector<NdArray>{MapArrays(dy, context.inputs[1], dy.shape,
                                        [p, q](double d, double x) { return F(d, x, p, q); })};
}

// ---- Values and slopes

double EluOf(double x, double alpha, double /*q*/) {
  return x > 0 ? x : alpha * std::expm1(x);
}
/// From the result, which tells as much as the input while alpha is 1.
double EluSlope(double dy, double y, double /*p*/, double /*q*/) {
  return y > 0 ? dy : dy * (y + 1.0);
}
double EluExtSlope(double dy, double x, double alpha, double /*q*/) {
  return x > 0 ? dy : dy * alpha * std::exp(x);
}
double HShrinkOf(double x, double lambda, double /*q*/) {
  return std::fabs(x) > lambda ? x : 0.0;
}
double SoftShrinkOf(double x, double lambda, double /*q*/) {
  return std::fabs(x) > lambda ? x - std::copysign(lambda, x) : 0.0;
}
double ShrinkSlope(double dy, double x, double lambda, double /*q*/) {
  return std::fabs(x) > lambda ? dy : 0.0;
}
double LeakyOf(double x, double slope, double /*q*/) {
  return x > 0 ? x : slope * x;
}
double LeakySlope(double dy, double x, double slope, double /*q*/) {
  return x > 0 ? dy : slope * dy;
}
double SoftplusOf(double x, double beta, double threshold) {
  return x * beta > threshold ? x : std::log1p(std::exp(beta * x)) / beta;
}
double SoftplusSlope(double dy, double x, double beta, double threshold) {
  return x * beta > threshold ? dy : dy / (1.0 + std::exp(-beta * x));
}
double ClampOf(double x, double least, double most) {
  return std::min(std::max(x, least), most);
}
double ReachesOf(double x, double other, double /*q*/) {
  return x >= other ? 1.0 : 0.0;
}
double TimesOf(double x, double other, double /*q*/) {
  return x * other;
}
double PlusOf(double x, double other, double alpha) {
  return x + alpha * other;
}
double MinusOf(double x, double other, double alpha) {
  return x - alpha * other;
}
double OverOf(double x, double other, double /*q*/) {
  return x / other;
}
double PowerOf(double x, double exponent, double /*q*/) {
  return std::pow(x, exponent);
}
double FmodOf(double x, double other, double /*q*/) {
  return std::fmod(x, other);
}
double RemainderOf(double x, double other, double /*q*/) {
  return x - other * std::floor(x / other);
}
double RemainderOfNumber(double x, double number, double /*q*/) {
  return number - x * std::floor(number / x);
}

// ---- Element types

/// Class of an element type for implicit promotion: bool < integers < floats < complex.
int ClassOf(DType dtype) {
  if (dtype == DType::kBool) {
    return 0;
  }
  if (IsComplex(dtype)) {
    return 3;
  }
  return IsFloating(dtype) ? 2 : 1;
}

/// Element type a Python number counts as: bool, int64 or float32.
DType NumberDType(const AttrMap& attrs, const char* name) {
  const auto it = attrs.find(name);
  if (it == attrs.end() || std::holds_alternative<double>(it->second.value)) {
    return DType::kFloat32;
  }
  return std::holds_alternative<bool>(it->second.value) ? DType::kBool : DType::kInt64;
}

/// The tensor's type, or the number's if that is of a higher class. Source: mindspore ops/infer.
template <const NumberAttr& N>
Result<std::vector<TensorType>> InferWithNumber(const OpView& op) {
  DRYDOCK_TRY(auto types, InferSame(op));
  const DType number = NumberDType(*op.attrs, N.name);
  if (ClassOf(number) > ClassOf(types[0].dtype)) {
    types[0].dtype = number;
  }
  return types;
}

/// A quotient is a floating-point number.
Result<std::vector<TensorType>> InferDivs(const OpView& op) {
  DRYDOCK_TRY(auto types, InferWithNumber<kOther>(op));
  if (ClassOf(types[0].dtype) < ClassOf(DType::kFloat32)) {
    types[0].dtype = DType::kFloat32;
  }
  return types;
}

/// As InferWithNumber, but two truth values give int64.
Result<std::vector<TensorType>> InferFmod(const OpView& op) {
  DRYDOCK_TRY(auto types, InferWithNumber<kOther>(op));
  if (types[0].dtype == DType::kBool) {
    types[0].dtype = DType::kInt64;
  }
  return types;
}

/// float32 if the number is a float and the tensor is not, else the tensor's type.
Result<std::vector<TensorType>> InferRemainder(const OpView& op) {
  DRYDOCK_TRY(auto types, InferSame(op));
  const DType number = NumberDType(*op.attrs, kOther.name);
  if (IsFloating(number) && ClassOf(types[0].dtype) < ClassOf(number)) {
    types[0].dtype = number;
  }
  return types;
}

/// The kernel takes the slope at negative numbers from the result, so alpha has to be 1.
Result<std::vector<TensorType>> InferElu(const OpView& op) {
  DRYDOCK_TRY(const double alpha, NumberOf(*op.attrs, kAlpha));
  if (alpha != 1.0) {
    return FailOp(op, "alpha", "alpha of 'Elu' must be 1.0, but it is " + std::to_string(alpha),
                  "use mint.nn.functional.elu for other values");
  }
  return InferSameFloating(op);
}

// ---- Gradients made of other operators

using Gradients = Result<std::vector<ValueId>>;

/// dY in the input's element type.
Gradients GradientCast(const GradientContext& context) {
  const DType dtype = context.TypeOf(context.node.inputs[0]).dtype;
  DRYDOCK_TRY(const ValueId gradient, CastTo(context, OutputGradient(context), dtype));
  return std::vector<ValueId>{gradient};
}

/// Attribute of a Muls whose factor is the one of a forward operator.
constexpr char kAsWritten[] = "as_written";

/// dY * other.
Gradients GradientOfMuls(const GradientContext& context) {
  AttrMap attrs = context.node.attrs;
  attrs[kAsWritten] = true;
  DRYDOCK_TRY(const ValueId scaled,
              context.Emit("Muls", {OutputGradient(context)}, std::move(attrs)));
  DRYDOCK_TRY(const ValueId gradient,
              CastTo(context, scaled, context.TypeOf(context.node.inputs[0]).dtype));
  return std::vector<ValueId>{gradient};
}

/// A factor that the script writes as 2.0 is no constant of the whole numbers, one that gradients
/// bring along is.
Result<std::vector<KernelId>> LowerMuls(const LowerContext& context) {
  const Attr& factor = context.node.attrs.at("other");
  const bool written =
      context.node.phase == Phase::kForward || context.node.attrs.contains(kAsWritten);
  if (!written || !std::holds_alternative<double>(factor.value)) {
    return LowerByDefault(context);
  }
  return LowerTo(
      context, context.node.op,
      {context.builder.Constant({.shape = {}, .dtype = DType::kFloat32}, AttrText(factor))});
}

/// dY / other.
Gradients GradientOfDivs(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("Divs", {OutputGradient(context)}, context.node.attrs));
  return std::vector<ValueId>{gradient};
}

/// dY * (exponent * x^(exponent - 1)); nothing flows through a power of 0.
Gradients GradientOfPower(const GradientContext& context) {
  DRYDOCK_TRY(const double exponent, NumberOf(context.node.attrs, kExponent));
  if (exponent == 0.0) {
    return NoGradients(context);
  }
  DRYDOCK_TRY(const ValueId gradient, EmitPowerSlope(context, context.node.inputs[0], exponent));
  return std::vector<ValueId>{gradient};
}

/// dY * f, where f is a truth value per element.
Gradients GradientWhere(const GradientContext& context, ValueId flags) {
  DRYDOCK_TRY(const ValueId mask,
              CastTo(context, flags, context.TypeOf(OutputGradient(context)).dtype));
  DRYDOCK_TRY(const ValueId gradient, context.Emit(ops::kMul, {OutputGradient(context), mask}));
  return std::vector<ValueId>{gradient};
}

/// dY where min <= x <= max; a bound that is not given is not compared with.
Gradients GradientOfClamp(const GradientContext& context) {
  const ValueId x = context.node.inputs[0];
  ValueId inside = kNoValue;
  constexpr std::pair<const NumberAttr*, const char*> kBounds[] = {{&kLeast, "GreaterEqual"},
                                                                   {&kMost, "LessEqual"}};
  for (const auto& [bound, compare] : kBounds) {
    DRYDOCK_TRY(const double number, NumberOf(context.node.attrs, *bound));
    if (std::isinf(number)) {
      continue;
    }
    const ValueId scalar = context.builder.AddScalar(number, context.TypeOf(x).dtype);
    DRYDOCK_TRY(const ValueId flags, context.Emit(compare, {x, scalar}));
    if (inside == kNoValue) {
      inside = flags;
    } else {
      DRYDOCK_TRY(inside, context.Emit("LogicalAnd", {inside, flags}));
    }
  }
  return inside == kNoValue ? GradientCast(context) : GradientWhere(context, inside);
}

Gradients GradientOfNanToNum(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId flags, context.Emit("IsFinite", {context.node.inputs[0]}));
  return GradientWhere(context, flags);
}

/// Largest finite number of an element type.
double LargestOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65504.0;
    case DType::kBFloat16:
      return 3.3895313892515355e38;
    case DType::kFloat64:
      return std::numeric_limits<double>::max();
    default:
      return std::numeric_limits<float>::max();
  }
}

Result<std::vector<NdArray>> EvaluateNanToNum(const EvaluateContext& context) {
  const double largest = LargestOf(context.input_types[0].dtype);
  DRYDOCK_TRY(const double nan, FloatAttr(context.attrs, "nan", 0.0));
  DRYDOCK_TRY(const double above, FloatAttr(context.attrs, "posinf", largest));
  DRYDOCK_TRY(const double below, FloatAttr(context.attrs, "neginf", -largest));
  return std::vector<NdArray>{MapArray(context.inputs[0], [=](double x) {
    if (std::isnan(x)) {
      return nan;
    }
    return std::isinf(x) ? (x > 0 ? above : below) : x;
  })};
}

/// Booleans in the shape of the operand.
Result<std::vector<TensorType>> InferTruth(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  return std::vector<TensorType>{{.shape = op.inputs[0].shape, .dtype = DType::kBool}};
}

// ---- Entries

constexpr char kEluGrad[] = "EluGrad";
constexpr char kEluGradExt[] = "EluGradExt";
constexpr char kHShrinkGrad[] = "HShrinkGrad";
constexpr char kSoftShrinkGrad[] = "SoftShrinkGrad";
constexpr char kLeakyGradExt[] = "LeakyReLUGradExt";
constexpr char kSoftplusGradExt[] = "SoftplusGradExt";

template <const char* Op>
constexpr GradientFn kOfInput = GradientKernelWithAttrs<Op, Reads::kGradient, Reads::kInput>;
template <const char* Op>
constexpr GradientFn kOfOutput = GradientKernelWithAttrs<Op, Reads::kGradient, Reads::kOutput>;

#define DRYDOCK_WITH_NUMBERS(id, arguments, infer_fn, gradient_fn, evaluate_fn, example_call, ...) \
  DRYDOCK_OP(id, .family = "elementwise_unary", .signature = #id arguments,                        \
             __VA_ARGS__.infer = infer_fn, .shard = ShardElementwise, .gradient = gradient_fn,     \
             .evaluate = evaluate_fn, .flops = FlopsPerInput<1>, .elementwise = true,              \
             .accepts_layout = true, .accepts_interleaved = true, .example = example_call)

/// The same where the reference has no rule: cut by the batch if all devices divide it, else whole
/// on each of them.
#define DRYDOCK_WITHOUT_RULE(id, arguments, infer_fn, gradient_fn, evaluate_fn, example_call, ...) \
  DRYDOCK_OP(id, .family = "elementwise_unary", .signature = #id arguments,                        \
             __VA_ARGS__.infer = infer_fn, .gradient = gradient_fn, .evaluate = evaluate_fn,       \
             .flops = FlopsPerInput<1>, .elementwise = true, .example = example_call)

#define DRYDOCK_SLOPE_KERNEL(id, arguments, evaluate_fn)                                \
  DRYDOCK_OP(id, .family = "gradient", .signature = #id arguments, .infer = InferFirst, \
             .gradient = GradientNotNeeded, .evaluate = evaluate_fn, .flops = FlopsPerInput<2>)

DRYDOCK_WITH_NUMBERS(Elu, "(alpha=1.0)(input_x)", InferElu, kOfOutput<kEluGrad>,
                     (EvaluateWithNumbers<EluOf, kAlpha>), "", );
DRYDOCK_WITH_NUMBERS(EluExt, "()(input, #alpha=1.0)", InferSame, kOfInput<kEluGradExt>,
                     (EvaluateWithNumbers<EluOf, kAlpha>), "", );
DRYDOCK_WITH_NUMBERS(HShrink, "()(input, #lambd=0.5)", InferSame, kOfInput<kHShrinkGrad>,
                     (EvaluateWithNumbers<HShrinkOf, kLambda>), "", );
DRYDOCK_WITH_NUMBERS(SoftShrink, "()(input, #lambd=0.5)", InferSame, kOfInput<kSoftShrinkGrad>,
                     (EvaluateWithNumbers<SoftShrinkOf, kLambda>), "", );
DRYDOCK_WITH_NUMBERS(LeakyReLUExt, "()(input, #negative_slope=0.01)", InferSame,
                     kOfInput<kLeakyGradExt>, (EvaluateWithNumbers<LeakyOf, kSlope>), "", );
DRYDOCK_WITH_NUMBERS(SoftplusExt, "()(input, #beta=1, #threshold=20)", InferSame,
                     kOfInput<kSoftplusGradExt>,
                     (EvaluateWithNumbers<SoftplusOf, kBeta, kThreshold>), "", );
DRYDOCK_WITH_NUMBERS(ClampScalar, "()(input, #min=None, #max=None)", InferSame, GradientOfClamp,
                     (EvaluateWithNumbers<ClampOf, kLeast, kMost>),
                     "(min=-1.0, max=1.0)((4, 6))", );
DRYDOCK_OP(Muls, .family = "elementwise_unary", .signature = "Muls()(input, #other)",
           .folding = Folding::kElementwise, .infer = InferWithNumber<kOther>,
           .shard = ShardElementwise, .gradient = GradientOfMuls, .lower = LowerMuls,
           .evaluate = (EvaluateWithNumbers<TimesOf, kOther>), .flops = FlopsPerInput<1>,
           .elementwise = true, .accepts_layout = true, .accepts_interleaved = true,
           .example = "(other=3)((4, 6))");
DRYDOCK_WITHOUT_RULE(Divs, "()(input, #other)", InferDivs, GradientOfDivs,
                     (EvaluateWithNumbers<OverOf, kOther>), "(other=3)((4, 6))",
                     .folding = Folding::kElementwise, );
DRYDOCK_WITHOUT_RULE(AddScalar, "()(input, #other, #alpha=1)", InferWithNumber<kOther>,
                     GradientCast, (EvaluateWithNumbers<PlusOf, kOther, kAlpha>),
                     "(other=3)((4, 6))", );
DRYDOCK_WITHOUT_RULE(SubScalar, "()(input, #other, #alpha=1)", InferWithNumber<kOther>,
                     GradientCast, (EvaluateWithNumbers<MinusOf, kOther, kAlpha>),
                     "(other=3)((4, 6))", );
DRYDOCK_WITHOUT_RULE(PowTensorScalar, "()(input, #exponent)", InferWithNumber<kExponent>,
                     GradientOfPower, (EvaluateWithNumbers<PowerOf, kExponent>),
                     "(exponent=3)((4, 6))", );
DRYDOCK_WITH_NUMBERS(FmodScalar, "()(input, #other)", InferFmod, GradientCast,
                     (EvaluateWithNumbers<FmodOf, kOther>), "(other=3)((4, 6))", );
DRYDOCK_WITH_NUMBERS(RemainderTensorScalar, "()(input, #other)", InferRemainder, GradientCast,
                     (EvaluateWithNumbers<RemainderOf, kOther>), "(other=3)((4, 6))", );
DRYDOCK_WITH_NUMBERS(RemainderScalarTensor, "()(#input, other)", InferWithNumber<kFirst>,
                     GradientNotNeeded, (EvaluateWithNumbers<RemainderOfNumber, kFirst>),
                     "(input=3)((4, 6))", );
DRYDOCK_WITH_NUMBERS(NanToNum, "()(input, #nan=None, #posinf=None, #neginf=None)", InferSame,
                     GradientOfNanToNum, EvaluateNanToNum, "", );

DRYDOCK_OP(GreaterEqualScalar, .family = "gradient",
           .signature = "GreaterEqualScalar()(input, #other)", .infer = InferTruth,
           .gradient = GradientNotNeeded, .evaluate = (EvaluateWithNumbers<ReachesOf, kOther>),
           .flops = FlopsPerInput<1>);

DRYDOCK_SLOPE_KERNEL(EluGrad, "()(y_backprop, x)", (EvaluateSlope<EluSlope, kNoNumber>));
DRYDOCK_SLOPE_KERNEL(EluGradExt, "()(dout, x_or_out, #alpha=1.0)",
                     (EvaluateSlope<EluExtSlope, kAlpha>));
DRYDOCK_SLOPE_KERNEL(HShrinkGrad, "()(gradients, features, #lambd=0.5)",
                     (EvaluateSlope<ShrinkSlope, kLambda>));
DRYDOCK_SLOPE_KERNEL(SoftShrinkGrad, "()(input_grad, input_x, #lambd=0.5)",
                     (EvaluateSlope<ShrinkSlope, kLambda>));
DRYDOCK_SLOPE_KERNEL(LeakyReLUGradExt, "()(dy, input, #negative_slope=0.01)",
                     (EvaluateSlope<LeakySlope, kSlope>));
DRYDOCK_SLOPE_KERNEL(SoftplusGradExt, "()(dout, x, #beta=1, #threshold=20)",
                     (EvaluateSlope<SoftplusSlope, kBeta, kThreshold>));

}  // namespace
}  // namespace drydock::strategies
