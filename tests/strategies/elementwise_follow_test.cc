#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"

// elementwise_op_strategy_follow: behind an element-wise operator the search wants no
// redistribution.
namespace drydock::strategies {
namespace {

/// Add(ReLU(x) cut by rows, MatMul(x, w) cut by columns), 8 x 8 on 8 ranks: one of the two has to
/// be redistributed.
Result<LocalProgram> CompileTwoSides(bool follow, std::string_view last_op) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {8, 8}});
  const ValueId w = *builder.AddParameter("w", {.shape = {8, 8}}, {});
  const NodeId relu = *builder.AddNode({.op = "ReLU", .inputs = {x}});
  const NodeId product = *builder.AddNode({.op = "MatMul", .inputs = {x, w}});
  builder.mutable_graph().nodes[ToIndex(relu)].in_strategy = Strategy{{8, 1}};
  builder.mutable_graph().nodes[ToIndex(product)].in_strategy = Strategy{{1, 1}, {1, 8}};
  const ValueId left = builder.graph().at(relu).outputs.front();
  const ValueId right = builder.graph().at(product).outputs.front();
  const bool two = last_op == "Add";
  builder.SetOutputs({*builder.Emit({.op = last_op,
                                     .inputs = two ? std::vector{left, right} : std::vector{left},
                                     .attrs = two ? AttrMap{} : AttrMap{{"axis", 0}}})});
  return Compile(std::move(builder).Take(), {.world_size = 8,
                                             .mode = ParallelMode::kAutoParallel,
                                             .search_mode = SearchMode::kShardingPropagation,
                                             .elementwise_op_strategy_follow = follow});
}

Strategy StrategyOfLast(const LocalProgram& program) {
  return program.from->plans.back().sharding->strategy;
}

// Both choices communicate alike; making ReLU's result whole joins on dimension 0, which computes
// less, so the columns win.
TEST(ElementwiseFollow, WithoutItTheCheaperSideDecides) {
  const auto program = CompileTwoSides(false, "Add");
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(StrategyOfLast(*program), (Strategy{{1, 8}, {1, 8}}));
}

TEST(ElementwiseFollow, WithItTheElementwiseProducerDecides) {
  const auto program = CompileTwoSides(true, "Add");
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(StrategyOfLast(*program), (Strategy{{8, 1}, {8, 1}}));
}

// Softmax over the rows cannot keep them cut: then redistribution is taken after all.
TEST(ElementwiseFollow, ImpossibleFollowingFallsBackToRedistribution) {
  const auto program = CompileTwoSides(true, "Softmax");
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(StrategyOfLast(*program).front().front(), 1);
}

}  // namespace
}  // namespace drydock::strategies
