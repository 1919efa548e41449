#include <vector>

#include "strategies/operators/kernel_builder.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"

/// Arithmetic of plain numbers that a graph does on the host: no kernel, no memory of a device. The
/// passes use it where a rank's arguments follow from those of the whole operator, as the ends of
/// its part of a LinSpaceExt. Source: mindspore ops_info/lin_space_info.cc (LinSpaceExtInfo).
namespace drydock::strategies {
namespace {

constexpr std::size_t kSides = 2;

template <bool Divides>
Result<std::vector<TensorType>> InferNumbers(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, kSides, kSides));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 0, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 0, 0));
  DRYDOCK_TRY(const std::vector<TensorType> real, InferBroadcastToFloat(op));
  const DType left = op.inputs[0].dtype;
  const bool same = left == op.inputs[1].dtype;
  return std::vector<TensorType>{{.shape = {}, .dtype = same && !Divides ? left : real[0].dtype}};
}

using NumberMath = double (*)(double a, double b);

template <NumberMath F>
Result<std::vector<NdArray>> EvaluateNumbers(const EvaluateContext& context) {
  return std::vector<NdArray>{
      FilledArray({}, F(context.inputs[0].data[0], context.inputs[1].data[0]))};
}

Result<std::vector<KernelId>> LowerNumbers(const LowerContext& context) {
  return std::vector<KernelId>{context.builder.Constant(context.OutputType(), "")};
}

double Sum(double a, double b) {
  return a + b;
}
double Difference(double a, double b) {
  return a - b;
}
double Product(double a, double b) {
  return a * b;
}
double Quotient(double a, double b) {
  return a / b;
}

#define DRYDOCK_HOST_SCALAR(id, math, divides)                                                 \
  DRYDOCK_OP_NAMED(id, "_" #id, .family = "host", .signature = "_" #id "()(x, y)",             \
                   .infer = InferNumbers<divides>, .gradient = GradientNotNeeded,              \
                   .lower = LowerNumbers, .evaluate = EvaluateNumbers<math>, .flops = NoFlops, \
                   .cost = CostFamily::kFree, .example = "()((), ())")

DRYDOCK_HOST_SCALAR(ScalarAdd, Sum, false);
DRYDOCK_HOST_SCALAR(ScalarSub, Difference, false);
DRYDOCK_HOST_SCALAR(ScalarMul, Product, false);
DRYDOCK_HOST_SCALAR(ScalarDiv, Quotient, true);

}  // namespace
}  // namespace drydock::strategies
