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

/// Quantisation-aware training: numbers rounded to a grid between min and max, for the whole tensor
/// (PerLayer) or for each channel; and the operators that keep min and max up to date.
namespace drydock::strategies {
namespace {

enum class Per : std::uint8_t { kLayer, kChannel };

/// Dimension of x that min and max belong to.
Result<std::size_t> ChannelOf(const OpView& op, std::size_t x) {
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(*op.attrs, "channel_axis", 1));
  return NormalisedAxis(op, axis, op.inputs[x].shape.size());
}

/// Shape of min and max.
Result<Shape> LimitsShape(const OpView& op, Per per, std::size_t x) {
  if (per == Per::kLayer) {
    return Shape{1};
  }
  DRYDOCK_TRY(const std::size_t channel, ChannelOf(op, x));
  return Shape{op.inputs[x].shape[channel]};
}

/// Inputs x, min, max (behind `before` others).
Status CheckOperands(const OpView& op, Per per, std::size_t before) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, before + 3, before + 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, before));
  DRYDOCK_TRY(const Shape wanted, LimitsShape(op, per, before));
  for (std::size_t i = before + 1; i < before + 3; ++i) {
    if (op.inputs[i].shape != wanted) {
      return FailOp(op, "shape-mismatch",
                    "'" + std::string(op.op) + "' of x " + TupleText(op.inputs[before].shape) +
                        " takes min and max of shape " + TupleText(wanted) + ", but input " +
                        std::to_string(i) + " has shape " + TupleText(op.inputs[i].shape));
    }
  }
  return {};
}

template <Per P>
Result<std::vector<TensorType>> InferFakeQuant(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(CheckOperands(op, P, 0));
  return std::vector<TensorType>{op.inputs[0]};
}

template <Per P>
Result<std::vector<TensorType>> InferLimits(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(CheckOperands(op, P, 0));
  return std::vector<TensorType>{op.inputs[1], op.inputs[2]};
}

// ---- Sharding -----------------------------------------------------------------------------------

/// Axes of min and max.
Result<TensorAxes> LimitsAxes(const OpView& op, Per per) {
  if (per == Per::kLayer) {
    return TensorAxes(1);
  }
  DRYDOCK_TRY(const std::size_t channel, ChannelOf(op, 0));
  return TensorAxes{{static_cast<AxisIndex>(channel)}};
}

template <Per P>
Result<ShardRule> ShardFakeQuant(const OpView& op, const Strategy& /*strategy*/) {
  const TensorAxes axes = AxesInOrder(op.inputs[0].shape.size());
  DRYDOCK_TRY(const TensorAxes limits, LimitsAxes(op, P));
  return ShardRule{.axis_count = static_cast<std::int32_t>(axes.size()),
                   .inputs = {axes, limits, limits},
                   .outputs = {axes}};
}

/// The least and the largest over all other dimensions: AllReduce of each result.
template <Per P>
Result<ShardRule> ShardLimits(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(ShardRule rule, ShardFakeQuant<P>(op, strategy));
  rule.outputs = {rule.inputs[1], rule.inputs[2]};
  ForwardCommunication least{.output = 0, .reduce_op = "min"};
  for (AxisIndex axis = 0; axis < rule.axis_count; ++axis) {
    if (rule.inputs[1][0] != DimAxes{axis}) {
      least.axes.push_back(axis);
    }
  }
  ForwardCommunication largest = least;
  largest.output = 1;
  largest.reduce_op = "max";
  if (!least.axes.empty()) {
    rule.communication = {std::move(least), std::move(largest)};
  }
  return rule;
}

template <Per P>
Result<Strategy> DefaultFakeQuant(const OpView& op, std::int64_t device_count) {
  bool channels = false;
  if (P == Per::kChannel) {
    DRYDOCK_TRY(const std::size_t channel, ChannelOf(op, 0));
    channels = channel == 0;
  }
  return BatchStrategy(op, device_count, {true, channels, channels});
}

// ---- Evaluation ---------------------------------------------------------------------------------

/// Grid of quantised values.
struct Grid {
  double low = 0;
  double high = 0;
  double step = 0;
};

Result<Grid> GridOf(const AttrMap& attrs, double low, double high) {
  DRYDOCK_TRY(const std::int64_t bits, IntAttr(attrs, "num_bits", 8));
  DRYDOCK_TRY(const bool symmetric, BoolAttr(attrs, "symmetric", false));
  DRYDOCK_TRY(const bool narrow, BoolAttr(attrs, "narrow_range", false));
  const double count = std::ldexp(1.0, static_cast<int>(std::clamp<std::int64_t>(bits, 1, 32)));
  const double first = (symmetric ? -count / 2 : 0) + (narrow ? 1 : 0);
  const double last = symmetric ? count / 2 - 1 : count - 1;
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  if (symmetric) {
    high = std::max(-low, high);
    low = -high;
  }
  Grid grid{.step = (high - low) / (last - first)};
  if (grid.step > 0) {  // 0 becomes a point of the grid.
    const double zero = std::clamp(std::round(first - low / grid.step), first, last);
    grid.low = (first - zero) * grid.step;
    grid.high = (last - zero) * grid.step;
  }
  return grid;
}

/// Calls f(element of x, grid of its channel, index) for every element.
template <typename F>
Result<NdArray> OverGrids(const EvaluateContext& context, Per per, std::size_t x, F f) {
  std::size_t channel = 0;
  if (per == Per::kChannel) {
    DRYDOCK_TRY(channel, ChannelOf(context.View(), x));
  }
  std::vector<Grid> grids = {};
  for (std::size_t c = 0; c < context.inputs[x + 1].data.size(); ++c) {
    DRYDOCK_TRY(const Grid grid, GridOf(context.attrs, context.inputs[x + 1].data[c],
                                        context.inputs[x + 2].data[c]));
    grids.push_back(grid);
  }
  const NdArray& values = context.inputs[x];
  NdArray out{.shape = values.shape};
  std::size_t n = 0;
  ForEachElement(values.shape, [&](std::span<const std::int64_t> at) {
    const std::size_t c = per == Per::kLayer ? 0 : static_cast<std::size_t>(at[channel]);
    out.data.push_back(f(values.data[n], grids[c], n));
    ++n;
  });
  return out;
}

template <Per P>
Result<std::vector<NdArray>> EvaluateFakeQuant(const EvaluateContext& context) {
  DRYDOCK_TRY(NdArray out, OverGrids(context, P, 0, [](double x, const Grid& grid, std::size_t) {
                const double inside = std::clamp(x, grid.low, grid.high);
                return grid.step > 0
                           ? std::round((inside - grid.low) / grid.step) * grid.step + grid.low
                           : 0.0;
              }));
  return std::vector<NdArray>{std::move(out)};
}

/// Straight through where x lies inside the grid.
template <Per P>
Result<std::vector<NdArray>> EvaluateFakeQuantGrad(const EvaluateContext& context) {
  const std::vector<double>& dout = context.inputs[0].data;
  DRYDOCK_TRY(NdArray out,
              OverGrids(context, P, 1, [&dout](double x, const Grid& grid, std::size_t n) {
                return x >= grid.low && x <= grid.high ? dout[n] : 0.0;
              }));
  return std::vector<NdArray>{std::move(out)};
}

template <Per P>
Result<std::vector<ValueId>> GradientOfFakeQuant(const GradientContext& context) {
  const Node& node = context.node;
  std::vector<ValueId> gradients = NoGradients(context);
  DRYDOCK_TRY(
      gradients[0],
      context.Emit(P == Per::kLayer ? "FakeQuantPerLayerGrad" : "FakeQuantPerChannelGrad",
                   {OutputGradient(context), node.inputs[0], node.inputs[1], node.inputs[2]},
                   node.attrs));
  return gradients;
}

/// min = ema ? decay * min + (1 - decay) * least(x) : least(x), at most 0; max alike, at least 0.
template <Per P>
Result<std::vector<NdArray>> EvaluateLimits(const EvaluateContext& context) {
  DRYDOCK_TRY(const bool ema, BoolAttr(context.attrs, "ema", false));
  DRYDOCK_TRY(const double decay, FloatAttr(context.attrs, "ema_decay", 0.999));
  const NdArray& x = context.inputs[0];
  std::vector<std::size_t> others = {};
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (P == Per::kChannel) {
      DRYDOCK_TRY(const std::size_t channel, ChannelOf(context.View(), 0));
      if (d == channel) {
        continue;
      }
    }
    others.push_back(d);
  }
  const auto smaller = [](double a, double b) { return std::min(a, b); };
  const auto larger = [](double a, double b) { return std::max(a, b); };
  const double keep = ema ? decay : 0;
  const auto mix = [keep](double old, double fresh) { return keep * old + (1 - keep) * fresh; };
  std::vector<NdArray> out = {};
  for (std::size_t i = 0; i < 2; ++i) {
    const Shape& shape = context.output_types[i].shape;
    const NdArray extreme =
        ReduceArray(x, others, false, i == 0 ? HUGE_VAL : -HUGE_VAL, i == 0 ? +smaller : +larger);
    const NdArray mixed =
        MapArrays(context.inputs[i + 1], ReshapeArray(extreme, shape), shape, mix);
    out.push_back(MapArray(
        mixed, [i](double value) { return i == 0 ? std::min(value, 0.0) : std::max(value, 0.0); }));
  }
  return out;
}

// ---- Entries ------------------------------------------------------------------------------------

#define DRYDOCK_FAKE_QUANT(id, per, more, example_call)                                       \
  DRYDOCK_OP(id, .family = "quant",                                                           \
             .signature = #id                                                                 \
             "(num_bits=8, ema=False, ema_decay=0.999, quant_delay=0, "                       \
             "symmetric=False, narrow_range=False, training=True" more ")(x, min, max)",      \
             .infer = InferFakeQuant<per>, .shard = ShardFakeQuant<per>,                      \
             .default_strategy = DefaultFakeQuant<per>, .gradient = GradientOfFakeQuant<per>, \
             .evaluate = EvaluateFakeQuant<per>, .flops = FlopsPerInput<4>,                   \
             .cost = CostFamily::kArithmetic, .example = example_call)

#define DRYDOCK_FAKE_QUANT_GRAD(id, per, more)                                              \
  DRYDOCK_OP(id, .family = "gradient",                                                      \
             .signature =                                                                   \
                 #id "(num_bits=8, quant_delay=0, symmetric=False, narrow_range=False" more \
                     ")(dout, x, x_min, x_max)",                                            \
             .infer = InferFirst, .gradient = GradientNotNeeded,                            \
             .evaluate = EvaluateFakeQuantGrad<per>, .flops = FlopsPerInput<4>)

#define DRYDOCK_LIMITS(id, per, more, example_call)                                \
  DRYDOCK_OP(id, .family = "quant",                                                \
             .signature = #id "(ema=False, ema_decay=0.999" more ")(x, min, max)", \
             .infer = InferLimits<per>, .shard = ShardLimits<per>,                 \
             .default_strategy = DefaultFakeQuant<per>, .gradient = NoBackward,    \
             .evaluate = EvaluateLimits<per>, .flops = FlopsPerInput<2>,           \
             .cost = CostFamily::kReduce, .example = example_call)

DRYDOCK_FAKE_QUANT(FakeQuantPerLayer, Per::kLayer, "", "()((4, 6), (1), (1))");
DRYDOCK_FAKE_QUANT(FakeQuantPerChannel, Per::kChannel, ", channel_axis=1",
                   "(channel_axis=1)((4, 6), (6), (6))");
DRYDOCK_FAKE_QUANT_GRAD(FakeQuantPerLayerGrad, Per::kLayer, "");
DRYDOCK_FAKE_QUANT_GRAD(FakeQuantPerChannelGrad, Per::kChannel, ", channel_axis=1");
DRYDOCK_LIMITS(MinMaxUpdatePerLayer, Per::kLayer, "", "()((4, 6), (1), (1))");
DRYDOCK_LIMITS(MinMaxUpdatePerChannel, Per::kChannel, ", channel_axis=1",
               "(channel_axis=1)((4, 6), (6), (6))");

}  // namespace
}  // namespace drydock::strategies
