#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Element-wise operators of two tensors that broadcast. Source: mindspore
/// ops_info/arithmetic_info.cc.
namespace drydock::strategies {
namespace {

// ---- Values -------------------------------------------------------------------------------------

double SubOf(double a, double b) {
  return a - b;
}
double MulOf(double a, double b) {
  return a * b;
}
double DivOf(double a, double b) {
  return a / b;
}
double DivNoNanOf(double a, double b) {
  return b == 0 ? 0.0 : a / b;
}
double PowOf(double a, double b) {
  return std::pow(a, b);
}
double MaximumOf(double a, double b) {
  return std::max(a, b);
}
double MinimumOf(double a, double b) {
  return std::min(a, b);
}
double FloorDivOf(double a, double b) {
  return std::floor(a / b);
}
double FloorModOf(double a, double b) {
  return a - b * std::floor(a / b);
}
double SquaredDifferenceOf(double a, double b) {
  return (a - b) * (a - b);
}
double Atan2Of(double a, double b) {
  return std::atan2(a, b);
}
double XlogyOf(double a, double b) {
  return a == 0 ? 0.0 : a * std::log(b);
}
double XdivyOf(double a, double b) {
  return a == 0 ? 0.0 : a / b;
}
double Flag(bool value) {
  return value ? 1.0 : 0.0;
}
double EqualOf(double a, double b) {
  return Flag(a == b);
}
double NotEqualOf(double a, double b) {
  return Flag(a != b);
}
double LessOf(double a, double b) {
  return Flag(a < b);
}
double LessEqualOf(double a, double b) {
  return Flag(a <= b);
}
double GreaterOf(double a, double b) {
  return Flag(a > b);
}
double GreaterEqualOf(double a, double b) {
  return Flag(a >= b);
}
double AndOf(double a, double b) {
  return Flag(a != 0 && b != 0);
}
double OrOf(double a, double b) {
  return Flag(a != 0 || b != 0);
}

/// Quotient; between integers it is cut towards zero.
Result<std::vector<NdArray>> EvaluateRealDiv(const EvaluateContext& context) {
  DRYDOCK_TRY(auto result, EvaluateBinary<DivOf>(context));
  const DType dtype = context.output_types[0].dtype;
  if (!IsFloating(dtype) && !IsComplex(dtype)) {
    result[0] = MapArray(result[0], [](double x) { return std::trunc(x); });
  }
  return result;
}

// ---- Gradients ----------------------------------------------------------------------------------

using Gradients = Result<std::vector<ValueId>>;

Result<ValueId> TimesRight(const GradientContext& context) {
  return context.Emit(ops::kMul, {RightOf(context), OutputGradient(context)});
}

Result<ValueId> TimesLeft(const GradientContext& context) {
  return context.Emit(ops::kMul, {LeftOf(context), OutputGradient(context)});
}

/// Gradients of a quotient: dY / b, and -(dY / b) * y; the quotient itself is only read for the
/// second.
template <const char* Op>
struct Quotient {
  static Result<ValueId> Dividend(const GradientContext& context) {
    return context.Emit(Op, {OutputGradient(context), RightOf(context)});
  }
  static Result<ValueId> Divisor(const GradientContext& context) {
    DRYDOCK_TRY(const ValueId scaled, Dividend(context));
    DRYDOCK_TRY(const ValueId product, context.Emit(ops::kMul, {scaled, ResultOf(context)}));
    return context.Emit("Neg", {product});
  }
};

/// Gradient of the divisor of Div: -dY * (y / b).
Result<ValueId> DivDivisor(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId negative, context.Emit("Neg", {OutputGradient(context)}));
  DRYDOCK_TRY(const ValueId quotient, context.Emit("Div", {ResultOf(context), RightOf(context)}));
  return context.Emit(ops::kMul, {negative, quotient});
}

/// b * a^(b - 1) * dY.
Result<ValueId> PowBase(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId less, context.Emit("SubScalar", {RightOf(context)}, {{"other", 1.0}}));
  DRYDOCK_TRY(const ValueId power, context.Emit("Pow", {LeftOf(context), less}));
  DRYDOCK_TRY(const ValueId slope, context.Emit(ops::kMul, {RightOf(context), power}));
  return context.Emit(ops::kMul, {slope, OutputGradient(context)});
}

/// dY * y * log(a), 0 where a is 0 and b is not negative.
Result<ValueId> PowExponent(const GradientContext& context) {
  const TensorType a = context.TypeOf(LeftOf(context));
  const ValueId zero = context.builder.AddScalar(0.0, a.dtype);
  DRYDOCK_TRY(const ValueId at_zero, context.Emit("Equal", {LeftOf(context), zero}));
  DRYDOCK_TRY(const ValueId upwards, context.Emit("GreaterEqual", {RightOf(context), zero}));
  DRYDOCK_TRY(const ValueId flat, context.Emit("LogicalAnd", {at_zero, upwards}));
  DRYDOCK_TRY(const ValueId log, context.Emit("Log", {LeftOf(context)}));
  DRYDOCK_TRY(const ValueId slope, context.Emit(ops::kMul, {ResultOf(context), log}));
  DRYDOCK_TRY(const ValueId zeros, EmitZeros(context, ResultOf(context)));
  DRYDOCK_TRY(const ValueId chosen, context.Emit("Select", {flat, zeros, slope}));
  return context.Emit(ops::kMul, {OutputGradient(context), chosen});
}

/// 2 * dY * (a - b).
Result<ValueId> DifferenceLeft(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId difference, context.Emit("Sub", {LeftOf(context), RightOf(context)}));
  DRYDOCK_TRY(const ValueId product,
              context.Emit(ops::kMul, {OutputGradient(context), difference}));
  return EmitScaled(context, product, 2.0);
}
Result<ValueId> DifferenceRight(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId left, DifferenceLeft(context));
  return context.Emit("Neg", {left});
}

/// -dY * floor(a / b).
Result<ValueId> ModRight(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId quotient,
              context.Emit("FloorDiv", {LeftOf(context), RightOf(context)}));
  DRYDOCK_TRY(const ValueId product, context.Emit(ops::kMul, {OutputGradient(context), quotient}));
  return context.Emit("Neg", {product});
}

/// dY / (a^2 + b^2).
Result<ValueId> OverSquares(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId a, context.Emit("Square", {LeftOf(context)}));
  DRYDOCK_TRY(const ValueId b, context.Emit("Square", {RightOf(context)}));
  DRYDOCK_TRY(const ValueId sum, context.Emit(ops::kAdd, {a, b}));
  return context.Emit(ops::kRealDiv, {OutputGradient(context), sum});
}
Result<ValueId> Atan2Left(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId scaled, OverSquares(context));
  return context.Emit(ops::kMul, {scaled, RightOf(context)});
}
Result<ValueId> Atan2Right(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId scaled, OverSquares(context));
  DRYDOCK_TRY(const ValueId product, context.Emit(ops::kMul, {scaled, LeftOf(context)}));
  return context.Emit("Neg", {product});
}

/// 1 where a is not 0, in a's type.
Result<ValueId> NotZero(const GradientContext& context) {
  const DType dtype = context.TypeOf(LeftOf(context)).dtype;
  const ValueId zero = context.builder.AddScalar(0.0, dtype);
  DRYDOCK_TRY(const ValueId flags, context.Emit("NotEqual", {LeftOf(context), zero}));
  return CastTo(context, flags, dtype);
}

/// dY * [a != 0] * log(b).
Result<ValueId> XlogyLeft(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId flags, NotZero(context));
  DRYDOCK_TRY(const ValueId slope, context.Emit("Xlogy", {flags, RightOf(context)}));
  return context.Emit(ops::kMul, {OutputGradient(context), slope});
}
/// dY * a / b.
Result<ValueId> XlogyRight(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId slope, context.Emit("Xdivy", {LeftOf(context), RightOf(context)}));
  return context.Emit(ops::kMul, {OutputGradient(context), slope});
}
/// dY * [a != 0] / b.
Result<ValueId> XdivyLeft(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId flags, NotZero(context));
  DRYDOCK_TRY(const ValueId slope, context.Emit("Xdivy", {flags, RightOf(context)}));
  return context.Emit(ops::kMul, {OutputGradient(context), slope});
}
/// -dY * a / b^2.
Result<ValueId> XdivyRight(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId square, context.Emit("Square", {RightOf(context)}));
  DRYDOCK_TRY(const ValueId negative, context.Emit("Neg", {LeftOf(context)}));
  DRYDOCK_TRY(const ValueId slope, context.Emit("Xdivy", {negative, square}));
  return context.Emit(ops::kMul, {OutputGradient(context), slope});
}

/// Where the other operand was chosen: which comparison of a and b says so for a, and for b.
template <bool Maximum>
constexpr std::array<const char*, 2> kNotChosen = {Maximum ? "Less" : "Greater",
                                                   Maximum ? "Greater" : "Less"};

/// The chosen operand gets dY, equal operands half of it each. Operands first: [equal] ? dY / 2 :
/// dY, then 0 where the other one was chosen.
template <bool Maximum>
Gradients ExtremeGradient(const GradientContext& context) {
  const ValueId dout = OutputGradient(context);
  const TensorType type = context.TypeOf(dout);
  DRYDOCK_TRY(const ValueId half, context.Emit("Divs", {dout}, {{"other", 2.0}}));
  DRYDOCK_TRY(const ValueId equal, context.Emit("Equal", {LeftOf(context), RightOf(context)}));
  DRYDOCK_TRY(const ValueId shared, context.Emit("Select", {equal, half, dout}));
  const ValueId zero = context.builder.AddScalar(0.0, type.dtype);
  DRYDOCK_TRY(const ValueId zeros, context.Emit("FillV2", {zero}, {{"shape", type.shape}}));
  std::vector<ValueId> gradients = NoGradients(context);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (context.wanted[i]) {
      DRYDOCK_TRY(const ValueId other,
                  context.Emit(kNotChosen<Maximum>[i], { LeftOf(context), RightOf(context) }));
      DRYDOCK_TRY(const ValueId chosen, context.Emit("Select", {other, zeros, shared}));
      DRYDOCK_TRY(gradients[i], FitToInput(context, chosen, i));
    }
  }
  return gradients;
}

// ---- Simpler forms ------------------------------------------------------------------------------

/// The operand beside a constant of `number`s, if it has the result's type.
std::optional<Simplification> OtherOperand(const SimplifyContext& context, double number) {
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId other = context.node.inputs[1 - i];
    if (context.NumberOf(context.node.inputs[i]) == number &&
        context.TypeOf(other) == context.TypeOf(context.node.outputs[0])) {
      return Simplification{.result = other};
    }
  }
  return std::nullopt;
}

/// x + 0 and 0 + x; a sum with a parameter stays, since the reference would hand out its storage.
std::optional<Simplification> SimplerSum(const SimplifyContext& context) {
  std::optional<Simplification> simpler = OtherOperand(context, 0.0);
  const bool parameter = simpler && context.graph.at(simpler->result).kind == ValueKind::kParameter;
  return parameter ? std::nullopt : std::move(simpler);
}

/// A product of a value and a constant of one number; only of these types are numbers multiplied.
struct Scaled {
  ValueId value = kNoValue;
  double number = 0;
};
std::optional<Scaled> ScaledBy(const SimplifyContext& context, const Node& product) {
  for (std::size_t i = 0; i < 2; ++i) {
    const TensorType& type = context.TypeOf(product.inputs[i]);
    const std::optional<double> number = context.NumberOf(product.inputs[i]);
    const bool counts = type.dtype == DType::kFloat32 || type.dtype == DType::kFloat64 ||
                        type.dtype == DType::kInt32;
    if (number && counts && type.shape.empty() &&
        context.TypeOf(product.inputs[1 - i]).dtype == type.dtype) {
      return Scaled{.value = product.inputs[1 - i], .number = *number};
    }
  }
  return std::nullopt;
}

/// x * 1 and 1 * x; (x * a) * b is x * (a * b).
std::optional<Simplification> SimplerProduct(const SimplifyContext& context) {
  std::optional<Simplification> simpler = OtherOperand(context, 1.0);
  const std::optional<Scaled> outer = ScaledBy(context, context.node);
  if (simpler || !outer) {
    return simpler;
  }
  const Node* producer = context.ProducerOf(outer->value);
  const std::optional<Scaled> inner = producer != nullptr && producer->op == context.node.op
                                          ? ScaledBy(context, *producer)
                                          : std::nullopt;
  if (inner) {
    simpler =
        Simplification{.inputs = {inner->value}, .last_operand = inner->number * outer->number};
  }
  return simpler;
}

// ---- Entries ------------------------------------------------------------------------------------

#define DRYDOCK_BINARY(id, arguments, infer_fn, gradient_fn, evaluate_fn, ...)                     \
  DRYDOCK_OP(id, .family = "broadcast_binary", .signature = #id "()(" arguments ")",               \
             __VA_ARGS__.infer = infer_fn, .shard = ShardBroadcast,                                \
             .default_strategy = DefaultBroadcast, .gradient = gradient_fn,                        \
             .evaluate = evaluate_fn, .flops = FlopsPerOutput<1>, .cost = CostFamily::kArithmetic, \
             .elementwise = true, .accepts_layout = true, .accepts_interleaved = true)

constexpr char kRealDivOp[] = "RealDiv";
constexpr char kRealDivision[] = "Div";
constexpr char kDivNoNanOp[] = "DivNoNan";

DRYDOCK_BINARY(Add, "input, other", InferBroadcast,
               (OperandGradients<GradientItself, GradientItself>), EvaluateBinary<SumOf>,
               .aliases = "TensorAdd", .folding = Folding::kElementwise, .simplify = SimplerSum, );
DRYDOCK_BINARY(Sub, "input, other", InferBroadcast,
               (OperandGradients<GradientItself, GradientNegated>), EvaluateBinary<SubOf>,
               .folding = Folding::kElementwise, );
DRYDOCK_BINARY(Mul, "input, other", InferBroadcast, (OperandGradients<TimesRight, TimesLeft>),
               EvaluateBinary<MulOf>, .folding = Folding::kElementwise,
               .simplify = SimplerProduct, );
DRYDOCK_BINARY(RealDiv, "x, y", InferBroadcast,
               (OperandGradients<Quotient<kRealDivOp>::Dividend, Quotient<kRealDivOp>::Divisor>),
               EvaluateRealDiv, .folding = Folding::kElementwise, );
DRYDOCK_BINARY(Div, "input, other", InferBroadcastToFloat,
               (OperandGradients<Quotient<kRealDivision>::Dividend, DivDivisor>),
               EvaluateBinary<DivOf>, .folding = Folding::kElementwise, );
DRYDOCK_BINARY(DivNoNan, "x, y", InferBroadcast,
               (OperandGradients<Quotient<kDivNoNanOp>::Dividend, Quotient<kDivNoNanOp>::Divisor>),
               EvaluateBinary<DivNoNanOf>, );
DRYDOCK_BINARY(Pow, "input, exponent", InferBroadcast, (OperandGradients<PowBase, PowExponent>),
               EvaluateBinary<PowOf>, );
DRYDOCK_BINARY(Maximum, "input, other", InferBroadcast, ExtremeGradient<true>,
               EvaluateBinary<MaximumOf>, );
DRYDOCK_BINARY(Minimum, "input, other", InferBroadcast, ExtremeGradient<false>,
               EvaluateBinary<MinimumOf>, .folding = Folding::kElementwise, );
DRYDOCK_BINARY(SquaredDifference, "x, y", InferBroadcast,
               (OperandGradients<DifferenceLeft, DifferenceRight>),
               EvaluateBinary<SquaredDifferenceOf>, );
DRYDOCK_BINARY(FloorDiv, "input, other", InferBroadcast, GradientNotNeeded,
               EvaluateBinary<FloorDivOf>, );
DRYDOCK_BINARY(FloorMod, "x, y", InferBroadcast, (OperandGradients<GradientItself, ModRight>),
               EvaluateBinary<FloorModOf>, );
DRYDOCK_BINARY(Atan2, "input, other", InferBroadcastToFloat,
               (OperandGradients<Atan2Left, Atan2Right>), EvaluateBinary<Atan2Of>, );
DRYDOCK_BINARY(Xlogy, "input, other", InferBroadcastToFloat,
               (OperandGradients<XlogyLeft, XlogyRight>), EvaluateBinary<XlogyOf>, );
DRYDOCK_BINARY(Xdivy, "x, y", InferBroadcastToFloat, (OperandGradients<XdivyLeft, XdivyRight>),
               EvaluateBinary<XdivyOf>, );
DRYDOCK_BINARY(Equal, "input, other", InferBroadcastBool, GradientNotNeeded,
               EvaluateBinary<EqualOf>, .folding = Folding::kElementwise, );
DRYDOCK_BINARY(NotEqual, "input, other", InferBroadcastBool, GradientNotNeeded,
               EvaluateBinary<NotEqualOf>, .folding = Folding::kElementwise, );
DRYDOCK_BINARY(Less, "input, other", InferBroadcastBool, GradientNotNeeded, EvaluateBinary<LessOf>,
               .folding = Folding::kElementwise, );
DRYDOCK_BINARY(LessEqual, "input, other", InferBroadcastBool, GradientNotNeeded,
               EvaluateBinary<LessEqualOf>, .folding = Folding::kElementwise, );
DRYDOCK_BINARY(Greater, "input, other", InferBroadcastBool, GradientNotNeeded,
               EvaluateBinary<GreaterOf>, .folding = Folding::kElementwise, );
DRYDOCK_BINARY(GreaterEqual, "input, other", InferBroadcastBool, GradientNotNeeded,
               EvaluateBinary<GreaterEqualOf>, .folding = Folding::kElementwise, );
DRYDOCK_BINARY(LogicalAnd, "x, y", InferBroadcastBool, GradientNotNeeded, EvaluateBinary<AndOf>, );
DRYDOCK_BINARY(LogicalOr, "x, y", InferBroadcastBool, GradientNotNeeded, EvaluateBinary<OrOf>, );

}  // namespace
}  // namespace drydock::strategies
