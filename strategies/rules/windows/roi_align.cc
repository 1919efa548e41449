#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/windows/image_sample.h"

/// Regions of feature maps (NCHW) averaged into a grid of bins; boxes are in pixels. Images may be
/// spread over ranks, as in crop_and_resize.cc. Source: mindspore ops_info/roi_align_info.cc,
/// detection.
namespace drydock::strategies {
namespace {

/// Options of the pooling.
struct Pooling {
  std::int64_t height = 1;
  std::int64_t width = 1;
  double scale = 1;          ///< Pixels of the features for one unit of a box.
  std::int64_t samples = 2;  ///< Per bin and direction.
  double end = 1;            ///< Added to the end of a box.
};

Result<Pooling> PoolingOf(const OpView& op) {
  Pooling pooling = {};
  DRYDOCK_TRY(pooling.height, IntAttr(*op.attrs, "pooled_height", 0));
  DRYDOCK_TRY(pooling.width, IntAttr(*op.attrs, "pooled_width", 0));
  DRYDOCK_TRY(pooling.scale, FloatAttr(*op.attrs, "spatial_scale", 1.0));
  DRYDOCK_TRY(pooling.samples, IntAttr(*op.attrs, "sample_num", 2));
  DRYDOCK_TRY(const std::int64_t end, IntAttr(*op.attrs, "roi_end_mode", 1));
  pooling.end = static_cast<double>(end);
  if (pooling.height < 1 || pooling.width < 1 || pooling.samples < 1) {
    return FailOp(
        op, "attribute",
        "'" + std::string(op.op) + "' needs positive pooled_height, pooled_width and sample_num");
  }
  return pooling;
}

Result<std::vector<TensorType>> InferRoi(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 4, 4));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  const Shape& rois = op.inputs[1].shape;
  if (rois.size() != 2 || rois[1] != 5) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' takes rois of 5 numbers, but their shape is " +
                      TupleText(rois));
  }
  DRYDOCK_TRY(const Pooling pooling, PoolingOf(op));
  return std::vector<TensorType>{
      {.shape = {rois[0], op.inputs[0].shape[1], pooling.height, pooling.width},
       .dtype = op.inputs[0].dtype}};
}

/// D = [n, c, r].
Result<ShardRule> ShardRoi(const OpView& /*op*/, const Strategy& /*strategy*/) {
  return ShardRule{.axis_count = 3,
                   .inputs = {{{0}, {1}, {}, {}}, {{2}, {}}},
                   .outputs = {{{2}, {1}, {}, {}}},
                   .communication = {{.axes = {0}}}};
}

/// The image number of each roi becomes that of the slice; foreign rois are masked.
Result<std::vector<ValueId>> LocalizeRoi(const LocalizeContext& context) {
  const std::int64_t images = context.builder.TypeOf(context.spec.inputs[0]).shape[0];
  if (images == context.global.inputs[0].shape[0]) {
    return EmitLocal(context, context.spec.attrs);
  }
  NodeSpec spec = context.spec;
  const TensorType rois = context.builder.TypeOf(spec.inputs[1]);
  DRYDOCK_TRY(const ValueId column,
              EmitHelper(context, "Slice", {spec.inputs[1]},
                         {{"begin", Shape{0, 0}}, {"size", Shape{rois.shape[0], 1}}}));
  DRYDOCK_TRY(const ValueId numbers,
              EmitHelper(context, ops::kReshape, {column}, {{"shape", Shape{rois.shape[0]}}}));
  DRYDOCK_TRY(const OwnRows own, EmitOwnRows(context, numbers, images, 0));
  DRYDOCK_TRY(const ValueId change, EmitHelper(context, "Sub", {own.indices, numbers}));
  DRYDOCK_TRY(const ValueId changes,
              EmitHelper(context, ops::kReshape, {change}, {{"shape", Shape{rois.shape[0], 1}}}));
  DRYDOCK_TRY(const ValueId first,
              context.builder.AddConstant({.shape = {1, 5}, .dtype = rois.dtype},
                                          std::vector<double>{1, 0, 0, 0, 0}));
  DRYDOCK_TRY(const ValueId shift, EmitHelper(context, ops::kMul, {changes, first}));
  DRYDOCK_TRY(spec.inputs[1], EmitHelper(context, ops::kAdd, {spec.inputs[1], shift}));
  DRYDOCK_TRY(const ValueId pooled, context.builder.Emit(std::move(spec)));
  DRYDOCK_TRY(const ValueId masked, EmitOwnEntries(context, pooled, own.is_own));
  return std::vector<ValueId>{masked};
}

/// Calls f(image, row, column, weight) for all pixels that bin (at[2], at[3]) of roi at[0] averages
/// over features of shape `features`.
template <typename F>
void ForRoiPixels(std::span<const std::int64_t> at, const Pooling& pooling, const NdArray& rois,
                  const Shape& features, F f) {
  const double* roi = rois.data.data() + 5 * at[0];
  if (roi[0] < 0 || roi[0] >= static_cast<double>(features[0])) {
    return;
  }
  const double left = roi[1] * pooling.scale;
  const double top = roi[2] * pooling.scale;
  const double width = std::max((roi[3] + pooling.end) * pooling.scale - left, 1.0) /
                       static_cast<double>(pooling.width);
  const double height = std::max((roi[4] + pooling.end) * pooling.scale - top, 1.0) /
                        static_cast<double>(pooling.height);
  const auto count = static_cast<double>(pooling.samples);
  for (std::int64_t i = 0; i < pooling.samples * pooling.samples; ++i) {
    const double row = static_cast<double>(i / pooling.samples) + 0.5;
    const double column = static_cast<double>(i % pooling.samples) + 0.5;
    const double y = top + (static_cast<double>(at[2]) + row / count) * height;
    const double x = left + (static_cast<double>(at[3]) + column / count) * width;
    const auto bottom = static_cast<double>(features[2]);
    const auto right = static_cast<double>(features[3]);
    if (y < -1 || y > bottom || x < -1 || x > right) {
      continue;
    }
    const Sample sample = SampleAt(std::clamp(y, 0.0, bottom - 1), std::clamp(x, 0.0, right - 1),
                                   features[2], features[3]);
    ForPixels(sample, [&](std::int64_t r, std::int64_t c, double weight) {
      f(static_cast<std::int64_t>(roi[0]), r, c, weight / (count * count));
    });
  }
}

Result<std::vector<NdArray>> EvaluateRoi(const EvaluateContext& context) {
  DRYDOCK_TRY(const Pooling pooling, PoolingOf(context.View()));
  const NdArray& x = context.inputs[0];
  NdArray out{.shape = context.output_types[0].shape};
  ForEachElement(out.shape, [&](std::span<const std::int64_t> at) {
    double value = 0;
    ForRoiPixels(at, pooling, context.inputs[1], x.shape,
                 [&](std::int64_t image, std::int64_t row, std::int64_t column, double weight) {
                   const std::int64_t index[] = {image, at[1], row, column};
                   value += weight * x.data[OffsetOf(x.shape, index)];
                 });
    out.data.push_back(value);
  });
  return std::vector<NdArray>{std::move(out)};
}

/// Of the features only, as in the reference.
Result<std::vector<ValueId>> GradientOfRoi(const GradientContext& context) {
  AttrMap attrs = context.node.attrs;
  attrs["xdiff_shape"] = context.TypeOf(context.node.inputs[0]).shape;
  std::vector<ValueId> gradients = NoGradients(context);
  DRYDOCK_TRY(gradients[0],
              context.Emit("ROIAlignGrad", {OutputGradient(context), context.node.inputs[1]},
                           std::move(attrs)));
  return gradients;
}

Result<std::vector<TensorType>> InferRoiGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "xdiff_shape"));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

Result<std::vector<NdArray>> EvaluateRoiGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const Pooling pooling, PoolingOf(context.View()));
  const NdArray& dout = context.inputs[0];
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  std::size_t n = 0;
  ForEachElement(dout.shape, [&](std::span<const std::int64_t> at) {
    ForRoiPixels(at, pooling, context.inputs[1], out.shape,
                 [&](std::int64_t image, std::int64_t row, std::int64_t column, double weight) {
                   const std::int64_t index[] = {image, at[1], row, column};
                   out.data[OffsetOf(out.shape, index)] += weight * dout.data[n];
                 });
    ++n;
  });
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(ROIAlign, .family = "detection",
           .signature =
               "ROIAlign(pooled_height, pooled_width, spatial_scale, sample_num=2, "
               "roi_end_mode=1)(features, rois)",
           .infer = InferRoi, .shard = ShardRoi, .localize = LocalizeRoi, .gradient = GradientOfRoi,
           .values = "-", .evaluate = EvaluateRoi, .flops = FlopsPerOutput<8>,
           .cost = CostFamily::kArithmetic,
           .example = "(pooled_height=2, pooled_width=2)((2, 3, 8, 8), (4, 5))");
DRYDOCK_OP(ROIAlignGrad, .family = "gradient",
           .signature =
               "ROIAlignGrad(xdiff_shape, pooled_height, pooled_width, spatial_scale, "
               "sample_num=2, roi_end_mode=1)(ydiff, rois)",
           .infer = InferRoiGrad, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateRoiGrad, .flops = FlopsPerInput<8>);

}  // namespace
}  // namespace drydock::strategies
