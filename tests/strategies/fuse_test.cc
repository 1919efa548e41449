#include "strategies/passes/communicate/fuse.h"

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"

namespace drydock::strategies {
namespace {

constexpr RankDigit kAllRanks = {.stride = 1, .extent = 4};

/// One sum of `input` over 4 ranks behind the loss.
ValueId Sum(GraphBuilder& builder, ValueId input, std::int64_t fusion) {
  const NodeId id = *builder.AddNode({.op = "AllReduce",
                                      .inputs = {input},
                                      .attrs = {{"fusion", fusion}, {"op", "sum"}},
                                      .phase = Phase::kBackward});
  Node& node = builder.mutable_graph().nodes[ToIndex(id)];
  node.group = GroupPattern{.digits = {kAllRanks}};
  node.reason_text = "sum " + std::to_string(ToInt(id));
  return node.outputs.front();
}

ValueId Negated(GraphBuilder& builder, ValueId input) {
  return *builder.Emit({.op = "Neg", .inputs = {input}, .phase = Phase::kBackward});
}

/// Fusion as comm_fusion={"allreduce": auto} leaves it, among 4 ranks whose operators are cut.
JobConfig Fusing() {
  JobConfig config{.world_size = 4, .mode = ParallelMode::kSemiAutoParallel};
  config.fusion.all_reduce = true;
  return config;
}

std::vector<std::string> Operators(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    names.push_back(node.op + std::to_string(node.inputs.size()));
  }
  return names;
}

TEST(FuseCollectives, IndependentSumsBecomeOneAndUsersFollow) {
  GraphBuilder builder;
  const ValueId a = *builder.AddInput("a", {.shape = {4}});
  const ValueId b = *builder.AddInput("b", {.shape = {8}});
  const ValueId user = Negated(builder, Sum(builder, a, 1));
  const ValueId other = Sum(builder, b, 1);
  builder.SetOutputs({user, other});
  const Graph fused = FuseCollectives(builder.graph(), Fusing());
  // The user of the first sum ran before the second one; now it has to wait for both.
  EXPECT_EQ(Operators(fused), (std::vector<std::string>{"AllReduce2", "Neg1"}));
  EXPECT_EQ(fused.nodes[0].outputs.size(), 2U);
  EXPECT_EQ(fused.at(other).output_index, 1);
}

TEST(FuseCollectives, ASumThatNeedsAnotherStaysApart) {
  GraphBuilder builder;
  const ValueId a = *builder.AddInput("a", {.shape = {4}});
  builder.SetOutputs({Sum(builder, Negated(builder, Sum(builder, a, 1)), 1)});
  EXPECT_EQ(Operators(FuseCollectives(builder.graph(), Fusing())),
            (std::vector<std::string>{"AllReduce1", "Neg1", "AllReduce1"}));
}

TEST(FuseCollectives, FusionZeroAndDifferentIdsAreNotJoined) {
  GraphBuilder builder;
  const ValueId a = *builder.AddInput("a", {.shape = {4}});
  builder.SetOutputs(
      {Sum(builder, a, 0), Sum(builder, a, 0), Sum(builder, a, 1), Sum(builder, a, 2)});
  EXPECT_EQ(FuseCollectives(builder.graph(), Fusing()).nodes.size(), 4U);
}

TEST(FuseCollectives, NothingIsJoinedUnlessTheJobAsksForIt) {
  GraphBuilder builder;
  const ValueId a = *builder.AddInput("a", {.shape = {4}});
  const ValueId b = *builder.AddInput("b", {.shape = {8}});
  builder.SetOutputs({Sum(builder, a, 1), Sum(builder, b, 1)});
  EXPECT_EQ(FuseCollectives(builder.graph(), JobConfig{.world_size = 4}).nodes.size(), 2U);
}

/// Sizes of the fused operands in KiB, per collective.
std::vector<std::vector<std::int64_t>> Sizes(const Graph& graph) {
  std::vector<std::vector<std::int64_t>> sizes;
  for (const Node& node : graph.nodes) {
    sizes.emplace_back();
    for (const ValueId input : node.inputs) {
      sizes.back().push_back(ByteSize(graph.at(input).type) / 1024);
    }
  }
  return sizes;
}

/// Sums of float32 tensors of so many KiB.
Graph SumsOf(const std::vector<std::int64_t>& kib) {
  GraphBuilder builder;
  std::vector<ValueId> sums;
  for (const std::int64_t size : kib) {
    const ValueId input =
        *builder.AddInput("x" + std::to_string(sums.size()), {.shape = {size * 256}});
    sums.push_back(Sum(builder, input, 1));
  }
  builder.SetOutputs(std::move(sums));
  return std::move(builder).Take();
}

// Recorded from MindSpore 2.10, comm_fusion={"allreduce": {"mode": "size", "config": 2}} in
// data_parallel: gradients of 160, 1, 608, 608, 1, 544, 544 KiB made parts of 3, 1, 2, 1. The limit
// is 2 * 262,144 bytes = 512 KiB: 160 + 1 + 608 exceeds it, 608 does alone, 1 + 544 does.
TEST(FuseCollectives, DataParallelThresholdsCountBytesAndTheMemberThatExceedsThemStays) {
  JobConfig config{.world_size = 4, .mode = ParallelMode::kDataParallel};
  config.fusion = {.all_reduce = true, .all_reduce_mb = 2, .data_parallel_mb = 2};
  const Graph fused = FuseCollectives(SumsOf({160, 1, 608, 608, 1, 544, 544}), config);
  EXPECT_EQ(Sizes(fused),
            (std::vector<std::vector<std::int64_t>>{{160, 1, 608}, {608}, {1, 544}, {544}}));
}

// {"mode": "index", "config": [1, 3]}: members 0-1, 2-3 and the rest; indices behind the last
// member count for nothing. Only sums over all ranks know them.
TEST(FuseCollectives, IndicesNameTheLastMembersOfParts) {
  JobConfig config = Fusing();
  config.fusion.split_indices = {1, 3, 9};
  EXPECT_EQ(Sizes(FuseCollectives(SumsOf({1, 2, 3, 4, 5, 6}), config)),
            (std::vector<std::vector<std::int64_t>>{{1, 2}, {3, 4}, {5, 6}}));
  config.world_size = 8;  // the sums are over 4 ranks
  EXPECT_EQ(Sizes(FuseCollectives(SumsOf({1, 2, 3}), config)),
            (std::vector<std::vector<std::int64_t>>{{1, 2, 3}}));
}

}  // namespace
}  // namespace drydock::strategies
