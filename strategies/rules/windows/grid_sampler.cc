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

/// Images sampled at the points of a grid: input (n, c, in_h, in_w), grid (n, h, w, 2) of (x, y) in
/// [-1, 1]. Batch, channels and points are independent; every point may look anywhere in the image.
namespace drydock::strategies {
namespace {

enum class Padding : std::uint8_t { kZeros, kBorder, kReflection };

struct Sampling {
  bool nearest = false;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
};

Result<Sampling> SamplingOf(const OpView& op) {
  Sampling sampling = {};
  DRYDOCK_TRY(const std::string mode, TextAttr(*op.attrs, "interpolation_mode", "bilinear"));
  DRYDOCK_TRY(const std::string padding, TextAttr(*op.attrs, "padding_mode", "zeros"));
  DRYDOCK_TRY(sampling.align_corners, BoolAttr(*op.attrs, "align_corners", false));
  const bool known = (mode == "bilinear" || mode == "nearest") &&
                     (padding == "zeros" || padding == "border" || padding == "reflection");
  if (!known) {
    return FailOp(op, "attribute",
                  "'" + std::string(op.op) + "' has no interpolation mode '" + mode +
                      "' or no padding mode '" + padding + "'");
  }
  sampling.nearest = mode == "nearest";
  if (padding != "zeros") {
    sampling.padding = padding == "border" ? Padding::kBorder : Padding::kReflection;
  }
  return sampling;
}

Result<std::vector<TensorType>> InferGridSampler(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 4, 4));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 4, 4));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_RETURN_IF_ERROR(SamplingOf(op));
  const Shape& x = op.inputs[0].shape;
  const Shape& grid = op.inputs[1].shape;
  if (x[0] != grid[0] || grid[3] != 2 || x[2] < 1 || x[3] < 1) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' cannot sample an image of shape " + TupleText(x) +
                      " at a grid of shape " + TupleText(grid));
  }
  return std::vector<TensorType>{
      {.shape = {x[0], x[1], grid[1], grid[2]}, .dtype = op.inputs[0].dtype}};
}

/// The reference ties the grid's dimensions to the image's by position; by meaning, the points are
/// the result's height and width, and the image is whole.
Result<ShardRule> ShardGridSampler(const OpView& /*op*/, const Strategy& /*strategy*/) {
  return ShardRule{.axis_count = 4,
                   .inputs = {{{0}, {1}, {}, {}}, {{0}, {2}, {3}, {}}},
                   .outputs = {AxesInOrder(4)}};
}

/// A coordinate in the image and its slope over the grid's number.
struct Coordinate {
  double at = 0;
  double slope = 0;
};

/// Mirrored at the lines low and high until it lies between them.
Coordinate Reflected(Coordinate c, double low, double high) {
  const double span = high - low;
  if (span <= 0) {
    return {};
  }
  const double from = c.at - low;
  const double distance = std::fabs(from);
  const double flips = std::floor(distance / span);
  const double rest = distance - flips * span;
  const bool odd = std::fmod(flips, 2.0) != 0;
  const double sign = (from < 0 ? -1.0 : 1.0) * (odd ? -1.0 : 1.0);
  return {.at = odd ? high - rest : low + rest, .slope = c.slope * sign};
}

Coordinate Clipped(Coordinate c, double extent) {
  if (c.at <= 0 || c.at >= extent - 1) {
    return {.at = std::clamp(c.at, 0.0, extent - 1), .slope = 0};
  }
  return c;
}

Coordinate InImage(const Sampling& sampling, double number, std::int64_t count) {
  const auto extent = static_cast<double>(count);
  Coordinate c = sampling.align_corners
                     ? Coordinate{.at = (number + 1) / 2 * (extent - 1), .slope = (extent - 1) / 2}
                     : Coordinate{.at = ((number + 1) * extent - 1) / 2, .slope = extent / 2};
  if (sampling.padding == Padding::kReflection) {
    c = sampling.align_corners ? Reflected(c, 0, extent - 1) : Reflected(c, -0.5, extent - 0.5);
  }
  return sampling.padding == Padding::kZeros ? c : Clipped(c, extent);
}

/// One image element that a point reads: weight and the weight's slopes over the grid's numbers.
struct Read {
  std::int64_t row = 0;
  std::int64_t column = 0;
  double weight = 0;
  double slope_x = 0;
  double slope_y = 0;
};

/// The elements inside the image that a point reads.
std::vector<Read> ReadsOf(const Sampling& sampling, const Shape& x, double grid_x, double grid_y) {
  const Coordinate column = InImage(sampling, grid_x, x[3]);
  const Coordinate row = InImage(sampling, grid_y, x[2]);
  std::vector<Read> reads;
  const auto add = [&](const Read& read) {
    if (read.row >= 0 && read.row < x[2] && read.column >= 0 && read.column < x[3]) {
      reads.push_back(read);
    }
  };
  if (sampling.nearest) {
    add({.row = std::llrint(row.at), .column = std::llrint(column.at), .weight = 1});
    return reads;
  }
  const double top = std::floor(row.at);
  const double left = std::floor(column.at);
  for (const double down : {0.0, 1.0}) {
    for (const double right : {0.0, 1.0}) {
      const double part_y = down == 0 ? 1 - (row.at - top) : row.at - top;
      const double part_x = right == 0 ? 1 - (column.at - left) : column.at - left;
      add({.row = static_cast<std::int64_t>(top + down),
           .column = static_cast<std::int64_t>(left + right),
           .weight = part_x * part_y,
           .slope_x = (right == 0 ? -1 : 1) * column.slope * part_y,
           .slope_y = (down == 0 ? -1 : 1) * row.slope * part_x});
    }
  }
  return reads;
}

/// Calls f(image offset, result offset, offset of the point in the grid, read).
template <typename F>
Status ForEachRead(const EvaluateContext& context, const NdArray& x, const NdArray& grid, F f) {
  DRYDOCK_TRY(const Sampling sampling, SamplingOf(context.View()));
  const Shape y = {x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]};
  std::size_t n = 0;
  ForEachElement(y, [&](std::span<const std::int64_t> at) {
    const std::int64_t point[] = {at[0], at[2], at[3], 0};
    const std::size_t g = OffsetOf(grid.shape, point);
    for (const Read& read : ReadsOf(sampling, x.shape, grid.data[g], grid.data[g + 1])) {
      const std::int64_t index[] = {at[0], at[1], read.row, read.column};
      f(OffsetOf(x.shape, index), n, g, read);
    }
    ++n;
  });
  return {};
}

Result<std::vector<NdArray>> EvaluateGridSampler(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  NdArray y = FilledArray(context.output_types[0].shape, 0.0);
  DRYDOCK_RETURN_IF_ERROR(
      ForEachRead(context, x, context.inputs[1],
                  [&](std::size_t xi, std::size_t yi, std::size_t /*g*/, const Read& read) {
                    y.data[yi] += read.weight * x.data[xi];
                  }));
  return std::vector<NdArray>{std::move(y)};
}

// ---- GridSampler2DGrad: grad, input_x, grid -> dx, dgrid ----------------------------------------

Result<std::vector<TensorType>> InferGridSamplerGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  return std::vector<TensorType>{op.inputs[1], op.inputs[2]};
}

Result<std::vector<NdArray>> EvaluateGridSamplerGrad(const EvaluateContext& context) {
  const NdArray& dy = context.inputs[0];
  const NdArray& x = context.inputs[1];
  const NdArray& grid = context.inputs[2];
  NdArray dx = FilledArray(x.shape, 0.0);
  NdArray dgrid = FilledArray(grid.shape, 0.0);
  DRYDOCK_RETURN_IF_ERROR(ForEachRead(
      context, x, grid, [&](std::size_t xi, std::size_t yi, std::size_t g, const Read& read) {
        dx.data[xi] += read.weight * dy.data[yi];
        dgrid.data[g] += read.slope_x * x.data[xi] * dy.data[yi];
        dgrid.data[g + 1] += read.slope_y * x.data[xi] * dy.data[yi];
      }));
  return std::vector<NdArray>{std::move(dx), std::move(dgrid)};
}

Result<std::vector<ValueId>> GradientOfGridSampler(const GradientContext& context) {
  const Node& node = context.node;
  return EmitAll(context, "GridSampler2DGrad",
                 {OutputGradient(context), node.inputs[0], node.inputs[1]}, node.attrs);
}

#define DRYDOCK_SAMPLING_ATTRS \
  "(interpolation_mode='bilinear', padding_mode='zeros', align_corners=False)"

DRYDOCK_OP(GridSampler2D, .family = "conv_pool",
           .signature = "GridSampler2D" DRYDOCK_SAMPLING_ATTRS "(input_x, grid)",
           .infer = InferGridSampler, .shard = ShardGridSampler,
           .default_strategy = DefaultBatchAll, .gradient = GradientOfGridSampler,
           .evaluate = EvaluateGridSampler, .flops = FlopsPerOutput<8>,
           .example = "()((2, 3, 8, 6), (2, 4, 4, 2))");
DRYDOCK_OP(GridSampler2DGrad, .family = "gradient",
           .signature = "GridSampler2DGrad" DRYDOCK_SAMPLING_ATTRS "(grad, input_x, grid)",
           .infer = InferGridSamplerGrad, .gradient = GradientNotNeeded,
           .evaluate = EvaluateGridSamplerGrad, .flops = FlopsPerInput<16>);

}  // namespace
}  // namespace drydock::strategies
