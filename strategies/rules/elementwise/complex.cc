#include <string>
#include <utility>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Complex numbers made of real ones and taken apart again. No reference execution: it holds real
/// numbers only. Source: mindspore ops_info/arithmetic_info.cc, Polar.
namespace drydock::strategies {
namespace {

DType ComplexOf(DType dtype) {
  return dtype == DType::kFloat64 || dtype == DType::kComplex128 ? DType::kComplex128
                                                                 : DType::kComplex64;
}

DType RealOf(DType dtype) {
  if (!IsComplex(dtype)) {
    return dtype;
  }
  return dtype == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32;
}

/// Two real tensors of one type, float32 or float64.
Result<std::vector<TensorType>> InferPair(const OpView& op) {
  DRYDOCK_TRY(auto types, InferBroadcastSameFloating(op));
  const DType dtype = op.inputs[0].dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) {
    return FailOp(op, "dtype",
                  "'" + std::string(op.op) + "' takes float32 or float64, but input 0 is " +
                      std::string(DTypeName(dtype)),
                  "cast the inputs to float32 first");
  }
  types[0].dtype = ComplexOf(dtype);
  return types;
}

Result<std::vector<TensorType>> InferPart(const OpView& op) {
  DRYDOCK_TRY(auto types, InferSame(op));
  types[0].dtype = RealOf(types[0].dtype);
  return types;
}

/// conj(dY) * value.
Result<ValueId> ConjugateTimes(const GradientContext& context, const Result<ValueId>& value) {
  if (!value) {
    return tl::unexpected(value.error());
  }
  DRYDOCK_TRY(const ValueId conjugate, context.Emit("Conj", {OutputGradient(context)}));
  return context.Emit(ops::kMul, {conjugate, *value});
}

/// Real part of conj(dY) * exp(i * angle).
Result<ValueId> PolarByLength(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId one, context.Emit(ops::kOnesLike, {LeftOf(context)}));
  DRYDOCK_TRY(const ValueId product,
              ConjugateTimes(context, context.Emit("Polar", {one, RightOf(context)})));
  return context.Emit("Real", {product});
}

/// Real part of conj(dY) * i * y.
Result<ValueId> PolarByAngle(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId product, ConjugateTimes(context, ResultOf(context)));
  DRYDOCK_TRY(const ValueId imaginary, context.Emit("Imag", {product}));
  return context.Emit("Neg", {imaginary});
}

Result<ValueId> RealOfGradient(const GradientContext& context) {
  return context.Emit("Real", {OutputGradient(context)});
}
Result<ValueId> ImaginaryOfGradient(const GradientContext& context) {
  return context.Emit("Imag", {OutputGradient(context)});
}
Result<ValueId> ConjugateGradient(const GradientContext& context) {
  return context.Emit("Conj", {OutputGradient(context)});
}

/// dY as the real or the imaginary part of a complex number, 0 as the other.
template <bool IsReal>
Result<ValueId> AsPart(const GradientContext& context) {
  const ValueId gradient = OutputGradient(context);
  DRYDOCK_TRY(const ValueId zeros, EmitZeros(context, gradient));
  return context.Emit("Complex", {IsReal ? gradient : zeros, IsReal ? zeros : gradient});
}

DRYDOCK_OP(Polar, .family = "broadcast_binary", .signature = "Polar()(abs, angle)",
           .infer = InferPair, .shard = ShardBroadcast, .default_strategy = DefaultBroadcast,
           .gradient = OperandGradients<PolarByLength, PolarByAngle>, .flops = FlopsPerOutput<1>,
           .cost = CostFamily::kArithmetic, .elementwise = true, .accepts_layout = true);

/// Operators without a sharding rule in the reference, which gradients of complex results need.
DRYDOCK_OP(Complex, .family = "complex", .signature = "Complex()(real, imag)", .infer = InferPair,
           .gradient = OperandGradients<RealOfGradient, ImaginaryOfGradient>, .flops = NoFlops);
DRYDOCK_OP(Conj, .family = "complex", .signature = "Conj()(input)", .infer = InferSame,
           .gradient = OperandGradients<ConjugateGradient>, .flops = FlopsPerInput<1>);
DRYDOCK_OP(Real, .family = "complex", .signature = "Real()(input)", .infer = InferPart,
           .gradient = OperandGradients<AsPart<true>>, .flops = NoFlops);
DRYDOCK_OP(Imag, .family = "complex", .signature = "Imag()(input)", .infer = InferPart,
           .gradient = OperandGradients<AsPart<false>>, .flops = NoFlops);

}  // namespace
}  // namespace drydock::strategies
