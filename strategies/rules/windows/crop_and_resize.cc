#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
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

/// Parts of images (NHWC) resampled to one size; boxes are fractions of the image. Images may be
/// spread over ranks: each rank answers for its own images, zeros for the others, and an AllReduce
/// sums. Source: mindspore ops_info/resizebilinear_v2_info.cc, detection.
namespace drydock::strategies {
namespace {

Result<Shape> CropSize(const OpView& op) {
  DRYDOCK_TRY(Shape size, RequiredListAttr(op, "crop_size"));
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) {
    return FailOp(op, "crop-size",
                  "crop_size of '" + std::string(op.op) + "' must be two positive numbers");
  }
  return size;
}

Result<std::vector<TensorType>> InferCrop(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 4, 4));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 2));
  const Shape& boxes = op.inputs[1].shape;
  if (boxes.size() != 2 || boxes[1] != 4 || op.inputs[2].shape != Shape{boxes[0]}) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) +
                      "' takes boxes of 4 numbers and an image number for "
                      "each, but they have shape " +
                      TupleText(boxes) + " and " + TupleText(op.inputs[2].shape));
  }
  DRYDOCK_TRY(const Shape size, CropSize(op));
  return std::vector<TensorType>{{.shape = {boxes[0], size[0], size[1], op.inputs[0].shape[3]}}};
}

/// D = [n, c, b].
Result<ShardRule> ShardCrop(const OpView& /*op*/, const Strategy& /*strategy*/) {
  return ShardRule{.axis_count = 3,
                   .inputs = {{{0}, {}, {}, {1}}, {{2}, {}}, {{2}}},
                   .outputs = {{{2}, {}, {}, {1}}},
                   .communication = {{.axes = {0}}}};
}

Result<std::vector<ValueId>> LocalizeCrop(const LocalizeContext& context) {
  const std::int64_t images = context.builder.TypeOf(context.spec.inputs[0]).shape[0];
  if (images == context.global.inputs[0].shape[0]) {
    return EmitLocal(context, context.spec.attrs);
  }
  NodeSpec spec = context.spec;
  DRYDOCK_TRY(const OwnRows own, EmitOwnRows(context, spec.inputs[2], images, 0));
  spec.inputs[2] = own.indices;
  DRYDOCK_TRY(const ValueId crops, context.builder.Emit(std::move(spec)));
  DRYDOCK_TRY(const ValueId masked, EmitOwnEntries(context, crops, own.is_own));
  return std::vector<ValueId>{masked};
}

enum class Method : std::uint8_t { kBilinear, kNearest };

Result<Method> MethodOf(const AttrMap& attrs) {
  DRYDOCK_TRY(const std::string method, TextAttr(attrs, "method", "bilinear"));
  if (method == "nearest" || method == "bilinear") {
    return method == "nearest" ? Method::kNearest : Method::kBilinear;
  }
  return Fail(ErrorCode::kUnsupported, "method '" + method + "' has no reference execution",
              "use 'bilinear' or 'nearest'");
}

/// Where step `i` of `steps` lies on an image of `extent` pixels, and its slopes in the box' begin
/// and end.
struct Position {
  double at = 0;
  double by_begin = 0;
  double by_end = 0;
};
Position PositionOf(double begin, double end, std::int64_t i, std::int64_t steps,
                    std::int64_t extent) {
  const auto span = static_cast<double>(extent - 1);
  const double part = steps > 1 ? static_cast<double>(i) / static_cast<double>(steps - 1) : 0.5;
  return {.at = (begin + part * (end - begin)) * span,
          .by_begin = (1 - part) * span,
          .by_end = part * span};
}

/// One pixel row and column of a crop: where it samples the image, if inside.
struct CropPoint {
  std::size_t image = 0;
  Position y = {};
  Position x = {};
  std::optional<Sample> sample = {};
};

/// Point `at` = (box, row, column, channel) of the crops of images of shape `images`.
CropPoint PointOf(std::span<const std::int64_t> at, const Shape& crops, const Shape& images,
                  const NdArray& boxes, const NdArray& box_index, Method method) {
  const auto box = static_cast<std::size_t>(at[0]);
  const double* corners = boxes.data.data() + 4 * box;
  CropPoint point{.image = static_cast<std::size_t>(box_index.data[box]),
                  .y = PositionOf(corners[0], corners[2], at[1], crops[1], images[1]),
                  .x = PositionOf(corners[1], corners[3], at[2], crops[2], images[2])};
  const bool inside = point.y.at >= 0 && point.y.at <= static_cast<double>(images[1] - 1) &&
                      point.x.at >= 0 && point.x.at <= static_cast<double>(images[2] - 1);
  if (inside && box_index.data[box] >= 0 && box_index.data[box] < static_cast<double>(images[0])) {
    const bool nearest = method == Method::kNearest;
    point.sample = SampleAt(nearest ? std::round(point.y.at) : point.y.at,
                            nearest ? std::round(point.x.at) : point.x.at, images[1], images[2]);
  }
  return point;
}

std::size_t PixelOf(const Shape& images, std::size_t image, std::int64_t row, std::int64_t column,
                    std::int64_t channel) {
  const std::int64_t index[] = {static_cast<std::int64_t>(image), row, column, channel};
  return OffsetOf(images, index);
}

Result<std::vector<NdArray>> EvaluateCrop(const EvaluateContext& context) {
  DRYDOCK_TRY(const Method method, MethodOf(context.attrs));
  DRYDOCK_TRY(const double outside, FloatAttr(context.attrs, "extrapolation_value", 0.0));
  const NdArray& x = context.inputs[0];
  NdArray out{.shape = context.output_types[0].shape};
  ForEachElement(out.shape, [&](std::span<const std::int64_t> at) {
    const CropPoint point =
        PointOf(at, out.shape, x.shape, context.inputs[1], context.inputs[2], method);
    double value = point.sample ? 0 : outside;
    if (point.sample) {
      ForPixels(*point.sample, [&](std::int64_t row, std::int64_t column, double weight) {
        value += weight * x.data[PixelOf(x.shape, point.image, row, column, at[3])];
      });
    }
    out.data.push_back(value);
  });
  return std::vector<NdArray>{std::move(out)};
}

Result<std::vector<ValueId>> GradientOfCrop(const GradientContext& context) {
  const Node& node = context.node;
  const ValueId dout = OutputGradient(context);
  std::vector<ValueId> gradients = NoGradients(context);
  AttrMap attrs = node.attrs;
  attrs.erase("extrapolation_value");
  attrs.erase("crop_size");
  if (context.wanted[1]) {
    DRYDOCK_TRY(gradients[1],
                context.Emit("CropAndResizeGradBoxes",
                             {dout, node.inputs[0], node.inputs[1], node.inputs[2]}, attrs));
  }
  if (context.wanted[0]) {
    const TensorType& type = context.TypeOf(node.inputs[0]);
    attrs["image_size"] = type.shape;
    DRYDOCK_TRY(
        const ValueId gradient,
        context.Emit("CropAndResizeGradImage", {dout, node.inputs[1], node.inputs[2]}, attrs));
    DRYDOCK_TRY(gradients[0], CastTo(context, gradient, type.dtype));
  }
  return gradients;
}

Result<std::vector<TensorType>> InferCropGradImage(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "image_size"));
  return std::vector<TensorType>{{.shape = std::move(shape)}};
}

Result<std::vector<NdArray>> EvaluateCropGradImage(const EvaluateContext& context) {
  DRYDOCK_TRY(const Method method, MethodOf(context.attrs));
  const NdArray& dout = context.inputs[0];
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  std::size_t n = 0;
  ForEachElement(dout.shape, [&](std::span<const std::int64_t> at) {
    const CropPoint point =
        PointOf(at, dout.shape, out.shape, context.inputs[1], context.inputs[2], method);
    if (point.sample) {
      ForPixels(*point.sample, [&](std::int64_t row, std::int64_t column, double weight) {
        out.data[PixelOf(out.shape, point.image, row, column, at[3])] += weight * dout.data[n];
      });
    }
    ++n;
  });
  return std::vector<NdArray>{std::move(out)};
}

Result<std::vector<TensorType>> InferCropGradBoxes(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 4, 4));
  return std::vector<TensorType>{op.inputs[2]};
}

/// Slope of a sample in y and x, times the slope of (y, x) in the corners.
Result<std::vector<NdArray>> EvaluateCropGradBoxes(const EvaluateContext& context) {
  DRYDOCK_TRY(const Method method, MethodOf(context.attrs));
  const NdArray& dout = context.inputs[0];
  const NdArray& x = context.inputs[1];
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  std::size_t n = 0;
  ForEachElement(dout.shape, [&](std::span<const std::int64_t> at) {
    const CropPoint point =
        PointOf(at, dout.shape, x.shape, context.inputs[2], context.inputs[3], method);
    if (point.sample && method == Method::kBilinear) {
      const Sample& s = *point.sample;
      const auto pixel = [&](std::int64_t row, std::int64_t column) {
        return x.data[PixelOf(x.shape, point.image, row, column, at[3])];
      };
      const double by_y = (pixel(s.bottom, s.left) - pixel(s.top, s.left)) * (1 - s.across) +
                          (pixel(s.bottom, s.right) - pixel(s.top, s.right)) * s.across;
      const double by_x = (pixel(s.top, s.right) - pixel(s.top, s.left)) * (1 - s.down) +
                          (pixel(s.bottom, s.right) - pixel(s.bottom, s.left)) * s.down;
      double* box = out.data.data() + 4 * at[0];
      box[0] += dout.data[n] * by_y * point.y.by_begin;
      box[1] += dout.data[n] * by_x * point.x.by_begin;
      box[2] += dout.data[n] * by_y * point.y.by_end;
      box[3] += dout.data[n] * by_x * point.x.by_end;
    }
    ++n;
  });
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(CropAndResize, .family = "detection",
           .signature =
               "CropAndResize(method='bilinear', extrapolation_value=0.0)(x, boxes, "
               "box_index, #crop_size)",
           .infer = InferCrop, .shard = ShardCrop, .localize = LocalizeCrop,
           .gradient = GradientOfCrop, .values = "-", .evaluate = EvaluateCrop,
           .flops = FlopsPerOutput<8>, .cost = CostFamily::kArithmetic,
           .example = "(crop_size=(4, 4))((2, 8, 8, 3), (4, 4), int32(4))");
DRYDOCK_OP(CropAndResizeGradImage, .family = "gradient",
           .signature =
               "CropAndResizeGradImage(method='bilinear')(grads, boxes, box_index, "
               "#image_size)",
           .infer = InferCropGradImage, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateCropGradImage, .flops = FlopsPerInput<8>);
DRYDOCK_OP(CropAndResizeGradBoxes, .family = "gradient",
           .signature =
               "CropAndResizeGradBoxes(method='bilinear')(grads, images, boxes, "
               "box_index)",
           .infer = InferCropGradBoxes, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateCropGradBoxes, .flops = FlopsPerInput<16>);

}  // namespace
}  // namespace drydock::strategies
