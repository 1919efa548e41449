#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Element-wise operators of two tensors that broadcast. Source: spec operators 3.2.
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
  return context.Emit(ops::kMul, {OutputGradient(context), RightOf(context)});
}

Result<ValueId> TimesLeft(const GradientContext& context) {
  return context.Emit(ops::kMul, {OutputGradient(context), LeftOf(context)});
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

/// dY * b * a^(b - 1).
Result<ValueId> PowBase(const GradientContext& context) {
  const ValueId one = context.builder.AddScalar(1.0, context.TypeOf(RightOf(context)).dtype);
  DRYDOCK_TRY(const ValueId less, context.Emit("Sub", {RightOf(context), one}));
  DRYDOCK_TRY(const ValueId power, context.Emit("Pow", {LeftOf(context), less}));
  DRYDOCK_TRY(const ValueId slope, context.Emit(ops::kMul, {RightOf(context), power}));
  return context.Emit(ops::kMul, {OutputGradient(context), slope});
}

/// dY * y * log(a), 0 where y is 0.
Result<ValueId> PowExponent(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId slope, context.Emit("Xlogy", {ResultOf(context), LeftOf(context)}));
  return context.Emit(ops::kMul, {OutputGradient(context), slope});
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

constexpr char kMaximumGrad[] = "MaximumGrad";
constexpr char kMinimumGrad[] = "MinimumGrad";

/// One kernel gives both gradients, already reduced to the operands' shapes.
template <const char* Op>
Gradients ExtremeGradient(const GradientContext& context) {
  return EmitAll(context, Op, {LeftOf(context), RightOf(context), OutputGradient(context)});
}

Result<std::vector<TensorType>> InferExtremeGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  return std::vector<TensorType>{op.inputs[0], op.inputs[1]};
}

/// The gradient goes to the operand that was chosen; equal operands count as the first.
template <BinaryMath Chosen>
Result<std::vector<NdArray>> EvaluateExtremeGrad(const EvaluateContext& context) {
  const NdArray& dy = context.inputs[2];
  const NdArray first = MapArrays(context.inputs[0], context.inputs[1], dy.shape, Chosen);
  const NdArray second = MapArray(first, [](double flag) { return 1.0 - flag; });
  return std::vector<NdArray>{
      SumArrayTo(MapArrays(dy, first, dy.shape, MulOf), context.inputs[0].shape),
      SumArrayTo(MapArrays(dy, second, dy.shape, MulOf), context.inputs[1].shape)};
}

// ---- Entries ------------------------------------------------------------------------------------

#define DRYDOCK_BINARY(id, arguments, infer_fn, gradient_fn, evaluate_fn, ...)                     \
  DRYDOCK_OP(id, .family = "broadcast_binary", .signature = #id "()(" arguments ")",               \
             __VA_ARGS__.infer = infer_fn, .shard = ShardBroadcast,                                \
             .default_strategy = DefaultBroadcast, .gradient = gradient_fn,                        \
             .evaluate = evaluate_fn, .flops = FlopsPerOutput<1>, .cost = CostFamily::kArithmetic, \
             .elementwise = true, .accepts_layout = true, .accepts_interleaved = true)

constexpr char kRealDivOp[] = "RealDiv";
constexpr char kDivOp[] = "Div";
constexpr char kDivNoNanOp[] = "DivNoNan";
constexpr GradientFn kNone = GradientNotNeeded;

DRYDOCK_BINARY(Add, "input, other", InferBroadcast,
               (OperandGradients<GradientItself, GradientItself>), EvaluateBinary<SumOf>,
               .aliases = "TensorAdd", );
DRYDOCK_BINARY(Sub, "input, other", InferBroadcast,
               (OperandGradients<GradientItself, GradientNegated>), EvaluateBinary<SubOf>, );
DRYDOCK_BINARY(Mul, "input, other", InferBroadcast, (OperandGradients<TimesRight, TimesLeft>),
               EvaluateBinary<MulOf>, );
DRYDOCK_BINARY(RealDiv, "x, y", InferBroadcast,
               (OperandGradients<Quotient<kRealDivOp>::Dividend, Quotient<kRealDivOp>::Divisor>),
               EvaluateRealDiv, );
DRYDOCK_BINARY(Div, "input, other", InferBroadcastToFloat,
               (OperandGradients<Quotient<kDivOp>::Dividend, Quotient<kDivOp>::Divisor>),
               EvaluateBinary<DivOf>, );
DRYDOCK_BINARY(DivNoNan, "x, y", InferBroadcast,
               (OperandGradients<Quotient<kDivNoNanOp>::Dividend, Quotient<kDivNoNanOp>::Divisor>),
               EvaluateBinary<DivNoNanOf>, );
DRYDOCK_BINARY(Pow, "input, exponent", InferBroadcast, (OperandGradients<PowBase, PowExponent>),
               EvaluateBinary<PowOf>, );
DRYDOCK_BINARY(Maximum, "input, other", InferBroadcast, ExtremeGradient<kMaximumGrad>,
               EvaluateBinary<MaximumOf>, );
DRYDOCK_BINARY(Minimum, "input, other", InferBroadcast, ExtremeGradient<kMinimumGrad>,
               EvaluateBinary<MinimumOf>, );
DRYDOCK_BINARY(SquaredDifference, "x, y", InferBroadcast,
               (OperandGradients<DifferenceLeft, DifferenceRight>),
               EvaluateBinary<SquaredDifferenceOf>, );
DRYDOCK_BINARY(FloorDiv, "input, other", InferBroadcast, kNone, EvaluateBinary<FloorDivOf>, );
DRYDOCK_BINARY(FloorMod, "x, y", InferBroadcast, (OperandGradients<GradientItself, ModRight>),
               EvaluateBinary<FloorModOf>, );
DRYDOCK_BINARY(Atan2, "input, other", InferBroadcastToFloat,
               (OperandGradients<Atan2Left, Atan2Right>), EvaluateBinary<Atan2Of>, );
DRYDOCK_BINARY(Xlogy, "input, other", InferBroadcastToFloat,
               (OperandGradients<XlogyLeft, XlogyRight>), EvaluateBinary<XlogyOf>, );
DRYDOCK_BINARY(Xdivy, "x, y", InferBroadcastToFloat, (OperandGradients<XdivyLeft, XdivyRight>),
               EvaluateBinary<XdivyOf>, );
DRYDOCK_BINARY(Equal, "input, other", InferBroadcastBool, kNone, EvaluateBinary<EqualOf>, );
DRYDOCK_BINARY(NotEqual, "input, other", InferBroadcastBool, kNone, EvaluateBinary<NotEqualOf>, );
DRYDOCK_BINARY(Less, "input, other", InferBroadcastBool, kNone, EvaluateBinary<LessOf>, );
DRYDOCK_BINARY(LessEqual, "input, other", InferBroadcastBool, kNone, EvaluateBinary<LessEqualOf>, );
DRYDOCK_BINARY(Greater, "input, other", InferBroadcastBool, kNone, EvaluateBinary<GreaterOf>, );
DRYDOCK_BINARY(GreaterEqual, "input, other", InferBroadcastBool, kNone,
               EvaluateBinary<GreaterEqualOf>, );
DRYDOCK_BINARY(LogicalAnd, "x, y", InferBroadcastBool, kNone, EvaluateBinary<AndOf>, );
DRYDOCK_BINARY(LogicalOr, "x, y", InferBroadcastBool, kNone, EvaluateBinary<OrOf>, );

DRYDOCK_OP(MaximumGrad, .family = "gradient", .signature = "MaximumGrad()(x, y, dout)",
           .infer = InferExtremeGrad, .gradient = GradientNotNeeded,
           .evaluate = EvaluateExtremeGrad<GreaterEqualOf>, .flops = FlopsPerInput<2>);
DRYDOCK_OP(MinimumGrad, .family = "gradient", .signature = "MinimumGrad()(x, y, dout)",
           .infer = InferExtremeGrad, .gradient = GradientNotNeeded,
           .evaluate = EvaluateExtremeGrad<LessEqualOf>, .flops = FlopsPerInput<2>);

}  // namespace
}  // namespace drydock::strategies
