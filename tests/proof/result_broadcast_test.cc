#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"
#include "strategies/program/agreement.h"
#include "strategies/reference/executor.h"

// Proof by numbers of `pipeline_result_broadcast`: what the last stage of a prediction returns is
// there on every rank of every stage, and equals what one device computes.
namespace drydock::strategies {
namespace {

struct PredictionShape {
  std::int64_t world = 4;
  std::int64_t stages = 2;
};

void PrintTo(const PredictionShape& shape, std::ostream* out) {
  *out << shape.world << " ranks, " << shape.stages << " stages";
}

constexpr std::int64_t kRows = 12;
constexpr std::int64_t kColumns = 8;

/// y = relu(... relu(x w0) w1 ...), one product per stage; returns y and its largest of each row.
Graph Prediction(std::int64_t stages, std::int64_t cuts) {
  GraphBuilder builder("net");
  ValueId x = *builder.AddInput("x", {.shape = {kRows, kColumns}});
  const auto in_stage = [&](std::int64_t stage, const Strategy& strategy) {
    builder.mutable_graph().nodes.back().stage = static_cast<std::int32_t>(stage);
    builder.mutable_graph().nodes.back().in_strategy = strategy;
  };
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const ValueId w =
        *builder.AddParameter("w" + std::to_string(stage), {.shape = {kColumns, kColumns}}, {});
    x = *builder.Emit({.op = "MatMul", .inputs = {x, w}, .scope = "Default/layer"});
    in_stage(stage, {{1, cuts}, {cuts, 1}});
    x = *builder.Emit({.op = "ReLU", .inputs = {x}, .scope = "Default/layer"});
    in_stage(stage, {{cuts, 1}});
  }
  const ValueId most = *builder.Emit({.op = "ReduceMax",
                                      .inputs = {x},
                                      .attrs = {{"axis", std::vector<std::int64_t>{1}}},
                                      .scope = "Default/head"});
  in_stage(stages - 1, {{cuts, 1}});
  builder.SetOutputs({x, most});
  return std::move(builder).Take();
}

JobConfig ConfigOf(const PredictionShape& shape) {
  JobConfig config{.world_size = shape.world, .mode = ParallelMode::kSemiAutoParallel};
  config.training = false;
  config.pipeline_stages = shape.stages;
  config.pipeline_result_broadcast = true;
  config.any_device_count = true;
  config.dataset.kind = DatasetStrategy::Kind::kFullBatch;
  return config;
}

NdArray Numbers(const Shape& shape, int seed) {
  NdArray array = FilledArray(shape, 0.0);
  for (std::size_t i = 0; i < array.data.size(); ++i) {
    array.data[i] = std::sin(static_cast<double>(i + 1) * (seed + 1));
  }
  return array;
}

StepData DataOf(std::int64_t stages) {
  StepData data{.inputs = {Numbers({kRows, kColumns}, 0)}};
  for (int stage = 1; stage <= stages; ++stage) {
    data.parameters.push_back(Numbers({kColumns, kColumns}, stage));
  }
  return data;
}

class ResultBroadcast : public testing::TestWithParam<PredictionShape> {};

TEST_P(ResultBroadcast, EveryRankHasWhatOneDeviceComputes) {
  const PredictionShape shape = GetParam();
  const std::int64_t devices = shape.world / shape.stages;
  const Graph network = Prediction(shape.stages, devices);
  const auto job = CompileJob(JobOf(network, ConfigOf(shape)), RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  EXPECT_TRUE(CheckAgreement(*job).holds);
  JobConfig alone{.world_size = 1};
  alone.training = false;
  const auto one = CompileJob(JobOf(network, alone), RankId{0});
  ASSERT_TRUE(one.has_value()) << FormatError(one.error());
  const StepData data = DataOf(shape.stages);
  const auto expected = RunJob(*one, std::vector<StepData>{data});
  const auto ranks = RunJob(*job, std::vector<StepData>{data});
  ASSERT_TRUE(expected && ranks) << FormatError(expected ? ranks.error() : expected.error());
  for (const RankOutcome& rank : *ranks) {
    ASSERT_EQ(rank.outputs.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      const NdArray& whole = expected->front().outputs[i];
      ASSERT_EQ(rank.outputs[i].shape, whole.shape);
      EXPECT_TRUE(std::ranges::equal(rank.outputs[i].data, whole.data,
                                     [](double a, double b) { return std::abs(a - b) < 1e-9; }));
    }
  }
}

// Ranks at one position of all stages: those of rank 0 are a whole number of stages apart.
TEST_P(ResultBroadcast, EachResultIsSummedOverOneRankOfEachStage) {
  const PredictionShape shape = GetParam();
  const std::int64_t devices = shape.world / shape.stages;
  const auto job = CompileJob(JobOf(Prediction(shape.stages, devices), ConfigOf(shape)), RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  std::vector<std::int64_t> expected;
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    expected.push_back(stage * devices);
  }
  for (const LocalProgram& program : job->programs) {
    const std::vector<RankCollective> issued = SequenceOf(program).collectives;
    ASSERT_GE(issued.size(), 2U);
    // Rows of 8 floats, then one float a row.
    EXPECT_EQ(issued[issued.size() - 2].payload_bytes, kRows * kColumns * 4);
    EXPECT_EQ(issued.back().payload_bytes, kRows * 4);
    for (const RankCollective& sum : {issued[issued.size() - 2], issued.back()}) {
      EXPECT_EQ(sum.kind, "AllReduce");
      EXPECT_TRUE(sum.group.of_job);
      EXPECT_EQ(GroupRanks(sum.group, 0, 0), expected);
    }
  }
}

// A job that trains keeps its loss where it is.
TEST(ResultBroadcastOfTraining, NothingIsAdded) {
  JobConfig config = ConfigOf({.world = 4, .stages = 2});
  config.training = true;
  config.pipeline_result_broadcast = false;
  const auto without = CompileJob(JobOf(Prediction(2, 2), config), RankId{0});
  config.pipeline_result_broadcast = true;
  const auto with = CompileJob(JobOf(Prediction(2, 2), config), RankId{0});
  ASSERT_TRUE(without && with);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(SequenceOf(with->programs[stage]).collectives.size(),
              SequenceOf(without->programs[stage]).collectives.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Jobs, ResultBroadcast,
                         testing::Values(PredictionShape{4, 2}, PredictionShape{8, 2},
                                         PredictionShape{12, 3}, PredictionShape{16, 4}));

}  // namespace
}  // namespace drydock::strategies
