#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/windows/window.h"

/// Convolution with explicit padding, optional bias, and its transposed form. Rows and columns stay
/// whole; cutting the input channels leaves partial sums, to which the bias is added once, behind
/// the AllReduce. Source: mindspore ops_info/conv2d_info.cc.
namespace drydock::strategies {
namespace {

constexpr WindowAttrs kNames = {.pad = "padding", .has_mode = false};

struct Form {
  WindowForm window = {};  ///< Of the plain convolution; transposed: from the result to the input.
  bool transposed = false;
  std::int64_t groups = 1;
  std::int64_t ins = 0;   ///< Input channels.
  std::int64_t outs = 0;  ///< Output channels.
};

/// Spatial extents of the result of a transposed convolution.
Result<Shape> TransposedExtents(const OpView& op, const Shape& x, const Shape& w) {
  DRYDOCK_TRY(const auto strides, SpatialAttr(op, "stride", 2, 1));
  DRYDOCK_TRY(const auto dilations, SpatialAttr(op, "dilation", 2, 1));
  DRYDOCK_TRY(const auto given_pads, IntListAttr(*op.attrs, "padding"));
  DRYDOCK_TRY(const auto given_extra, IntListAttr(*op.attrs, "output_padding"));
  const auto at = [](const std::optional<std::vector<std::int64_t>>& list, std::size_t i) {
    return !list || list->empty() ? 0 : (*list)[std::min(i, list->size() - 1)];
  };
  Shape extents;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t extra = at(given_extra, i);
    if (extra < 0 || extra >= strides[i]) {
      return FailOp(op, "attribute",
                    "attribute 'output_padding' of '" + std::string(op.op) +
                        "' must be less than the stride");
    }
    extents.push_back((x[i + 2] - 1) * strides[i] - 2 * at(given_pads, i) +
                      dilations[i] * (w[i + 2] - 1) + extra + 1);
  }
  return extents;
}

Result<Form> FormOf(const OpView& op, const Shape& x, const Shape& w) {
  Form form = {};
  DRYDOCK_TRY(form.transposed, BoolAttr(*op.attrs, "transposed", false));
  DRYDOCK_TRY(form.groups, IntAttr(*op.attrs, "groups", 1));
  form.ins = x[1];
  form.outs = form.transposed ? w[1] * form.groups : w[0];
  const std::int64_t expected = form.transposed ? w[0] : w[1] * form.groups;
  if (form.groups < 1 || w[0] < 1 || w[1] < 1 || x[1] != expected || w[0] % form.groups != 0) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' of tensors of shapes " + TupleText(x) + " and " +
                      TupleText(w) + " in " + std::to_string(form.groups) +
                      " groups: the channels do not agree");
  }
  Shape in(x.begin() + 2, x.end());
  if (form.transposed) {
    DRYDOCK_TRY(in, TransposedExtents(op, x, w));
  }
  DRYDOCK_TRY(form.window, WindowFormOf(op, in, SpatialExtents(w), kNames));
  return form;
}

Result<Form> FormOf(const OpView& op) {
  return FormOf(op, op.inputs[0].shape, op.inputs[1].shape);
}

Result<std::vector<TensorType>> InferConvolution(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 4, 4));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 4, 4));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_TRY(const Form form, FormOf(op));
  if (op.inputs.size() == 3 && op.inputs[2].shape != Shape{form.outs}) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' takes a bias of shape " +
                      TupleText(Shape{form.outs}) + ", but it has shape " +
                      TupleText(op.inputs[2].shape));
  }
  TensorType y{.shape = {op.inputs[0].shape[0], form.outs}, .dtype = op.inputs[0].dtype};
  for (const WindowDim& dim : form.window.dims) {
    y.shape.push_back(form.transposed ? dim.in : dim.out);
  }
  return std::vector<TensorType>{std::move(y)};
}

/// Axes [n, ci, h, w, co]. The reference always ties the input channels to dimension 0 of the
/// weight, which is right for the transposed form only.
Result<ShardRule> ShardConvolution(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const Form form, FormOf(op));
  TensorAxes w(4);
  w[form.transposed ? 0 : 1] = {1};
  w[form.transposed ? 1 : 0] = {4};
  TensorAxes y = AxesInOrder(4);
  y[1] = {4};
  ShardRule rule{.axis_count = 5, .inputs = {AxesInOrder(4), std::move(w)}, .outputs = {y}};
  rule.uncut = {{.axis = 2, .what = "the height"}, {.axis = 3, .what = "the width"}};
  if (form.groups != 1) {
    rule.uncut.push_back({.axis = 1, .what = "a channel of a grouped convolution"});
    rule.uncut.push_back({.axis = 4, .what = "a channel of a grouped convolution"});
  }
  if (op.inputs.size() == 3) {
    rule.inputs.push_back({{4}});  // The local program sums before it adds the bias.
  } else {
    rule.communication.push_back({.axes = {1}});
  }
  return rule;
}

Result<std::vector<ValueId>> LocalizeConvolution(const LocalizeContext& context) {
  const bool has_bias = context.global.inputs.size() == 3;
  if (!has_bias || GroupSize(context.sharding.axis_groups[1]) == 1) {
    return EmitLocal(context, context.spec.attrs);
  }
  const std::vector<ValueId>& inputs = context.spec.inputs;
  const AxisIndex channels[] = {1};
  DRYDOCK_TRY(const ValueId own,
              EmitHelper(context, context.global.op, {inputs[0], inputs[1]}, context.spec.attrs));
  DRYDOCK_TRY(const ValueId sum,
              EmitHelperAllReduce(context, own, channels, "sum over cut input channels"));
  DRYDOCK_TRY(const ValueId y, EmitHelper(context, "BiasAdd", {sum, inputs[2]}));
  return std::vector<ValueId>{y};
}

Result<std::vector<ValueId>> GradientOfConvolution(const GradientContext& context) {
  const Node& node = context.node;
  DRYDOCK_TRY(std::vector<ValueId> gradients,
              EmitAll(context, "ConvolutionGrad",
                      {OutputGradient(context), node.inputs[0], node.inputs[1]}, node.attrs));
  gradients.resize(node.inputs.size(), kNoValue);
  return gradients;
}

Result<std::vector<NdArray>> EvaluateConvolution(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  const NdArray& w = context.inputs[1];
  DRYDOCK_TRY(const Form form, FormOf(context.View()));
  NdArray y = form.transposed ? ConvolveBackInput(x, w, form.window, form.groups)
                              : Convolve(x, w, form.window);
  if (context.inputs.size() == 3) {
    const NdArray bias = ReshapeArray(context.inputs[2], {form.outs, 1, 1});
    y = MapArrays(y, bias, y.shape, SumOf);
  }
  return std::vector<NdArray>{std::move(y)};
}

// ---- ConvolutionGrad: dout, input, weight -> dinput, dweight, dbias -----------------------------

Result<std::vector<TensorType>> InferConvolutionGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 4, 4));
  return std::vector<TensorType>{
      op.inputs[1], op.inputs[2], {.shape = {op.inputs[0].shape[1]}, .dtype = op.inputs[0].dtype}};
}

Result<std::vector<NdArray>> EvaluateConvolutionGrad(const EvaluateContext& context) {
  const NdArray& dy = context.inputs[0];
  const NdArray& x = context.inputs[1];
  const NdArray& w = context.inputs[2];
  DRYDOCK_TRY(const Form form, FormOf(context.View(), x.shape, w.shape));
  NdArray bias = SumArrayTo(dy, {1, form.outs, 1, 1});
  bias.shape = {form.outs};
  if (form.transposed) {
    return std::vector<NdArray>{Convolve(dy, w, form.window),
                                ConvolveBackFilter(x, dy, form.window, w.shape), std::move(bias)};
  }
  return std::vector<NdArray>{ConvolveBackInput(dy, w, form.window, form.groups),
                              ConvolveBackFilter(dy, x, form.window, w.shape), std::move(bias)};
}

/// Two operations for every tap of every position and pair of channels; positions are those of the
/// smaller side.
double ProductFlops(const TensorType& x, const TensorType& y, const Shape& w, bool transposed) {
  double flops = 2.0 * Elements(transposed ? x : y);
  for (std::size_t d = 1; d < w.size(); ++d) {
    flops *= static_cast<double>(w[d]);
  }
  return flops;
}

double ConvolutionFlops(const OpView& op) {
  const bool transposed = BoolAttr(*op.attrs, "transposed", false).value_or(false);
  return ProductFlops(op.inputs[0], op.outputs[0], op.inputs[1].shape, transposed);
}

double ConvolutionGradFlops(const OpView& op) {
  const bool transposed = BoolAttr(*op.attrs, "transposed", false).value_or(false);
  return 2.0 * ProductFlops(op.inputs[1], op.inputs[0], op.inputs[2].shape, transposed);
}

#define DRYDOCK_CONVOLUTION_ATTRS \
  "#stride, #padding, #dilation, #transposed, #output_padding, #groups)"

DRYDOCK_OP(Convolution, .family = "conv_pool",
           .signature = "Convolution()(input, weight, ?bias, " DRYDOCK_CONVOLUTION_ATTRS,
           .infer = InferConvolution, .shard = ShardConvolution, .localize = LocalizeConvolution,
           .gradient = GradientOfConvolution, .evaluate = EvaluateConvolution,
           .flops = ConvolutionFlops, .cost = CostFamily::kMatMul, .work = WorkKind::kProduct,
           .example = "()((2, 3, 8, 6), (4, 3, 3, 3))");
DRYDOCK_OP(ConvolutionGrad, .family = "gradient",
           .signature = "ConvolutionGrad()(dout, input, weight, " DRYDOCK_CONVOLUTION_ATTRS,
           .infer = InferConvolutionGrad, .gradient = GradientNotNeeded,
           .evaluate = EvaluateConvolutionGrad, .flops = ConvolutionGradFlops,
           .work = WorkKind::kProduct);

}  // namespace
}  // namespace drydock::strategies
