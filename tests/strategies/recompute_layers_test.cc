#include "strategies/passes/prepare/recompute_layers.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strategies/operators/known_ops.h"
#include "tests/strategies/sharded_run.h"

namespace drydock::strategies {
namespace {

/// A chain of MatMul with a weight of its own and Square in each of the scopes; then a sum.
Graph Chain(const std::vector<std::string>& scopes) {
  GraphBuilder builder("chain");
  ValueId x = *builder.AddInput("x", {.shape = {8, 8}});
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    const ValueId w = *builder.AddParameter("w" + std::to_string(i), {.shape = {8, 8}}, {});
    const ValueId product = *builder.Emit({.op = "MatMul", .inputs = {x, w}, .scope = scopes[i]});
    x = *builder.Emit({.op = "Square", .inputs = {product}, .scope = scopes[i]});
  }
  builder.SetOutputs({*builder.Emit(
      {.op = "ReduceSum", .inputs = {x}, .attrs = {{"axis", Attr::List{}}}, .scope = "Default"})});
  return std::move(builder).Take();
}

/// "MatMul" of what runs again, "(Square)" of what is marked and kept, in order.
std::string Marked(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    if (IsInRecomputedScope(node)) {
      const bool kept = node.attrs.contains(kRecompute);
      text += (text.empty() ? "" : " ") + (kept ? "(" + node.op + ")" : node.op);
    }
  }
  return text;
}

TEST(RecomputeLayers, ScopesThatDifferInTheirNumberAreLayers) {
  Graph graph = Chain({"Default/net/layers/0-Block", "Default/net/layers/1-Block"});
  EXPECT_EQ(RecomputeLayers(graph), "the 2 Blocks in 'Default/net/layers'");
  EXPECT_EQ(Marked(graph), "MatMul (Square) MatMul (Square)");
}

TEST(RecomputeLayers, WhatRepeatsWithinALayerIsPartOfIt) {
  // The Square of fc0 is read by fc1 of the same layer only, so it is not kept.
  Graph graph = Chain({"Default/layer0/fc0", "Default/layer0/fc1", "Default/layer1/fc0"});
  EXPECT_EQ(RecomputeLayers(graph), "the 2 layers in 'Default'");
  EXPECT_EQ(Marked(graph), "MatMul Square MatMul (Square) MatMul (Square)");
}

TEST(RecomputeLayers, OneOfAKindIsNoLayer) {
  Graph graph = Chain({"Default/encoder", "Default/decoder", "Default"});
  EXPECT_EQ(RecomputeLayers(graph), "");
  EXPECT_EQ(Marked(graph), "");
}

TEST(RecomputeLayers, WhatRecomputesAlreadyIsLeftAlone) {
  const std::vector<std::string> scopes = {"recompute_Default/0-Block",
                                           "recompute_Default/1-Block"};
  Graph graph = Chain(scopes);
  EXPECT_EQ(RecomputeLayers(graph), "");
  EXPECT_EQ(graph.nodes[0].scope, scopes[0]);
}

TEST(RecomputeLayers, ScopesOfAnyDepthAndForm) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) {
    deep += "a/";
  }
  for (const std::string& scope : {deep, std::string(), std::string("/"), std::string("//0//1")}) {
    Graph graph = Chain({scope, scope});
    EXPECT_EQ(RecomputeLayers(graph), "");
  }
}

}  // namespace
}  // namespace drydock::strategies
