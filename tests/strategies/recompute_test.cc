#include "strategies/passes/backward/recompute.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "strategies/operators/known_ops.h"
#include "tests/strategies/sharded_run.h"

namespace drydock::strategies {
namespace {

/// Operators of the second runs, in order.
std::string SecondRuns(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    if (node.attrs.contains(kDuplicated)) {
      text += (text.empty() ? "" : " ") + node.op;
    }
  }
  return text;
}

/// x (4, 8) -> MatMul w1 -> GeLU -> MatMul w2 -> Sum, gradients of both weights; on one device.
/// The first four operators are in a recomputed Cell, whose result is that of the second MatMul.
Graph Layer(bool keep_result) {
  GraphBuilder builder("layer");
  const ValueId x = *builder.AddInput("x", {.shape = {4, 8}});
  const ValueId w1 = *builder.AddParameter("w1", {.shape = {8, 16}}, {});
  const ValueId w2 = *builder.AddParameter("w2", {.shape = {16, 8}}, {});
  const std::string scope = "recompute_Default/layer";
  const ValueId h = *builder.Emit({.op = "MatMul", .inputs = {x, w1}, .scope = scope});
  const ValueId a = *builder.Emit({.op = "GeLU", .inputs = {h}, .scope = scope});
  const ValueId y = *builder.Emit({.op = "MatMul",
                                   .inputs = {a, w2},
                                   .attrs = keep_result ? AttrMap{{"recompute", false}} : AttrMap{},
                                   .scope = scope});
  const ValueId square = *builder.Emit({.op = "Square", .inputs = {y}, .scope = "Default"});
  const ValueId loss = *builder.Emit({.op = "ReduceSum",
                                      .inputs = {square},
                                      .attrs = {{"axis", Attr::List{}}},
                                      .scope = "Default"});
  const NodeId gradient = *builder.AddNode({.op = "_Gradient", .inputs = {loss, w1, w2}});
  std::vector<ValueId> outputs = {loss};
  for (const ValueId output : builder.graph().at(gradient).outputs) {
    outputs.push_back(output);
  }
  builder.SetOutputs(outputs);
  return std::move(builder).Take();
}

Graph Compiled(Graph traced) {
  const JobConfig job{.world_size = 1, .mode = ParallelMode::kStandAlone};
  return Compile(std::move(traced), job, RankId{0}).value().local;
}

TEST(Recompute, OnlyWhatBackwardReadsRunsAgain) {
  // Backward reads h and a (GeLUGrad) and a (gradient of w2). y is read by Square's gradient, but
  // it is the result of the Cell.
  EXPECT_EQ(SecondRuns(Compiled(Layer(true))), "MatMul GeLU");
  // Not kept, y is read by the gradient of Square, and runs again, too.
  EXPECT_EQ(SecondRuns(Compiled(Layer(false))), "MatMul GeLU MatMul");
}

TEST(Recompute, ASecondRunWaitsForTheFirstGradient) {
  const Graph graph = Compiled(Layer(true));
  // The step returns the loss, then the gradient of w1, which comes from GeLUGrad(da, h, a): that
  // is the first reader of the block in a walk from the end, and it gets da, the gradient of the
  // activation (4, 16). The second run of the first product waits for it.
  const auto copy = std::ranges::find_if(
      graph.nodes, [](const Node& node) { return node.attrs.contains(kDuplicated); });
  ASSERT_NE(copy, graph.nodes.end());
  const Node& depend = graph.at(graph.at(copy->inputs.front()).producer);
  EXPECT_EQ(depend.op, "Depend");
  ASSERT_EQ(depend.inputs.size(), 2U);
  EXPECT_EQ(graph.at(depend.inputs[0]).name, "x");
  const Node& da = graph.at(graph.at(depend.inputs[1]).producer);
  EXPECT_EQ(da.phase, Phase::kBackward);
  EXPECT_EQ(graph.at(da.outputs.front()).type.shape, (Shape{4, 16}));
}

TEST(Recompute, WithoutMarksNothingRunsTwice) {
  Graph traced = Layer(true);
  for (Node& node : traced.nodes) {
    node.scope = "Default/layer";
  }
  EXPECT_FALSE(AsksForRecomputation(traced));
  EXPECT_EQ(SecondRuns(Compiled(std::move(traced))), "");
}

/// Every node is in a recomputed Cell, and every third is told to be recomputed or not by itself.
void Mark(Graph& graph, std::uint32_t seed) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (node.phase == Phase::kForward && node.op != "_Gradient") {
      const std::size_t dice = (n * 7 + seed) % 6;
      node.scope = dice == 0 ? "Default/net" : "recompute_Default/net";
      if (dice == 1 || dice == 2) {
        node.attrs.insert_or_assign(std::string(kRecompute), dice == 1);
      }
      if (dice == 3) {
        node.attrs.insert_or_assign(std::string(kRecomputeCommunication), seed % 2 == 0);
      }
    }
  }
}

TEST(RecomputeProperty, ResultsAndParametersAreThoseOfTheWholeRun) {
  std::size_t copies = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    RandomStep step = MakeRandomStep(seed, seed % 3 == 0 ? 4 : 8);
    const Graph plain = step.graph;
    Mark(step.graph, seed);
    Result<CompiledStep> compiled = CompileStep(step);
    ASSERT_TRUE(compiled.has_value()) << seed;
    compiled->whole = Compile(plain, {.world_size = 1}).value();
    copies += static_cast<std::size_t>(
        std::ranges::count_if(compiled->sharded.local.nodes,
                              [](const Node& node) { return node.attrs.contains(kDuplicated); }));
    EXPECT_EQ(CompareRuns(*compiled, step.data).value(), "") << "seed " << seed;
  }
  EXPECT_GT(copies, 60U);
}

}  // namespace
}  // namespace drydock::strategies
