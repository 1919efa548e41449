#include <gtest/gtest.h>

#include "strategies/document/json_codec.h"
#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"

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

TEST(ShardPlace, AllIllegalStrategiesAreNamedTheFirstOneAsTheError) {
  // 3 does not divide 8 devices, in lines 3 and 5; the legal one between is not mentioned.
  GraphBuilder builder("net");
  ValueId value = *builder.AddInput("x", {.shape = {24, 24}});
  for (const std::string_view op : {"ReLU", "Tanh", "GeLU"}) {
    value = *builder.Emit({.op = op, .inputs = {value}});
  }
  builder.SetOutputs({value});
  std::int32_t line = 3;
  for (const std::int64_t cut : {3, 4, 3}) {
    const std::int32_t given = builder.AddStack({{.file = "net.py", .line = line}});
    Node& node = builder.mutable_graph().nodes[static_cast<std::size_t>(line - 3)];
    node.in_strategy = Strategy{{cut, 1}};
    node.shard_place = given;
    ++line;
  }
  const auto program = Compile(builder.graph(), kEightRanks);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().place->line, 3);
  std::string also;
  for (const std::string& note : program.error().notes) {
    also += note.starts_with("also refused: ") ? note : "";
  }
  EXPECT_TRUE(also.starts_with("also refused: net.py:5: ")) << also;
  EXPECT_EQ(also.find("net.py:4"), std::string::npos);
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
