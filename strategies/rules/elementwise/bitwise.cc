#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"

/// Operators on the bits of integers, and the greatest common divisor. No gradients. Source:
/// mindspore ops_info/activation_info.cc.
namespace drydock::strategies {
namespace {

using IntegerMath = std::int64_t (*)(std::int64_t, std::int64_t);

std::int64_t AndOf(std::int64_t a, std::int64_t b) {
  return a & b;
}
std::int64_t OrOf(std::int64_t a, std::int64_t b) {
  return a | b;
}
std::int64_t XorOf(std::int64_t a, std::int64_t b) {
  return a ^ b;
}
std::int64_t GcdOf(std::int64_t a, std::int64_t b) {
  return std::gcd(a, b);
}
/// Shift counts outside [0, 63] give what shifting one by one would.
std::int64_t LeftShiftOf(std::int64_t a, std::int64_t b) {
  const auto bits = static_cast<std::uint64_t>(a);
  return b < 0 || b > 63 ? 0 : static_cast<std::int64_t>(bits << static_cast<std::uint64_t>(b));
}
std::int64_t RightShiftOf(std::int64_t a, std::int64_t b) {
  return a >> (b < 0 || b > 63 ? 63 : b);
}

/// Numbers beyond 2^53 are not exact in the reference execution, which holds doubles.
template <IntegerMath F>
double OnIntegers(double a, double b) {
  return static_cast<double>(F(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
}

/// As InferBroadcastInteger, with truth values allowed.
Result<std::vector<TensorType>> InferBits(const OpView& op) {
  DRYDOCK_TRY(auto types, InferBroadcast(op));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  if (op.inputs[0].dtype != DType::kBool) {
    DRYDOCK_RETURN_IF_ERROR(ExpectInteger(op, 0));
  }
  return types;
}

Result<std::vector<TensorType>> InferInvert(const OpView& op) {
  DRYDOCK_TRY(auto types, InferSame(op));
  DRYDOCK_RETURN_IF_ERROR(ExpectInteger(op, 0));
  return types;
}

Result<std::vector<TensorType>> InferPopulationCount(const OpView& op) {
  DRYDOCK_TRY(auto types, InferSame(op));
  const DType dtype = op.inputs[0].dtype;
  if (dtype != DType::kInt16 && dtype != DType::kUInt16) {
    return FailOp(
        op, "dtype",
        "'PopulationCount' takes int16 or uint16, but input 0 is " + std::string(DTypeName(dtype)),
        "cast the input to int16 first");
  }
  types[0].dtype = DType::kUInt8;
  return types;
}

bool IsUnsigned(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 || dtype == DType::kUInt32 ||
         dtype == DType::kUInt64;
}

/// All bits flipped: -x - 1, or the largest number minus x.
Result<std::vector<NdArray>> EvaluateInvert(const EvaluateContext& context) {
  const DType dtype = context.input_types[0].dtype;
  const double largest =
      IsUnsigned(dtype) ? std::exp2(8.0 * static_cast<double>(DTypeBytes(dtype))) - 1.0 : -1.0;
  return std::vector<NdArray>{
      MapArray(context.inputs[0], [largest](double x) { return largest - x; })};
}

double PopulationCountOf(double x) {
  const auto bits = static_cast<std::uint16_t>(static_cast<std::int64_t>(x));
  return static_cast<double>(__builtin_popcount(bits));
}

#define DRYDOCK_BITWISE(id, arguments, infer_fn, value_fn)                                     \
  DRYDOCK_OP(id, .family = "broadcast_binary", .signature = #id "()(" arguments ")",           \
             .infer = infer_fn, .shard = ShardBroadcast, .default_strategy = DefaultBroadcast, \
             .gradient = GradientNotNeeded, .evaluate = EvaluateBinary<OnIntegers<value_fn>>,  \
             .flops = FlopsPerOutput<1>, .cost = CostFamily::kArithmetic, .elementwise = true, \
             .accepts_layout = true, .accepts_interleaved = true,                              \
             .example = "()(int32(4, 6), int32(4, 6))")

DRYDOCK_BITWISE(BitwiseAnd, "x, y", InferBits, AndOf);
DRYDOCK_BITWISE(BitwiseOr, "x, y", InferBits, OrOf);
DRYDOCK_BITWISE(BitwiseXor, "x, y", InferBits, XorOf);
DRYDOCK_BITWISE(LeftShift, "x1, x2", InferBroadcastInteger, LeftShiftOf);
DRYDOCK_BITWISE(RightShift, "x1, x2", InferBroadcastInteger, RightShiftOf);
DRYDOCK_BITWISE(Gcd, "input, other", InferBroadcastInteger, GcdOf);

#define DRYDOCK_BITWISE_UNARY(id, infer_fn, evaluate_fn)                                        \
  DRYDOCK_OP(id, .family = "elementwise_unary", .signature = #id "()(x)", .infer = infer_fn,    \
             .shard = ShardElementwise, .gradient = GradientNotNeeded, .evaluate = evaluate_fn, \
             .flops = FlopsPerInput<1>, .elementwise = true, .accepts_layout = true,            \
             .accepts_interleaved = true, .example = "()(int16(4, 6))")

DRYDOCK_BITWISE_UNARY(Invert, InferInvert, EvaluateInvert);
DRYDOCK_BITWISE_UNARY(PopulationCount, InferPopulationCount, EvaluateUnary<PopulationCountOf>);

}  // namespace
}  // namespace drydock::strategies
