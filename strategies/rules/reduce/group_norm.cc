#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Normalisation over groups of channels of each sample: only samples are independent.
/// Source: mindspore ops_info/group_norm_info.cc.
namespace drydock::strategies {
namespace {

enum GroupNormOperand : std::size_t { kInput, kWeight, kBias };

Result<std::int64_t> GroupsOf(const OpView& op, const Shape& x) {
  DRYDOCK_TRY(const std::int64_t groups, IntAttr(*op.attrs, "num_groups", 0));
  if (groups < 1 || x[1] % groups != 0) {
    return FailOp(op, "attribute",
                  "'" + std::string(op.op) + "' cannot form " + std::to_string(groups) +
                      " groups of the channels of " + TupleText(x));
  }
  return groups;
}

Result<std::vector<TensorType>> InferGroupNorm(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, std::string::npos));
  const Shape& x = op.inputs[0].shape;
  DRYDOCK_TRY(const std::int64_t groups, GroupsOf(op, x));
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    if (op.inputs[i].shape != Shape{x[1]}) {
      return FailOp(op, "shape-mismatch",
                    "'" + std::string(op.op) + "' of a tensor of shape " + TupleText(x) +
                        " takes weights of shape " + TupleText(Shape{x[1]}) + ", not " +
                        TupleText(op.inputs[i].shape));
    }
  }
  const TensorType statistic{.shape = {x[0], groups}, .dtype = op.inputs[0].dtype};
  return std::vector<TensorType>{op.inputs[0], statistic, statistic};
}

Result<ShardRule> ShardGroupNorm(const OpView& op, const Strategy& /*strategy*/) {
  const std::size_t rank = op.inputs[0].shape.size();
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank), .inputs = {AxesInOrder(rank)}};
  rule.inputs.resize(op.inputs.size(), TensorAxes(1));
  rule.outputs = {AxesInOrder(rank), {{0}, {}}, {{0}, {}}};
  for (std::size_t d = 1; d < rank; ++d) {
    rule.uncut.push_back({.axis = static_cast<AxisIndex>(d), .what = "a normalised dimension"});
  }
  return rule;
}

/// Elements of one group of one sample lie behind each other.
struct Grouping {
  std::size_t lines = 1;     ///< Samples times groups.
  std::size_t length = 1;    ///< Elements of a line.
  std::size_t area = 1;      ///< Elements of one channel.
  std::size_t channels = 1;  ///< Of one sample.
  [[nodiscard]] std::size_t ChannelOf(std::size_t i) const { return i / area % channels; }
};

Grouping GroupingOf(const Shape& x, std::int64_t groups) {
  const auto count = static_cast<std::size_t>(Product(x));
  const auto lines = static_cast<std::size_t>(x[0] * groups);
  const auto channels = static_cast<std::size_t>(x[1]);
  return {.lines = lines,
          .length = lines == 0 ? 0 : count / lines,
          .area = std::max<std::size_t>(
              1, x[0] == 0 ? 1 : count / (static_cast<std::size_t>(x[0]) * channels)),
          .channels = channels};
}

/// The operand's number for a channel, or `fallback` if it was not given.
double WeightAt(const EvaluateContext& context, std::size_t operand, std::size_t channel,
                double fallback) {
  const std::ptrdiff_t index = PresentIndex(context.View(), operand);
  return index < 0 ? fallback : context.inputs[static_cast<std::size_t>(index)].data[channel];
}

Result<std::vector<NdArray>> EvaluateGroupNorm(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  DRYDOCK_TRY(const std::int64_t groups, GroupsOf(context.View(), x.shape));
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.attrs, "eps", 1e-5));
  const Grouping form = GroupingOf(x.shape, groups);
  NdArray y = x;
  NdArray means = FilledArray({x.shape[0], groups}, 0.0);
  NdArray inverses = means;
  for (std::size_t line = 0; line < form.lines; ++line) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = line * form.length; i < (line + 1) * form.length; ++i) {
      sum += x.data[i];
      squares += x.data[i] * x.data[i];
    }
    const double mean = sum / static_cast<double>(form.length);
    const double variance = squares / static_cast<double>(form.length) - mean * mean;
    means.data[line] = mean;
    inverses.data[line] = 1 / std::sqrt(variance + epsilon);
    for (std::size_t i = line * form.length; i < (line + 1) * form.length; ++i) {
      const std::size_t channel = form.ChannelOf(i);
      y.data[i] =
          (x.data[i] - mean) * inverses.data[line] * WeightAt(context, kWeight, channel, 1.0) +
          WeightAt(context, kBias, channel, 0.0);
    }
  }
  return std::vector<NdArray>{std::move(y), std::move(means), std::move(inverses)};
}

Result<std::vector<ValueId>> GradientOfGroupNorm(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  const Node& node = context.node;
  if (OutputGradient(context) == kNoValue) {
    return gradients;
  }
  const ValueId weight = node.inputs.size() > kWeight ? node.inputs[kWeight] : kNoValue;
  DRYDOCK_TRY(const std::vector<ValueId> three, EmitAll(context, "GroupNormGrad",
                                                        {OutputGradient(context), node.inputs[0],
                                                         node.outputs[1], node.outputs[2], weight},
                                                        node.attrs));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = node.inputs[i] == kNoValue ? kNoValue : three[i];
  }
  return gradients;
}

// ---- GroupNormGrad: dy, x, mean, rstd, weight? -> dx, dweight, dbias ----------------------------

Result<std::vector<TensorType>> InferGroupNormGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 4, 5));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 2, 8));
  const TensorType weight{.shape = {op.inputs[1].shape[1]}, .dtype = op.inputs[1].dtype};
  return std::vector<TensorType>{op.inputs[1], weight, weight};
}

Result<std::vector<NdArray>> EvaluateGroupNormGrad(const EvaluateContext& context) {
  const NdArray& dy = context.inputs[0];
  const NdArray& x = context.inputs[1];
  DRYDOCK_TRY(const std::int64_t groups, GroupsOf(context.View(), x.shape));
  const Grouping form = GroupingOf(x.shape, groups);
  NdArray dx = x;
  NdArray dweight = FilledArray({x.shape[1]}, 0.0);
  NdArray dbias = dweight;
  for (std::size_t line = 0; line < form.lines; ++line) {
    const double mean = context.inputs[2].data[line];
    const double inverse = context.inputs[3].data[line];
    double sum = 0;
    double along = 0;
    const auto weighed = [&](std::size_t i) {
      return dy.data[i] * WeightAt(context, 4, form.ChannelOf(i), 1.0);
    };
    for (std::size_t i = line * form.length; i < (line + 1) * form.length; ++i) {
      const double normal = (x.data[i] - mean) * inverse;
      sum += weighed(i);
      along += weighed(i) * normal;
      dweight.data[form.ChannelOf(i)] += dy.data[i] * normal;
      dbias.data[form.ChannelOf(i)] += dy.data[i];
    }
    const auto count = static_cast<double>(form.length);
    for (std::size_t i = line * form.length; i < (line + 1) * form.length; ++i) {
      const double normal = (x.data[i] - mean) * inverse;
      dx.data[i] = inverse * (weighed(i) - sum / count - normal * along / count);
    }
  }
  return std::vector<NdArray>{std::move(dx), std::move(dweight), std::move(dbias)};
}

DRYDOCK_OP(GroupNorm, .family = "normalisation",
           .signature = "GroupNorm()(input, #num_groups, ?weight, ?bias, #eps=1e-5)",
           .infer = InferGroupNorm, .shard = ShardGroupNorm, .gradient = GradientOfGroupNorm,
           .evaluate = EvaluateGroupNorm, .flops = FlopsPerInput<8>, .cost = CostFamily::kNorm,
           .example = "(num_groups=2)((4, 6, 2, 3), (6), (6))");
DRYDOCK_OP(GroupNormGrad, .family = "gradient",
           .signature = "GroupNormGrad()(dy, x, mean, rstd, ?gamma, #num_groups)",
           .infer = InferGroupNormGrad, .gradient = GradientNotNeeded,
           .evaluate = EvaluateGroupNormGrad, .flops = FlopsPerInput<16>);

}  // namespace
}  // namespace drydock::strategies
