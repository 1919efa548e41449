#include <gtest/gtest.h>

#include "strategies/document/json_codec.h"
#include "strategies/operators/builder.h"
#include "strategies/program/program.h"

// A strategy is given in one line and the operator applied in another: refusals point to the first
// and name the second.
namespace drydock::strategies {
namespace {

const JobConfig kEightRanks = {.world_size = 8, .mode = ParallelMode::kSemiAutoParallel};

Graph RefusedStrategy(bool with_shard_place) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {8, 8}});
  const std::int32_t given = builder.AddStack({{.file = "net.py", .line = 3, .column = 9}});
  const std::int32_t applied = builder.AddStack(
      {{.file = "net.py", .line = 7, .column = 16, .text = "  return self.relu(x)"},
       {.file = "net.py", .line = 11}});
  builder.SetOutputs({*builder.Emit({.op = "ReLU", .inputs = {x}, .place = applied})});
  Graph graph = std::move(builder).Take();
  graph.nodes.front().in_strategy = Strategy{{3, 1}};
  graph.nodes.front().shard_place = with_shard_place ? given : -1;
  return graph;
}

TEST(ShardPlace, RefusalPointsToTheLineThatGivesTheStrategyAndNamesTheUse) {
  const auto program = Compile(RefusedStrategy(true), kEightRanks);
  ASSERT_FALSE(program);
  ASSERT_TRUE(program.error().place);
  EXPECT_EQ(program.error().place->line, 3);
  const std::vector<std::string>& notes = program.error().notes;
  ASSERT_GE(notes.size(), 2U);
  EXPECT_EQ(notes[notes.size() - 2], "the operator is applied at net.py:7: return self.relu(x)");
  EXPECT_EQ(notes.back(), "called at net.py:11");
}

TEST(ShardPlace, NothingIsNamedTwiceWhereUseAndStrategyShareALine) {
  Graph graph = RefusedStrategy(true);
  graph.nodes.front().shard_place = graph.nodes.front().place;
  const auto program = Compile(graph, kEightRanks);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().notes.back(), "called at net.py:11");
}

TEST(ShardPlace, RefusalPointsToTheUseIfOnlyThatIsKnown) {
  const auto program = Compile(RefusedStrategy(false), kEightRanks);
  ASSERT_FALSE(program);
  ASSERT_TRUE(program.error().place);
  EXPECT_EQ(program.error().place->line, 7);
}

TEST(ShardPlace, SurvivesTheGraphDocument) {
  const std::string text = WriteGraphDocument(RefusedStrategy(true), kEightRanks);
  const auto document = ReadGraphDocument(text, "net.json", {});
  ASSERT_TRUE(document) << document.error().message;
  const Graph& graph = document->graph;
  ASSERT_TRUE(ShardPlaceOf(graph, graph.nodes.front()));
  EXPECT_EQ(ShardPlaceOf(graph, graph.nodes.front())->line, 3);
}

}  // namespace
}  // namespace drydock::strategies
