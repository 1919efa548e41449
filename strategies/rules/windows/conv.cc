#include <cstdint>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/windows/window.h"
#include "strategies/rules/windows/window_local.h"

/// Convolutions of two and three spatial dimensions and their input gradients, which are operators
/// of their own. With x (n, ci, s...) and weight (co, ci, taps...) the iteration space is [n, ci,
/// s..., co]; cutting ci leaves partial sums, cutting rows or columns needs border rows of the
/// neighbours. Source: mindspore ops_info/conv2d_info.cc.
namespace drydock::strategies {
namespace {

std::span<const std::int64_t> KernelOf(const OpView& op, std::size_t weight) {
  return SpatialExtents(op.inputs[weight].shape);
}

/// Form of the convolution x -> y whose weight is input 1.
Result<WindowForm> ConvForm(const OpView& op, const Shape& x) {
  return WindowFormOf(op, SpatialExtents(x), KernelOf(op, 1), {});
}

Result<std::int64_t> GroupsOf(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t groups, IntAttr(*op.attrs, "group", 1));
  if (groups < 1) {
    return FailOp(op, "attribute",
                  "attribute 'group' of '" + std::string(op.op) + "' must be at least 1, not " +
                      std::to_string(groups));
  }
  return groups;
}

// ---- Inference ----------------------------------------------------------------------------------

/// Checks ranks, types and the weight against the channels of x and y.
Status CheckChannels(const OpView& op, std::int64_t x_channels, std::int64_t y_channels) {
  const Shape& w = op.inputs[1].shape;
  DRYDOCK_TRY(const std::int64_t groups, GroupsOf(op));
  DRYDOCK_TRY(const std::int64_t out_channel, IntAttr(*op.attrs, "out_channel", w[0]));
  const bool fits = w[1] > 0 && x_channels % groups == 0 && x_channels / groups == w[1] &&
                    w[0] % groups == 0 && y_channels == w[0] && out_channel == w[0];
  if (!fits) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' of tensors of shapes " +
                      TupleText(op.inputs[0].shape) + " and " + TupleText(w) +
                      " with out_channel " + std::to_string(out_channel) + " and group " +
                      std::to_string(groups) + ": the channels do not agree");
  }
  return {};
}

Status CheckOperands(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 4, 5));
  const std::size_t rank = op.inputs[0].shape.size();
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, rank, rank));
  return ExpectSameDType(op);
}

Status CheckDims(const OpView& op, std::size_t rank) {
  return ExpectRank(op, 0, rank, rank);
}

template <std::size_t Rank>
Result<std::vector<TensorType>> InferConv(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(CheckOperands(op));
  DRYDOCK_RETURN_IF_ERROR(CheckDims(op, Rank));
  const Shape& x = op.inputs[0].shape;
  DRYDOCK_RETURN_IF_ERROR(CheckChannels(op, x[1], op.inputs[1].shape[0]));
  DRYDOCK_TRY(const WindowForm form, ConvForm(op, x));
  Shape y = WindowOutputs(form);
  y.insert(y.begin(), {x[0], op.inputs[1].shape[0]});
  const bool is_int8 = op.inputs[0].dtype == DType::kInt8;
  return std::vector<TensorType>{
      {.shape = std::move(y), .dtype = is_int8 ? DType::kInt32 : op.inputs[0].dtype}};
}

/// Attribute `input_size`: shape of the convolution's input.
Result<Shape> InputSizeOf(const OpView& op) {
  DRYDOCK_TRY(Shape size, RequiredListAttr(op, "input_size"));
  const std::size_t rank = op.inputs[0].shape.size();
  bool positive = size.size() == rank;
  for (const std::int64_t extent : size) {
    positive = positive && extent > 0;
  }
  if (!positive) {
    return FailOp(op, "attribute",
                  "attribute 'input_size' of '" + std::string(op.op) + "' is " + TupleText(size) +
                      ", but must be " + std::to_string(rank) + " positive extents");
  }
  return size;
}

template <std::size_t Rank>
Result<std::vector<TensorType>> InferBackInput(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(CheckOperands(op));
  DRYDOCK_RETURN_IF_ERROR(CheckDims(op, Rank));
  DRYDOCK_TRY(Shape size, InputSizeOf(op));
  const Shape& dy = op.inputs[0].shape;
  DRYDOCK_RETURN_IF_ERROR(CheckChannels(op, size[1], dy[1]));
  DRYDOCK_TRY(const WindowForm form, ConvForm(op, size));
  Shape wanted = WindowOutputs(form);
  wanted.insert(wanted.begin(), {size[0], op.inputs[1].shape[0]});
  if (dy != wanted) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' to input_size " + TupleText(size) + " takes " +
                      TupleText(wanted) + ", but input 0 has shape " + TupleText(dy));
  }
  return std::vector<TensorType>{{.shape = std::move(size), .dtype = op.inputs[0].dtype}};
}

Result<std::vector<TensorType>> InferBackFilter(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_TRY(Shape size, RequiredListAttr(op, "filter_size"));
  return std::vector<TensorType>{{.shape = std::move(size), .dtype = op.inputs[0].dtype}};
}

// ---- Sharding -----------------------------------------------------------------------------------

/// Operands [n, a, s...] and weight with the contracted channel `a` at dimension `tied` of the
/// weight and the other channel `b` at the other one; result [n, b, s...]; axes [n, a, s..., b]. In
/// three dimensions the last one is whole and has no axis.
Result<ShardRule> ConvRule(const OpView& op, std::size_t tied) {
  DRYDOCK_TRY(const std::int64_t mode, IntAttr(*op.attrs, "mode", 1));
  if (mode != 1) {
    return FailOp(op, "strategy-mode",
                  "'" + std::string(op.op) + "' can be cut in mode 1 only, not in mode " +
                      std::to_string(mode));
  }
  const std::size_t rank = op.inputs[0].shape.size();
  const std::size_t cut_dims = rank == 5 ? 4 : rank;
  TensorAxes x = AxesInOrder(cut_dims);
  x.resize(rank);
  const auto other = static_cast<AxisIndex>(cut_dims);
  TensorAxes w(rank);
  w[tied] = {1};
  w[1 - tied] = {other};
  TensorAxes y = x;
  y[1] = {other};
  ShardRule rule{.axis_count = other + 1, .inputs = {std::move(x), std::move(w)}, .outputs = {y}};
  rule.not_searched = {other};
  rule.communication.push_back({.axes = {1}});
  DRYDOCK_TRY(const std::int64_t groups, GroupsOf(op));
  if (groups != 1) {
    rule.uncut = {{.axis = 1, .what = "a channel of a grouped convolution"},
                  {.axis = other, .what = "a channel of a grouped convolution"}};
  }
  return rule;
}

Result<ShardRule> ShardConv(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(ShardRule rule, ConvRule(op, 1));
  DRYDOCK_TRY(const WindowForm form, ConvForm(op, op.inputs[0].shape));
  DRYDOCK_RETURN_IF_ERROR(CutWindows(op, form, SpatialCuts(strategy), true));
  return rule;
}

Result<ShardRule> ShardBackInput(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(ShardRule rule, ConvRule(op, 0));
  DRYDOCK_TRY(const WindowForm form, ConvForm(op, op.outputs[0].shape));
  DRYDOCK_RETURN_IF_ERROR(CutBackwardWindows(op, form, SpatialCuts(strategy)));
  return rule;
}

// ---- Local program ------------------------------------------------------------------------------

/// Own output channels instead of all.
void SetOwnChannels(const LocalizeContext& context, AttrMap& attrs) {
  if (const auto it = attrs.find("out_channel"); it != attrs.end()) {
    it->second = context.builder.TypeOf(context.spec.inputs[1]).shape[0];
  }
}

Result<std::vector<ValueId>> LocalizeConv(const LocalizeContext& context) {
  DRYDOCK_TRY(const WindowForm form, ConvForm(context.global, context.global.inputs[0].shape));
  DRYDOCK_TRY(const WindowCut cut,
              CutWindows(context.global, form, SpatialCuts(context.sharding.strategy), true));
  AttrMap attrs = context.spec.attrs;
  SetOwnChannels(context, attrs);
  return EmitWindowed(context, cut, form, std::move(attrs), {.pad = "pad"});
}

/// Cuts the rank's rows out of what the windows of `cut` gave along the dimensions in `between`.
Result<ValueId> EmitOwnRowsOf(const LocalizeContext& context, ValueId value, const WindowForm& form,
                              const WindowCut& cut, const Shape& own) {
  Attr::List begin;
  Attr::List end;
  for (std::size_t d = 0; d < own.size(); ++d) {
    RankExpr first = {};
    if (own[d] != context.builder.TypeOf(value).shape[d]) {
      const HaloDim& halo = cut.plan.dims[d - 2];
      const WindowDim& dim = form.dims[d - 2];
      first = Plus(Times(context.sharding.axis_parts[d], own[d] - halo.step * dim.stride),
                   RankExpr{.constant = dim.pad_begin - halo.first * dim.stride});
    }
    begin.emplace_back(first);
    end.emplace_back(Plus(first, RankExpr{.constant = own[d]}));
  }
  return EmitHelper(
      context, ops::kStridedSlice, {value},
      {{"begin", begin}, {"end", end}, {"strides", std::vector<std::int64_t>(own.size(), 1)}});
}

Result<std::vector<ValueId>> LocalizeBackInput(const LocalizeContext& context) {
  DRYDOCK_TRY(const WindowForm form, ConvForm(context.global, context.global.outputs[0].shape));
  DRYDOCK_TRY(const WindowCut cut,
              CutBackwardWindows(context.global, form, SpatialCuts(context.sharding.strategy)));
  AttrMap attrs = context.spec.attrs;
  SetOwnChannels(context, attrs);
  const Shape own = SliceShape(context.sharding.outputs[0]);
  Shape made = own;
  attrs.erase("pad_list");
  WindowForm local = form;
  for (const std::size_t i : cut.exchanged) {
    // Taps count from the window's begin: row r of the part meets r + padding - o * stride.
    const HaloDim& halo = cut.plan.dims[i];
    WindowDim& dim = local.dims[i];
    if (BeginsBetweenStrides(dim, halo.parts)) {
      made[i + 2] = (halo.length - 1) * dim.stride + dim.Reach();
      dim.pad_begin = dim.pad_end = 0;
      continue;
    }
    dim.in = own[i + 2];
    dim.pad_begin -= halo.first * dim.stride;
    dim.pad_end = (halo.length - 1) * dim.stride + dim.Reach() - dim.in - dim.pad_begin;
  }
  attrs["input_size"] = made;
  DRYDOCK_TRY(std::vector<ValueId> results, EmitWindowed(context, cut, local, std::move(attrs),
                                                         {.pad = "pad", .keeps_pads = true}));
  if (made != own) {
    DRYDOCK_TRY(results[0], EmitOwnRowsOf(context, results[0], form, cut, own));
  }
  return results;
}

// ---- Gradient -----------------------------------------------------------------------------------

AttrMap With(AttrMap attrs, std::string_view name, const Shape& shape) {
  attrs.erase("input_size");
  attrs.erase("pad_list");
  if (!name.empty()) {
    attrs[std::string(name)] = shape;
  }
  return attrs;
}

/// Names of the three kernels of one number of spatial dimensions.
struct Kernels {
  std::string_view forward;
  std::string_view back_input;
  std::string_view back_filter;
};
constexpr Kernels kPlane = {.forward = "Conv2D",
                            .back_input = "Conv2DBackpropInput",
                            .back_filter = "Conv2DBackpropFilter"};
constexpr Kernels kVolume = {.forward = "Conv3D",
                             .back_input = "Conv3DBackpropInput",
                             .back_filter = "Conv3DBackpropFilter"};

template <const Kernels& Names>
Result<std::vector<ValueId>> ConvGradient(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  const ValueId x = context.node.inputs[0];
  const ValueId w = context.node.inputs[1];
  const ValueId dy = OutputGradient(context);
  if (context.wanted[0]) {
    const Shape size = context.TypeOf(x).shape;
    DRYDOCK_TRY(gradients[0], context.Emit(Names.back_input, {dy, w},
                                           With(context.node.attrs, "input_size", size)));
  }
  if (context.wanted[1]) {
    const Shape size = context.TypeOf(w).shape;
    DRYDOCK_TRY(gradients[1], context.Emit(Names.back_filter, {dy, x},
                                           With(context.node.attrs, "filter_size", size)));
  }
  return gradients;
}

/// The operator is linear in both operands: the roles of x and dy are swapped.
template <const Kernels& Names>
Result<std::vector<ValueId>> BackInputGradient(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  const ValueId w = context.node.inputs[1];
  const ValueId arriving = OutputGradient(context);
  if (context.wanted[0]) {
    DRYDOCK_TRY(gradients[0],
                context.Emit(Names.forward, {arriving, w}, With(context.node.attrs, "", {})));
  }
  if (context.wanted[1]) {
    const Shape size = context.TypeOf(w).shape;
    DRYDOCK_TRY(gradients[1], context.Emit(Names.back_filter, {context.node.inputs[0], arriving},
                                           With(context.node.attrs, "filter_size", size)));
  }
  return gradients;
}

// ---- Evaluation and cost ------------------------------------------------------------------------

Result<std::vector<NdArray>> EvaluateConv(const EvaluateContext& context) {
  DRYDOCK_TRY(const WindowForm form, ConvForm(context.View(), context.inputs[0].shape));
  return std::vector<NdArray>{Convolve(context.inputs[0], context.inputs[1], form)};
}

Result<std::vector<NdArray>> EvaluateBackInput(const EvaluateContext& context) {
  const Shape& x = context.output_types[0].shape;
  DRYDOCK_TRY(const WindowForm form, ConvForm(context.View(), x));
  const std::int64_t groups = x[1] / context.inputs[1].shape[1];
  return std::vector<NdArray>{
      ConvolveBackInput(context.inputs[0], context.inputs[1], form, groups)};
}

Result<std::vector<NdArray>> EvaluateBackFilter(const EvaluateContext& context) {
  const Shape& w = context.output_types[0].shape;
  DRYDOCK_TRY(
      const WindowForm form,
      WindowFormOf(context.View(), SpatialExtents(context.inputs[1].shape), SpatialExtents(w), {}));
  return std::vector<NdArray>{ConvolveBackFilter(context.inputs[0], context.inputs[1], form, w)};
}

/// 2 * elements of the larger-strided side * (channels per group * taps).
double FlopsOf(const TensorType& positions, const Shape& weight) {
  double flops = 2.0 * Elements(positions);
  for (std::size_t d = 1; d < weight.size(); ++d) {
    flops *= static_cast<double>(weight[d]);
  }
  return flops;
}

double ConvFlops(const OpView& op) {
  return FlopsOf(op.outputs[0], op.inputs[1].shape);
}

double BackInputFlops(const OpView& op) {
  return FlopsOf(op.inputs[0], op.inputs[1].shape);
}

double BackFilterFlops(const OpView& op) {
  return FlopsOf(op.inputs[0], op.outputs[0].shape);
}

#define DRYDOCK_CONV_SIGNATURE(name, extra, format, call)                   \
  name "(out_channel, kernel_size, mode=1, pad_mode='valid', pad=0, " extra \
       "stride=1, dilation=1, group=1, data_format='" format "')(" call ")"

DRYDOCK_OP(
    Conv2D, .family = "conv_pool",
    .signature = DRYDOCK_CONV_SIGNATURE("Conv2D", "", "NCHW", "x, weight"), .infer = InferConv<4>,
    .shard = ShardConv, .localize = LocalizeConv, .gradient = ConvGradient<kPlane>, .values = "-",
    .evaluate = EvaluateConv, .flops = ConvFlops, .cost = CostFamily::kMatMul,
    .work = WorkKind::kProduct,
    .example = "(kernel_size=(3, 3), out_channel=4, pad_mode='same')((2, 3, 8, 6), (4, 3, 3, 3))");
DRYDOCK_OP(Conv3D, .family = "conv_pool",
           .signature = DRYDOCK_CONV_SIGNATURE("Conv3D", "", "NCDHW", "x, weight"),
           .infer = InferConv<5>, .shard = ShardConv, .localize = LocalizeConv,
           .gradient = ConvGradient<kVolume>, .values = "-", .evaluate = EvaluateConv,
           .flops = ConvFlops, .cost = CostFamily::kMatMul, .work = WorkKind::kProduct,
           .example = "(kernel_size=2, out_channel=4)((2, 3, 4, 4, 4), (4, 3, 2, 2, 2))");

/// A plane convolution backwards.
constexpr std::string_view kBackInputExample =
    "(input_size=(2, 3, 8, 6), kernel_size=(3, 3), out_channel=4, pad_mode='same')"
    "((2, 4, 8, 6), (4, 3, 3, 3))";

/// One kernel serves the operator and the gradient that it is.
Result<std::vector<KernelId>> LowerTransposed(const LowerContext& context) {
  return LowerTo(context, kPlane.back_input,
                 {context.builder.Argument(context.node.attrs.at("input_size"))});
}

/// The settings of a plane's backward convolution stand in another order than those of the others.
#define DRYDOCK_PLANE_BACK_SIGNATURE(name)                                                     \
  name "(out_channel, kernel_size, pad_mode='valid', pad=0, pad_list=None, mode=1, stride=1, " \
       "dilation=1, group=1, data_format='NCHW')(dout, weight, #input_size)"

#define DRYDOCK_BACK_INPUT(id, family_name, rank, kernels, lower_fn, signature_text, example_call, \
                           ...)                                                                    \
  DRYDOCK_OP(id, .family = family_name, .signature = signature_text,                               \
             .infer = InferBackInput<rank>, __VA_ARGS__.gradient = BackInputGradient<kernels>,     \
             .lower = lower_fn, .values = "input_size", .evaluate = EvaluateBackInput,             \
             .flops = BackInputFlops, .cost = CostFamily::kMatMul, .work = WorkKind::kProduct,     \
             .example = example_call)

DRYDOCK_BACK_INPUT(Conv2DBackpropInput, "conv_pool", 4, kPlane, nullptr,
                   DRYDOCK_PLANE_BACK_SIGNATURE("Conv2DBackpropInput"), kBackInputExample,
                   .shard = ShardBackInput, .localize = LocalizeBackInput, );
DRYDOCK_BACK_INPUT(Conv2DTranspose, "conv_pool", 4, kPlane, LowerTransposed,
                   DRYDOCK_PLANE_BACK_SIGNATURE("Conv2DTranspose"), kBackInputExample,
                   .shard = ShardBackInput, .localize = LocalizeBackInput, );
DRYDOCK_BACK_INPUT(Conv3DBackpropInput, "gradient", 5, kVolume, nullptr,
                   DRYDOCK_CONV_SIGNATURE("Conv3DBackpropInput", "pad_list=None, ", "NCDHW",
                                          "dout, weight, #input_size"),
                   "", );

#define DRYDOCK_BACK_FILTER(id, format)                                                        \
  DRYDOCK_OP(id, .family = "gradient",                                                         \
             .signature = DRYDOCK_CONV_SIGNATURE(#id, "", format, "dout, x, #filter_size"),    \
             .infer = InferBackFilter, .gradient = GradientNotNeeded, .values = "filter_size", \
             .evaluate = EvaluateBackFilter, .flops = BackFilterFlops, .work = WorkKind::kProduct)

DRYDOCK_BACK_FILTER(Conv2DBackpropFilter, "NCHW");
DRYDOCK_BACK_FILTER(Conv3DBackpropFilter, "NCDHW");

}  // namespace
}  // namespace drydock::strategies
