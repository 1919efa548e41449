#include <algorithm>

#include <gtest/gtest.h>

#include "strategies/operators/known_ops.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/sharded_run.h"

// `--redistribution=optimal` in whole steps: forward values and gradients stay those of one device.
namespace drydock::strategies {
namespace {

/// w cut into `before` -> Tanh -> cut into `after` -> Sigmoid -> mean, and the gradient of w, on 4
/// ranks.
RandomStep StepBetween(const std::vector<std::int64_t>& before,
                       const std::vector<std::int64_t>& after) {
  std::mt19937_64 random(checks::SeedOr(17));
  GraphBuilder builder("cheapest");
  const Shape shape(before.size(), 4);
  const ValueId w = *builder.AddParameter("w", {.shape = shape}, {});
  const auto emit = [&builder](std::string_view op, ValueId input, Strategy strategy) {
    const NodeId id = *builder.AddNode({.op = op, .inputs = {input}});
    builder.mutable_graph().nodes[ToIndex(id)].in_strategy = std::move(strategy);
    return builder.graph().at(id).outputs.front();
  };
  const ValueId result = emit("Sigmoid", emit("Tanh", w, {before}), {after});
  const ValueId loss = emit("ReduceMean", result, {after});
  const NodeId gradient = *builder.AddNode({.op = "_Gradient", .inputs = {loss, w}});
  builder.SetOutputs({loss, result, builder.graph().at(gradient).outputs.front()});
  RandomStep step;
  step.graph = std::move(builder).Take();
  step.job = {.world_size = 4,
              .mode = ParallelMode::kSemiAutoParallel,
              .redistribution = RedistributionSearch::kOptimal,
              .dataset = {.kind = DatasetStrategy::Kind::kFullBatch}};
  step.data.parameters = {checks::RandomArray(shape, random, -1.0, 1.0)};
  return step;
}

/// Members of the group of every AlltoAll of a phase.
std::vector<std::int64_t> Exchanges(const RandomStep& step, Phase phase) {
  std::vector<std::int64_t> sizes;
  const auto program = Compile(step.graph, step.job);
  EXPECT_TRUE(program) << FormatError(program.error());
  for (const Node& node : program ? program->local.nodes : std::vector<Node>()) {
    if (node.op == ops::kAlltoAll && node.phase == phase) {
      sizes.push_back(GroupSize(*node.group));
    }
  }
  return sizes;
}

TEST(CheapestRedistributionStep, TwoAxesMoveTogetherForwardAndBackward) {
  const RandomStep step = StepBetween({2, 2, 1, 1}, {1, 1, 2, 2});
  const std::vector<std::int64_t> once = {4};
  EXPECT_EQ(Exchanges(step, Phase::kForward), once);
  EXPECT_EQ(Exchanges(step, Phase::kBackward), once);
  EXPECT_EQ(Difference(step), "");
}

TEST(CheapestRedistributionStep, WholeDimensionsExchangeWithoutBeingPutSideBySide) {
  // Rows of four parts become columns of four parts.
  const RandomStep step = StepBetween({4, 1}, {1, 4});
  EXPECT_EQ(Exchanges(step, Phase::kForward), std::vector<std::int64_t>{4});
  EXPECT_EQ(Difference(step), "");
}

}  // namespace
}  // namespace drydock::strategies
