#include <algorithm>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"

/// What a network that is not trained returns (mindspore ops_info/virtual_dataset_info.cc).
namespace drydock::strategies {
namespace {

/// A product of `rows` rows whose 16 columns are cut into eight parts.
Graph ColumnsOf(std::int64_t rows) {
  GraphBuilder builder("predict");
  const ValueId x = *builder.AddInput("x", {.shape = {rows, 32}});
  const ValueId w = *builder.AddParameter("w", {.shape = {32, 16}}, {});
  const NodeId product = *builder.AddNode({.op = "MatMul", .inputs = {x, w}});
  builder.mutable_graph().nodes[ToIndex(product)].in_strategy = Strategy{{1, 1}, {1, 8}};
  builder.SetOutputs({builder.graph().at(product).outputs[0]});
  return std::move(builder).Take();
}

JobConfig Prediction(DatasetStrategy::Kind dataset) {
  JobConfig job{.world_size = 8, .mode = ParallelMode::kSemiAutoParallel, .training = false};
  job.dataset.kind = dataset;
  if (dataset == DatasetStrategy::Kind::kCuts) {
    job.dataset.cuts = {{1, 1}};
  }
  return job;
}

LocalProgram Compiled(Graph graph, const JobConfig& job) {
  Result<LocalProgram> program = Compile(std::move(graph), job);
  EXPECT_TRUE(program.has_value()) << FormatError(program.error());
  return program ? *std::move(program) : LocalProgram();
}

struct OutputCase {
  const char* name;
  DatasetStrategy::Kind dataset;
  bool training;
  std::int64_t rows;
  Shape slice;  ///< Of the result, on every rank.
  friend void PrintTo(const OutputCase& one, std::ostream* out) { *out << one.name; }
};

class OutputNode : public testing::TestWithParam<OutputCase> {};

TEST_P(OutputNode, DecidesTheLayoutOfTheResult) {
  JobConfig job = Prediction(GetParam().dataset);
  job.training = GetParam().training;
  const LocalProgram program = Compiled(ColumnsOf(GetParam().rows), job);
  ASSERT_EQ(program.output_layouts.size(), 1U);
  ASSERT_TRUE(program.output_layouts[0].has_value());
  EXPECT_EQ(SliceShape(*program.output_layouts[0]), GetParam().slice);
  EXPECT_EQ(program.local.at(program.local.outputs[0]).type.shape, GetParam().slice);
  EXPECT_FALSE(std::ranges::any_of(program.local.nodes,
                                   [](const Node& node) { return node.op == "_VirtualOutput"; }));
}

// The product gives (rows, 16 / 8) to a rank. Data parallel: (rows / 8, 16); whole: (rows, 16).
INSTANTIATE_TEST_SUITE_P(
    Jobs, OutputNode,
    testing::Values(
        OutputCase{"data parallel", DatasetStrategy::Kind::kDataParallel, false, 64, {8, 16}},
        OutputCase{"full batch", DatasetStrategy::Kind::kFullBatch, false, 64, {64, 16}},
        OutputCase{"any rows divide by 1", DatasetStrategy::Kind::kFullBatch, false, 28, {28, 16}},
        OutputCase{"cuts given", DatasetStrategy::Kind::kCuts, false, 64, {64, 2}},
        OutputCase{"training", DatasetStrategy::Kind::kDataParallel, true, 64, {64, 2}}));

TEST(OutputNode, FirstDimensionThatDoesNotDivideStaysAsItIs) {
  // Twelve rows, cut into four parts, for eight ranks.
  GraphBuilder builder("predict");
  const ValueId x = *builder.AddInput("x", {.shape = {64, 32}});
  const ValueId w = *builder.AddParameter("w", {.shape = {32, 12}}, {});
  NodeSpec spec{.op = "MatMul", .inputs = {w, x}};
  spec.attrs = {{"transpose_a", true}, {"transpose_b", true}};
  const NodeId product = *builder.AddNode(std::move(spec));
  builder.mutable_graph().nodes[ToIndex(product)].in_strategy = Strategy{{1, 4}, {1, 1}};
  builder.SetOutputs({builder.graph().at(product).outputs[0]});
  const LocalProgram program =
      Compiled(std::move(builder).Take(), Prediction(DatasetStrategy::Kind::kDataParallel));
  ASSERT_EQ(program.local.outputs.size(), 1U);
  EXPECT_EQ(program.local.at(program.local.outputs[0]).type.shape, (Shape{3, 64}));
}

TEST(OutputNode, ScalarsAndGradientsStayAsTheyAre) {
  GraphBuilder builder(ColumnsOf(64));
  const ValueId product = builder.graph().outputs[0];
  const ValueId w = builder.graph().parameters[0].value;
  const ValueId loss = *builder.Emit({.op = "ReduceMean", .inputs = {product}});
  const NodeId gradient = *builder.AddNode({.op = "_Gradient", .inputs = {loss, w}});
  builder.SetOutputs({loss, builder.graph().at(gradient).outputs[0], product});
  const LocalProgram program =
      Compiled(std::move(builder).Take(), Prediction(DatasetStrategy::Kind::kDataParallel));
  ASSERT_EQ(program.local.outputs.size(), 3U);
  EXPECT_EQ(program.local.at(program.local.outputs[0]).type.shape, Shape());
  EXPECT_EQ(program.local.at(program.local.outputs[1]).type.shape, (Shape{32, 2}));
  EXPECT_EQ(program.local.at(program.local.outputs[2]).type.shape, (Shape{8, 16}));
}

TEST(OutputNode, SearchedStrategiesAreThoseWithoutIt) {
  JobConfig job = Prediction(DatasetStrategy::Kind::kDataParallel);
  job.mode = ParallelMode::kAutoParallel;
  job.search_mode = SearchMode::kShardingPropagation;
  const LocalProgram predicts = Compiled(ColumnsOf(64), job);
  job.training = true;
  const LocalProgram trains = Compiled(ColumnsOf(64), job);
  ASSERT_EQ(predicts.from->plans.size(), trains.from->plans.size() + 1);
  for (std::size_t n = 0; n < trains.from->plans.size(); ++n) {
    EXPECT_EQ(predicts.from->plans[n].sharding->strategy, trains.from->plans[n].sharding->strategy);
  }
  EXPECT_EQ(predicts.from->plans.back().sharding->strategy, (Strategy{{8, 1}}));
}

}  // namespace
}  // namespace drydock::strategies
