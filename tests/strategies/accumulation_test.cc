#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"
#include "strategies/passes/prepare/micro_batches.h"
#include "strategies/program/collectives.h"
#include "strategies/reference/executor.h"
#include "tests/strategies/gradient_check.h"

/// Micro batches: a step that accumulates gradients computes what one with the whole batch
/// computes, and launches what it should.
namespace drydock::strategies {
namespace {

using checks::RandomArray;

ValueId Emit(GraphBuilder& builder, std::string_view op, std::vector<ValueId> inputs,
             AttrMap attrs = {}, Phase phase = Phase::kForward) {
  return *builder.Emit(
      {.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs), .phase = phase});
}

/// loss = sum of (x . w)^2 over `count` micro batches; w loses its gradient. `accumulates`: the
/// gradient is summed in a parameter, else by one sum.
Graph Step(std::int64_t count, bool accumulates, const Strategy& strategy) {
  GraphBuilder builder("net");
  ValueId x = *builder.AddInput("x", {.shape = {16, 8}});
  const ValueId w = *builder.AddParameter("w", {.shape = {8, 4}}, {});
  if (count > 1) {
    x = Emit(builder, "_MicroBatch", {x}, {{"micro_size", count}});
  }
  const NodeId product = *builder.AddNode({.op = "MatMul", .inputs = {x, w}});
  builder.mutable_graph().nodes[ToIndex(product)].in_strategy = strategy;
  ValueId loss = builder.graph().at(product).outputs[0];
  loss = Emit(builder, "ReduceSum", {Emit(builder, "Square", {loss})});
  if (count > 1) {
    loss = Emit(builder, "_MicroSum", {loss});
  }
  ValueId gradient = Emit(builder, "_Gradient", {loss, w});
  if (accumulates) {
    const ValueId sum = *builder.AddParameter(
        "accu_grads.w", {.shape = {8, 4}},
        {.role = ParameterRole::kAccumulatedGradient, .state_of = w, .requires_grad = false});
    gradient = Emit(builder, "Depend", {sum, gradient}, {}, Phase::kBackward);
    gradient = Emit(builder, "Muls", {gradient}, {{"other", 1.0}}, Phase::kBackward);
  }
  (void)Emit(builder, "AssignSub", {w, gradient}, {}, Phase::kOptimizer);
  builder.SetOutputs({loss});
  return std::move(builder).Take();
}

JobConfig Job(std::int64_t ranks) {
  JobConfig job{.world_size = ranks, .mode = ParallelMode::kSemiAutoParallel};
  job.dataset.kind = DatasetStrategy::Kind::kFullBatch;
  return job;
}

/// w after the step on rank 0, whose slice is all of it.
std::vector<double> WeightAfter(const Graph& step, std::int64_t ranks) {
  const auto program = Compile(step, Job(ranks));
  EXPECT_TRUE(program.has_value()) << (program ? "" : FormatError(program.error()));
  if (!program) {
    return {};
  }
  std::mt19937_64 random(7);
  StepData data{.inputs = {RandomArray({16, 8}, random, -1, 1)},
                .parameters = {RandomArray({8, 4}, random, -1, 1)}};
  if (program->from->traced.parameters.size() > 1) {
    data.parameters.push_back(FilledArray({8, 4}, 0.0));
  }
  const auto outcome = RunAllRanks(*program, data);
  EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : FormatError(outcome.error()));
  return outcome ? (*outcome)[0].parameters[0].data : std::vector<double>();
}

void ExpectNear(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], 1e-9) << i;
  }
}

const Strategy kRows = {{4, 1}, {1, 1}};
const Strategy kWhole = {{1, 1}, {1, 1}};

// The loss is a sum, so that of the micro batches is that of the whole batch.
TEST(Accumulation, UpdateIsThatOfTheWholeBatch) {
  const std::vector<double> whole = WeightAfter(Step(1, false, kWhole), 1);
  ASSERT_EQ(whole.size(), 32U);
  ExpectNear(WeightAfter(Step(4, true, kWhole), 1), whole);
  ExpectNear(WeightAfter(Step(4, true, kRows), 4), whole);
  ExpectNear(WeightAfter(Step(2, true, kRows), 4), whole);
}

// MindSpore finds no place for the gradient: "The pointer[grad_accu] is null".
TEST(Accumulation, WeightWithoutAccumulatorIsRefused) {
  const auto program = Compile(Step(4, false, kRows), Job(4));
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(program.error().message.find("'w'"), std::string::npos);
}

std::int64_t Kernels(const LocalProgram& program, std::string_view name) {
  std::int64_t count = 0;
  for (const Launch& launch : program.kernels.launches) {
    count += launch.kind == Launch::Kind::kKernel && program.kernels.at(launch.kernel).name == name
                 ? 1
                 : 0;
  }
  return count;
}

// 4 micro batches: a piece and a product forward, one product backward (of w) and one addition to
// the accumulator for each; losses are added 3 times; the gradient is reduced once, the loss of
// each micro batch once and the seed once.
TEST(Accumulation, KernelsAreThereForEachMicroBatch) {
  const auto program = Compile(Step(4, true, kRows), Job(4));
  ASSERT_TRUE(program.has_value()) << FormatError(program.error());
  EXPECT_EQ(Kernels(*program, "MatMul"), 8);
  EXPECT_EQ(Kernels(*program, "AssignAdd"), 4);
  EXPECT_EQ(Kernels(*program, "Add"), 3);
  EXPECT_EQ(Kernels(*program, "AddN"), 1);
  EXPECT_EQ(Kernels(*program, "AllReduce"), 1 + 4 + 1);
  EXPECT_EQ(CollectivesOf(*program).size(), 6U);
}

// A program is compiled for one micro batch: twice as many of them make no node more.
TEST(Accumulation, ProgramDoesNotGrowWithMicroBatches) {
  const auto two = Compile(Step(2, true, kRows), Job(4));
  const auto four = Compile(Step(4, true, kRows), Job(4));
  ASSERT_TRUE(two.has_value());
  ASSERT_TRUE(four.has_value());
  EXPECT_EQ(two->local.nodes.size(), four->local.nodes.size());
}

// 16 rows in 2 micro batches; twice as many are 32 rows in 4, a piece is 8 rows as before.
TEST(Accumulation, RecordedNetworkCanBeGivenMoreMicroBatches) {
  Graph doubled = Step(2, true, kRows);
  ASSERT_TRUE(MultiplyMicroBatches(doubled, 2));
  EXPECT_EQ(doubled.at(doubled.inputs.front()).type.shape, (Shape{32, 8}));
  const auto program = Compile(doubled, Job(4));
  ASSERT_TRUE(program.has_value()) << FormatError(program.error());
  // A product forward and one backward for each of 4.
  EXPECT_EQ(Kernels(*program, "MatMul"), 8);
  EXPECT_EQ(Kernels(*program, "AssignAdd"), 4);
}

TEST(Accumulation, NetworkOfAWholeBatchIsLeftAlone) {
  Graph whole = Step(1, false, kWhole);
  EXPECT_FALSE(MultiplyMicroBatches(whole, 2));
  EXPECT_EQ(whole.at(whole.inputs.front()).type.shape, (Shape{16, 8}));
}

// Recorded: a batch that the data set cuts is gathered once, then every rank takes its rows of each
// piece.
TEST(Accumulation, BatchThatTheDataSetCutsIsGatheredOnce) {
  JobConfig job = Job(4);
  job.dataset.kind = DatasetStrategy::Kind::kDataParallel;
  const auto program = Compile(Step(4, true, kRows), job);
  ASSERT_TRUE(program.has_value()) << FormatError(program.error());
  EXPECT_EQ(Kernels(*program, "AllGather"), 1);
  EXPECT_EQ(Kernels(*program, "StridedSlice"), 8);
}

}  // namespace
}  // namespace drydock::strategies
