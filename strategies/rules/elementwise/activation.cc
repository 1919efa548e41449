#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/scalar_math.h"

/// Activation functions and their gradient kernels. The kernels read what the reference's kernels
/// read, because that decides which tensors stay alive until backward (mindspore ops/infer).
namespace drydock::strategies {
namespace {

constexpr double kGeluScale = 0.7978845608028654;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;
constexpr double kFastGeluScale = 1.702;

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

constexpr double kSeluScale = 1.0507009873554805;
constexpr double kSeluAlpha = 1.6732632423543772;
double SeluOf(double x) {
  return kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x));
}
double MishOf(double x) {
  return x * std::tanh(SoftplusOf(x));
}
double SoftsignOf(double x) {
  return x / (1.0 + std::fabs(x));
}
double InverseOf(double x) {
  return 1.0 / x;
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

/// From the result y = scale * alpha * (exp(x) - 1) below 0.
double SeluGradOf(double dy, double y) {
  return dy * (y > 0 ? kSeluScale : y + kSeluScale * kSeluAlpha);
}
double InvGradOf(double y, double dy) {
  return -dy * y * y;
}

constexpr char kSeluGrad[] = "SeluGrad";
constexpr char kInvGrad[] = "InvGrad";
constexpr char kReluGrad[] = "ReluGrad";
constexpr char kRelu6Grad[] = "ReLU6Grad";
constexpr char kGeluGrad[] = "GeLUGrad";
constexpr char kFastGeluGrad[] = "FastGeLUGrad";
constexpr char kSigmoidGrad[] = "SigmoidGrad";
constexpr char kTanhGrad[] = "TanhGrad";
constexpr char kSiluGrad[] = "SiLUGrad";
constexpr char kSoftplusGrad[] = "SoftplusGrad";
constexpr char kHSigmoidGrad[] = "HSigmoidGrad";

using Gradients = Result<std::vector<ValueId>>;

/// y = x * t with t = tanh(softplus(x)): dX = t * dY + softplus'(x) * tanh'(t) * x * dY.
Gradients GradientOfMish(const GradientContext& context) {
  const ValueId x = context.node.inputs[0];
  DRYDOCK_TRY(const ValueId softplus, context.Emit("Softplus", {x}));
  DRYDOCK_TRY(const ValueId t, context.Emit("Tanh", {softplus}));
  DRYDOCK_TRY(const ValueId product, TimesGradient(context, x));
  DRYDOCK_TRY(const ValueId inner, context.Emit(kTanhGrad, {t, product}));
  DRYDOCK_TRY(const ValueId outer, context.Emit(kSoftplusGrad, {inner, x}));
  DRYDOCK_TRY(const ValueId direct, TimesGradient(context, t));
  DRYDOCK_TRY(const ValueId gradient, context.Emit(ops::kAdd, {direct, outer}));
  return std::vector<ValueId>{gradient};
}

/// dY * (1 / (1 + |x|)^2).
Gradients GradientOfSoftsign(const GradientContext& context) {
  const DType dtype = context.TypeOf(context.node.inputs[0]).dtype;
  DRYDOCK_TRY(const ValueId size, context.Emit("Abs", {context.node.inputs[0]}));
  DRYDOCK_TRY(const ValueId more, EmitPlus(context, size, 1.0));
  DRYDOCK_TRY(const ValueId square, context.Emit("Square", {more}));
  const ValueId one = context.builder.AddScalar(1, dtype);
  DRYDOCK_TRY(const ValueId gradient, TimesGradient(context, context.Emit("Div", {one, square})));
  return std::vector<ValueId>{gradient};
}

/// The slope of Elu times the scale: MindSpore's kernels, whatever their numbers.
Result<std::vector<KernelId>> LowerSeluGrad(const LowerContext& context) {
  const KernelId slope =
      context.builder.Kernel({.name = "EluGrad",
                              .inputs = {context.inputs.begin(), context.inputs.end()},
                              .results = {context.OutputType()}});
  return std::vector<KernelId>{
      context.builder.Kernel({.name = "Muls",
                              .inputs = {slope, context.builder.Argument(kSeluScale)},
                              .results = {context.OutputType()}})};
}

// ---- Activation: the function is named by an attribute

struct NamedActivation {
  std::string_view name = {};
  UnaryMath value = nullptr;
  /// Slope times dY from dY and the input or, for the sigmoid, from the result and dY.
  BinaryMath slope = nullptr;
  bool from_result = false;
};

constexpr NamedActivation kActivations[] = {
    {"relu", ReluOf, ReluGradOf, false},
    {"relu6", Relu6Of, Relu6GradOf, false},
    {"sigmoid", SigmoidOf, SigmoidGradOf, true},
};

Result<NamedActivation> ActivationOf(std::string_view op, const AttrMap& attrs) {
  DRYDOCK_TRY(const std::string name, TextAttr(attrs, "activation_type", "relu"));
  for (const NamedActivation& one : kActivations) {
    if (one.name == name) {
      return one;
    }
  }
  return FailOp({.op = op}, "activation-type",
                "activation_type of '" + std::string(op) + "' is '" + name + "'",
                "use relu, relu6 or sigmoid");
}

Result<std::vector<TensorType>> InferActivation(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ActivationOf(op.op, *op.attrs));
  return InferFirst(op);
}

Result<std::vector<NdArray>> EvaluateActivation(const EvaluateContext& context) {
  DRYDOCK_TRY(const NamedActivation one, ActivationOf("Activation", context.attrs));
  return std::vector<NdArray>{MapArray(context.inputs[0], one.value)};
}

/// Operands: dY, input, result.
Result<std::vector<NdArray>> EvaluateActivationGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const NamedActivation one, ActivationOf("ActivationGrad", context.attrs));
  const NdArray& dy = context.inputs[0];
  return std::vector<NdArray>{one.from_result
                                  ? MapArrays(context.inputs[2], dy, dy.shape, one.slope)
                                  : MapArrays(dy, context.inputs[1], dy.shape, one.slope)};
}

constexpr char kActivationGrad[] = "ActivationGrad";

DRYDOCK_OP(
    Activation, .family = "elementwise_unary", .signature = "Activation(activation_type='relu')(x)",
    .infer = InferActivation, .shard = ShardElementwise,
    .gradient =
        GradientKernelWithAttrs<kActivationGrad, Reads::kGradient, Reads::kInput, Reads::kOutput>,
    .evaluate = EvaluateActivation, .flops = FlopsPerInput<1>, .elementwise = true,
    .accepts_layout = true, .accepts_interleaved = true);
DRYDOCK_OP(ActivationGrad, .family = "gradient",
           .signature = "ActivationGrad(activation_type='relu')(dout, x, output)",
           .infer = InferActivation, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateActivationGrad, .flops = FlopsPerInput<2>);

// ---- GeluExt: exact, or by tanh as GeLU is

constexpr char kGeluGradExt[] = "GeluGradExt";
constexpr double kRootHalf = 0.7071067811865476;
constexpr double kRootOfTwoPi = 2.5066282746310002;

double ExactGeluOf(double x) {
  return 0.5 * x * (1.0 + std::erf(x * kRootHalf));
}
double ExactGeluGradOf(double dy, double x) {
  return dy * (0.5 * (1.0 + std::erf(x * kRootHalf)) + x * std::exp(-0.5 * x * x) / kRootOfTwoPi);
}

Result<bool> IsApproximate(const AttrMap& attrs) {
  DRYDOCK_TRY(const std::string form, TextAttr(attrs, "approximate", "none"));
  if (form != "none" && form != "tanh") {
    return FailOp({.op = "GeluExt"}, "approximate", "approximate of 'GeluExt' is '" + form + "'",
                  "use none or tanh");
  }
  return form == "tanh";
}

Result<std::vector<TensorType>> InferGeluExt(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(IsApproximate(*op.attrs));
  return InferSameFloating(op);
}

Result<std::vector<NdArray>> EvaluateGeluExt(const EvaluateContext& context) {
  DRYDOCK_TRY(const bool by_tanh, IsApproximate(context.attrs));
  return std::vector<NdArray>{MapArray(context.inputs[0], by_tanh ? GeluOf : ExactGeluOf)};
}

Result<std::vector<NdArray>> EvaluateGeluGradExt(const EvaluateContext& context) {
  DRYDOCK_TRY(const bool by_tanh, IsApproximate(context.attrs));
  const NdArray& dy = context.inputs[0];
  return std::vector<NdArray>{
      MapArrays(dy, context.inputs[1], dy.shape, by_tanh ? GeluGradOf : ExactGeluGradOf)};
}

DRYDOCK_OP(GeluExt, .family = "elementwise_unary",
           .signature = "GeluExt()(input, #approximate='none')", .infer = InferGeluExt,
           .gradient = GradientKernelWithAttrs<kGeluGradExt, Reads::kGradient, Reads::kInput>,
           .evaluate = EvaluateGeluExt, .flops = FlopsPerInput<8>);
DRYDOCK_OP(GeluGradExt, .family = "gradient",
           .signature = "GeluGradExt()(grad, input, #approximate='none')", .infer = InferFirst,
           .gradient = GradientNotNeeded, .evaluate = EvaluateGeluGradExt,
           .flops = FlopsPerInput<8>);

// ---- Entries

#define DRYDOCK_ACTIVATION(id, argument, infer_fn, value_fn, per_element, ...)                 \
  DRYDOCK_OP(id, .family = "elementwise_unary", .signature = #id "()(" argument ")",           \
             .infer = infer_fn, .shard = ShardElementwise,                                     \
             .gradient = GradientKernel<__VA_ARGS__>, .evaluate = EvaluateUnary<value_fn>,     \
             .flops = FlopsPerInput<per_element>, .elementwise = true, .accepts_layout = true, \
             .accepts_interleaved = true, .ir_attrs = "input_names=x")

#define DRYDOCK_ACTIVATION_GRAD(id, arguments, value_fn, per_element)                             \
  DRYDOCK_OP(id, .family = "gradient", .signature = #id "()(" arguments ")", .infer = InferFirst, \
             .gradient = GradientNotNeeded, .evaluate = EvaluateBinary<value_fn>,                 \
             .flops = FlopsPerInput<per_element>)

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

DRYDOCK_ACTIVATION(SeLU, "x", InferSame, SeluOf, 1, kSeluGrad, Reads::kGradient, Reads::kOutput);
DRYDOCK_ACTIVATION(Inv, "x", InferSame, InverseOf, 1, kInvGrad, Reads::kOutput, Reads::kGradient);
DRYDOCK_OP(Mish, .family = "elementwise_unary", .signature = "Mish()(x)",
           .infer = InferSameFloating, .shard = ShardElementwise, .gradient = GradientOfMish,
           .evaluate = EvaluateUnary<MishOf>, .flops = FlopsPerInput<8>, .elementwise = true,
           .accepts_layout = true, .accepts_interleaved = true);
DRYDOCK_OP(Softsign, .family = "elementwise_unary", .signature = "Softsign()(x)",
           .infer = InferSameFloating, .shard = ShardElementwise, .gradient = GradientOfSoftsign,
           .evaluate = EvaluateUnary<SoftsignOf>, .flops = FlopsPerInput<1>, .elementwise = true,
           .accepts_layout = true, .accepts_interleaved = true);

DRYDOCK_OP(SeluGrad, .family = "gradient", .signature = "SeluGrad()(gradient, result)",
           .infer = InferFirst, .gradient = GradientNotNeeded, .lower = LowerSeluGrad,
           .evaluate = EvaluateBinary<SeluGradOf>, .flops = FlopsPerInput<2>);
DRYDOCK_ACTIVATION_GRAD(InvGrad, "x, grad", InvGradOf, 2);
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
