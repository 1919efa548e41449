#include <gmock/gmock.h>
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

/// Two products with one weight of shape (32, 16), made in line 5, used in lines 7 and 8.
Graph TwoUses(const Strategy& first, const Strategy& second) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {16, 32}});
  const std::int32_t made = builder.AddStack({{.file = "net.py", .line = 5}});
  const ValueId w = *builder.AddParameter("w", {.shape = {32, 16}}, {.place = made});
  std::vector<ValueId> products;
  for (const Strategy& strategy : {first, second}) {
    const auto line = static_cast<std::int32_t>(7 + products.size());
    const std::int32_t place =
        builder.AddStack({{.file = "net.py", .line = line, .text = "  self.mm(x, self.w)"}});
    products.push_back(*builder.Emit({.op = "MatMul", .inputs = {x, w}, .place = place}));
    builder.mutable_graph().nodes.back().in_strategy = strategy;
  }
  builder.SetOutputs(products);
  return std::move(builder).Take();
}

TEST(MadePlace, WeightInTwoLayoutsIsRefusedWhereItIsMadeAndItsUsesAreNotes) {
  // Eight rows' parts of 4 rows in line 7, eight columns' parts of 2 in line 8.
  const auto program = Compile(TwoUses({{1, 8}, {8, 1}}, {{1, 1}, {1, 8}}), kEightRanks);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "parameter:two-layouts");
  EXPECT_EQ(program.error().place, (SourcePlace{.file = "net.py", .line = 5}));
  const std::vector<std::string>& notes = program.error().notes;
  ASSERT_GE(notes.size(), 2U);
  EXPECT_EQ(notes[0], "'MatMul' uses it at net.py:7: self.mm(x, self.w)");
  EXPECT_EQ(notes[1], "'MatMul' uses it at net.py:8: self.mm(x, self.w)");
}

TEST(MadePlace, CutThatDoesNotDivideAWeightNamesTheLineThatMakesIt) {
  const auto program = Compile(TwoUses({{1, 1}, {1, 3}}, {{8, 1}, {1, 1}}), kEightRanks);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().place->line, 7);
  EXPECT_THAT(program.error().notes,
              ::testing::Contains("parameter 'w' of shape (32, 16) is made at net.py:5"));
}

TEST(MadePlace, ShapesThatDoNotFitNameTheLineThatMakesTheWeight) {
  Graph graph = TwoUses({{8, 1}, {1, 1}}, {{8, 1}, {1, 1}});
  const ValueId w = graph.parameters[0].value;
  GraphBuilder builder(std::move(graph));
  const auto added = builder.AddNode({.op = "MatMul", .inputs = {w, w}, .place = 1});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().place->line, 7);
  // Once, although both operands are this weight.
  EXPECT_EQ(added.error().notes,
            (std::vector<std::string>{"parameter 'w' of shape (32, 16) is made at net.py:5"}));
}

TEST(LayerPlace, OperatorOfALoopIsRefusedWhereItsLayerIsMade) {
  Graph graph = RefusedStrategy(false);
  SourceStack& stack = graph.stacks[static_cast<std::size_t>(graph.nodes.front().place)];
  stack.layer = SourcePlace{.file = "net.py", .line = 2, .text = "loss = nn.MSELoss()"};
  const auto program = Compile(graph, kEightRanks);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().place->line, 2);
  EXPECT_THAT(program.error().notes,
              ::testing::Contains("the operator is applied at net.py:7: return self.relu(x)"));
  const auto read = ReadGraphDocument(WriteGraphDocument(graph, kEightRanks), "net.json", {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(PlaceOf(read->graph, read->graph.nodes.front()), stack.layer);
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
