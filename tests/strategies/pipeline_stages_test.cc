#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"
#include "strategies/program/agreement.h"

/// A network in two stages of two ranks: what each stage has, what passes between them, and what is
/// refused.
namespace drydock::strategies {
namespace {

struct TwoLayers {
  std::int32_t first_stage = 0;
  std::int32_t second_stage = 1;
  std::int64_t stages = 2;
  bool auxiliary = false;  ///< The first layer adds its sum to the loss.
  bool scaled = false;     ///< Gradients are multiplied with 1 / scale, the loss with the scale.
};

/// y = sum(relu(x w0) w1), one MatMul per stage, trained; 4 ranks.
TracedJob Network(const TwoLayers& cells) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {8, 16}});
  const ValueId w0 = *builder.AddParameter("w0", {.shape = {16, 32}}, {});
  const ValueId w1 = *builder.AddParameter("w1", {.shape = {32, 4}}, {});
  const ValueId piece =
      *builder.Emit({.op = "_MicroBatch", .inputs = {x}, .attrs = {{"micro_size", 4}}});
  const ValueId a = *builder.Emit({.op = "MatMul", .inputs = {piece, w0}, .scope = "Default/a"});
  const Strategy whole = {{1, 1}, {1, 1}};
  builder.mutable_graph().nodes.back().stage = cells.first_stage;
  builder.mutable_graph().nodes.back().in_strategy = whole;
  const ValueId b = *builder.Emit({.op = "MatMul", .inputs = {a, w1}, .scope = "Default/b"});
  builder.mutable_graph().nodes.back().stage = cells.second_stage;
  builder.mutable_graph().nodes.back().in_strategy = whole;
  ValueId loss = *builder.Emit({.op = "ReduceSum", .inputs = {b}});
  if (cells.auxiliary) {
    const ValueId aux = *builder.Emit({.op = "ReduceSum", .inputs = {a}, .scope = "Default/a"});
    builder.mutable_graph().nodes.back().stage = cells.first_stage;
    loss = *builder.Emit({.op = "Add", .inputs = {loss, aux}});
  }
  ValueId factor = kNoValue;
  if (cells.scaled) {
    const ValueId scale = *builder.AddParameter("scale", {}, {});
    factor = *builder.Emit({.op = "Reciprocal", .inputs = {scale}});
    loss = *builder.Emit({.op = "Mul", .inputs = {loss, scale}});
  }
  const ValueId sum = *builder.Emit({.op = "_MicroSum", .inputs = {loss}});
  const NodeId gradient = *builder.AddNode({.op = "_Gradient", .inputs = {sum, w0, w1}});
  const std::vector<ValueId> gradients = builder.graph().at(gradient).outputs;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId weight = i == 0 ? w0 : w1;
    const ValueId accumulator = *builder.AddParameter(
        "accu_grads.w" + std::to_string(i), builder.TypeOf(weight),
        {.role = ParameterRole::kAccumulatedGradient, .state_of = weight, .requires_grad = false});
    ValueId all = *builder.Emit({.op = "Depend", .inputs = {accumulator, gradients[i]}});
    all = cells.scaled ? *builder.Emit({.op = "Mul", .inputs = {all, factor}}) : all;
    (void)*builder.Emit({.op = "AssignSub", .inputs = {weight, all}});
  }
  builder.SetOutputs({sum});
  JobConfig config{.world_size = 4, .mode = ParallelMode::kSemiAutoParallel};
  config.any_device_count = true;
  config.pipeline_stages = cells.stages;
  config.dataset.kind = DatasetStrategy::Kind::kFullBatch;
  return JobOf(builder.graph(), config);
}

std::vector<std::string> ParametersOf(const LocalProgram& program) {
  std::vector<std::string> names;
  for (const Parameter& parameter : program.local.parameters) {
    names.push_back(program.local.at(parameter.value).name);
  }
  return names;
}

std::string RefusalOf(const TwoLayers& cells) {
  const auto job = CompileJob(Network(cells), RankId{0});
  return job ? "" : job.error().message;
}

TEST(PipelineStages, EveryStageIsAProgramWithItsOwnWeights) {
  const auto job = CompileJob(Network({}), RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  ASSERT_EQ(job->programs.size(), 2U);
  ASSERT_EQ(job->classes.size(), 2U);
  EXPECT_EQ(RankSetText(job->classes[0].ranks), "0-1");
  EXPECT_EQ(RankSetText(job->classes[1].ranks), "2-3");
  EXPECT_EQ(ParametersOf(job->programs[0]), (std::vector<std::string>{"w0", "accu_grads.w0"}));
  EXPECT_EQ(ParametersOf(job->programs[1]), (std::vector<std::string>{"w1", "accu_grads.w1"}));
}

// The scale is used by the loss of the last stage and, outside of all stages, for the gradients of
// both: each stage has its own.
TEST(PipelineStages, AParameterThatNoStageTrainsIsInAllThatReadIt) {
  const auto job = CompileJob(Network({.scaled = true}), RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  EXPECT_EQ(ParametersOf(job->programs[0]),
            (std::vector<std::string>{"w0", "accu_grads.w0", "scale"}));
  EXPECT_EQ(ParametersOf(job->programs[1]),
            (std::vector<std::string>{"w1", "accu_grads.w1", "scale"}));
}

// Four micro batches of 2 rows: each stage sends and receives 4 tensors of 2 x 32 floats = 256 B;
// stage 0 the activations, stage 1 their gradients.
TEST(PipelineStages, EveryMicroBatchPassesThereAndBack) {
  const auto job = CompileJob(Network({}), RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  for (const LocalProgram& program : job->programs) {
    std::vector<std::string> kinds;
    for (const RankCollective& item : SequenceOf(program).collectives) {
      if (item.half != PointToPoint::kNone) {
        kinds.emplace_back(item.kind);
        EXPECT_EQ(item.payload_bytes, 256);
        EXPECT_EQ(GroupSize(item.group), 4);
      }
    }
    EXPECT_EQ(kinds.size(), 8U);
    EXPECT_EQ(std::ranges::count(kinds, "Send"), 4);
  }
  const Agreement agreement = CheckAgreement(*job);
  EXPECT_TRUE(agreement.holds) << agreement.first_conflict;
}

// The gradient of a number that the first stage adds to the loss is 1, whatever the micro batch: it
// is sent for each all the same. Two tensors there and two back, times four.
TEST(PipelineStages, NumbersPassForEveryMicroBatch) {
  const auto job = CompileJob(Network({.auxiliary = true}), RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  for (const LocalProgram& program : job->programs) {
    std::vector<std::string> kinds;
    for (const RankCollective& item : SequenceOf(program).collectives) {
      if (item.half != PointToPoint::kNone) {
        kinds.emplace_back(item.kind);
      }
    }
    EXPECT_EQ(std::ranges::count(kinds, "Send"), 8);
    EXPECT_EQ(std::ranges::count(kinds, "Receive"), 8);
  }
  const Agreement agreement = CheckAgreement(*job);
  EXPECT_TRUE(agreement.holds) << agreement.first_conflict;
}

TEST(PipelineStages, OnlyWantedStagesGetKernels) {
  const auto whole = CompileJob(Network({}), RankId{0});
  TracedJob traced = Network({});
  traced.wanted = {.ranges = {{.first = 3, .last = 3}}};
  const auto executor = MakeExecutor(2);
  const auto part = CompileJob(std::move(traced), RankId{0}, {.executor = executor.get()});
  ASSERT_TRUE(whole.has_value() && part.has_value());
  ASSERT_EQ(part->programs.size(), 2U);
  EXPECT_TRUE(part->programs[0].kernels.launches.empty());
  const auto kernels = [](const LocalProgram& program) {
    std::vector<KernelId> order;
    for (const Launch& launch : program.kernels.launches) {
      order.push_back(launch.kernel);
    }
    return order;
  };
  EXPECT_FALSE(kernels(whole->programs[1]).empty());
  EXPECT_EQ(kernels(part->programs[1]), kernels(whole->programs[1]));
}

TEST(PipelineStages, AReceiveWithoutItsSendIsAConflict) {
  auto job = CompileJob(Network({}), RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  // Both classes run the program of stage 0: nobody receives what stage 0 sends.
  job->classes[1].runs = {0};
  const Agreement agreement = CheckAgreement(*job);
  EXPECT_FALSE(agreement.holds);
  EXPECT_NE(agreement.first_conflict.find("waits forever in Send"), std::string::npos)
      << agreement.first_conflict;
}

/// The line that applies the first product.
constexpr std::string_view kFirstLine = "net.py:11";

/// What the check says when the first message of stage 1 is another one than stage 0 sends.
template <typename Damage>
std::string ConflictAfter(Damage damage) {
  TracedJob traced = Network({});
  Graph& graph = traced.networks.front().graph;
  for (Node& node : graph.nodes) {
    if (node.stage >= 0) {
      node.place = static_cast<std::int32_t>(graph.stacks.size());
      graph.stacks.push_back({{.file = "net.py", .line = 11 + node.stage}});
    }
  }
  auto job = CompileJob(std::move(traced), RankId{0});
  EXPECT_TRUE(job.has_value()) << (job ? "" : FormatError(job.error()));
  for (Node& node : job->programs[1].local.nodes) {
    if (PointToPointOf(node) == PointToPoint::kReceives) {
      damage(job->programs[1].local, node);
    }
  }
  const Agreement agreement = CheckAgreement(*job);
  EXPECT_FALSE(agreement.holds);
  return agreement.first_conflict;
}

bool NamesLines(const std::string& text) {
  return text.find(kFirstLine) != std::string::npos;
}

TEST(PipelineStages, MessagesThatDoNotMeetAreConflictsWithTheirLines) {
  const std::string number =
      ConflictAfter([](Graph& /*graph*/, Node& node) { node.attrs["sr_tag"] = std::int64_t{7}; });
  EXPECT_NE(number.find("rank 2, Receive 7"), std::string::npos) << number;
  EXPECT_TRUE(NamesLines(number)) << number;
  const std::string bytes = ConflictAfter([](Graph& graph, Node& node) {
    graph.values[ToIndex(node.outputs.front())].type.shape = {2, 16};
  });
  EXPECT_NE(bytes.find("Receive 0 of 128 B"), std::string::npos) << bytes;
  EXPECT_TRUE(NamesLines(bytes)) << bytes;
  const std::string peer = ConflictAfter(
      [](Graph& /*graph*/, Node& node) { node.attrs["rank_distance"] = std::int64_t{4}; });
  EXPECT_NE(peer.find("waits forever in Send 0"), std::string::npos) << peer;
}

TEST(PipelineStages, StagesThatCannotBeAreRefused) {
  EXPECT_NE(RefusalOf({.first_stage = 1, .second_stage = 0}).find("lower to higher stages"),
            std::string::npos);
  EXPECT_NE(RefusalOf({.second_stage = 2}).find("there are 2 stages"), std::string::npos);
  EXPECT_NE(RefusalOf({.first_stage = -1, .second_stage = 1}).find("pipeline_stage 1 only"),
            std::string::npos);
  EXPECT_NE(RefusalOf({.first_stage = -1, .second_stage = -1}).find("no cell of the network"),
            std::string::npos);
}

}  // namespace
}  // namespace drydock::strategies
