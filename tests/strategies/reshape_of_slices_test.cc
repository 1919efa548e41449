#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"

// Reshape with the attribute skip_redistribution.
namespace drydock::strategies {
namespace {

/// ReLU cut (1, 8), Reshape to (64, 64), ReLU cut (8, 1) or as `last` says, on 8 ranks.
Result<LocalProgram> CompileReshape(bool skip, Strategy last = {{8, 1}}) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {64, 64}});
  const NodeId before = *builder.AddNode({.op = "ReLU", .inputs = {x}});
  const ValueId reshaped = *builder.Emit(
      {.op = "Reshape",
       .inputs = {builder.graph().at(before).outputs.front()},
       .attrs = {{"shape", std::vector<std::int64_t>{64, 64}}, {"skip_redistribution", skip}}});
  const NodeId after = *builder.AddNode({.op = "ReLU", .inputs = {reshaped}});
  builder.mutable_graph().nodes[ToIndex(before)].in_strategy = Strategy{{1, 8}};
  builder.mutable_graph().nodes[ToIndex(after)].in_strategy = std::move(last);
  builder.SetOutputs({builder.graph().at(after).outputs.front()});
  JobConfig config{.world_size = 8, .mode = ParallelMode::kSemiAutoParallel};
  config.dataset.kind = DatasetStrategy::Kind::kFullBatch;
  return Compile(std::move(builder).Take(), config);
}

std::ptrdiff_t Count(const LocalProgram& program, std::string_view op) {
  return std::ranges::count(program.local.nodes, op, &Node::op);
}

// Slices of (64, 64 / 8) become slices of (64 / 8, 64): 512 elements each, none of them is sent.
TEST(ReshapeOfSlices, NothingIsExchanged) {
  const auto program = CompileReshape(true);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(Count(*program, "AllGather"), 0);
  ASSERT_EQ(Count(*program, "Reshape"), 1);
  const auto reshape = std::ranges::find(program->local.nodes, "Reshape", &Node::op);
  EXPECT_EQ(program->local.at(reshape->outputs.front()).type.shape, (Shape{8, 64}));
}

TEST(ReshapeOfSlices, WithoutTheAttributeTheTensorIsRedistributed) {
  const auto program = CompileReshape(false);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(Count(*program, "AllGather"), 1);
}

// (64, 8) has 512 elements, (64 / 4, 64) has 1,024.
TEST(ReshapeOfSlices, SlicesThatDoNotFillThoseBehindAreRefused) {
  const auto program = CompileReshape(true, {{4, 1}});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "Reshape:skip-redistribution");
  EXPECT_NE(program.error().message.find("(64, 8)"), std::string::npos) << program.error().message;
}

}  // namespace
}  // namespace drydock::strategies
