#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/strategy_check.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"

/// Boxes (x1, y1, x2, y2) of object detection. The four numbers of a box stay together; boxes may
/// be cut. No gradients, as in the reference. A box is as wide as x2 - x1 + 1: corners are pixels.
namespace drydock::strategies {
namespace {

Status ExpectBoxes(const OpView& op, std::size_t input) {
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, input, 2, 2));
  if (op.inputs[input].shape[1] != 4) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' takes boxes of 4 numbers in input " +
                      std::to_string(input) + ", but its shape is " +
                      TupleText(op.inputs[input].shape));
  }
  return {};
}

struct Box {
  double x = 0;  ///< Centre.
  double y = 0;
  double width = 0;
  double height = 0;
};

/// Corners of box `n`.
const double* CornersOf(const NdArray& boxes, std::size_t n) {
  return boxes.data.data() + 4 * n;
}

Box BoxOf(const double* corners) {
  return {.x = (corners[0] + corners[2]) / 2,
          .y = (corners[1] + corners[3]) / 2,
          .width = corners[2] - corners[0] + 1,
          .height = corners[3] - corners[1] + 1};
}

// ---- BoundingBoxEncode: what moves an anchor to its object --------------------------------------

Result<std::vector<TensorType>> InferEncode(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectBoxes(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectBoxes(op, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  if (op.inputs[0].shape != op.inputs[1].shape) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) +
                      "' takes as many objects as anchors, but their shapes "
                      "are " +
                      TupleText(op.inputs[1].shape) + " and " + TupleText(op.inputs[0].shape));
  }
  return std::vector<TensorType>{op.inputs[0]};
}

Result<ShardRule> ShardEncode(const OpView& /*op*/, const Strategy& /*strategy*/) {
  const TensorAxes boxes = {{0}, {}};
  return ShardRule{.axis_count = 1, .inputs = {boxes, boxes}, .outputs = {boxes}};
}

/// Four numbers of an attribute.
Result<std::vector<double>> FourNumbers(const AttrMap& attrs, std::string_view name,
                                        double fallback) {
  std::vector<double> numbers(4, fallback);
  const auto it = attrs.find(name);
  const auto* list = it == attrs.end() ? nullptr : std::get_if<Attr::List>(&it->second.value);
  for (std::size_t i = 0; list != nullptr && i < std::min<std::size_t>(list->size(), 4); ++i) {
    DRYDOCK_TRY(numbers[i], FloatAttr({{"number", (*list)[i]}}, "number", fallback));
  }
  return numbers;
}

Result<std::vector<NdArray>> EvaluateEncode(const EvaluateContext& context) {
  DRYDOCK_TRY(const auto means, FourNumbers(context.attrs, "means", 0.0));
  DRYDOCK_TRY(const auto deviations, FourNumbers(context.attrs, "stds", 1.0));
  NdArray out{.shape = context.output_types[0].shape};
  for (std::size_t n = 0; n < static_cast<std::size_t>(out.shape[0]); ++n) {
    const Box anchor = BoxOf(CornersOf(context.inputs[0], n));
    const Box object = BoxOf(CornersOf(context.inputs[1], n));
    const double deltas[] = {
        (object.x - anchor.x) / anchor.width, (object.y - anchor.y) / anchor.height,
        std::log(object.width / anchor.width), std::log(object.height / anchor.height)};
    for (std::size_t i = 0; i < 4; ++i) {
      out.data.push_back((deltas[i] - means[i]) / deviations[i]);
    }
  }
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(BoundingBoxEncode, .family = "detection",
           .signature =
               "BoundingBoxEncode(means=(0.0, 0.0, 0.0, 0.0), stds=(1.0, 1.0, 1.0, 1.0))"
               "(anchor_box, groundtruth_box)",
           .infer = InferEncode, .shard = ShardEncode, .default_strategy = DefaultBatchAll,
           .gradient = GradientNotNeeded, .values = "-", .evaluate = EvaluateEncode,
           .flops = FlopsPerInput<3>, .cost = CostFamily::kArithmetic,
           .example = "()((8, 4), (8, 4))");

// ---- CheckValid: does a box lie inside its image? -----------------------------------------------

Result<std::vector<TensorType>> InferValid(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectBoxes(op, 0));
  if (op.inputs[1].shape != Shape{3}) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) +
                      "' takes height, width and ratio of the image, but "
                      "img_metas has shape " +
                      TupleText(op.inputs[1].shape));
  }
  return std::vector<TensorType>{{.shape = {op.inputs[0].shape[0]}, .dtype = DType::kBool}};
}

/// Data parallel: whole or on all devices. Source: mindspore ops_info/iou_info.cc.
Result<ShardRule> ShardValid(const OpView& op, const Strategy& strategy) {
  const bool cut = !strategy.empty() && !strategy[0].empty() && strategy[0][0] > 1;
  if (cut && op.device_count > 0 && strategy[0][0] != op.device_count) {
    return FailOp(op, "strategy-batch",
                  CutText(op, 0, 0, strategy[0][0]) +
                      ", but the boxes must be whole or cut into all " +
                      std::to_string(op.device_count) + " devices");
  }
  return ShardRule{.axis_count = 1, .inputs = {{{0}, {}}, TensorAxes(1)}, .outputs = {{{0}}}};
}

Result<Strategy> DefaultValid(const OpView& op, std::int64_t device_count) {
  return BatchStrategy(op, device_count, {op.inputs[0].shape[0] % device_count == 0});
}

Result<std::vector<NdArray>> EvaluateValid(const EvaluateContext& context) {
  const std::vector<double>& meta = context.inputs[1].data;
  const double bottom = meta[0] * meta[2] - 1;
  const double right = meta[1] * meta[2] - 1;
  NdArray out{.shape = context.output_types[0].shape};
  for (std::size_t n = 0; n < static_cast<std::size_t>(out.shape[0]); ++n) {
    const double* box = CornersOf(context.inputs[0], n);
    out.data.push_back(box[0] >= 0 && box[1] >= 0 && box[2] <= right && box[3] <= bottom ? 1 : 0);
  }
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(CheckValid, .family = "detection", .signature = "CheckValid()(bboxes, img_metas)",
           .infer = InferValid, .shard = ShardValid, .default_strategy = DefaultValid,
           .gradient = GradientNotNeeded, .evaluate = EvaluateValid, .flops = FlopsPerInput<1>,
           .cost = CostFamily::kArithmetic, .example = "()((8, 4), (3))");

// ---- IOU: anchors [a, 4], objects [g, 4] -> overlap [g, a] --------------------------------------

Result<std::vector<TensorType>> InferIou(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectBoxes(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectBoxes(op, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_TRY(const std::string mode, TextAttr(*op.attrs, "mode", "iou"));
  if (mode != "iou" && mode != "iof") {
    return FailOp(op, "mode", "mode of '" + std::string(op.op) + "' is '" + mode + "'",
                  "use 'iou' or 'iof'");
  }
  return std::vector<TensorType>{
      {.shape = {op.inputs[1].shape[0], op.inputs[0].shape[0]}, .dtype = op.inputs[0].dtype}};
}

Result<ShardRule> ShardIou(const OpView& /*op*/, const Strategy& /*strategy*/) {
  return ShardRule{.axis_count = 2, .inputs = {{{0}, {}}, {{1}, {}}}, .outputs = {{{1}, {0}}}};
}

/// Overlap over the union, or over the object's own area ("iof").
double Overlap(const double* anchor, const double* object, bool of_object) {
  const double width = std::min(anchor[2], object[2]) - std::max(anchor[0], object[0]) + 1;
  const double height = std::min(anchor[3], object[3]) - std::max(anchor[1], object[1]) + 1;
  const double common = std::max(width, 0.0) * std::max(height, 0.0);
  const Box a = BoxOf(anchor);
  const Box b = BoxOf(object);
  const double own = b.width * b.height;
  return common / (of_object ? own : a.width * a.height + own - common);
}

Result<std::vector<NdArray>> EvaluateIou(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::string mode, TextAttr(context.attrs, "mode", "iou"));
  NdArray out{.shape = context.output_types[0].shape};
  ForEachElement(out.shape, [&](std::span<const std::int64_t> at) {
    out.data.push_back(Overlap(CornersOf(context.inputs[0], static_cast<std::size_t>(at[1])),
                               CornersOf(context.inputs[1], static_cast<std::size_t>(at[0])),
                               mode == "iof"));
  });
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(IOU, .family = "detection", .signature = "IOU(mode='iou')(anchor_boxes, gt_boxes)",
           .infer = InferIou, .shard = ShardIou, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateIou, .flops = FlopsPerOutput<10>, .cost = CostFamily::kArithmetic,
           .example = "()((8, 4), (4, 4))");

}  // namespace
}  // namespace drydock::strategies
