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
  const Graph fused = FuseCollectives(builder.graph());
  // The user of the first sum ran before the second one; now it has to wait for both.
  EXPECT_EQ(Operators(fused), (std::vector<std::string>{"AllReduce2", "Neg1"}));
  EXPECT_EQ(fused.nodes[0].outputs.size(), 2U);
  EXPECT_EQ(fused.at(other).output_index, 1);
}

TEST(FuseCollectives, ASumThatNeedsAnotherStaysApart) {
  GraphBuilder builder;
  const ValueId a = *builder.AddInput("a", {.shape = {4}});
  builder.SetOutputs({Sum(builder, Negated(builder, Sum(builder, a, 1)), 1)});
  EXPECT_EQ(Operators(FuseCollectives(builder.graph())),
            (std::vector<std::string>{"AllReduce1", "Neg1", "AllReduce1"}));
}

TEST(FuseCollectives, FusionZeroAndDifferentIdsAreNotJoined) {
  GraphBuilder builder;
  const ValueId a = *builder.AddInput("a", {.shape = {4}});
  builder.SetOutputs(
      {Sum(builder, a, 0), Sum(builder, a, 0), Sum(builder, a, 1), Sum(builder, a, 2)});
  EXPECT_EQ(FuseCollectives(builder.graph()).nodes.size(), 4U);
}

}  // namespace
}  // namespace drydock::strategies
