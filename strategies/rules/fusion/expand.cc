#include <algorithm>
#include <utility>

#include "strategies/operators/basic_program.h"

/// Kernels that jit_level O1 takes apart before it looks for what to fuse.
///
/// Each is written as the formula that it computes, operation by operation, in the order of
/// MindSpore's: the names of fused kernels that fall apart again are made of these.
/// Source: mindspore/ccsrc/backend/common/graph_kernel (adapter/graph_kernel_expander_cloud.cc,
/// expanders, expander/ops).
namespace drydock::strategies {
namespace {

using Values = std::vector<BasicValue>;

/// A value that knows where it is computed, so that formulas can be written as such.
struct Term {
  BasicBuilder* builder = nullptr;
  BasicValue value = {};
  [[nodiscard]] const TensorType& type() const { return builder->TypeOf(value); }
};

Term In(BasicBuilder& builder, std::size_t index) {
  return {.builder = &builder, .value = builder.in(index)};
}

/// A number of the type of `like`.
Term Number(const Term& like, double number) {
  return {.builder = like.builder,
          .value = {.number = number, .type = {.shape = {}, .dtype = like.type().dtype}}};
}

/// Dimension by dimension from the last one on, the larger of both.
Shape Broadcast(const Shape& a, const Shape& b) {
  Shape shape = a.size() < b.size() ? b : a;
  const Shape& other = a.size() < b.size() ? a : b;
  const std::size_t more = shape.size() - other.size();
  for (std::size_t i = 0; i < other.size(); ++i) {
    shape[more + i] = std::max(shape[more + i], other[i]);
  }
  return shape;
}

Term Apply(std::string_view op, const Term& a) {
  const TensorType type = a.type();
  return {.builder = a.builder, .value = a.builder->Op(op, {a.value}, type)};
}

Term Apply(std::string_view op, const Term& a, const Term& b) {
  TensorType type = {.shape = Broadcast(a.type().shape, b.type().shape), .dtype = a.type().dtype};
  return {.builder = a.builder, .value = a.builder->Op(op, {a.value, b.value}, std::move(type))};
}

Term operator+(const Term& a, const Term& b) {
  return Apply("Add", a, b);
}
Term operator+(const Term& a, double b) {
  return a + Number(a, b);
}
Term operator+(double a, const Term& b) {
  return Number(b, a) + b;
}
Term operator-(const Term& a, const Term& b) {
  return Apply("Sub", a, b);
}
Term operator-(double a, const Term& b) {
  return Number(b, a) - b;
}
Term operator*(const Term& a, const Term& b) {
  return Apply("Mul", a, b);
}
Term operator*(const Term& a, double b) {
  return a * Number(a, b);
}
Term operator*(double a, const Term& b) {
  return Number(b, a) * b;
}
Term RealDiv(const Term& a, const Term& b) {
  return Apply("RealDiv", a, b);
}
Term Div(const Term& a, const Term& b) {
  return Apply("Div", a, b);
}
Term Exp(const Term& a) {
  return Apply("Exp", a);
}
Term Neg(const Term& a) {
  return Apply("Neg", a);
}
Term Sqrt(const Term& a) {
  return Apply("Sqrt", a);
}

Term Cast(const Term& a, DType dtype) {
  return {.builder = a.builder,
          .value = a.builder->Op("Cast", {a.value}, {.shape = a.type().shape, .dtype = dtype})};
}

Term CastUnless(const Term& a, DType dtype) {
  return a.type().dtype == dtype ? a : Cast(a, dtype);
}

Term Assign(const Term& to, const Term& what) {
  const TensorType type = to.type();
  return {.builder = to.builder, .value = to.builder->Op("Assign", {to.value, what.value}, type)};
}

Term Sum(const Term& a, const Shape& shape) {
  return {
      .builder = a.builder,
      .value = a.builder->Op("ReduceSum", {a.value}, {.shape = shape, .dtype = a.type().dtype})};
}

Term Compare(std::string_view op, const Term& a, const Term& b) {
  TensorType type = {.shape = Broadcast(a.type().shape, b.type().shape), .dtype = DType::kBool};
  return {.builder = a.builder, .value = a.builder->Op(op, {a.value, b.value}, std::move(type))};
}

Term Select(const Term& which, const Term& a, const Term& b) {
  TensorType type = {
      .shape = Broadcast(which.type().shape, Broadcast(a.type().shape, b.type().shape)),
      .dtype = a.type().dtype};
  return {.builder = a.builder,
          .value = a.builder->Op("Select", {which.value, a.value, b.value}, std::move(type))};
}

/// 1 - 2 / (e^2x + 1), in single precision.
Term Tanh(const Term& x) {
  const Term power = Exp(x * 2.0) + 1.0;
  return Apply("Reciprocal", power) * -2.0 + 1.0;
}

std::int64_t Count(const Shape& shape) {
  return ElementCount(shape).value_or(0);
}

// ---- Arithmetic

Values ExpandAddN(BasicBuilder& b) {
  constexpr std::size_t kMost = 10;
  if (b.size() < 2 || b.size() > kMost) {
    return {};
  }
  Term sum = In(b, 0);
  for (std::size_t i = 1; i < b.size(); ++i) {
    sum = sum + In(b, i);
  }
  return {sum.value};
}

Values ExpandAssignAdd(BasicBuilder& b) {
  const Term to = In(b, 0);
  return {Assign(to, to + CastUnless(In(b, 1), to.type().dtype)).value};
}

Values ExpandMuls(BasicBuilder& b) {
  if (b.in(1).source != BasicValue::Source::kNumber) {
    return {};
  }
  return {(CastUnless(In(b, 0), b.result().dtype) * b.in(1).number).value};
}

Values ExpandAddcmul(BasicBuilder& b) {
  return {(In(b, 0) + In(b, 3) * (In(b, 1) * In(b, 2))).value};
}

Values ExpandSquare(BasicBuilder& b) {
  return {(In(b, 0) * In(b, 0)).value};
}

Values ExpandSquaredDifference(BasicBuilder& b) {
  const Term difference = In(b, 0) - In(b, 1);
  return {(difference * difference).value};
}

Values ExpandBiasAdd(BasicBuilder& b) {
  const Term x = In(b, 0);
  Term bias = In(b, 1);
  const std::size_t rank = x.type().shape.size();
  if (rank > 2) {  // Channels are dimension 1.
    Shape shape(rank - 1, 1);
    shape.front() = bias.type().shape.front();
    bias.value = b.Op("Reshape", {bias.value}, {.shape = shape, .dtype = bias.type().dtype});
  }
  return {(x + bias).value};
}

Values ExpandBiasAddGrad(BasicBuilder& b) {
  return {Sum(In(b, 0), b.result().shape).value};
}

/// x + y * alpha and x - y * alpha.
Values ExpandScaled(BasicBuilder& b, bool adds) {
  const Term x = In(b, 0);
  const Term y = In(b, 1);
  if (x.type().dtype != y.type().dtype || x.type().dtype == DType::kBool ||
      b.in(2).source != BasicValue::Source::kNumber) {
    return {};
  }
  const Term scaled = y * b.in(2).number;
  return {(adds ? x + scaled : x - scaled).value};
}

Values ExpandAddExt(BasicBuilder& b) {
  return ExpandScaled(b, true);
}

Values ExpandSubExt(BasicBuilder& b) {
  return ExpandScaled(b, false);
}

Values ExpandSumExt(BasicBuilder& b) {
  const Term x = CastUnless(In(b, 0), DType::kFloat32);
  if (x.type().shape.empty()) {
    return {};
  }
  return {CastUnless(Sum(x, b.result().shape), b.result().dtype).value};
}

/// The number of elements that each of the result is the mean of.
double Merged(const Term& x, const Shape& result) {
  return static_cast<double>(Count(x.type().shape)) / static_cast<double>(Count(result));
}

Values ExpandMeanExt(BasicBuilder& b) {
  const Term x = CastUnless(In(b, 0), DType::kFloat32);
  if (x.type().shape.empty()) {
    return {};
  }
  const Term sum = Sum(x, b.result().shape);
  return {CastUnless(Div(sum, Number(sum, Merged(x, b.result().shape))), b.result().dtype).value};
}

Values ExpandReduceMean(BasicBuilder& b) {
  const Term x = CastUnless(In(b, 0), DType::kFloat32);
  if (x.type().shape.empty()) {
    return {};
  }
  const Term sum = Sum(x, b.result().shape);
  return {
      CastUnless(RealDiv(sum, Number(sum, Merged(x, b.result().shape))), b.result().dtype).value};
}

/// Only what repeats dimensions of one element.
Values ExpandTile(BasicBuilder& b) {
  const Shape& from = In(b, 0).type().shape;
  const Shape& to = b.result().shape;
  const std::size_t more = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && to[more + i] != from[i]) {
      return {};
    }
  }
  return {b.Op("BroadcastTo", {b.in(0)}, b.result())};
}

/// A number, as often as the result has elements.
Values ExpandFill(BasicBuilder& b, std::size_t number) {
  if (b.result().shape.empty()) {
    return {};
  }
  return {b.Op("BroadcastTo", {b.in(number)}, b.result())};
}

Values ExpandFillV2(BasicBuilder& b) {
  return ExpandFill(b, 1);
}

Values ExpandConstant(BasicBuilder& b, double number) {
  const BasicValue value = {.number = number, .type = {.shape = {}, .dtype = b.result().dtype}};
  return {b.Op("BroadcastTo", {value}, b.result())};
}

Values ExpandZerosLike(BasicBuilder& b) {
  return ExpandConstant(b, 0.0);
}

Values ExpandOnesLike(BasicBuilder& b) {
  return ExpandConstant(b, 1.0);
}

// ---- Activations

Values ExpandGelu(BasicBuilder& b) {
  const Term x = CastUnless(In(b, 0), DType::kFloat32);
  const Term cubed = x * x * x * 0.044715;
  const Term power = Exp((x + cubed) * -1.5957691);
  return {CastUnless(RealDiv(x, power + 1.0), b.result().dtype).value};
}

Values ExpandGeluGrad(BasicBuilder& b) {
  const Term dy = CastUnless(In(b, 0), DType::kFloat32);
  const Term x = CastUnless(In(b, 1), DType::kFloat32);
  const Term squared = x * x;
  const Term right = 0.7978846 * (1.0 + 0.134145 * squared);
  const Term tanh = Tanh(0.7978846 * (x + 0.044715 * (x * squared)));
  const Term half = 0.5 * (1.0 + tanh);
  const Term slope = 1.0 - tanh * tanh;
  const Term rest = 0.5 * x * slope * right;
  return {CastUnless(dy * (half + rest), b.result().dtype).value};
}

Values ExpandFastGelu(BasicBuilder& b) {
  const Term x = In(b, 0);
  const Term size = Apply("Abs", x);
  const Term n = x * Exp(0.851 * (x - size));
  return {Div(n, Exp(-1.702 * size) + 1.0).value};
}

Values ExpandFastGeluGrad(BasicBuilder& b) {
  const Term dout = In(b, 0);
  const Term x = In(b, 1);
  const Term size = Apply("Abs", x);
  const Term power = Exp(-1.702 * size);
  const Term product = 1.702 * (x * power) + power;
  const Term sum = Exp((x - size) * 1.702) + product;
  const Term rest = power + 1.0;
  return {(Div(sum, rest * rest) * dout).value};
}

Values ExpandSilu(BasicBuilder& b) {
  const Term x = In(b, 0);
  return {Div(x, Exp(Neg(x)) + 1.0).value};
}

Values ExpandSiluGrad(BasicBuilder& b) {
  const bool half = In(b, 1).type().dtype == DType::kFloat16;
  const Term x = half ? Cast(In(b, 1), DType::kFloat32) : In(b, 1);
  const Term dout = half ? Cast(In(b, 0), DType::kFloat32) : In(b, 0);
  const Term sum = Exp(Neg(x)) + 1.0;
  const Term sigmoid = Div(Number(x, 1.0), sum);
  const Term silu = Div(x, sum);
  const Term slope = (sigmoid + silu) - sigmoid * silu;
  const Term result = slope * dout;
  return {half ? Cast(result, DType::kFloat16).value : result.value};
}

Values ExpandSigmoid(BasicBuilder& b) {
  const Term x = CastUnless(In(b, 0), DType::kFloat32);
  const Term sum = Exp(Neg(x)) + 1.0;
  return {CastUnless(Div(Number(x, 1.0), sum), b.result().dtype).value};
}

Values ExpandSigmoidGrad(BasicBuilder& b) {
  const Term y = In(b, 0);
  const Term rest = 1.0 - y;
  return {(rest * (y * In(b, 1))).value};
}

Values ExpandTanh(BasicBuilder& b) {
  return In(b, 0).type().dtype == DType::kFloat32 ? Values{Tanh(In(b, 0)).value} : Values{};
}

Values ExpandTanhGrad(BasicBuilder& b) {
  const Term y = CastUnless(In(b, 0), DType::kFloat32);
  const Term dy = CastUnless(In(b, 1), DType::kFloat32);
  return {CastUnless(dy * (1.0 - y * y), b.result().dtype).value};
}

Values ExpandRelu(BasicBuilder& b) {
  const Term x = In(b, 0);
  return {Apply("Maximum", x, Number(x, 0.0)).value};
}

Values ExpandReluGrad(BasicBuilder& b) {
  const Term x = In(b, 1);
  return {Select(Compare("Greater", x, Number(x, 0.0)), In(b, 0), Number(x, 0.0)).value};
}

Values ExpandSqrtGrad(BasicBuilder& b) {
  return {RealDiv(In(b, 1), In(b, 0) * 2.0).value};
}

Values ExpandRsqrtGrad(BasicBuilder& b) {
  const Term y = In(b, 0);
  return {(y * y * y * In(b, 1) * -0.5).value};
}

Values ExpandErf(BasicBuilder& b) {
  constexpr double kEdge = 3.92;
  Term x = CastUnless(In(b, 0), DType::kFloat32);
  x = Apply("Minimum", x, Number(x, kEdge));
  x = Apply("Maximum", x, Number(x, -kEdge));
  const Term squared = x * x;
  Term above = squared * 0.05344;
  for (const double number : {7.552, 101.63, 1393.8, 5063.8}) {
    above = (above + number) * squared;
  }
  above = (above + 29639.4) * x;
  Term below = squared + 31.212;
  for (const double number : {398.57, 3023.1, 13243.4, 26267.2}) {
    below = below * squared + number;
  }
  return {CastUnless(Div(above, below), b.result().dtype).value};
}

// ---- Losses

Values ExpandSigmoidLoss(BasicBuilder& b) {
  const Term x = In(b, 0);
  const Term positive = Apply("Maximum", x, Number(x, 0.0));
  const Term product = x * In(b, 1);
  const Term rest = Apply("Log", 1.0 + Exp(Neg(Apply("Abs", x))));
  return {((positive - product) + rest).value};
}

Values ExpandSigmoidLossGrad(BasicBuilder& b) {
  const Term x = In(b, 0);
  const Term sigmoid = RealDiv(Number(x, 1.0), 1.0 + Exp(Neg(x)));
  return {((sigmoid - In(b, 1)) * In(b, 2)).value};
}

// ---- Optimizers

/// Both moments and the weight.
Values AdamWithDecay(BasicBuilder& b) {
  const Term gradient = In(b, 0);
  const Term variable = In(b, 3);
  const Term momentum = In(b, 5) * In(b, 2);
  const Term m = momentum + In(b, 6) * gradient;
  const Term velocity = In(b, 7) * In(b, 1);
  const Term v = velocity + In(b, 8) * (gradient * gradient);
  const Term update = Div(m, Sqrt(v) + In(b, 10));
  const Term step = In(b, 4) * (update + In(b, 9) * variable);
  return {v.value, m.value, (variable - step).value};
}

Values ExpandAdamWithDecay(BasicBuilder& b) {
  return AdamWithDecay(b);
}

Values ExpandAdamWithDecayAssign(BasicBuilder& b) {
  Values results = AdamWithDecay(b);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = Assign(In(b, i + 1), {.builder = &b, .value = results[i]}).value;
  }
  return results;
}

Values ExpandAdam(BasicBuilder& b) {
  const Term variable = In(b, 0);
  const DType dtype = variable.type().dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16) {
    return {};
  }
  const Term m = In(b, 1);
  const Term v = In(b, 2);
  const Term gradient = In(b, 9);
  const auto own = [&](std::size_t index) { return CastUnless(In(b, index), dtype); };
  const Term m_new = m + (1.0 - own(6)) * (gradient - m);
  const Term v_new = v + (1.0 - own(7)) * (gradient * gradient - v);
  const Term rate = Div(own(5) * Sqrt(1.0 - own(4)), 1.0 - own(3));
  const Term step = Div(rate * m_new, own(8) + Sqrt(v_new));
  const Term result = variable - step;
  return {Assign(variable, result).value, Assign(m, m_new).value, Assign(v, v_new).value};
}

}  // namespace

DRYDOCK_BASIC(AddN, .expand = ExpandAddN);
DRYDOCK_BASIC(AssignAdd, .expand = ExpandAssignAdd, .waits_with = 0);
DRYDOCK_BASIC(Muls, .expand = ExpandMuls);
DRYDOCK_BASIC(Addcmul, .expand = ExpandAddcmul);
DRYDOCK_BASIC(Square, .expand = ExpandSquare);
DRYDOCK_BASIC(SquaredDifference, .expand = ExpandSquaredDifference);
DRYDOCK_BASIC(BiasAdd, .expand = ExpandBiasAdd);
DRYDOCK_BASIC(BiasAddGrad, .expand = ExpandBiasAddGrad);
DRYDOCK_BASIC(AddExt, .expand = ExpandAddExt);
DRYDOCK_BASIC(SubExt, .expand = ExpandSubExt);
DRYDOCK_BASIC(SumExt, .expand = ExpandSumExt);
DRYDOCK_BASIC(MeanExt, .expand = ExpandMeanExt);
DRYDOCK_BASIC(ReduceMean, .expand = ExpandReduceMean);
DRYDOCK_BASIC(Tile, .expand = ExpandTile);
DRYDOCK_BASIC(FillV2, .expand = ExpandFillV2);
DRYDOCK_BASIC(ZerosLike, .expand = ExpandZerosLike);
DRYDOCK_BASIC(ZerosLikeExt, .expand = ExpandZerosLike);
DRYDOCK_BASIC(OnesLike, .expand = ExpandOnesLike);
DRYDOCK_BASIC(GeLU, .expand = ExpandGelu);
DRYDOCK_BASIC(Gelu, .expand = ExpandGelu);
DRYDOCK_BASIC(GeLUGrad, .expand = ExpandGeluGrad);
DRYDOCK_BASIC(FastGelu, .expand = ExpandFastGelu);
DRYDOCK_BASIC(FastGeLU, .expand = ExpandFastGelu);
DRYDOCK_BASIC(FastGeluGrad, .expand = ExpandFastGeluGrad);
DRYDOCK_BASIC(FastGeLUGrad, .expand = ExpandFastGeluGrad);
DRYDOCK_BASIC(SiLU, .expand = ExpandSilu);
DRYDOCK_BASIC(SiLUGrad, .expand = ExpandSiluGrad);
DRYDOCK_BASIC(Sigmoid, .expand = ExpandSigmoid);
DRYDOCK_BASIC(SigmoidGrad, .expand = ExpandSigmoidGrad);
DRYDOCK_BASIC(Tanh, .expand = ExpandTanh);
DRYDOCK_BASIC(TanhGrad, .expand = ExpandTanhGrad);
DRYDOCK_BASIC(ReLU, .expand = ExpandRelu);
DRYDOCK_BASIC(ReluGrad, .expand = ExpandReluGrad);
DRYDOCK_BASIC(SqrtGrad, .expand = ExpandSqrtGrad);
DRYDOCK_BASIC(RsqrtGrad, .expand = ExpandRsqrtGrad);
DRYDOCK_BASIC(Erf, .expand = ExpandErf);
DRYDOCK_BASIC(SigmoidCrossEntropyWithLogits, .expand = ExpandSigmoidLoss);
DRYDOCK_BASIC(SigmoidCrossEntropyWithLogitsGrad, .expand = ExpandSigmoidLossGrad);
DRYDOCK_BASIC(AdamApplyOneWithDecay, .expand = ExpandAdamWithDecay);
DRYDOCK_BASIC(AdamApplyOneWithDecayAssign, .expand = ExpandAdamWithDecayAssign, .waits_with = 1);
DRYDOCK_BASIC(Adam, .expand = ExpandAdam, .waits_with = 9);

}  // namespace drydock::strategies
