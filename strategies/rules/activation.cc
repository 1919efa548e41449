#include <algorithm>
#include <cmath>

#include "strategies/rules/array_math.h"
#include "strategies/rules/common_gradients.h"
#include "strategies/rules/common_rules.h"

/// Activation functions and their gradient kernels. The kernels read what the reference's kernels
/// read, because that decides which tensors stay alive until backward (spec operators section 4).
namespace drydock::strategies {
namespace {

constexpr double kGeluScale = 0.7978845608028654;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;
constexpr double kFastGeluScale = 1.702;

double SigmoidOf(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}
double ReluOf(double x) {
  return std::max(x, 0.0);
}
double Relu6Of(double x) {
  return std::clamp(x, 0.0, 6.0);
}
double GeluOf(double x) {
  return 0.5 * x * (1.0 + std::tanh(kGeluScale * (x + kGeluCubic * x * x * x)));
}
double FastGeluOf(double x) {
  return x * SigmoidOf(kFastGeluScale * x);
}
double TanhOf(double x) {
  return std::tanh(x);
}
double SiluOf(double x) {
  return x * SigmoidOf(x);
}
double SoftplusOf(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}
double HSigmoidOf(double x) {
  return std::clamp(x / 6.0 + 0.5, 0.0, 1.0);
}

double ReluGradOf(double dy, double y) {
  return y > 0 ? dy : 0.0;
}
double Relu6GradOf(double dy, double x) {
  return x > 0 && x < 6 ? dy : 0.0;
}
double GeluGradOf(double dy, double x) {
  const double t = std::tanh(kGeluScale * (x + kGeluCubic * x * x * x));
  const double slope = kGeluScale * (1.0 + 3.0 * kGeluCubic * x * x);
  return dy * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope);
}
double FastGeluGradOf(double dy, double x) {
  const double s = SigmoidOf(kFastGeluScale * x);
  return dy * (s + kFastGeluScale * x * s * (1.0 - s));
}
double SigmoidGradOf(double y, double dy) {
  return dy * y * (1.0 - y);
}
double TanhGradOf(double y, double dy) {
  return dy * (1.0 - y * y);
}
double SiluGradOf(double dy, double x) {
  const double s = SigmoidOf(x);
  return dy * s * (1.0 + x * (1.0 - s));
}
double SoftplusGradOf(double dy, double x) {
  return dy * SigmoidOf(x);
}
double HSigmoidGradOf(double dy, double x) {
  return x > -3 && x < 3 ? dy / 6.0 : 0.0;
}

constexpr char kReluGrad[] = "ReluGrad";
constexpr char kRelu6Grad[] = "ReLU6Grad";
constexpr char kGeluGrad[] = "GeLUGrad";
constexpr char kFastGeluGrad[] = "FastGeLUGrad";
constexpr char kSigmoidGrad[] = "SigmoidGrad";
constexpr char kTanhGrad[] = "TanhGrad";
constexpr char kSiluGrad[] = "SiLUGrad";
constexpr char kSoftplusGrad[] = "SoftplusGrad";
constexpr char kHSigmoidGrad[] = "HSigmoidGrad";

#define DRYDOCK_ACTIVATION(id, argument, infer_fn, value_fn, per_element, ...)                 \
  DRYDOCK_OP(id, .family = "elementwise_unary", .signature = #id "()(" argument ")",           \
             .infer = infer_fn, .shard = ShardElementwise,                                     \
             .gradient = GradientKernel<__VA_ARGS__>, .evaluate = EvaluateUnary<value_fn>,     \
             .flops = FlopsPerInput<per_element>, .elementwise = true, .accepts_layout = true, \
             .accepts_interleaved = true, .ir_attrs = "input_names=x")

#define DRYDOCK_ACTIVATION_GRAD(id, arguments, value_fn, per_element)                             \
  DRYDOCK_OP(id, .family = "gradient", .signature = #id "()(" arguments ")", .infer = InferFirst, \
             .evaluate = EvaluateBinary<value_fn>, .flops = FlopsPerInput<per_element>)

DRYDOCK_ACTIVATION(ReLU, "input", InferSame, ReluOf, 1, kReluGrad, Reads::kGradient,
                   Reads::kOutput);
DRYDOCK_ACTIVATION(ReLU6, "x", InferSameFloating, Relu6Of, 1, kRelu6Grad, Reads::kGradient,
                   Reads::kInput);
DRYDOCK_ACTIVATION(GeLU, "input", InferSameFloating, GeluOf, 8, kGeluGrad, Reads::kGradient,
                   Reads::kInput, Reads::kOutput);
DRYDOCK_ACTIVATION(FastGeLU, "x", InferSameFloating, FastGeluOf, 6, kFastGeluGrad, Reads::kGradient,
                   Reads::kInput);
DRYDOCK_ACTIVATION(Sigmoid, "input", InferToFloat, SigmoidOf, 4, kSigmoidGrad, Reads::kOutput,
                   Reads::kGradient);
DRYDOCK_ACTIVATION(Tanh, "input", InferToFloat, TanhOf, 5, kTanhGrad, Reads::kOutput,
                   Reads::kGradient);
DRYDOCK_ACTIVATION(SiLU, "input", InferSameFloating, SiluOf, 5, kSiluGrad, Reads::kGradient,
                   Reads::kInput);
DRYDOCK_ACTIVATION(Softplus, "x", InferSameFloating, SoftplusOf, 4, kSoftplusGrad, Reads::kGradient,
                   Reads::kInput);
DRYDOCK_ACTIVATION(HSigmoid, "input", InferSame, HSigmoidOf, 1, kHSigmoidGrad, Reads::kGradient,
                   Reads::kInput);

DRYDOCK_ACTIVATION_GRAD(ReluGrad, "y_backprop, x", ReluGradOf, 1);
DRYDOCK_ACTIVATION_GRAD(ReLU6Grad, "y_grad, x", Relu6GradOf, 1);
DRYDOCK_ACTIVATION_GRAD(GeLUGrad, "dy, x, y", GeluGradOf, 8);
DRYDOCK_ACTIVATION_GRAD(FastGeLUGrad, "dy, x", FastGeluGradOf, 6);
DRYDOCK_ACTIVATION_GRAD(SigmoidGrad, "y, dy", SigmoidGradOf, 3);
DRYDOCK_ACTIVATION_GRAD(TanhGrad, "y, dy", TanhGradOf, 3);
DRYDOCK_ACTIVATION_GRAD(SiLUGrad, "dout, x", SiluGradOf, 5);
DRYDOCK_ACTIVATION_GRAD(SoftplusGrad, "dout, x", SoftplusGradOf, 4);
DRYDOCK_ACTIVATION_GRAD(HSigmoidGrad, "grads, input_x", HSigmoidGradOf, 1);

}  // namespace
}  // namespace drydock::strategies
