#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/graph/kept_constant.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// Batch normalisation. Every rank takes the statistics of its own slice, also where the batch is
/// cut: MindSpore 2.10 exchanges none (dry run of a convolution network whose batch is cut 8
/// times). With the attribute `group_size` those of so many ranks are one: the operator then
/// becomes BNTrainingReduce (local sums), AllReduce of both sums and BNTrainingUpdate, which is
/// what SyncBatchNorm consists of; backward, the two sums of the gradient are completed likewise.
/// Source: mindspore/ccsrc/frontend/parallel/ops_info/batchnorm_info.cc.
namespace drydock::strategies {
namespace {

constexpr double kEpsilon = 1e-5;

/// Everything but the channel, which is dimension 1.
std::vector<std::size_t> AllButChannel(std::size_t rank) {
  std::vector<std::size_t> axes;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d != 1) {
      axes.push_back(d);
    }
  }
  return axes;
}

NdArray SumOfChannels(const NdArray& x) {
  return ReduceArray(x, AllButChannel(x.shape.size()), false, 0.0, SumOf);
}

/// f(element of x, numbers of its channel).
template <typename F>
NdArray MapChannels(const NdArray& x, F f) {
  NdArray y{.shape = x.shape, .data = std::vector<double>(x.data.size())};
  const auto channels = static_cast<std::size_t>(x.shape[1]);
  const std::size_t area =
      x.data.size() / std::max<std::size_t>(1, channels * static_cast<std::size_t>(x.shape[0]));
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    y.data[i] = f(i, i / area % channels);
  }
  return y;
}

Result<bool> IsTraining(const AttrMap& attrs) {
  return BoolAttr(attrs, "is_training", false);
}

// ---- Inference and sharding ---------------------------------------------------------------------

Result<std::vector<TensorType>> InferBatchNorm(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 5, 5));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, std::string::npos));
  const Shape channels = {op.inputs[0].shape[1]};
  for (std::size_t i = 1; i < 5; ++i) {
    if (op.inputs[i].shape != channels) {
      return FailOp(op, "shape-mismatch",
                    "'" + std::string(op.op) + "' of a tensor of shape " +
                        TupleText(op.inputs[0].shape) + " takes shape " + TupleText(channels) +
                        " in input " + std::to_string(i) + ", but it has shape " +
                        TupleText(op.inputs[i].shape));
    }
  }
  const TensorType& per_channel = op.inputs[1];
  return std::vector<TensorType>{op.inputs[0], per_channel, per_channel, per_channel, per_channel};
}

/// Attribute group_size: ranks whose batches are normalised together, 0 if it was not given.
Result<std::int64_t> GroupSizeAttr(const OpView& op) {
  return IntAttr(*op.attrs, "group_size", 0);
}

Status CheckGroupSize(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const std::int64_t size, GroupSizeAttr(op));
  if (!op.attrs->contains("group_size") || strategy.empty() || strategy[0].empty() ||
      op.device_count == 0) {
    return {};
  }
  const std::int64_t devices = op.device_count;
  const bool power_of_two = size > 0 && (size & (size - 1)) == 0;
  if (!power_of_two || size > devices || devices % size != 0 || strategy[0][0] != devices) {
    return FailOp(op, "strategy-group",
                  "attribute 'group_size' " + std::to_string(size) + " of '" + std::string(op.op) +
                      "' must be a power of two that divides the " + std::to_string(devices) +
                      " devices, all of which must cut dimension 0");
  }
  return {};
}

Result<ShardRule> ShardBatchNorm(const OpView& op, const Strategy& strategy) {
  const std::size_t rank = op.inputs[0].shape.size();
  if (rank != 2 && rank != 4) {
    return FailOp(op, "strategy-rank",
                  "'" + std::string(op.op) + "' can be cut with 2 or 4 dimensions, not with " +
                      std::to_string(rank));
  }
  DRYDOCK_TRY(const std::string format, TextAttr(*op.attrs, "data_format", "NCHW"));
  if (format != "NCHW") {
    return UnsupportedForm(op, "data format '" + format + "' of '" + std::string(op.op) +
                                   "' is not handled, only 'NCHW' is");
  }
  DRYDOCK_RETURN_IF_ERROR(CheckGroupSize(op, strategy));
  const TensorAxes channel = {{1}};
  return ShardRule{.axis_count = static_cast<std::int32_t>(rank),
                   .inputs = {AxesInOrder(rank), channel, channel, channel, channel},
                   .outputs = {AxesInOrder(rank), channel, channel, channel, channel}};
}

// ---- Local program ------------------------------------------------------------------------------

/// Ranks whose statistics are one: all that share the channels for the layer SyncBatchNorm
/// (attribute `sync_statistics`), blocks of `group_size` ranks, or the rank alone.
Result<GroupPattern> StatisticsGroup(const LocalizeContext& context) {
  DRYDOCK_TRY(const bool sync, BoolAttr(*context.global.attrs, "sync_statistics", false));
  if (sync) {
    return ReplicaPattern(context.sharding.inputs[1]);
  }
  DRYDOCK_TRY(const std::int64_t size, GroupSizeAttr(context.global));
  return MakeGroupPattern({{.stride = 1, .extent = std::max<std::int64_t>(size, 1)}});
}

Result<std::vector<ValueId>> LocalizeBatchNorm(const LocalizeContext& context) {
  DRYDOCK_TRY(const bool training, IsTraining(context.spec.attrs));
  DRYDOCK_TRY(const GroupPattern group, StatisticsGroup(context));
  if (!training || GroupSize(group) == 1) {
    return EmitLocal(context, context.spec.attrs);
  }
  GraphBuilder& builder = context.builder;
  const std::vector<ValueId>& inputs = context.spec.inputs;
  NodeSpec reduce = context.spec;
  reduce.op = "BNTrainingReduce";
  reduce.inputs = {inputs[0]};
  reduce.attrs = {};
  DRYDOCK_TRY(const NodeId sums, builder.AddNode(std::move(reduce)));
  std::vector<ValueId> totals = builder.graph().at(sums).outputs;
  for (ValueId& total : totals) {
    DRYDOCK_TRY(total, EmitGroupAllReduce(context, total, group, "statistics of a cut batch"));
  }
  const Shape x = builder.TypeOf(inputs[0]).shape;
  std::int64_t count = GroupSize(group);
  for (const std::size_t axis : AllButChannel(x.size())) {
    count *= x[axis];
  }
  NodeSpec update = context.spec;
  update.op = "BNTrainingUpdate";
  update.inputs = {inputs[0], totals[0], totals[1], inputs[1], inputs[2], inputs[3], inputs[4]};
  update.attrs["count"] = count;
  DRYDOCK_TRY(const NodeId id, builder.AddNode(std::move(update)));
  Node& node = builder.mutable_graph().nodes[ToIndex(id)];
  node.group = group;  // The gradient completes its sums over the same ranks.
  node.reason_text = "statistics of a cut batch";
  node.in_strategy = context.sharding.strategy;
  return node.outputs;
}

// ---- Evaluation ---------------------------------------------------------------------------------

/// Mean and variance of every channel.
struct Statistics {
  NdArray mean = {};
  NdArray variance = {};
};

Statistics FromSums(const NdArray& sum, const NdArray& squares, double count) {
  Statistics result{.mean = sum, .variance = squares};
  for (std::size_t c = 0; c < sum.data.size(); ++c) {
    result.mean.data[c] = sum.data[c] / count;
    result.variance.data[c] = squares.data[c] / count - result.mean.data[c] * result.mean.data[c];
  }
  return result;
}

NdArray Squares(const NdArray& x) {
  return MapArray(x, [](double v) { return v * v; });
}

/// The five results from statistics.
std::vector<NdArray> Normalised(const NdArray& x, const NdArray& scale, const NdArray& bias,
                                const Statistics& statistics, double epsilon) {
  NdArray y = MapChannels(x, [&](std::size_t i, std::size_t c) {
    return (x.data[i] - statistics.mean.data[c]) /
               std::sqrt(statistics.variance.data[c] + epsilon) * scale.data[c] +
           bias.data[c];
  });
  return {std::move(y), statistics.mean, statistics.variance, statistics.mean, statistics.variance};
}

double CountOf(const NdArray& x) {
  return static_cast<double>(x.data.size()) / static_cast<double>(x.shape[1]);
}

Result<std::vector<NdArray>> EvaluateBatchNorm(const EvaluateContext& context) {
  DRYDOCK_TRY(const bool training, IsTraining(context.attrs));
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.attrs, "epsilon", kEpsilon));
  const NdArray& x = context.inputs[0];
  const Statistics statistics =
      training ? FromSums(SumOfChannels(x), SumOfChannels(Squares(x)), CountOf(x))
               : Statistics{.mean = context.inputs[3], .variance = context.inputs[4]};
  return Normalised(x, context.inputs[1], context.inputs[2], statistics, epsilon);
}

Result<std::vector<TensorType>> InferReduce(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, std::string::npos));
  const TensorType sum{.shape = {op.inputs[0].shape[1]}, .dtype = DType::kFloat32};
  return std::vector<TensorType>{sum, sum};
}

Result<std::vector<NdArray>> EvaluateReduce(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  return std::vector<NdArray>{SumOfChannels(x), SumOfChannels(Squares(x))};
}

Result<std::vector<TensorType>> InferUpdate(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 7, 7));
  const TensorType& per_channel = op.inputs[3];
  return std::vector<TensorType>{op.inputs[0], per_channel, per_channel, per_channel, per_channel};
}

/// x, sum, square_sum, scale, bias, mean, variance.
Result<std::vector<NdArray>> EvaluateUpdate(const EvaluateContext& context) {
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.attrs, "epsilon", kEpsilon));
  DRYDOCK_TRY(const std::int64_t count, IntAttr(context.attrs, "count", 1));
  const auto inputs = context.inputs;
  return Normalised(inputs[0], inputs[3], inputs[4],
                    FromSums(inputs[1], inputs[2], static_cast<double>(count)), epsilon);
}

// ---- Gradients ----------------------------------------------------------------------------------

/// Statistics the gradient reads: those of the batch, or the given ones outside training.
Result<std::vector<ValueId>> GradientOfBatchNorm(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  if (OutputGradient(context) == kNoValue) {
    return gradients;
  }
  const Node& node = context.node;
  DRYDOCK_TRY(const bool training, IsTraining(node.attrs));
  const ValueId mean = training ? node.outputs[3] : node.inputs[3];
  const ValueId variance = training ? node.outputs[4] : node.inputs[4];
  DRYDOCK_TRY(const std::vector<ValueId> three,
              EmitAll(context, "BatchNormGrad",
                      {OutputGradient(context), node.inputs[0], node.inputs[1], mean, variance},
                      node.attrs));
  std::ranges::copy(three, gradients.begin());
  return gradients;
}

/// Local sums dscale and dbias are the parameters' own gradients; their totals give dx.
Result<std::vector<ValueId>> GradientOfUpdate(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  const ValueId dy = OutputGradient(context);
  if (dy == kNoValue || !context.node.group.has_value()) {
    return gradients;
  }
  const Node& node = context.node;
  const ValueId x = node.inputs[0];
  DRYDOCK_TRY(const std::vector<ValueId> own,
              EmitAll(context, "BNTrainingUpdateGrad", {dy, x, node.outputs[3], node.outputs[4]},
                      node.attrs));
  gradients[3] = own[0];
  gradients[4] = own[1];
  if (context.wanted[0]) {
    std::vector<ValueId> operands = {dy, x};
    for (const ValueId sum : own) {
      DRYDOCK_TRY(const ValueId total,
                  context.EmitCollective(ops::kAllReduce, sum, *node.group, {{"op", "sum"}}));
      operands.push_back(total);
    }
    operands.insert(operands.end(), {node.inputs[3], node.outputs[3], node.outputs[4]});
    DRYDOCK_TRY(gradients[0], context.Emit("BNTrainingReduceGrad", operands, node.attrs));
  }
  return gradients;
}

/// Sum over a channel of dy * (x - mean) / deviation, and of dy.
std::pair<NdArray, NdArray> ParameterGradients(const NdArray& dy, const NdArray& x,
                                               const NdArray& mean, const NdArray& variance,
                                               double epsilon) {
  const NdArray along = MapChannels(x, [&](std::size_t i, std::size_t c) {
    return dy.data[i] * (x.data[i] - mean.data[c]) / std::sqrt(variance.data[c] + epsilon);
  });
  return {SumOfChannels(along), SumOfChannels(dy)};
}

/// What dx is made of; both sums span `count` elements.
struct InputGradient {
  const NdArray& dy;
  const NdArray& x;
  const NdArray& scale;
  const NdArray& mean;
  const NdArray& variance;
  double epsilon = 0;
};

/// scale / deviation * (dy - sum(dy) / count - normal * sum(dy * normal) / count).
NdArray ThroughStatistics(const InputGradient& in, const NdArray& along, const NdArray& sum,
                          double count) {
  return MapChannels(in.x, [&](std::size_t i, std::size_t c) {
    const double inverse = 1 / std::sqrt(in.variance.data[c] + in.epsilon);
    const double normal = (in.x.data[i] - in.mean.data[c]) * inverse;
    return in.scale.data[c] * inverse *
           (in.dy.data[i] - sum.data[c] / count - normal * along.data[c] / count);
  });
}

Result<std::vector<TensorType>> InferBatchNormGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 5, 5));
  return std::vector<TensorType>{op.inputs[1], op.inputs[2], op.inputs[2]};
}

/// dy, x, scale, mean, variance -> dx, dscale, dbias.
Result<std::vector<NdArray>> EvaluateBatchNormGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const bool training, IsTraining(context.attrs));
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.attrs, "epsilon", kEpsilon));
  const InputGradient in{.dy = context.inputs[0],
                         .x = context.inputs[1],
                         .scale = context.inputs[2],
                         .mean = context.inputs[3],
                         .variance = context.inputs[4],
                         .epsilon = epsilon};
  auto [along, sum] = ParameterGradients(in.dy, in.x, in.mean, in.variance, epsilon);
  // Outside training the statistics do not depend on x.
  const double weight = training ? 1.0 : 0.0;
  const auto weighed = [weight](double v) { return v * weight; };
  NdArray dx =
      ThroughStatistics(in, MapArray(along, weighed), MapArray(sum, weighed), CountOf(in.x));
  return std::vector<NdArray>{std::move(dx), std::move(along), std::move(sum)};
}

Result<std::vector<TensorType>> InferUpdateGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 4, 4));
  return std::vector<TensorType>{op.inputs[2], op.inputs[2]};
}

/// dy, x, mean, variance -> dscale, dbias.
Result<std::vector<NdArray>> EvaluateUpdateGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.attrs, "epsilon", kEpsilon));
  const auto inputs = context.inputs;
  auto [along, sum] = ParameterGradients(inputs[0], inputs[1], inputs[2], inputs[3], epsilon);
  return std::vector<NdArray>{std::move(along), std::move(sum)};
}

/// dy, x, total dscale, total dbias, scale, mean, variance -> dx.
Result<std::vector<NdArray>> EvaluateReduceGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const double epsilon, FloatAttr(context.attrs, "epsilon", kEpsilon));
  DRYDOCK_TRY(const std::int64_t count, IntAttr(context.attrs, "count", 1));
  const auto inputs = context.inputs;
  const InputGradient in{.dy = inputs[0],
                         .x = inputs[1],
                         .scale = inputs[4],
                         .mean = inputs[5],
                         .variance = inputs[6],
                         .epsilon = epsilon};
  return std::vector<NdArray>{
      ThroughStatistics(in, inputs[2], inputs[3], static_cast<double>(count))};
}

// ---- Kernels ------------------------------------------------------------------------------------

/// Members of the tuple of `kernels`.
std::vector<KernelId> Members(KernelBuilder& builder, std::vector<KernelId> kernels) {
  const std::size_t count = kernels.size();
  const KernelId tuple = builder.Virtual(KernelKind::kMakeTuple, std::move(kernels));
  std::vector<KernelId> members;
  for (std::size_t i = 0; i < count; ++i) {
    members.push_back(
        builder.Virtual(KernelKind::kTupleGetItem, {tuple}, static_cast<std::int32_t>(i)));
  }
  return members;
}

/// Operands of BNTrainingUpdate that it moves in place.
constexpr std::int32_t kMean = 5;
constexpr std::int32_t kVariance = 6;

/// Numbers of BatchNorm and its gradient that stay when both have become kernels.
constexpr int kNumbers = 6;

void KeepNumbers(KernelBuilder& builder) {
  KeepUnread(builder.graph(), builder.Argument(true));
  for (int i = 0; i < kNumbers; ++i) {
    (void)builder.Once("number " + std::to_string(i) + " of BatchNorm", {}, [&builder] {
      const KernelId id = builder.Constant({.shape = {}, .dtype = DType::kFloat32}, "");
      KeepUnread(builder.graph(), id);
      return id;
    });
  }
}

/// In training: sums over the batch, then what follows from them. The format is a constant of its
/// own.
Result<std::vector<KernelId>> LowerBatchNorm(const LowerContext& context) {
  DRYDOCK_TRY(const bool training, IsTraining(context.node.attrs));
  if (!training) {
    return LowerByDefault(context);
  }
  const auto in = context.inputs;  // x, scale, bias, mean, variance
  KernelBuilder& builder = context.builder;
  const KernelId format = builder.Constant({.shape = {}, .dtype = DType::kInt64}, "");
  KeepNumbers(builder);
  const TensorType& channels = context.OutputType(1);
  const std::vector<KernelId> sums = builder.Results(builder.Kernel(
      {.name = "BNTrainingReduce", .inputs = {in[0], format}, .results = {channels, channels}}));
  std::vector<TensorType> results;
  for (std::size_t i = 0; i < context.node.outputs.size(); ++i) {
    results.push_back(context.OutputType(i));
  }
  const KernelId update =
      builder.Kernel({.name = "BNTrainingUpdate",
                      .inputs = {in[0], sums[0], sums[1], in[1], in[2], in[3], in[4], format},
                      .results = std::move(results),
                      .shares = {-1, kMean, kVariance}});
  builder.graph().at(update).update = true;  // Moves mean and variance, and waits for no state.
  return Members(builder, builder.Results(update));
}

Result<std::vector<KernelId>> LowerBatchNormGrad(const LowerContext& context) {
  DRYDOCK_TRY(const bool training, IsTraining(context.node.attrs));
  if (!training) {
    return LowerByDefault(context);
  }
  const auto in = context.inputs;  // dy, x, scale, mean, variance
  KernelBuilder& builder = context.builder;
  const std::vector<KernelId> sums =
      builder.Results(builder.Kernel({.name = "BNTrainingUpdateGrad",
                                      .inputs = {in[0], in[1], in[3], in[4]},
                                      .results = {context.OutputType(1), context.OutputType(2)}}));
  const KernelId dx =
      builder.Kernel({.name = "BNTrainingReduceGrad",
                      .inputs = {in[0], in[1], sums[0], sums[1], in[2], in[3], in[4]},
                      .results = {context.OutputType(0)}});
  return Members(builder, {dx, sums[0], sums[1]});
}

#define DRYDOCK_BN_ATTRS "(is_training=False, epsilon=1e-5, momentum=0.1, data_format='NCHW')"

DRYDOCK_OP(BatchNorm, .family = "normalisation",
           .signature = "BatchNorm" DRYDOCK_BN_ATTRS "(input_x, scale, bias, mean, variance)",
           .infer = InferBatchNorm, .shard = ShardBatchNorm, .localize = LocalizeBatchNorm,
           .gradient = GradientOfBatchNorm, .lower = LowerBatchNorm, .evaluate = EvaluateBatchNorm,
           .flops = FlopsPerInput<8>, .cost = CostFamily::kNorm,
           .example = "(is_training=True)((4, 6, 2, 3), (6), (6), (6), (6))");
DRYDOCK_OP(BatchNormGrad, .family = "gradient",
           .signature = "BatchNormGrad" DRYDOCK_BN_ATTRS
                        "(dout, x, scale, saved_mean, saved_variance)",
           .infer = InferBatchNormGrad, .gradient = GradientNotNeeded, .lower = LowerBatchNormGrad,
           .values = "is_training,epsilon,data_format", .evaluate = EvaluateBatchNormGrad,
           .flops = FlopsPerInput<16>);
DRYDOCK_OP(BNTrainingReduce, .family = "rank", .signature = "BNTrainingReduce()(x)",
           .infer = InferReduce, .gradient = GradientNotNeeded, .evaluate = EvaluateReduce,
           .flops = FlopsPerInput<3>);
DRYDOCK_OP(BNTrainingUpdate, .family = "rank",
           .signature =
               "BNTrainingUpdate(count, epsilon=1e-5)"
               "(x, sum, square_sum, scale, bias, mean, variance)",
           .infer = InferUpdate, .gradient = GradientOfUpdate, .values = "-",
           .evaluate = EvaluateUpdate, .flops = FlopsPerInput<5>);
DRYDOCK_OP(BNTrainingUpdateGrad, .family = "gradient",
           .signature = "BNTrainingUpdateGrad(epsilon=1e-5)(grads, x, batch_mean, batch_variance)",
           .infer = InferUpdateGrad, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateUpdateGrad, .flops = FlopsPerInput<6>);
DRYDOCK_OP(BNTrainingReduceGrad, .family = "gradient",
           .signature =
               "BNTrainingReduceGrad(count, epsilon=1e-5)"
               "(grads, x, diff_scale, diff_offset, scale, batch_mean, batch_variance)",
           .infer = InferFirst, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateReduceGrad, .flops = FlopsPerInput<10>);

}  // namespace
}  // namespace drydock::strategies
