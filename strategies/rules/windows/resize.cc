#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/windows/halo.h"
#include "strategies/rules/windows/window.h"
#include "strategies/rules/windows/window_local.h"

/// Images resized to `size` (height, width). Nearest neighbours are local to a part whose extents
/// shrink alike; bilinear interpolation cut along the width needs one column of each neighbour and
/// then runs as ParallelResizeBilinear, which knows its place in the whole image.
/// Source: mindspore ops_info/resizebilinear_v2_info.cc.
namespace drydock::strategies {
namespace {

/// Where output positions lie in the input.
struct Corners {
  bool align = false;
  bool half_pixel = false;
};

Result<Corners> CornersOf(const OpView& op) {
  Corners corners = {};
  DRYDOCK_TRY(corners.align, BoolAttr(*op.attrs, "align_corners", false));
  DRYDOCK_TRY(corners.half_pixel, BoolAttr(*op.attrs, "half_pixel_centers", false));
  if (corners.align && corners.half_pixel) {
    return FailOp(
        op, "attribute",
        "'" + std::string(op.op) + "' cannot have both align_corners and half_pixel_centers");
  }
  return corners;
}

Result<Shape> SizeOf(const OpView& op) {
  DRYDOCK_TRY(Shape size, RequiredListAttr(op, "size"));
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) {
    return FailOp(op, "attribute",
                  "attribute 'size' of '" + std::string(op.op) + "' is " + TupleText(size) +
                      ", but must be two positive extents");
  }
  return size;
}

Result<std::vector<TensorType>> InferResize(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 4, 4));
  DRYDOCK_TRY(const Shape size, SizeOf(op));
  DRYDOCK_RETURN_IF_ERROR(CornersOf(op));
  const Shape& x = op.inputs[0].shape;
  if (x[2] < 1 || x[3] < 1) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' of an empty image of shape " + TupleText(x));
  }
  return std::vector<TensorType>{
      {.shape = {x[0], x[1], size[0], size[1]}, .dtype = op.inputs[0].dtype}};
}

/// Result of the type of operand 1: kernels that take (dout, image).
Result<std::vector<TensorType>> InferSecond(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  return std::vector<TensorType>{op.inputs[1]};
}

ShardRule PlaneRule() {
  return {.axis_count = 4, .inputs = {AxesInOrder(4)}, .outputs = {AxesInOrder(4)}};
}

AttrMap WithOwnSize(const LocalizeContext& context) {
  const Shape own = SliceShape(context.sharding.outputs[0]);
  AttrMap attrs = context.spec.attrs;
  attrs["size"] = std::vector<std::int64_t>{own[2], own[3]};
  return attrs;
}

// ---- Nearest neighbour --------------------------------------------------------------------------

Result<ShardRule> ShardNearest(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const Corners corners, CornersOf(op));
  ShardRule rule = PlaneRule();
  if (corners.align) {
    rule.uncut = {{.axis = 2, .what = "the height of a resize with aligned corners"},
                  {.axis = 3, .what = "the width of a resize with aligned corners"}};
  }
  return rule;
}

Result<std::vector<ValueId>> LocalizeNearest(const LocalizeContext& context) {
  return EmitLocal(context, WithOwnSize(context));
}

/// Input position of output position `o`, in whole numbers: no rounding differs between ranks.
std::int64_t NearestSource(const Corners& corners, std::int64_t o, std::int64_t in,
                           std::int64_t out) {
  std::int64_t source = o * in / out;
  if (corners.align) {
    source = out == 1 ? 0 : (2 * o * (in - 1) + (out - 1)) / (2 * (out - 1));
  } else if (corners.half_pixel) {
    source = (2 * o + 1) * in / (2 * out);
  }
  return std::min(source, in - 1);
}

/// Calls f(offset in the larger-named input, offset in the result) for every element of the result.
template <typename F>
void ForEachNearest(const Corners& corners, const Shape& x, const Shape& y, F f) {
  std::size_t n = 0;
  ForEachElement(y, [&](std::span<const std::int64_t> at) {
    const std::int64_t source[] = {at[0], at[1], NearestSource(corners, at[2], x[2], y[2]),
                                   NearestSource(corners, at[3], x[3], y[3])};
    f(OffsetOf(x, source), n++);
  });
}

Result<std::vector<NdArray>> EvaluateNearest(const EvaluateContext& context) {
  DRYDOCK_TRY(const Corners corners, CornersOf(context.View()));
  const NdArray& x = context.inputs[0];
  NdArray y = FilledArray(context.output_types[0].shape, 0.0);
  ForEachNearest(corners, x.shape, y.shape,
                 [&](std::size_t xi, std::size_t yi) { y.data[yi] = x.data[xi]; });
  return std::vector<NdArray>{std::move(y)};
}

Result<std::vector<NdArray>> EvaluateNearestGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const Corners corners, CornersOf(context.View()));
  const NdArray& dy = context.inputs[0];
  NdArray dx = FilledArray(context.output_types[0].shape, 0.0);
  ForEachNearest(corners, dx.shape, dy.shape,
                 [&](std::size_t xi, std::size_t yi) { dx.data[xi] += dy.data[yi]; });
  return std::vector<NdArray>{std::move(dx)};
}

Result<std::vector<ValueId>> GradientOfNearest(const GradientContext& context) {
  const Shape x = context.TypeOf(context.node.inputs[0]).shape;
  AttrMap attrs = context.node.attrs;
  attrs["size"] = std::vector<std::int64_t>{x[2], x[3]};
  DRYDOCK_TRY(const ValueId gradient, context.Emit("ResizeNearestNeighborGrad",
                                                   {OutputGradient(context)}, std::move(attrs)));
  return std::vector<ValueId>{gradient};
}

// ---- Bilinear -----------------------------------------------------------------------------------

Result<ShardRule> ShardBilinear(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_RETURN_IF_ERROR(CornersOf(op));
  ShardRule rule = PlaneRule();
  rule.uncut = {{.axis = 2, .what = "the height of a bilinear resize"}};
  return rule;
}

/// Every part gets one column of each neighbour; columns outside the image are never read.
Result<std::vector<ValueId>> LocalizeBilinear(const LocalizeContext& context) {
  const std::int64_t parts = GroupSize(context.sharding.axis_groups[3]);
  AttrMap attrs = WithOwnSize(context);
  if (parts == 1) {
    return EmitLocal(context, std::move(attrs));
  }
  const Shape& x = context.global.inputs[0].shape;
  const Shape& y = context.global.outputs[0].shape;
  const std::int64_t columns = x[3] / parts;
  const HaloPlan plan{.dims = {{.dim = 2, .extent = x[2], .step = x[2], .length = x[2]},
                               {.dim = 3,
                                .parts = parts,
                                .extent = x[3],
                                .first = -1,
                                .step = columns,
                                .length = columns + 2}}};
  const AxisIndex width[] = {3};
  DRYDOCK_TRY(const ValueId window, EmitHaloExchange(context, context.spec.inputs[0], plan, width));
  const RankExpr& part = context.sharding.axis_parts[3];
  RankExpr source = Times(part, columns);
  source.constant = -1;
  attrs["ori_image_size"] = std::vector<std::int64_t>{x[2], x[3]};
  attrs["split_size"] = std::vector<std::int64_t>{y[2], y[3]};
  attrs["src_start_w"] = source;
  attrs["dst_start_w"] = Times(part, y[3] / parts);
  DRYDOCK_TRY(const ValueId result,
              EmitHelper(context, "ParallelResizeBilinear", {window}, std::move(attrs)));
  return std::vector<ValueId>{result};
}

/// Two input positions and the weight of the second one.
struct Between {
  std::int64_t low = 0;
  std::int64_t high = 0;
  double weight = 0;
};

/// Where output `o` of `out` lies between positions of an input of `in`.
Between BilinearSource(const Corners& corners, std::int64_t o, std::int64_t in, std::int64_t out) {
  const auto input = static_cast<double>(in);
  const auto output = static_cast<double>(out);
  double at = static_cast<double>(o) * input / output;
  if (corners.align) {
    at = out == 1 ? 0 : static_cast<double>(o) * (input - 1) / (output - 1);
  } else if (corners.half_pixel) {
    at = (static_cast<double>(o) + 0.5) * input / output - 0.5;
  }
  const double floor = std::floor(at);
  const auto low = static_cast<std::int64_t>(floor);
  return {.low = std::clamp<std::int64_t>(low, 0, in - 1),
          .high = std::clamp<std::int64_t>(low + 1, 0, in - 1),
          .weight = at - floor};
}

/// Calls f(input offset, output offset, weight) for the four inputs of every output.
template <typename F>
Status ForEachBilinear(const AttrMap& attrs, const Corners& corners, const Shape& x, const Shape& y,
                       F f) {
  DRYDOCK_TRY(const auto whole_in, IntListAttr(attrs, "ori_image_size"));
  DRYDOCK_TRY(const auto whole_out, IntListAttr(attrs, "split_size"));
  DRYDOCK_TRY(const std::int64_t source, IntAttr(attrs, "src_start_w", 0));
  DRYDOCK_TRY(const std::int64_t target, IntAttr(attrs, "dst_start_w", 0));
  const std::int64_t in = whole_in && whole_in->size() == 2 ? whole_in->back() : x[3];
  const std::int64_t out = whole_out && whole_out->size() == 2 ? whole_out->back() : y[3];
  std::size_t n = 0;
  ForEachElement(y, [&](std::span<const std::int64_t> at) {
    const Between rows = BilinearSource(corners, at[2], x[2], y[2]);
    const Between columns = BilinearSource(corners, at[3] + target, in, out);
    for (const bool low_row : {true, false}) {
      for (const bool low_column : {true, false}) {
        const std::int64_t index[] = {at[0], at[1], low_row ? rows.low : rows.high,
                                      (low_column ? columns.low : columns.high) - source};
        f(OffsetOf(x, index), n,
          (low_row ? 1 - rows.weight : rows.weight) *
              (low_column ? 1 - columns.weight : columns.weight));
      }
    }
    ++n;
  });
  return {};
}

Result<std::vector<NdArray>> EvaluateBilinear(const EvaluateContext& context) {
  DRYDOCK_TRY(const Corners corners, CornersOf(context.View()));
  const NdArray& x = context.inputs[0];
  NdArray y = FilledArray(context.output_types[0].shape, 0.0);
  DRYDOCK_RETURN_IF_ERROR(ForEachBilinear(
      context.attrs, corners, x.shape, y.shape,
      [&](std::size_t xi, std::size_t yi, double weight) { y.data[yi] += weight * x.data[xi]; }));
  return std::vector<NdArray>{std::move(y)};
}

Result<std::vector<NdArray>> EvaluateBilinearGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const Corners corners, CornersOf(context.View()));
  const NdArray& dy = context.inputs[0];
  NdArray dx = FilledArray(context.output_types[0].shape, 0.0);
  DRYDOCK_RETURN_IF_ERROR(ForEachBilinear(
      context.attrs, corners, dx.shape, dy.shape,
      [&](std::size_t xi, std::size_t yi, double weight) { dx.data[xi] += weight * dy.data[yi]; }));
  return std::vector<NdArray>{std::move(dx)};
}

/// Kernel `Op` on dout and the image, with the place of the part.
template <const char* Op>
Result<std::vector<ValueId>> GradientOfBilinear(const GradientContext& context) {
  AttrMap attrs = context.node.attrs;
  attrs.erase("size");
  DRYDOCK_TRY(
      const ValueId gradient,
      context.Emit(Op, {OutputGradient(context), context.node.inputs[0]}, std::move(attrs)));
  return std::vector<ValueId>{gradient};
}

constexpr char kBilinearGrad[] = "ResizeBilinearGrad";
constexpr char kParallelGrad[] = "ParallelResizeBilinearGrad";

#define DRYDOCK_PLACE_ATTRS                                                      \
  "(ori_image_size, split_size, src_start_w, dst_start_w, align_corners=False, " \
  "half_pixel_centers=False)"

DRYDOCK_OP(ResizeNearestNeighbor, .family = "conv_pool",
           .signature =
               "ResizeNearestNeighbor(size, align_corners=False, "
               "half_pixel_centers=False)(input_x)",
           .infer = InferResize, .shard = ShardNearest, .localize = LocalizeNearest,
           .gradient = GradientOfNearest, .evaluate = EvaluateNearest, .flops = FlopsPerOutput<1>,
           .example = "(size=(4, 3))((2, 3, 8, 6))");
DRYDOCK_OP(ResizeNearestNeighborGrad, .family = "gradient",
           .signature = "ResizeNearestNeighborGrad(align_corners=False)(grads, #size)",
           .infer = InferResize, .gradient = GradientNotNeeded, .evaluate = EvaluateNearestGrad,
           .flops = FlopsPerInput<1>);
DRYDOCK_OP(
    ResizeBilinearV2, .family = "conv_pool",
    .signature = "ResizeBilinearV2(align_corners=False, half_pixel_centers=False)(image, #size)",
    .infer = InferResize, .shard = ShardBilinear, .localize = LocalizeBilinear,
    .gradient = GradientOfBilinear<kBilinearGrad>, .evaluate = EvaluateBilinear,
    .flops = FlopsPerOutput<8>, .example = "(size=(4, 3))((2, 3, 8, 6))");
DRYDOCK_OP(
    ResizeBilinearGrad, .family = "gradient",
    .signature = "ResizeBilinearGrad(align_corners=False, half_pixel_centers=False)(grads, image)",
    .infer = InferSecond, .gradient = GradientNotNeeded, .evaluate = EvaluateBilinearGrad,
    .flops = FlopsPerInput<8>);
DRYDOCK_OP(ParallelResizeBilinear, .family = "rank",
           .signature = "ParallelResizeBilinear" DRYDOCK_PLACE_ATTRS "(x, #size)",
           .infer = InferResize, .gradient = GradientOfBilinear<kParallelGrad>, .values = "-",
           .evaluate = EvaluateBilinear, .flops = FlopsPerOutput<8>);
DRYDOCK_OP(ParallelResizeBilinearGrad, .family = "gradient",
           .signature = "ParallelResizeBilinearGrad" DRYDOCK_PLACE_ATTRS "(grad, x)",
           .infer = InferSecond, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateBilinearGrad, .flops = FlopsPerInput<8>);

}  // namespace
}  // namespace drydock::strategies
