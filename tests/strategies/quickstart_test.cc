#include <map>
#include <string>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/compile_job.h"
#include "strategies/program/agreement.h"

// The fully connected network of MindSpore's parallel quick start on 8 ranks; the expected numbers
// are the worked example of docs/sharding.md and the published dump of
// rank 0.
namespace drydock::strategies {
namespace {

JobConfig QuickstartJob() {
  return {.world_size = 8,
          .mode = ParallelMode::kAutoParallel,
          .search_mode = SearchMode::kShardingPropagation,
          .fully_use_devices = true,
          .device_target = "GPU"};
}

Graph QuickstartNetwork() {
  GraphBuilder builder("quickstart");
  const ValueId x = *builder.AddInput("input", {.shape = {16, 32}});
  const ValueId label = *builder.AddInput("label", {.shape = {16, 16}});
  const ValueId w = *builder.AddParameter("w", {.shape = {32, 16}}, {});
  const ValueId w2 = *builder.AddParameter("w2", {.shape = {16, 16}}, {});
  const std::string scope = "Default/network-WithLossCell/_backbone-Net";
  NodeSpec matmul{.op = "MatMul", .inputs = {x, w}, .scope = scope, .instance_name = "matmul"};
  const NodeId first = *builder.AddNode(matmul);
  builder.mutable_graph().nodes[ToIndex(first)].in_strategy = Strategy{{2, 4}, {4, 1}};
  const ValueId hidden = *builder.Emit({.op = "ReLU",
                                        .inputs = {builder.graph().at(first).outputs[0]},
                                        .scope = scope,
                                        .instance_name = "relu"});
  const ValueId out = *builder.Emit(
      {.op = "MatMul", .inputs = {hidden, w2}, .scope = scope, .instance_name = "matmul2"});
  const ValueId difference = *builder.Emit({.op = "Sub", .inputs = {out, label}});
  const ValueId square = *builder.Emit({.op = "Square", .inputs = {difference}});
  const ValueId loss = *builder.Emit({.op = "ReduceMean", .inputs = {square}});
  const NodeId gradient = *builder.AddNode({.op = "_Gradient", .inputs = {loss, w, w2}});
  const std::vector<ValueId> gradients = builder.graph().at(gradient).outputs;
  builder.SetOutputs({loss, gradients[0], gradients[1]});
  return std::move(builder).Take();
}

const Node* FindNode(const Graph& graph, std::string_view op, std::string_view instance) {
  for (const Node& node : graph.nodes) {
    if (node.op == op && (instance.empty() || node.instance_name == instance)) {
      return &node;
    }
  }
  return nullptr;
}

TEST(Quickstart, PropagationFindsThePublishedStrategies) {
  const Result<LocalProgram> program = Compile(QuickstartNetwork(), QuickstartJob());
  ASSERT_TRUE(program.has_value()) << FormatError(program.error());
  std::map<std::string, Strategy> strategies;
  for (std::size_t n = 0; n < program->from->plans.size(); ++n) {
    if (program->from->plans[n].sharding) {
      strategies[program->from->traced.nodes[n].instance_name] =
          program->from->plans[n].sharding->strategy;
    }
  }
  EXPECT_EQ(strategies["relu"], (Strategy{{2, 4}}));
  EXPECT_EQ(strategies["matmul2"], (Strategy{{2, 4}, {4, 1}}));
}

TEST(Quickstart, EveryRankHasTheWorkedExamplesSlicesAndGroups) {
  const Result<LocalProgram> program = Compile(QuickstartNetwork(), QuickstartJob());
  ASSERT_TRUE(program.has_value()) << FormatError(program.error());
  for (std::int32_t r = 0; r < 8; ++r) {
    const Graph rank = SpecialiseForRank(*program, RankId{r});
    const Node* matmul = FindNode(rank, "MatMul", "matmul");
    ASSERT_NE(matmul, nullptr);
    EXPECT_EQ(rank.at(matmul->inputs[0]).type.shape, (Shape{8, 8}));
    EXPECT_EQ(rank.at(matmul->inputs[1]).type.shape, (Shape{8, 16}));
    EXPECT_EQ(rank.at(matmul->outputs[0]).type.shape, (Shape{8, 16}));
    const Node* reduce = FindNode(rank, "AllReduce", "");  // the first one: forward of matmul
    ASSERT_NE(reduce, nullptr);
    EXPECT_EQ(AttrText(reduce->attrs.at("group")),
              r < 4 ? "'4-6301172352641561019'" : "'4-15700679239691767905'");
    EXPECT_EQ(AttrText(reduce->attrs.at("group_ranks")), r < 4 ? "'0-1-2-3'" : "'4-5-6-7'");
    const Node* relu = FindNode(rank, "ReLU", "relu");
    ASSERT_NE(relu, nullptr);
    const Node& slice = rank.at(rank.at(relu->inputs[0]).producer);
    EXPECT_EQ(slice.op, "StridedSlice");
    // Rank r lies in column r % 4 of the device matrix (2, 4): columns 4 * (r % 4) .. + 4.
    const std::int64_t column = 4 * (r % 4);
    EXPECT_EQ(slice.attrs.at("begin"), Attr(std::vector<std::int64_t>{0, column}));
    EXPECT_EQ(slice.attrs.at("end"), Attr(std::vector<std::int64_t>{8, column + 4}));
    EXPECT_EQ(slice.attrs.at("strides"), Attr(std::vector<std::int64_t>{1, 1}));
    EXPECT_EQ(rank.at(slice.outputs[0]).type.shape, (Shape{8, 4}));
    const Node* matmul2 = FindNode(rank, "MatMul", "matmul2");
    ASSERT_NE(matmul2, nullptr);
    EXPECT_EQ(rank.at(matmul2->inputs[0]).type.shape, (Shape{8, 4}));
    EXPECT_EQ(rank.at(matmul2->inputs[1]).type.shape, (Shape{4, 16}));
    EXPECT_EQ(rank.at(matmul2->outputs[0]).type.shape, (Shape{8, 16}));
  }
}

TEST(Quickstart, TodaysDefaultLeavesDevicesUnused) {
  // mindspore ccsrc/frontend/parallel/auto_parallel/graph_costmodel.cc: with fully_use_devices off,
  // ReLU ((2, 1)) and MatMul2 ((2, 1), (1, 4)).
  JobConfig job = QuickstartJob();
  job.fully_use_devices = {};
  const Result<LocalProgram> program = Compile(QuickstartNetwork(), job);
  ASSERT_TRUE(program.has_value()) << FormatError(program.error());
  std::map<std::string, Strategy> strategies;
  for (std::size_t n = 0; n < program->from->plans.size(); ++n) {
    if (program->from->plans[n].sharding) {
      strategies[program->from->traced.nodes[n].instance_name] =
          program->from->plans[n].sharding->strategy;
    }
  }
  EXPECT_EQ(strategies["relu"], (Strategy{{2, 1}}));
  EXPECT_EQ(strategies["matmul2"], (Strategy{{2, 1}, {1, 4}}));
}

TEST(Quickstart, AllRanksAgreeOnTheirCollectives) {
  const Result<LocalProgram> program = Compile(QuickstartNetwork(), QuickstartJob());
  ASSERT_TRUE(program.has_value()) << FormatError(program.error());
  const Agreement agreement =
      CheckAgreement({SequenceOf(*program)}, std::vector<std::int32_t>(8, 0), 8);
  EXPECT_TRUE(agreement.holds) << agreement.first_conflict;
  EXPECT_GT(agreement.groups_checked, 0);
}

}  // namespace
}  // namespace drydock::strategies
