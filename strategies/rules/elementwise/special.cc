#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/elementwise/special_functions.h"

/// Special functions: Bessel, gamma, zeta and beta functions, the inverse error function. Source:
/// mindspore ops_info/elementary_function_info.cc.
namespace drydock::strategies {
namespace {

double BesselI0eOf(double x) {
  return BesselI0Of(x) * std::exp(-std::fabs(x));
}
double BesselI1eOf(double x) {
  return BesselI1Of(x) * std::exp(-std::fabs(x));
}
double BesselJ0Of(double x) {
  return std::cyl_bessel_j(0.0, std::fabs(x));
}
double BesselJ1Of(double x) {
  return std::copysign(1.0, x) * std::cyl_bessel_j(1.0, std::fabs(x));
}
double LgammaOf(double x) {
  return std::lgamma(x);
}
double UpperGammaOf(double a, double x) {
  return 1.0 - LowerGammaOf(a, x);
}

using Gradients = Result<std::vector<ValueId>>;

ValueId OnlyInputOf(const GradientContext& context) {
  return context.node.inputs[0];
}

Gradients Single(const Result<ValueId>& gradient) {
  if (!gradient) {
    return tl::unexpected(gradient.error());
  }
  return std::vector<ValueId>{*gradient};
}

// ---- Bessel functions

/// y / x, and at 0 its limit 1/2.
Result<ValueId> OverInput(const GradientContext& context) {
  const DType dtype = context.TypeOf(OnlyInputOf(context)).dtype;
  const ValueId zero = context.builder.AddScalar(0.0, dtype);
  DRYDOCK_TRY(const ValueId at_zero, context.Emit("Equal", {OnlyInputOf(context), zero}));
  DRYDOCK_TRY(const ValueId flags, CastTo(context, at_zero, dtype));
  DRYDOCK_TRY(const ValueId limit, EmitScaled(context, flags, 0.5));
  DRYDOCK_TRY(const ValueId quotient,
              context.Emit("DivNoNan", {ResultOf(context), OnlyInputOf(context)}));
  return context.Emit(ops::kAdd, {quotient, limit});
}

/// I0' = I1.
Gradients GradientOfI0(const GradientContext& context) {
  return Single(TimesGradient(context, context.Emit("BesselI1", {OnlyInputOf(context)})));
}

/// I1' = I0 - I1 / x, J1' = J0 - J1 / x.
Gradients GradientOfFirstOrder(const GradientContext& context, std::string_view order_zero) {
  DRYDOCK_TRY(const ValueId other, context.Emit(order_zero, {OnlyInputOf(context)}));
  DRYDOCK_TRY(const ValueId quotient, OverInput(context));
  return Single(TimesGradient(context, context.Emit("Sub", {other, quotient})));
}
Gradients GradientOfI1(const GradientContext& context) {
  return GradientOfFirstOrder(context, "BesselI0");
}
Gradients GradientOfJ1(const GradientContext& context) {
  return GradientOfFirstOrder(context, "BesselJ0");
}

/// y * sign(x).
Result<ValueId> WithSign(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId sign, context.Emit("Sign", {OnlyInputOf(context)}));
  return context.Emit(ops::kMul, {ResultOf(context), sign});
}

/// I0e' = I1e - I0e * sign(x).
Gradients GradientOfI0e(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId first, context.Emit("BesselI1e", {OnlyInputOf(context)}));
  DRYDOCK_TRY(const ValueId with_sign, WithSign(context));
  return Single(TimesGradient(context, context.Emit("Sub", {first, with_sign})));
}

/// I1e' = I0e - I1e * sign(x) - I1e / x.
Gradients GradientOfI1e(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId zeroth, context.Emit("BesselI0e", {OnlyInputOf(context)}));
  DRYDOCK_TRY(const ValueId with_sign, WithSign(context));
  DRYDOCK_TRY(const ValueId quotient, OverInput(context));
  DRYDOCK_TRY(const ValueId falling, context.Emit(ops::kAdd, {with_sign, quotient}));
  return Single(TimesGradient(context, context.Emit("Sub", {zeroth, falling})));
}

/// J0' = -J1.
Gradients GradientOfJ0(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId first, context.Emit("BesselJ1", {OnlyInputOf(context)}));
  return Single(TimesGradient(context, context.Emit("Neg", {first})));
}

// ---- Error function, gamma functions

/// sqrt(pi) / 2 * exp(y^2).
Gradients GradientOfErfinv(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId square, context.Emit("Square", {ResultOf(context)}));
  DRYDOCK_TRY(const ValueId power, context.Emit("Exp", {square}));
  return Single(
      TimesGradient(context, EmitScaled(context, power, 0.5 * std::sqrt(std::numbers::pi))));
}

Gradients GradientOfLgamma(const GradientContext& context) {
  return Single(TimesGradient(context, context.Emit("Digamma", {OnlyInputOf(context)})));
}

/// d P(a, x) / da.
Result<ValueId> LowerGammaByA(const GradientContext& context) {
  return TimesGradient(context, context.Emit("IgammaGradA", {LeftOf(context), RightOf(context)}));
}

/// d P(a, x) / dx = exp(-x + (a - 1) log(x) - lgamma(a)).
Result<ValueId> LowerGammaByX(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId less, EmitPlus(context, LeftOf(context), -1.0));
  DRYDOCK_TRY(const ValueId logs, context.Emit("Xlogy", {less, RightOf(context)}));
  DRYDOCK_TRY(const ValueId difference, context.Emit("Sub", {logs, RightOf(context)}));
  DRYDOCK_TRY(const ValueId scale, context.Emit("Lgamma", {LeftOf(context)}));
  DRYDOCK_TRY(const ValueId exponent, context.Emit("Sub", {difference, scale}));
  return TimesGradient(context, context.Emit("Exp", {exponent}));
}

/// The two functions of a and x add up to 1.
template <OperandGradient Lower>
Result<ValueId> Opposite(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId lower, Lower(context));
  return context.Emit("Neg", {lower});
}

// ---- Zeta and beta functions

/// -x * zeta(x + 1, q).
Result<ValueId> ZetaByQ(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId next, EmitPlus(context, LeftOf(context), 1.0));
  DRYDOCK_TRY(const ValueId zeta, context.Emit("Zeta", {next, RightOf(context)}));
  DRYDOCK_TRY(const ValueId negative, context.Emit("Neg", {LeftOf(context)}));
  return TimesGradient(context, context.Emit(ops::kMul, {negative, zeta}));
}

Result<std::vector<TensorType>> InferBetainc(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameShapes(op));
  return std::vector<TensorType>{op.inputs[0]};
}

/// lgamma(a) + lgamma(b) - lgamma(a + b).
Result<ValueId> LogBeta(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId of_a, context.Emit("Lgamma", {LeftOf(context)}));
  DRYDOCK_TRY(const ValueId of_b, context.Emit("Lgamma", {RightOf(context)}));
  DRYDOCK_TRY(const ValueId sum, context.Emit(ops::kAdd, {LeftOf(context), RightOf(context)}));
  DRYDOCK_TRY(const ValueId of_sum, context.Emit("Lgamma", {sum}));
  DRYDOCK_TRY(const ValueId both, context.Emit(ops::kAdd, {of_a, of_b}));
  return context.Emit("Sub", {both, of_sum});
}

/// exp((b - 1) log(1 - x) + (a - 1) log(x) - logbeta(a, b)); the reference has no slope by a and b.
Gradients GradientOfBetainc(const GradientContext& context) {
  const ValueId x = context.node.inputs[2];
  DRYDOCK_TRY(const ValueId a_less, EmitPlus(context, LeftOf(context), -1.0));
  DRYDOCK_TRY(const ValueId b_less, EmitPlus(context, RightOf(context), -1.0));
  DRYDOCK_TRY(const ValueId negative, context.Emit("Neg", {x}));
  DRYDOCK_TRY(const ValueId log_rest, context.Emit("Log1p", {negative}));
  DRYDOCK_TRY(const ValueId rest, context.Emit(ops::kMul, {b_less, log_rest}));
  DRYDOCK_TRY(const ValueId logs, context.Emit("Xlogy", {a_less, x}));
  DRYDOCK_TRY(const ValueId sum, context.Emit(ops::kAdd, {rest, logs}));
  DRYDOCK_TRY(const ValueId log_beta, LogBeta(context));
  DRYDOCK_TRY(const ValueId exponent, context.Emit("Sub", {sum, log_beta}));
  DRYDOCK_TRY(const ValueId gradient, TimesGradient(context, context.Emit("Exp", {exponent})));
  return std::vector<ValueId>{kNoValue, kNoValue, gradient};
}

Result<std::vector<NdArray>> EvaluateBetainc(const EvaluateContext& context) {
  NdArray out = context.inputs[2];
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    out.data[i] =
        IncompleteBetaOf(context.inputs[0].data[i], context.inputs[1].data[i], out.data[i]);
  }
  return std::vector<NdArray>{out};
}

// ---- Entries

#define DRYDOCK_SPECIAL(id, argument, infer_fn, value_fn, gradient_fn)                            \
  DRYDOCK_OP(id, .family = "elementwise_unary", .signature = #id "()(" argument ")",              \
             .infer = infer_fn, .shard = ShardElementwise, .gradient = gradient_fn,               \
             .evaluate = EvaluateUnary<value_fn>, .flops = FlopsPerInput<1>, .elementwise = true, \
             .accepts_layout = true, .accepts_interleaved = true)

DRYDOCK_SPECIAL(BesselI0, "x", InferSameFloating, BesselI0Of, GradientOfI0);
DRYDOCK_SPECIAL(BesselI0e, "x", InferSameFloating, BesselI0eOf, GradientOfI0e);
DRYDOCK_SPECIAL(BesselI1, "x", InferSameFloating, BesselI1Of, GradientOfI1);
DRYDOCK_SPECIAL(BesselI1e, "x", InferSameFloating, BesselI1eOf, GradientOfI1e);
DRYDOCK_SPECIAL(BesselJ0, "x", InferSameFloating, BesselJ0Of, GradientOfJ0);
DRYDOCK_SPECIAL(BesselJ1, "x", InferSameFloating, BesselJ1Of, GradientOfJ1);
DRYDOCK_SPECIAL(Erfinv, "input", InferToFloat, ErfinvOf, GradientOfErfinv);
DRYDOCK_SPECIAL(Lgamma, "x", InferToFloat, LgammaOf, GradientOfLgamma);

/// No sharding rule in the reference; here for the gradient of the logarithm of gamma.
DRYDOCK_OP(Digamma, .family = "gradient", .signature = "Digamma()(x)", .infer = InferSameFloating,
           .gradient = GradientNotNeeded, .evaluate = EvaluateUnary<DigammaOf>,
           .flops = FlopsPerInput<1>);

#define DRYDOCK_SPECIAL_PAIR(id, arguments, value_fn, ...)                                    \
  DRYDOCK_OP(id, .family = "broadcast_binary", .signature = #id "()(" arguments ")",          \
             .infer = InferBroadcastSameFloating, .shard = ShardBroadcast,                    \
             .default_strategy = DefaultBroadcast, .gradient = OperandGradients<__VA_ARGS__>, \
             .evaluate = EvaluateBinary<value_fn>, .flops = FlopsPerOutput<1>,                \
             .cost = CostFamily::kArithmetic, .elementwise = true, .accepts_layout = true,    \
             .accepts_interleaved = true)

DRYDOCK_SPECIAL_PAIR(Igamma, "a, x", LowerGammaOf, LowerGammaByA, LowerGammaByX);
DRYDOCK_SPECIAL_PAIR(Igammac, "a, x", UpperGammaOf, Opposite<LowerGammaByA>,
                     Opposite<LowerGammaByX>);
DRYDOCK_SPECIAL_PAIR(Zeta, "x, q", HurwitzZetaOf, nullptr, ZetaByQ);

DRYDOCK_OP(IgammaGradA, .family = "gradient", .signature = "IgammaGradA()(a, x)",
           .infer = InferBroadcastSameFloating, .gradient = GradientNotNeeded,
           .evaluate = EvaluateBinary<LowerGammaSlopeOf>, .flops = FlopsPerOutput<1>);

DRYDOCK_OP(Betainc, .family = "same_shape_nary", .signature = "Betainc()(a, b, x)",
           .infer = InferBetainc, .shard = ShardSameShape, .default_strategy = DefaultBatchAll,
           .gradient = GradientOfBetainc, .evaluate = EvaluateBetainc, .flops = FlopsPerInput<20>,
           .cost = CostFamily::kCast, .elementwise = true);

}  // namespace
}  // namespace drydock::strategies
