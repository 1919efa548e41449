#include <cmath>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Element-wise functions of one tensor and their gradient kernels. Source: mindspore
/// ops_info/activation_info.cc.
namespace drydock::strategies {
namespace {

constexpr double kTwoOverRootPi = 1.1283791670955126;

// ---- Values -------------------------------------------------------------------------------------

double ExpOf(double x) {
  return std::exp(x);
}
double Expm1Of(double x) {
  return std::expm1(x);
}
double LogOf(double x) {
  return std::log(x);
}
double Log1pOf(double x) {
  return std::log1p(x);
}
double SqrtOf(double x) {
  return std::sqrt(x);
}
double RsqrtOf(double x) {
  return 1.0 / std::sqrt(x);
}
double SquareOf(double x) {
  return x * x;
}
double NegOf(double x) {
  return -x;
}
double AbsOf(double x) {
  return std::fabs(x);
}
double ReciprocalOf(double x) {
  return 1.0 / x;
}
double SinOf(double x) {
  return std::sin(x);
}
double CosOf(double x) {
  return std::cos(x);
}
double TanOf(double x) {
  return std::tan(x);
}
double SinhOf(double x) {
  return std::sinh(x);
}
double CoshOf(double x) {
  return std::cosh(x);
}
double AsinOf(double x) {
  return std::asin(x);
}
double AcosOf(double x) {
  return std::acos(x);
}
double AtanOf(double x) {
  return std::atan(x);
}
double AsinhOf(double x) {
  return std::asinh(x);
}
double AcoshOf(double x) {
  return std::acosh(x);
}
double AtanhOf(double x) {
  return std::atanh(x);
}
double ErfOf(double x) {
  return std::erf(x);
}
double ErfcOf(double x) {
  return std::erfc(x);
}
double FloorOf(double x) {
  return std::floor(x);
}
double CeilOf(double x) {
  return std::ceil(x);
}
/// To `decimals` digits behind the point (negative: before it), halves to even.
Result<std::vector<NdArray>> EvaluateRound(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::int64_t decimals, IntAttr(context.attrs, "decimals", 0));
  const double scale = std::pow(10.0, static_cast<double>(decimals));
  return std::vector<NdArray>{
      MapArray(context.inputs[0], [scale](double x) { return std::nearbyint(x * scale) / scale; })};
}
double RoundOf(double x) {
  return std::nearbyint(x);
}
double TruncOf(double x) {
  return std::trunc(x);
}
double SignOf(double x) {
  return static_cast<double>(static_cast<int>(x > 0) - static_cast<int>(x < 0));
}
double NotOf(double x) {
  return x == 0 ? 1.0 : 0.0;
}
double IsFiniteOf(double x) {
  return std::isfinite(x) ? 1.0 : 0.0;
}
double ZeroOf(double /*x*/) {
  return 0.0;
}
double OneOf(double /*x*/) {
  return 1.0;
}

double SqrtGradOf(double y, double dy) {
  return dy / (2.0 * y);
}
double RsqrtGradOf(double y, double dy) {
  return -0.5 * dy * y * y * y;
}
double AsinGradOf(double x, double dy) {
  return dy / std::sqrt(1.0 - x * x);
}
double AcosGradOf(double x, double dy) {
  return -dy / std::sqrt(1.0 - x * x);
}
double AtanGradOf(double x, double dy) {
  return dy / (1.0 + x * x);
}
double AsinhGradOf(double y, double dy) {
  return dy / std::cosh(y);
}
double AcoshGradOf(double y, double dy) {
  return dy / std::sinh(y);
}

// ---- Gradients made of other operators ----------------------------------------------------------

using Gradients = Result<std::vector<ValueId>>;

ValueId InputOf(const GradientContext& context) {
  return context.node.inputs[0];
}

/// dY * f, for a factor that was just emitted.
Gradients Times(const GradientContext& context, const Result<ValueId>& factor) {
  DRYDOCK_TRY(const ValueId gradient, TimesGradient(context, factor));
  return std::vector<ValueId>{gradient};
}

/// The square is the power of 2: dY * (2 * x^1).
Gradients SquareGradient(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId gradient, EmitPowerSlope(context, InputOf(context), 2.0));
  return std::vector<ValueId>{gradient};
}

/// dY * sign(x).
Gradients AbsGradient(const GradientContext& context) {
  return Times(context, context.Emit("Sign", {InputOf(context)}));
}

/// -dY * y^2.
Gradients ReciprocalGradient(const GradientContext& context) {
  const ValueId y = context.node.outputs[0];
  DRYDOCK_TRY(const ValueId negative, context.Emit("Neg", {OutputGradient(context)}));
  DRYDOCK_TRY(const ValueId square, context.Emit(ops::kMul, {y, y}));
  DRYDOCK_TRY(const ValueId gradient, context.Emit(ops::kMul, {negative, square}));
  return std::vector<ValueId>{gradient};
}

Gradients SinGradient(const GradientContext& context) {
  return Times(context, context.Emit("Cos", {InputOf(context)}));
}

Gradients CosGradient(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId sine, context.Emit("Sin", {InputOf(context)}));
  return Times(context, context.Emit("Neg", {sine}));
}

Gradients SinhGradient(const GradientContext& context) {
  return Times(context, context.Emit("Cosh", {InputOf(context)}));
}

Gradients CoshGradient(const GradientContext& context) {
  return Times(context, context.Emit("Sinh", {InputOf(context)}));
}

/// dY * (1 + y^2): the output is kept, not the input.
Gradients TanGradient(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId square, context.Emit("Square", {context.node.outputs[0]}));
  return Times(context, EmitPlus(context, square, 1.0));
}

/// dY / (1 - x^2).
Gradients AtanhGradient(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId square, context.Emit("Square", {InputOf(context)}));
  const ValueId one = context.builder.AddScalar(1, context.TypeOf(InputOf(context)).dtype);
  DRYDOCK_TRY(const ValueId divisor, context.Emit("Sub", {one, square}));
  DRYDOCK_TRY(const ValueId gradient, context.Emit("Div", {OutputGradient(context), divisor}));
  return std::vector<ValueId>{gradient};
}

Gradients Expm1Gradient(const GradientContext& context) {
  return Times(context, EmitPlus(context, context.node.outputs[0], 1.0));
}

Gradients Log1pGradient(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId divisor, EmitPlus(context, InputOf(context), 1.0));
  DRYDOCK_TRY(const ValueId gradient, context.Emit("Div", {OutputGradient(context), divisor}));
  return std::vector<ValueId>{gradient};
}

/// dY * (factor * exp(-x^2)): the factor is drawn to what the forward pass knows.
Gradients GaussGradient(const GradientContext& context, double factor) {
  DRYDOCK_TRY(const ValueId square,
              context.Emit("PowTensorScalar", {InputOf(context)}, {{"exponent", 2.0}}));
  DRYDOCK_TRY(const ValueId negative, context.Emit("Neg", {square}));
  DRYDOCK_TRY(const ValueId bell, context.Emit("Exp", {negative}));
  DRYDOCK_TRY(const ValueId scaled, EmitScaled(context, bell, factor));
  DRYDOCK_TRY(const ValueId gradient, context.Emit(ops::kMul, {OutputGradient(context), scaled}));
  return std::vector<ValueId>{gradient};
}
Gradients ErfGradient(const GradientContext& context) {
  return GaussGradient(context, kTwoOverRootPi);
}
Gradients ErfcGradient(const GradientContext& context) {
  return GaussGradient(context, -kTwoOverRootPi);
}

// ---- Simpler forms ------------------------------------------------------------------------------

/// Only the shape of the operand counts.
template <int Number>
std::optional<Simplification> BecomesNumber(const SimplifyContext& /*context*/) {
  return Simplification{.number = Number};
}

// ---- Inference ----------------------------------------------------------------------------------

/// float32 for bool and int64, else the input's type.
Result<std::vector<TensorType>> InferErf(const OpView& op) {
  DRYDOCK_TRY(auto types, InferSame(op));
  if (types[0].dtype == DType::kBool || types[0].dtype == DType::kInt64) {
    types[0].dtype = DType::kFloat32;
  }
  return types;
}

// ---- Entries ------------------------------------------------------------------------------------

constexpr char kMulOp[] = "Mul";
constexpr char kDivOp[] = "Div";
constexpr char kNegOp[] = "Neg";
constexpr char kSqrtGrad[] = "SqrtGrad";
constexpr char kRsqrtGrad[] = "RsqrtGrad";
constexpr char kAsinGrad[] = "AsinGrad";
constexpr char kAcosGrad[] = "ACosGrad";
constexpr char kAtanGrad[] = "AtanGrad";
constexpr char kAsinhGrad[] = "AsinhGrad";
constexpr char kAcoshGrad[] = "AcoshGrad";

template <const char* Op>
constexpr GradientFn kFromOutput = GradientKernel<Op, Reads::kOutput, Reads::kGradient>;
template <const char* Op>
constexpr GradientFn kFromInput = GradientKernel<Op, Reads::kInput, Reads::kGradient>;

#define DRYDOCK_UNARY(id, argument, infer_fn, value_fn, gradient_fn, per_element, ...)         \
  DRYDOCK_OP(id, .family = "elementwise_unary", .signature = #id "()(" argument ")",           \
             __VA_ARGS__.infer = infer_fn, .shard = ShardElementwise, .gradient = gradient_fn, \
             .evaluate = EvaluateUnary<value_fn>, .flops = FlopsPerInput<per_element>,         \
             .elementwise = true, .accepts_layout = true, .accepts_interleaved = true)

DRYDOCK_UNARY(Exp, "input", InferToFloat, ExpOf,
              (GradientKernel<kMulOp, Reads::kGradient, Reads::kOutput>), 4, );
DRYDOCK_UNARY(Expm1, "input", InferErf, Expm1Of, Expm1Gradient, 1, );
DRYDOCK_UNARY(Log, "input", InferToFloat, LogOf,
              (GradientKernel<kDivOp, Reads::kGradient, Reads::kInput>), 4, );
DRYDOCK_UNARY(Log1p, "input", InferToFloat, Log1pOf, Log1pGradient, 1, );
DRYDOCK_OP(Sqrt, .family = "elementwise_unary", .signature = "Sqrt()(x)",
           .folding = Folding::kElementwise, .infer = InferToFloat, .shard = ShardElementwise,
           .gradient = kFromOutput<kSqrtGrad>, .evaluate = EvaluateUnary<SqrtOf>,
           .flops = FlopsPerInput<1>, .elementwise = true, .accepts_layout = true,
           .accepts_interleaved = true, .roots_norm = true);
DRYDOCK_UNARY(Rsqrt, "input", InferToFloat, RsqrtOf, kFromOutput<kRsqrtGrad>, 1, );
DRYDOCK_UNARY(Square, "input", InferSame, SquareOf, SquareGradient, 1, );
DRYDOCK_UNARY(Neg, "input", InferSame, NegOf, (GradientKernel<kNegOp, Reads::kGradient>), 1,
              .folding = Folding::kElementwise, );
DRYDOCK_UNARY(Abs, "input", InferSame, AbsOf, AbsGradient, 1, .folding = Folding::kElementwise, );
DRYDOCK_UNARY(Reciprocal, "input", InferToFloat, ReciprocalOf, ReciprocalGradient, 1, );
DRYDOCK_UNARY(Sin, "input", InferToFloat, SinOf, SinGradient, 1, );
DRYDOCK_UNARY(Cos, "input", InferToFloat, CosOf, CosGradient, 1, );
DRYDOCK_UNARY(Tan, "input", InferToFloat, TanOf, TanGradient, 1, );
DRYDOCK_UNARY(Sinh, "input", InferToFloat, SinhOf, SinhGradient, 1, );
DRYDOCK_UNARY(Cosh, "input", InferToFloat, CoshOf, CoshGradient, 1, );
DRYDOCK_UNARY(Asin, "input", InferSame, AsinOf, kFromInput<kAsinGrad>, 1, );
DRYDOCK_UNARY(ACos, "input", InferSame, AcosOf, kFromInput<kAcosGrad>, 1, );
DRYDOCK_UNARY(Atan, "input", InferSame, AtanOf, kFromInput<kAtanGrad>, 1, );
DRYDOCK_UNARY(Asinh, "input", InferSame, AsinhOf, kFromOutput<kAsinhGrad>, 1, );
DRYDOCK_UNARY(Acosh, "input", InferSame, AcoshOf, kFromOutput<kAcoshGrad>, 1, );
DRYDOCK_UNARY(Atanh, "input", InferToFloat, AtanhOf, AtanhGradient, 1, );
DRYDOCK_UNARY(Erf, "input", InferErf, ErfOf, ErfGradient, 8, );
DRYDOCK_UNARY(Erfc, "input", InferErf, ErfcOf, ErfcGradient, 1, );
DRYDOCK_UNARY(Floor, "input", InferSame, FloorOf, GradientNotNeeded, 1, );
DRYDOCK_UNARY(Ceil, "input", InferSame, CeilOf, GradientNotNeeded, 1, );
DRYDOCK_OP(Round, .family = "elementwise_unary", .signature = "Round()(input, #decimals=0)",
           .infer = InferSame, .shard = ShardElementwise, .gradient = GradientNotNeeded,
           .evaluate = EvaluateRound, .flops = FlopsPerInput<1>, .elementwise = true,
           .accepts_layout = true, .accepts_interleaved = true);
DRYDOCK_UNARY(Rint, "x", InferSame, RoundOf, GradientNotNeeded, 1, );
DRYDOCK_UNARY(Trunc, "input", InferSame, TruncOf, GradientNotNeeded, 1, );
DRYDOCK_UNARY(Sign, "input", InferSame, SignOf, GradientNotNeeded, 1, );
DRYDOCK_UNARY(LogicalNot, "input", InferBool, NotOf, GradientNotNeeded, 1, );
DRYDOCK_UNARY(IsFinite, "input", InferBool, IsFiniteOf, GradientNotNeeded, 1, );
DRYDOCK_UNARY(ZerosLike, "x", InferSame, ZeroOf, GradientNotNeeded, 0, .simplify = BecomesNumber<0>,
              .knows_result = true, );
DRYDOCK_UNARY(OnesLike, "x", InferSame, OneOf, GradientNotNeeded, 0, .simplify = BecomesNumber<1>,
              .knows_result = true, );
/// Zeros that a kernel makes: the front end does not work them out.
DRYDOCK_UNARY(ZerosLikeExt, "input", InferSame, ZeroOf, GradientNotNeeded, 0, );

#define DRYDOCK_UNARY_GRAD(id, arguments, value_fn)                                               \
  DRYDOCK_OP(id, .family = "gradient", .signature = #id "()(" arguments ")", .infer = InferFirst, \
             .gradient = GradientNotNeeded, .evaluate = EvaluateBinary<value_fn>,                 \
             .flops = FlopsPerInput<2>)

DRYDOCK_UNARY_GRAD(SqrtGrad, "y, dy", SqrtGradOf);
DRYDOCK_UNARY_GRAD(RsqrtGrad, "y, dy", RsqrtGradOf);
DRYDOCK_UNARY_GRAD(AsinGrad, "x, dy", AsinGradOf);
DRYDOCK_UNARY_GRAD(ACosGrad, "x, dy", AcosGradOf);
DRYDOCK_UNARY_GRAD(AtanGrad, "x, dy", AtanGradOf);
DRYDOCK_UNARY_GRAD(AsinhGrad, "y, dy", AsinhGradOf);
DRYDOCK_UNARY_GRAD(AcoshGrad, "y, dy", AcoshGradOf);

}  // namespace
}  // namespace drydock::strategies
