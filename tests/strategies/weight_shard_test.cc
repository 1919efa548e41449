#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"
#include "strategies/program/collectives.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/sharded_run.h"

/// Sharded optimizers: all ranks together must compute what one device computes, and every rank
/// holds the rows that it should.
namespace drydock::strategies {
namespace {

using checks::RandomArray;
using testing::ElementsAre;
using testing::HasSubstr;

ValueId Emit(GraphBuilder& builder, std::string_view op, std::vector<ValueId> inputs,
             AttrMap attrs = {}) {
  return *builder.Emit({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs)});
}

ValueId Product(GraphBuilder& builder, ValueId x, ValueId w, const Strategy& strategy) {
  const NodeId product = *builder.AddNode({.op = "MatMul", .inputs = {x, w}});
  builder.mutable_graph().nodes[ToIndex(product)].in_strategy = strategy;
  return builder.graph().at(product).outputs[0];
}

/// The norm of all gradients, as clip_by_global_norm marks its parts.
ValueId Norm(GraphBuilder& builder, const std::vector<ValueId>& gradients) {
  const AttrMap marked = {{"axis", std::int64_t{0}}, {"grad_scale", true}};
  std::vector<ValueId> parts;
  for (const ValueId gradient : gradients) {
    const ValueId sum = Emit(builder, "ReduceSum", {Emit(builder, "Square", {gradient})});
    parts.push_back(Emit(builder, "ExpandDims", {sum}, marked));
  }
  return Emit(builder, "Sqrt", {Emit(builder, "AddN", parts)});
}

/// loss = sum of (x . w . v)^2 on 8 ranks; each weight loses its gradient, divided by the norm of
/// both if `clipped`, and a state of each grows by it.
RandomStep Step(const Strategy& first, const Strategy& second, bool clipped = false) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {16, 8}});
  const std::vector<ValueId> weights = {*builder.AddParameter("w", {.shape = {8, 16}}, {}),
                                        *builder.AddParameter("v", {.shape = {16, 8}}, {})};
  const ValueId y = Product(builder, Product(builder, x, weights[0], first), weights[1], second);
  const ValueId loss = Emit(builder, "ReduceSum", {Emit(builder, "Square", {y})});
  const NodeId gradient =
      *builder.AddNode({.op = "_Gradient", .inputs = {loss, weights[0], weights[1]}});
  std::vector<ValueId> gradients = builder.graph().at(gradient).outputs;
  const ValueId norm = clipped ? Norm(builder, gradients) : kNoValue;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const TensorType type = builder.TypeOf(weights[i]);
    const ValueId state = *builder.AddParameter(
        "state" + std::to_string(i), type,
        {.role = ParameterRole::kOptimizerState, .state_of = weights[i], .requires_grad = false});
    const ValueId change = clipped ? Emit(builder, "RealDiv", {gradients[i], norm}) : gradients[i];
    for (const auto& [op, written] : {std::pair("AssignAdd", state), {"AssignSub", weights[i]}}) {
      (void)*builder.AddNode({.op = op, .inputs = {written, change}, .phase = Phase::kOptimizer});
    }
  }
  builder.SetOutputs({loss});
  std::mt19937_64 random(7);
  RandomStep step;
  step.data.inputs = {RandomArray({16, 8}, random, -1, 1)};
  for (const Parameter& parameter : builder.graph().parameters) {
    const Shape& shape = builder.TypeOf(parameter.value).shape;
    step.data.parameters.push_back(RandomArray(shape, random, -1, 1));
  }
  step.graph = builder.graph();
  step.job = {.world_size = 8,
              .mode = ParallelMode::kSemiAutoParallel,
              .enable_parallel_optimizer = true,
              .optimizer_sharding = {.threshold_kb = 0}};
  step.job.dataset.kind = DatasetStrategy::Kind::kFullBatch;
  return step;
}

/// Rows by 4, the inner extent by 2: each half of a weight lies on 4 ranks.
const Strategy kColumns = {{4, 1}, {1, 2}};
const Strategy kRows = {{4, 2}, {2, 1}};
/// Nothing of a weight is cut: 8 ranks have the same.
const Strategy kBatch = {{8, 1}, {1, 1}};
/// Only the weights are cut: the replicas of a half are 4 ranks that are neighbours.
const Strategy kInner = {{1, 1}, {1, 2}};

struct ShardCase {
  std::string name;
  Strategy first = {};
  Strategy second = {};
  OptimizerSharding sharding = {};
};

void PrintTo(const ShardCase& item, std::ostream* out) {
  *out << item.name;
}

class ShardedOptimizer : public testing::TestWithParam<ShardCase> {};

TEST_P(ShardedOptimizer, ComputesWhatOneDeviceDoes) {
  for (const bool clipped : {false, true}) {
    for (const bool fused : {false, true}) {
      RandomStep step = Step(GetParam().first, GetParam().second, clipped);
      step.job.optimizer_sharding = GetParam().sharding;
      step.job.fusion = {.all_reduce = fused, .all_gather = fused, .reduce_scatter = fused};
      EXPECT_EQ(Difference(step), "") << (clipped ? "clipped" : "") << (fused ? " fused" : "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cuts, ShardedOptimizer,
    testing::Values(
        ShardCase{"columns and rows", kColumns, kRows, {.threshold_kb = 0}},
        ShardCase{"whole", kBatch, kBatch, {.threshold_kb = 0}},
        ShardCase{"level 3", kColumns, kRows, {.threshold_kb = 0, .level = 3}},
        ShardCase{"groups of two", kColumns, kRows, {.shard_size = 2, .threshold_kb = 0}},
        ShardCase{"groups of four of eight", kBatch, kBatch, {.shard_size = 4, .threshold_kb = 0}},
        ShardCase{"groups of three", kColumns, kRows, {.shard_size = 3, .threshold_kb = 0}},
        ShardCase{"level 3 in groups",
                  kBatch,
                  kColumns,
                  {.shard_size = 2, .threshold_kb = 0, .level = 3}},
        ShardCase{"neighbours", kInner, kInner, {.threshold_kb = 0}}));

bool HasForeignMirror(const RandomStep& step) {
  const Result<LocalProgram> program = Compile(step.graph, step.job, RankId{0});
  return program.has_value() && std::ranges::any_of(program->diagnostics, [](const Diagnostic& d) {
           return d.code == "optimizer-foreign-mirror";
         });
}

TEST(ShardedOptimizerProof, RandomStepsComputeWhatOneDeviceDoes) {
  constexpr std::uint32_t kSteps = 60;
  int compared = 0;
  for (std::uint32_t seed = 0; seed < kSteps; ++seed) {
    const std::vector<std::int64_t> worlds = {4, 8, 12, 6};
    RandomStep step = MakeRandomStep(seed, worlds[seed % worlds.size()]);
    step.job.enable_parallel_optimizer = true;
    step.job.optimizer_sharding = {
        .shard_size = seed % 3 == 0 ? 2 : -1, .threshold_kb = 0, .level = seed % 5 == 0 ? 3 : 1};
    if (HasForeignMirror(step)) {
      continue;
    }
    EXPECT_EQ(Difference(step), "") << "seed " << seed;
    ++compared;
  }
  EXPECT_GT(compared, 40);
}

/// Shape of what a rank stores of each parameter.
std::vector<Shape> StoredShapes(const LocalProgram& program) {
  std::vector<Shape> shapes;
  for (const Parameter& parameter : program.local.parameters) {
    shapes.push_back(program.local.at(parameter.value).type.shape);
  }
  return shapes;
}

/// Kind, group of rank 0 and bytes of each collective on weights.
std::vector<std::string> WeightTraffic(const LocalProgram& program) {
  std::vector<std::string> lines;
  for (const CollectiveUse& use : CollectivesOf(program)) {
    const Node& node = program.local.at(use.node);
    if (node.reason != CommReason::kOptimizerShard &&
        node.reason != CommReason::kParameterGradient) {
      continue;
    }
    std::string line = node.op;
    for (const std::int64_t rank : GroupRanks(use.group, 0, 0)) {
      line += " " + std::to_string(rank);
    }
    lines.push_back(line + ": " + std::to_string(use.payload_bytes));
  }
  return lines;
}

TEST(WeightShard, StoresRowsAndGathersOnce) {
  const RandomStep step = Step(kColumns, kRows);
  const LocalProgram program = Compile(step.graph, step.job, RankId{0}).value();
  // w (8, 16): half of the columns, a quarter of the rows; v (16, 8): half of the rows, cut by 4.
  EXPECT_THAT(StoredShapes(program),
              ElementsAre(Shape{2, 8}, Shape{2, 8}, Shape{2, 8}, Shape{2, 8}));
  // 2 x 8 x 4 bytes are gathered, 8 x 8 x 4 scattered, over the ranks with the same half.
  EXPECT_THAT(WeightTraffic(program),
              ElementsAre("AllGather 0 2 4 6: 64", "AllGather 0 2 4 6: 64",
                          "ReduceScatter 0 2 4 6: 256", "ReduceScatter 0 2 4 6: 256"));
}

TEST(WeightShard, GroupsLeaveAMirrorOverTheOtherReplicas) {
  RandomStep step = Step(kBatch, kBatch);
  step.job.optimizer_sharding.shard_size = 2;
  const LocalProgram program = Compile(step.graph, step.job, RankId{0}).value();
  // Ranks 0 and 1 share a copy; 0, 2, 4 and 6 hold the same half of the rows, 4 x 16 x 4 bytes.
  EXPECT_THAT(WeightTraffic(program), testing::Contains("AllReduce 0 2 4 6: 256").Times(2));
}

TEST(WeightShard, LevelThreeGathersAgainWhatBackwardReads) {
  RandomStep step = Step(kColumns, kRows);
  step.job.optimizer_sharding.level = 3;
  const LocalProgram program = Compile(step.graph, step.job, RankId{0}).value();
  // The gradient of v needs x . w, that of w needs v: only v is gathered twice.
  EXPECT_THAT(WeightTraffic(program), testing::Contains("AllGather 0 2 4 6: 64").Times(3));
}

TEST(WeightShard, SmallOnesStayWhole) {
  RandomStep step = Step(kColumns, kRows);
  step.job.optimizer_sharding.threshold_kb = 1;  // w and v have 512 bytes
  const LocalProgram program = Compile(step.graph, step.job, RankId{0}).value();
  EXPECT_EQ(StoredShapes(program).front(), (Shape{8, 8}));
  EXPECT_EQ(program.diagnostics.size(), 0U);
}

TEST(WeightShard, WhatOptsOutStaysWhole) {
  RandomStep step = Step(kColumns, kRows);
  step.graph.parameters[0].parallel_optimizer = false;
  const LocalProgram program = Compile(step.graph, step.job, RankId{0}).value();
  EXPECT_THAT(StoredShapes(program),
              ElementsAre(Shape{8, 8}, Shape{2, 8}, Shape{8, 8}, Shape{2, 8}));
}

TEST(WeightShard, RowsThatReplicasDoNotDivideAreTold) {
  RandomStep step = Step(kColumns, kRows);
  step.job.optimizer_sharding.shard_size = 3;
  step.graph.parameters[0].place = static_cast<std::int32_t>(step.graph.stacks.size());
  step.graph.stacks.push_back({{.file = "net.py", .line = 46}});
  const LocalProgram program = Compile(step.graph, step.job, RankId{0}).value();
  ASSERT_EQ(program.diagnostics.size(), 2U);
  EXPECT_EQ(program.diagnostics[0].first_place, (SourcePlace{.file = "net.py", .line = 46}));
  EXPECT_EQ(program.diagnostics[0].code, "optimizer-whole");
  EXPECT_THAT(program.diagnostics[0].text, HasSubstr("'w' has 4 replicas, which groups of 3"));
}

TEST(WeightShard, MirrorsThatLeaveTheReplicasAreTold) {
  RandomStep step = Step(kInner, kInner);
  step.job.optimizer_sharding.shard_size = 2;
  const LocalProgram program = Compile(step.graph, step.job, RankId{0}).value();
  const auto told =
      std::ranges::find(program.diagnostics, "optimizer-foreign-mirror", &Diagnostic::code);
  ASSERT_NE(told, program.diagnostics.end());
  EXPECT_THAT(told->text, HasSubstr("'w'"));
}

}  // namespace
}  // namespace drydock::strategies
