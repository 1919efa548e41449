#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/windows/window.h"
#include "strategies/rules/windows/window_local.h"

/// Maxima and averages over sliding windows. Two-dimensional pools may be cut along rows and
/// columns where windows do not reach beyond the stride; three-dimensional ones exchange border
/// rows. Source: mindspore ops_info/maxpool_info.cc.
namespace drydock::strategies {
namespace {

/// Attribute of the padding: 3-D maxima call it pad_list.
template <bool IsMax>
constexpr WindowAttrs kAttrs = {.stride = "strides", .pad = IsMax ? "pad_list" : "pad"};

template <bool IsMax>
Result<WindowForm> PoolForm(const OpView& op, const Shape& x) {
  return WindowFormOf(op, SpatialExtents(x), {}, kAttrs<IsMax>);
}

template <bool IsMax, std::size_t Rank>
Result<std::vector<TensorType>> InferPool(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, Rank, Rank));
  const Shape& x = op.inputs[0].shape;
  DRYDOCK_TRY(const WindowForm form, PoolForm<IsMax>(op, x));
  Shape y = WindowOutputs(form);
  y.insert(y.begin(), {x[0], x[1]});
  return std::vector<TensorType>{{.shape = std::move(y), .dtype = op.inputs[0].dtype}};
}

Result<WindowCut> CutOf(const OpView& op, const WindowForm& form, const Strategy& strategy) {
  return CutWindows(op, form, SpatialCuts(strategy), form.dims.size() == 3);
}

template <bool IsMax>
Result<ShardRule> ShardPool(const OpView& op, const Strategy& strategy) {
  const std::size_t rank = op.inputs[0].shape.size();
  DRYDOCK_TRY(const WindowForm form, PoolForm<IsMax>(op, op.inputs[0].shape));
  DRYDOCK_RETURN_IF_ERROR(CutOf(op, form, strategy));
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank),
                 .inputs = {AxesInOrder(rank)},
                 .outputs = {AxesInOrder(rank)}};
  if (rank == 5) {
    rule.uncut.push_back({.axis = 4, .what = "the last dimension"});
  }
  return rule;
}

constexpr std::string_view kWindowBegin = "window_begin";
constexpr std::string_view kWholeExtent = "whole_extent";

/// Where the local input lies in the whole one, for averages that do not count padding.
void SetPlace(const LocalizeContext& context, const WindowCut& cut, const WindowForm& form,
              AttrMap& attrs) {
  Attr::List begin;
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < form.dims.size(); ++i) {
    RankExpr place = {};
    extents.push_back(form.dims[i].in);
    if (i < cut.plan.dims.size() && cut.plan.dims[i].parts > 1) {
      const HaloDim& dim = cut.plan.dims[i];
      place = Times(context.sharding.axis_parts[i + 2], dim.step);
      place.constant = dim.first;
    } else {
      extents.back() = context.builder.TypeOf(context.spec.inputs[0]).shape[i + 2];
    }
    begin.emplace_back(place);
  }
  attrs[std::string(kWindowBegin)] = begin;
  attrs[std::string(kWholeExtent)] = extents;
}

template <bool IsMax>
Result<std::vector<ValueId>> LocalizePool(const LocalizeContext& context) {
  DRYDOCK_TRY(const WindowForm form,
              PoolForm<IsMax>(context.global, context.global.inputs[0].shape));
  DRYDOCK_TRY(WindowCut cut, CutOf(context.global, form, context.sharding.strategy));
  cut.plan.fill_lowest = IsMax;
  AttrMap attrs = context.spec.attrs;
  DRYDOCK_TRY(const bool counts_padding, BoolAttr(attrs, "count_include_pad", true));
  if (!counts_padding && !cut.exchanged.empty()) {
    SetPlace(context, cut, form, attrs);
  }
  return EmitWindowed(context, cut, form, std::move(attrs), {.pad = kAttrs<IsMax>.pad});
}

// ---- Evaluation ---------------------------------------------------------------------------------

std::size_t Planes(const NdArray& x) {
  return static_cast<std::size_t>(x.shape[0] * x.shape[1]);
}

/// Calls f(plane offset of x, plane offset of y) for every image of every channel.
template <typename F>
void ForEachPlane(const NdArray& x, const NdArray& y, F f) {
  const std::size_t planes = Planes(x);
  for (std::size_t p = 0; p < planes; ++p) {
    f(p * (x.data.size() / planes), p * (y.data.size() / planes));
  }
}

Result<std::vector<NdArray>> EvaluateMax(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  DRYDOCK_TRY(const WindowForm form, PoolForm<true>(context.View(), x.shape));
  NdArray y = FilledArray(context.output_types[0].shape, -std::numeric_limits<double>::infinity());
  ForEachPlane(x, y, [&](std::size_t xp, std::size_t yp) {
    ForEachTap(form, [&](std::size_t xi, std::size_t yi, std::size_t /*tap*/) {
      y.data[yp + yi] = std::max(y.data[yp + yi], x.data[xp + xi]);
    });
  });
  return std::vector<NdArray>{std::move(y)};
}

/// x, y, dy -> dx: to the first element of each window that equals the maximum.
Result<std::vector<NdArray>> EvaluateMaxGrad(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  const NdArray& y = context.inputs[1];
  DRYDOCK_TRY(const WindowForm form, PoolForm<true>(context.View(), x.shape));
  NdArray dx = FilledArray(x.shape, 0.0);
  std::vector<bool> taken(y.data.size(), false);
  ForEachPlane(x, y, [&](std::size_t xp, std::size_t yp) {
    ForEachTap(form, [&](std::size_t xi, std::size_t yi, std::size_t /*tap*/) {
      if (!taken[yp + yi] && x.data[xp + xi] == y.data[yp + yi]) {
        taken[yp + yi] = true;
        dx.data[xp + xi] += context.inputs[2].data[yp + yi];
      }
    });
  });
  return std::vector<NdArray>{std::move(dx)};
}

/// True if element `at` of a local input that begins at `begin` lies inside the whole one.
bool IsCounted(std::int64_t at, std::int64_t begin, std::int64_t extent) {
  return begin + at >= 0 && begin + at < extent;
}

/// Elements that the window of output `o` covers; those of padding only if they are asked for.
int Covered(const WindowDim& dim, std::int64_t o, std::int64_t begin, std::int64_t extent,
            bool counts_padding) {
  int count = 0;
  for (std::int64_t k = 0; k < dim.taps; ++k) {
    const std::int64_t at = o * dim.stride - dim.pad_begin + k;
    const bool padded = at < dim.in + dim.pad_end;
    count += (counts_padding ? padded : IsCounted(at, begin, extent)) ? 1 : 0;
  }
  return count;
}

/// Divisor of every output of one plane.
Result<std::vector<double>> Divisors(const EvaluateContext& context, const WindowForm& form,
                                     bool counts_padding) {
  DRYDOCK_TRY(const std::int64_t fixed, IntAttr(context.attrs, "divisor_override", 0));
  DRYDOCK_TRY(const auto begins, IntListAttr(context.attrs, kWindowBegin));
  DRYDOCK_TRY(const auto extents, IntListAttr(context.attrs, kWholeExtent));
  std::vector<double> divisors = {1.0};
  for (std::size_t i = 0; i < form.dims.size(); ++i) {
    const WindowDim& dim = form.dims[i];
    const std::int64_t begin = begins && i < begins->size() ? (*begins)[i] : 0;
    const std::int64_t extent = extents && i < extents->size() ? (*extents)[i] : dim.in;
    std::vector<double> next;
    for (const double before : divisors) {
      for (std::int64_t o = 0; o < dim.out; ++o) {
        next.push_back(before * Covered(dim, o, begin, extent, counts_padding));
      }
    }
    divisors = std::move(next);
  }
  if (fixed != 0) {
    divisors.assign(divisors.size(), static_cast<double>(fixed));
  }
  return divisors;
}

/// Two-dimensional averages never count padding, three-dimensional ones do unless told otherwise.
Result<std::vector<double>> DivisorsOf(const EvaluateContext& context, const WindowForm& form) {
  DRYDOCK_TRY(const bool counts_padding,
              BoolAttr(context.attrs, "count_include_pad", form.dims.size() == 3));
  return Divisors(context, form, counts_padding);
}

Result<std::vector<NdArray>> EvaluateAverage(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  DRYDOCK_TRY(const WindowForm form, PoolForm<false>(context.View(), x.shape));
  DRYDOCK_TRY(const std::vector<double> divisors, DivisorsOf(context, form));
  NdArray y = FilledArray(context.output_types[0].shape, 0.0);
  ForEachPlane(x, y, [&](std::size_t xp, std::size_t yp) {
    ForEachTap(form, [&](std::size_t xi, std::size_t yi, std::size_t /*tap*/) {
      y.data[yp + yi] += x.data[xp + xi] / divisors[yi];
    });
  });
  return std::vector<NdArray>{std::move(y)};
}

/// dy is the last operand.
Result<std::vector<NdArray>> EvaluateAverageGrad(const EvaluateContext& context) {
  const NdArray& dy = context.inputs.back();
  NdArray dx = FilledArray(context.output_types[0].shape, 0.0);
  DRYDOCK_TRY(const WindowForm form, PoolForm<false>(context.View(), dx.shape));
  DRYDOCK_TRY(const std::vector<double> divisors, DivisorsOf(context, form));
  ForEachPlane(dx, dy, [&](std::size_t xp, std::size_t yp) {
    ForEachTap(form, [&](std::size_t xi, std::size_t yi, std::size_t /*tap*/) {
      dx.data[xp + xi] += dy.data[yp + yi] / divisors[yi];
    });
  });
  return std::vector<NdArray>{std::move(dx)};
}

// ---- Averages into a number of outputs: windows as even as they can be, which may overlap
// --------

/// Output i of `wanted` averages rows floor(i * side / wanted) to ceil((i + 1) * side / wanted).
struct EvenWindow {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

EvenWindow EvenWindowOf(std::int64_t i, std::int64_t side, std::int64_t wanted) {
  return {.begin = i * side / wanted, .end = ((i + 1) * side + wanted - 1) / wanted};
}

/// -1 in a wanted side: as the input.
Result<Shape> AdaptedShape(const OpView& op, const Shape& x) {
  DRYDOCK_TRY(const auto given, IntListAttr(*op.attrs, "output_size"));
  std::vector<std::int64_t> wanted = given.value_or(std::vector<std::int64_t>{-1});
  if (wanted.size() == 1) {
    wanted.push_back(wanted.front());
  }
  if (wanted.size() != 2) {
    return FailOp(op, "output-size", "output_size of 'AdaptiveAvgPool2D' has to be 1 or 2 numbers");
  }
  Shape y = x;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::int64_t& side = y[y.size() - 2 + i];
    if (wanted[i] == 0 || wanted[i] < -1) {
      return FailOp(op, "output-size", "output_size of 'AdaptiveAvgPool2D' has to be above 0");
    }
    side = wanted[i] < 0 ? side : wanted[i];
  }
  return y;
}

Result<std::vector<TensorType>> InferAdaptive(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 3, 4));
  DRYDOCK_TRY(Shape y, AdaptedShape(op, op.inputs[0].shape));
  return std::vector<TensorType>{{.shape = std::move(y), .dtype = op.inputs[0].dtype}};
}

/// Calls visit(input element, output element, 1 / elements of the window).
template <typename Visit>
void ForEachEven(const Shape& x, const Shape& y, const Visit& visit) {
  const std::int64_t height = x[x.size() - 2];
  const std::int64_t width = x.back();
  const std::int64_t outputs = Product(y);
  for (std::int64_t o = 0; o < outputs; ++o) {
    const std::int64_t column = o % y.back();
    const std::int64_t row = o / y.back() % y[y.size() - 2];
    const std::int64_t plane = o / (y.back() * y[y.size() - 2]);
    const EvenWindow rows = EvenWindowOf(row, height, y[y.size() - 2]);
    const EvenWindow columns = EvenWindowOf(column, width, y.back());
    const auto elements =
        static_cast<double>((rows.end - rows.begin) * (columns.end - columns.begin));
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      for (std::int64_t c = columns.begin; c < columns.end; ++c) {
        visit(static_cast<std::size_t>((plane * height + r) * width + c),
              static_cast<std::size_t>(o), 1.0 / elements);
      }
    }
  }
}

Result<std::vector<NdArray>> EvaluateAdaptive(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  NdArray y = FilledArray(context.output_types[0].shape, 0.0);
  ForEachEven(x.shape, y.shape, [&](std::size_t from, std::size_t to, double share) {
    y.data[to] += x.data[from] * share;
  });
  return std::vector<NdArray>{std::move(y)};
}

Result<std::vector<NdArray>> EvaluateAdaptiveGrad(const EvaluateContext& context) {
  const NdArray& dy = context.inputs[0];
  NdArray dx = FilledArray(context.output_types[0].shape, 0.0);
  ForEachEven(dx.shape, dy.shape, [&](std::size_t to, std::size_t from, double share) {
    dx.data[to] += dy.data[from] * share;
  });
  return std::vector<NdArray>{std::move(dx)};
}

// ---- Gradients and cost -------------------------------------------------------------------------

/// Kernel `Op` on x, y, dy with the forward operator's attributes.
template <const char* Op>
Result<std::vector<ValueId>> GradientOfPool(const GradientContext& context) {
  const Node& node = context.node;
  DRYDOCK_TRY(
      const ValueId gradient,
      context.Emit(Op, {node.inputs[0], node.outputs[0], OutputGradient(context)}, node.attrs));
  return std::vector<ValueId>{gradient};
}

/// Averages keep nothing but the shape.
template <const char* Op>
Result<std::vector<ValueId>> GradientOfAverage(const GradientContext& context) {
  AttrMap attrs = context.node.attrs;
  attrs["origin_input_shape"] = context.TypeOf(context.node.inputs[0]).shape;
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit(Op, {OutputGradient(context)}, std::move(attrs)));
  return std::vector<ValueId>{gradient};
}

/// The device's kernel in two dimensions reads neither x nor the result, but the shape of x.
/// Source: mindspore ascend/optimizer/mindir/avg_pool_grad_unify_mindir.cc (AvgPoolGradForGE)
Result<std::vector<KernelId>> LowerAverageGrad(const LowerContext& context) {
  KernelBuilder& builder = context.builder;
  std::vector<KernelId> inputs = {context.inputs.back(),
                                  builder.Argument(Attr(context.InputType(0).shape))};
  for (const SignatureArgument& argument : builder.ArgumentsOf(*context.node.entry)) {
    const auto given = context.node.attrs.find(argument.name);
    if (given != context.node.attrs.end()) {
      inputs.push_back(builder.Argument(given->second));
    }
  }
  const KernelId kernel = builder.Kernel(
      {.name = context.node.op, .inputs = std::move(inputs), .results = {context.OutputType()}});
  return builder.Results(kernel);
}

Result<std::vector<TensorType>> InferAverageGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "origin_input_shape"));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

/// One operation for each tap of each output.
double PoolFlops(const OpView& op) {
  const auto kernel = SpatialAttr(op, "kernel_size", SpatialExtents(op.inputs[0].shape).size(), 1);
  double flops = Elements(op.outputs[0]);
  for (std::size_t i = 0; kernel && i < kernel->size(); ++i) {
    flops *= static_cast<double>((*kernel)[i]);
  }
  return flops;
}

constexpr char kMaxPoolGrad[] = "MaxPoolGrad";
constexpr char kMaxPool3DGrad[] = "MaxPool3DGrad";
constexpr char kAvgPoolGrad[] = "AvgPoolGrad";
constexpr char kAvgPool3DGrad[] = "AvgPool3DGrad";
constexpr char kAdaptiveAvgPool2DGrad[] = "AdaptiveAvgPool2DGrad";

#define DRYDOCK_POOL(id, is_max, rank, arguments, gradient_fn, evaluate_fn, example_call) \
  DRYDOCK_OP(id, .family = "conv_pool", .signature = #id "(" arguments ")(x)",            \
             .infer = InferPool<is_max, rank>, .shard = ShardPool<is_max>,                \
             .localize = LocalizePool<is_max>, .gradient = gradient_fn,                   \
             .values = (is_max || (rank) == 5) ? "-" : "", .evaluate = evaluate_fn,       \
             .flops = PoolFlops, .cost = CostFamily::kActivation, .example = example_call)

DRYDOCK_POOL(MaxPool, true, 4, "kernel_size=1, strides=1, pad_mode='valid', data_format='NCHW'",
             GradientOfPool<kMaxPoolGrad>, EvaluateMax,
             "(kernel_size=(2, 2), strides=(2, 2))((2, 3, 8, 6))");
DRYDOCK_POOL(AvgPool, false, 4, "kernel_size=1, strides=1, pad_mode='valid', data_format='NCHW'",
             GradientOfPool<kAvgPoolGrad>, EvaluateAverage,
             "(kernel_size=(2, 2), strides=(2, 2))((2, 3, 8, 6))");
DRYDOCK_POOL(MaxPool3D, true, 5,
             "kernel_size=1, strides=1, pad_mode='valid', pad_list=0, ceil_mode=None, "
             "data_format='NCDHW'",
             GradientOfPool<kMaxPool3DGrad>, EvaluateMax,
             "(kernel_size=2, strides=2)((2, 3, 4, 4, 4))");
DRYDOCK_POOL(AvgPool3D, false, 5,
             "kernel_size=1, strides=1, pad_mode='valid', pad=0, ceil_mode=False, "
             "count_include_pad=True, divisor_override=0, data_format='NCDHW'",
             GradientOfAverage<kAvgPool3DGrad>, EvaluateAverage,
             "(kernel_size=2, strides=2)((2, 3, 4, 4, 4))");

#define DRYDOCK_POOL_GRAD(id, operands, infer_fn, values_, evaluate_fn, ...)                 \
  DRYDOCK_OP(id, .family = "gradient",                                                       \
             .signature = #id "(kernel_size=1, strides=1, pad_mode='valid')(" operands ")",  \
             .infer = infer_fn, .gradient = GradientNotNeeded, __VA_ARGS__.values = values_, \
             .evaluate = evaluate_fn, .flops = PoolFlops)

DRYDOCK_POOL_GRAD(MaxPoolGrad, "x, out, dout", InferFirst, "-", EvaluateMaxGrad, );
DRYDOCK_POOL_GRAD(MaxPool3DGrad, "x, out, dout", InferFirst, "-", EvaluateMaxGrad, );
DRYDOCK_POOL_GRAD(AvgPoolGrad, "x, out, dout", InferFirst, "", EvaluateAverageGrad,
                  .lower = LowerAverageGrad, );
DRYDOCK_POOL_GRAD(AvgPool3DGrad, "dout, #origin_input_shape", InferAverageGrad, "-",
                  EvaluateAverageGrad, );

DRYDOCK_OP(AdaptiveAvgPool2D, .family = "conv_pool",
           .signature = "AdaptiveAvgPool2D(output_size)(x)", .infer = InferAdaptive,
           .gradient = GradientOfAverage<kAdaptiveAvgPool2DGrad>, .values = "-",
           .evaluate = EvaluateAdaptive, .flops = FlopsPerInput<1>,
           .example = "(output_size=(3, 2))((2, 3, 8, 6))");
DRYDOCK_OP(AdaptiveAvgPool2DGrad, .family = "gradient",
           .signature = "AdaptiveAvgPool2DGrad()(dout, #origin_input_shape)",
           .infer = InferAverageGrad, .gradient = GradientNotNeeded,
           .evaluate = EvaluateAdaptiveGrad, .flops = FlopsPerOutput<1>);

}  // namespace
}  // namespace drydock::strategies
