#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/elementwise/random_numbers.h"

/// Operators that make random numbers (mindspore ops_info/random_distribute_info.cc). Ranks that
/// hold different slices draw from different seeds, ranks that repeat a slice from equal ones.
namespace drydock::strategies {
namespace {

// ---- UniformReal, StandardNormal, Gamma: a tensor of the given shape ----------------------------

Result<Shape> CheckedShape(const OpView& op) {
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "shape"));
  DRYDOCK_TRY(const Seeds seeds, SeedsOf(*op.attrs, "seed", "seed2"));
  if (seeds.first < 0 || seeds.second < 0) {
    return FailOp(op, "seed", "the seeds of '" + std::string(op.op) + "' must be at least 0");
  }
  return shape;
}

Result<std::vector<TensorType>> InferRandom(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 0, 0));
  DRYDOCK_TRY(Shape shape, CheckedShape(op));
  return std::vector<TensorType>{{.shape = std::move(shape)}};
}

/// Entry 0 of the strategy is that of the result; other operands are whole.
Result<ShardRule> ShardRandom(const OpView& op, const Strategy& /*strategy*/) {
  const TensorAxes axes = AxesInOrder(op.outputs[0].shape.size());
  ShardRule rule{.axis_count = static_cast<std::int32_t>(axes.size()),
                 .outputs = {axes},
                 .strategy_entries = {axes}};
  for (const TensorType& input : op.inputs) {
    rule.inputs.emplace_back(input.shape.size());
    rule.strategy_entries.emplace_back(input.shape.size());
    const std::size_t missing = axes.size() - std::min(axes.size(), input.shape.size());
    for (std::size_t d = 0; d < input.shape.size() && missing + d < axes.size(); ++d) {
      if (input.shape[d] != 1) {  // A whole operand fits whole dimensions only.
        rule.uncut.push_back(
            {.axis = axes[missing + d].front(), .what = "a dimension with parameters of its own"});
      }
    }
  }
  return rule;
}

/// Number of the rank's slice: the digits of all axes as one number.
RankExpr SliceNumber(const OpSharding& sharding) {
  RankExpr number = {};
  std::int64_t weight = 1;
  for (std::size_t a = sharding.axis_parts.size(); a-- > 0;) {
    number = Plus(number, Times(sharding.axis_parts[a], weight));
    weight *= GroupSize(sharding.axis_groups[a]);
  }
  return number;
}

Result<std::vector<ValueId>> LocalizeRandom(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  DRYDOCK_TRY(const Seeds seeds, SeedsOf(attrs, "seed", "seed2"));
  const std::int64_t counter = seeds.first == 0 && seeds.second == 0 ? FreshSeed(context) : 0;
  const RankExpr slice = SliceNumber(context.sharding);
  attrs["shape"] = SliceShape(context.sharding.outputs[0]);
  attrs["seed"] = Plus(slice, RankExpr{.constant = seeds.first + counter});
  attrs["seed2"] = Plus(slice, RankExpr{.constant = seeds.second + counter});
  return EmitLocal(context, std::move(attrs));
}

/// f(seeds, index) for every element.
template <typename F>
Result<std::vector<NdArray>> FilledBy(const EvaluateContext& context, F f) {
  DRYDOCK_TRY(const Seeds seeds, SeedsOf(context.attrs, "seed", "seed2"));
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    out.data[i] = f(seeds, i);
  }
  return std::vector<NdArray>{std::move(out)};
}

Result<std::vector<NdArray>> EvaluateUniform(const EvaluateContext& context) {
  return FilledBy(context,
                  [](const Seeds& seeds, std::uint64_t i) { return UniformNumber(seeds, i); });
}

Result<std::vector<NdArray>> EvaluateNormal(const EvaluateContext& context) {
  return FilledBy(context,
                  [](const Seeds& seeds, std::uint64_t i) { return NormalNumber(seeds, i); });
}

Result<std::vector<TensorType>> InferGamma(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_TRY(Shape shape, CheckedShape(op));
  for (std::size_t i = 0; i < 2; ++i) {
    DRYDOCK_TRY(const Shape together, BroadcastShapes(op, shape, op.inputs[i].shape));
    if (together != shape) {
      return FailOp(op, "shape-mismatch",
                    "input " + std::to_string(i) + " of '" + std::string(op.op) + "' has shape " +
                        TupleText(op.inputs[i].shape) + ", which does not fit inside " +
                        TupleText(shape));
    }
  }
  return std::vector<TensorType>{{.shape = std::move(shape)}};
}

Result<std::vector<NdArray>> EvaluateGamma(const EvaluateContext& context) {
  const Shape& shape = context.output_types[0].shape;
  const NdArray alpha = BroadcastArray(context.inputs[0], shape);
  const NdArray beta = BroadcastArray(context.inputs[1], shape);
  return FilledBy(context, [&](const Seeds& seeds, std::uint64_t i) {
    return GammaNumber(seeds, i, alpha.data[i], beta.data[i]);
  });
}

#define DRYDOCK_RANDOM(id, call, infer_fn, evaluate_fn, example_call)                            \
  DRYDOCK_OP(id, .family = "random", .signature = #id "(seed=0, seed2=0)(" call ")",             \
             .infer = infer_fn, .shard = ShardRandom, .localize = LocalizeRandom,                \
             .gradient = GradientNotNeeded, .evaluate = evaluate_fn, .flops = FlopsPerOutput<1>, \
             .cost = CostFamily::kSoftmax, .mirrored = "-", .example = example_call)

DRYDOCK_RANDOM(UniformReal, "#shape", InferRandom, EvaluateUniform, "(shape=(4, 6))()");
DRYDOCK_RANDOM(StandardNormal, "#shape", InferRandom, EvaluateNormal, "(shape=(4, 6))()");
DRYDOCK_RANDOM(Gamma, "#shape, alpha, beta", InferGamma, EvaluateGamma, "(shape=(4, 6))((1), (1))");

// ---- RandomChoiceWithMask: positions of `count` true elements -----------------------------------

Result<std::vector<TensorType>> InferChoice(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, 5));
  DRYDOCK_TRY(const std::int64_t count, IntAttr(*op.attrs, "count", 256));
  if (op.inputs[0].dtype != DType::kBool || count < 1) {
    return FailOp(op, "dtype",
                  "'" + std::string(op.op) + "' chooses at least 1 element of a bool tensor");
  }
  return std::vector<TensorType>{
      {.shape = {count, std::ssize(op.inputs[0].shape)}, .dtype = DType::kInt32},
      {.shape = {count}, .dtype = DType::kBool}};
}

Result<std::vector<ValueId>> LocalizeChoice(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  DRYDOCK_TRY(const Seeds seeds, SeedsOf(attrs, "seed", "seed2"));
  if (seeds.first == 0 && seeds.second == 0) {
    attrs["seed"] = attrs["seed2"] = FreshSeed(context);
  }
  return EmitLocal(context, std::move(attrs));
}

/// True elements in random order; the rest of the result is 0 and masked.
Result<std::vector<NdArray>> EvaluateChoice(const EvaluateContext& context) {
  DRYDOCK_TRY(const Seeds seeds, SeedsOf(context.attrs, "seed", "seed2"));
  const NdArray& x = context.inputs[0];
  std::vector<std::vector<std::int64_t>> places = {};
  std::size_t n = 0;
  ForEachElement(x.shape, [&](std::span<const std::int64_t> at) {
    if (x.data[n++] != 0) {
      places.emplace_back(at.begin(), at.end());
    }
  });
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return UniformNumber(seeds, i); });
  NdArray index = FilledArray(context.output_types[0].shape, 0.0);
  NdArray mask = FilledArray(context.output_types[1].shape, 0.0);
  for (std::size_t i = 0; i < std::min(order.size(), mask.data.size()); ++i) {
    std::ranges::copy(places[order[i]],
                      index.data.begin() + static_cast<std::ptrdiff_t>(i * x.shape.size()));
    mask.data[i] = 1;
  }
  return std::vector<NdArray>{std::move(index), std::move(mask)};
}

DRYDOCK_OP(RandomChoiceWithMask, .family = "random",
           .signature = "RandomChoiceWithMask(count=256, seed=0, seed2=0)(input_x)",
           .infer = InferChoice, .shard = ShardWhole, .default_strategy = DefaultWhole,
           .localize = LocalizeChoice, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateChoice, .flops = NoFlops, .cost = CostFamily::kCast,
           .example = "(count=8)(bool(4, 6))");

// ---- UniformCandidateSampler: classes to train against ------------------------------------------

struct Sampling {
  std::int64_t count = 0;
  std::int64_t range = 0;
  bool unique = true;
  Seeds seeds = {};
};

Result<Sampling> SamplingOf(const OpView& op) {
  Sampling sampling = {};
  DRYDOCK_TRY(sampling.count, IntAttr(*op.attrs, "num_sampled", 0));
  DRYDOCK_TRY(sampling.range, IntAttr(*op.attrs, "range_max", 0));
  DRYDOCK_TRY(sampling.unique, BoolAttr(*op.attrs, "unique", true));
  DRYDOCK_TRY(sampling.seeds, SeedsOf(*op.attrs, "seed", "seed"));
  if (sampling.count < 1 || sampling.range < 1 ||
      (sampling.unique && sampling.count > sampling.range)) {
    return FailOp(op, "sampling",
                  "'" + std::string(op.op) + "' cannot draw " + std::to_string(sampling.count) +
                      (sampling.unique ? " different" : "") + " numbers below " +
                      std::to_string(sampling.range));
  }
  return sampling;
}

Result<std::vector<TensorType>> InferSampler(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 0));
  DRYDOCK_TRY(const Sampling sampling, SamplingOf(op));
  return std::vector<TensorType>{{.shape = {sampling.count}, .dtype = op.inputs[0].dtype},
                                 {.shape = op.inputs[0].shape},
                                 {.shape = {sampling.count}}};
}

Result<ShardRule> ShardSampler(const OpView& op, const Strategy& /*strategy*/) {
  ShardRule rule{.axis_count = 2,
                 .inputs = {AxesInOrder(2)},
                 .outputs = {TensorAxes(1), AxesInOrder(2), TensorAxes(1)}};
  DRYDOCK_TRY(const bool remove, BoolAttr(*op.attrs, "remove_accidental_hits", false));
  for (AxisIndex axis = 0; remove && axis < 2; ++axis) {
    rule.uncut.push_back(
        {.axis = axis, .what = "the true classes, which remove_accidental_hits compares,"});
  }
  return rule;
}

/// All ranks draw the same classes: one seed for all, num_true of the slice.
Result<std::vector<ValueId>> LocalizeSampler(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  DRYDOCK_TRY(const std::int64_t seed, IntAttr(attrs, "seed", 0));
  attrs["seed"] = seed == 0 ? FreshSeed(context) : seed;
  attrs["num_true"] = context.builder.TypeOf(context.spec.inputs[0]).shape[1];
  return EmitLocal(context, std::move(attrs));
}

/// Expected counts: tries / range, or 1 - (1 - 1 / range)^tries where no class comes twice.
Result<std::vector<NdArray>> EvaluateSampler(const EvaluateContext& context) {
  DRYDOCK_TRY(const Sampling sampling, SamplingOf(context.View()));
  NdArray drawn{.shape = {sampling.count}};
  std::set<double> seen = {};
  std::uint64_t tries = 0;
  const auto range = static_cast<double>(sampling.range);
  while (std::ssize(drawn.data) < sampling.count) {
    const double number = std::floor(UniformNumber(sampling.seeds, tries++) * range);
    if (!sampling.unique || seen.insert(number).second) {
      drawn.data.push_back(number);
    }
  }
  const double expected = sampling.unique ? 1 - std::pow(1 - 1 / range, static_cast<double>(tries))
                                          : static_cast<double>(tries) / range;
  return std::vector<NdArray>{std::move(drawn),
                              FilledArray(context.output_types[1].shape, expected),
                              FilledArray({sampling.count}, expected)};
}

DRYDOCK_OP(UniformCandidateSampler, .family = "random",
           .signature =
               "UniformCandidateSampler(num_true, num_sampled, unique, range_max, seed=0, "
               "remove_accidental_hits=False)(true_classes)",
           .infer = InferSampler, .shard = ShardSampler, .default_strategy = DefaultWhole,
           .localize = LocalizeSampler, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateSampler, .flops = NoFlops, .cost = CostFamily::kFree,
           .example = "(num_sampled=3, num_true=2, range_max=9, unique=True)(int64(4, 2))");

}  // namespace
}  // namespace drydock::strategies
