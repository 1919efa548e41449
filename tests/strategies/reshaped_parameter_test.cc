#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"

// Parameters that are only reshaped: cut along the first dimension, or as the Reshape's strategy
// says. Expected values: the reference's own
// tests/ut/python/parallel/test_reshape_parameter_scalar_or_other_shape.py.
namespace drydock::strategies {
namespace {

struct Question {
  Shape weight = {};
  Shape target = {};
  std::optional<Strategy> strategy = {};  ///< Of the Reshape.
  bool cast = false;                      ///< Between the weight and the Reshape.
};

/// x + Reshape(w), whole, on 8 ranks.
Result<LocalProgram> CompileSum(const Question& question) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {32, 64}});
  ValueId w = *builder.AddParameter("w", {.shape = question.weight}, {});
  if (question.cast) {
    w = *builder.Emit({.op = "Cast", .inputs = {w}, .attrs = {{"dtype", "float16"}}});
    w = *builder.Emit({.op = "Cast", .inputs = {w}, .attrs = {{"dtype", "float32"}}});
  }
  const NodeId reshape =
      *builder.AddNode({.op = "Reshape", .inputs = {w}, .attrs = {{"shape", question.target}}});
  builder.mutable_graph().nodes[ToIndex(reshape)].in_strategy = question.strategy;
  const NodeId sum =
      *builder.AddNode({.op = "Add", .inputs = {x, builder.graph().at(reshape).outputs.front()}});
  builder.mutable_graph().nodes[ToIndex(sum)].in_strategy = Strategy{{1, 1}, {1, 1}};
  builder.SetOutputs({builder.graph().at(sum).outputs.front()});
  JobConfig config{.world_size = 8, .mode = ParallelMode::kSemiAutoParallel};
  config.dataset.kind = DatasetStrategy::Kind::kFullBatch;
  return Compile(std::move(builder).Take(), config);
}

Shape SliceOfWeight(const LocalProgram& program) {
  return program.local.at(program.local.parameters.front().value).type.shape;
}

std::ptrdiff_t Gathers(const LocalProgram& program) {
  return std::ranges::count(program.local.nodes, "AllGather", &Node::op);
}

// 2048 / 8.
TEST(ReshapedParameter, IsCutIntoAllDevicesAndGathered) {
  const auto program = CompileSum({.weight = {2048}, .target = {32, 64}});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(SliceOfWeight(*program), (Shape{256}));
  EXPECT_EQ(Gathers(*program), 1);
}

TEST(ReshapedParameter, IsCutBehindACastToo) {
  const auto program = CompileSum({.weight = {64, 32}, .target = {32, 64}, .cast = true});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(SliceOfWeight(*program), (Shape{8, 32}));
}

TEST(ReshapedParameter, StaysWholeWhereTheFirstDimensionDoesNotDivide) {
  for (const Shape& weight : {Shape{}, Shape{1}}) {
    const auto program = CompileSum({.weight = weight, .target = {1, 1}});
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(SliceOfWeight(*program), weight);
    EXPECT_EQ(Gathers(*program), 0);
  }
}

// The reference drops such a Reshape before strategies are looked at: the sum wants it whole.
TEST(ReshapedParameter, ReshapeToTheShapeThatIsThereIsNone) {
  const auto program = CompileSum({.weight = {32, 64}, .target = {32, 64}});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(SliceOfWeight(*program), (Shape{32, 64}));
  EXPECT_EQ(std::ranges::count(program->local.nodes, "Reshape", &Node::op), 0);
}

// 2048 / 4.
TEST(ReshapedParameter, StrategyOfTheReshapeCutsIt) {
  const auto program =
      CompileSum({.weight = {2048}, .target = {32, 64}, .strategy = Strategy{{4}}});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(SliceOfWeight(*program), (Shape{512}));
  EXPECT_EQ(Gathers(*program), 1);
}

TEST(ReshapedParameter, OnesAreAStrategyOfAScalar) {
  const auto program = CompileSum({.weight = {}, .target = {1, 1}, .strategy = Strategy{{1}}});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(SliceOfWeight(*program), Shape{});
}

TEST(ReshapedParameter, IllegalStrategyOfTheReshapeIsRefused) {
  const auto program =
      CompileSum({.weight = {2048}, .target = {32, 64}, .strategy = Strategy{{3}}});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "Reshape:strategy-divisible");
}

TEST(ReshapedParameter, StrategyOfAReshapeBehindAnotherOperatorIsRefused) {
  const auto program =
      CompileSum({.weight = {2048}, .target = {32, 64}, .strategy = Strategy{{4}}, .cast = true});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "Reshape:strategy-not-allowed");
}

}  // namespace
}  // namespace drydock::strategies
