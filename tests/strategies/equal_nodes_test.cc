#include "strategies/passes/choose/equal_nodes.h"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"

namespace drydock::strategies {
namespace {

ValueId Input(GraphBuilder& builder, Shape shape) {
  return *builder.AddInput("x", {.shape = std::move(shape)});
}

NodeId Sum(GraphBuilder& builder, ValueId x, bool keep_dims) {
  return *builder.AddNode(
      {.op = "ReduceSum", .inputs = {x}, .attrs = {{"axis", 0}, {"keep_dims", keep_dims}}});
}

TEST(EqualNodes, FindsTheEarlierOneWithEqualTypesAndAttributes) {
  GraphBuilder builder;
  const NodeId first = Sum(builder, Input(builder, {4, 8}), true);
  const NodeId again = Sum(builder, Input(builder, {4, 8}), true);  // another tensor, equal type
  const NodeId other_shape = Sum(builder, Input(builder, {8, 8}), true);
  const NodeId other_attr = Sum(builder, Input(builder, {4, 8}), false);
  EqualNodes equal(builder.graph());
  EXPECT_EQ(equal.FindOrAdd(first), std::nullopt);
  EXPECT_EQ(equal.FindOrAdd(again), first);
  EXPECT_EQ(equal.FindOrAdd(other_shape), std::nullopt);
  EXPECT_EQ(equal.FindOrAdd(other_attr), std::nullopt);
}

TEST(EqualNodes, StrategiesAndLayoutsAreCompared) {
  GraphBuilder builder;
  const ValueId x = Input(builder, {4, 8});
  const NodeId plain = Sum(builder, x, true);
  const NodeId cut = Sum(builder, x, true);
  const NodeId cut_results = Sum(builder, x, true);
  const NodeId laid_out = Sum(builder, x, true);
  std::vector<Node>& nodes = builder.mutable_graph().nodes;
  nodes[ToIndex(cut)].in_strategy = Strategy{{2, 1}};
  nodes[ToIndex(cut_results)].out_strategy = Strategy{{1, 2}};
  nodes[ToIndex(laid_out)].in_layout = std::vector<TensorLayout>{ReplicatedLayout(2, {4, 8})};
  EqualNodes equal(builder.graph());
  for (const NodeId id : {plain, cut, cut_results, laid_out}) {
    EXPECT_EQ(equal.FindOrAdd(id), std::nullopt);
  }
}

TEST(EqualNodes, AnOperandLeftOutIsNotOneThatIsGiven) {
  GraphBuilder builder;
  const ValueId x = Input(builder, {4, 8});
  Graph graph = builder.graph();
  for (const bool first : {true, false}) {
    graph.nodes.push_back(
        {.op = "Any",
         .inputs = first ? std::vector<ValueId>{x, kNoValue} : std::vector<ValueId>{kNoValue, x}});
  }
  EqualNodes equal(graph);
  EXPECT_EQ(equal.FindOrAdd(NodeId{0}), std::nullopt);
  EXPECT_EQ(equal.FindOrAdd(NodeId{1}), std::nullopt);
}

TEST(EqualNodes, ForgetsTheOldestOfManyDifferentOnes) {
  GraphBuilder builder;
  constexpr std::int64_t kMany = 200;  // more than are remembered
  for (std::int64_t rows = 1; rows <= kMany; ++rows) {
    static_cast<void>(Sum(builder, Input(builder, {rows, 8}), true));
  }
  const NodeId like_first = Sum(builder, Input(builder, {1, 8}), true);
  const NodeId like_last = Sum(builder, Input(builder, {kMany, 8}), true);
  EqualNodes equal(builder.graph());
  for (std::int32_t n = 0; n < kMany; ++n) {
    EXPECT_EQ(equal.FindOrAdd(NodeId{n}), std::nullopt);
  }
  EXPECT_EQ(equal.FindOrAdd(like_first), std::nullopt);
  EXPECT_EQ(equal.FindOrAdd(like_last), NodeId{kMany - 1});
}

}  // namespace
}  // namespace drydock::strategies
