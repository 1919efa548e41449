#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strategies/passes/compile_job.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/layout/named_layout.h"
#include "tests/strategies/sharded_run.h"

// Products with enable_nd_tp: every rank ends with its slice of what one device computes, forwards
// and backwards, by the collectives that the form has.
namespace drydock::strategies {
namespace {

using Sides = std::vector<NamedDimension>;

/// Products one behind the other on a grid of 2 x 2 x 2 ranks named z, x, y.
class NdStep {
 public:
  NdStep() {
    step_.job = {.world_size = 8,
                 .mode = ParallelMode::kSemiAutoParallel,
                 .dataset = {.kind = DatasetStrategy::Kind::kFullBatch}};
    step_.data.inputs.push_back(checks::RandomArray({16, 8}, random_, -1.0, 1.0));
    value_ = *builder_.AddInput("input", {.shape = {16, 8}});
  }

  NdStep& Times(const Shape& shape, std::pair<Sides, Sides> layouts, AttrMap attrs = {}) {
    const std::string name = "w" + std::to_string(weights_.size());
    weights_.push_back(*builder_.AddParameter(name, {.shape = shape}, {}));
    step_.data.parameters.push_back(checks::RandomArray(shape, random_, -1.0, 1.0));
    attrs.insert_or_assign("enable_nd_tp", true);
    const std::vector<ValueId> operands = {value_, weights_.back()};
    const Shape left = builder_.TypeOf(value_).shape;
    const NodeId id = *builder_.AddNode({.op = "MatMul", .inputs = operands, .attrs = attrs});
    Node& node = builder_.mutable_graph().nodes[ToIndex(id)];
    node.in_layout = std::vector{LayoutOf(layouts.first, left), LayoutOf(layouts.second, shape)};
    value_ = node.outputs.front();
    return *this;
  }

  RandomStep Finish() {
    const ValueId square = *builder_.Emit({.op = "Square", .inputs = {value_}});
    const ValueId loss = *builder_.Emit({.op = "ReduceMean", .inputs = {square}});
    std::vector<ValueId> operands = {loss};
    operands.insert(operands.end(), weights_.begin(), weights_.end());
    const NodeId gradient = *builder_.AddNode({.op = "_Gradient", .inputs = operands});
    std::vector<ValueId> outputs = builder_.graph().at(gradient).outputs;
    outputs.insert(outputs.begin(), {loss, value_});
    builder_.SetOutputs(std::move(outputs));
    step_.graph = std::move(builder_).Take();
    return std::move(step_);
  }

 private:
  static TensorLayout LayoutOf(const Sides& sides, const Shape& shape) {
    const NamedGrid grid{.device_matrix = {2, 2, 2}, .alias_name = {"z", "x", "y"}};
    TensorLayout layout = LayoutOnGrid(grid, sides, shape);
    layout.shape.clear();
    return layout;
  }

  std::mt19937_64 random_ = std::mt19937_64(checks::SeedOr(13));
  GraphBuilder builder_ = GraphBuilder("products");
  ValueId value_ = kNoValue;
  std::vector<ValueId> weights_ = {};
  RandomStep step_ = {};
};

/// Collectives of the products; what comes behind them redistributes their results.
std::int64_t Forward(const RandomStep& step, std::string_view op) {
  const auto program = Compile(step.graph, step.job);
  EXPECT_TRUE(program) << program.error().message;
  std::int64_t count = 0;
  for (const Node& node : program ? program->local.nodes : std::vector<Node>()) {
    const bool of_product = node.reason_text.find("'MatMul'") != std::string::npos;
    count += node.op == op && of_product && node.phase == Phase::kForward ? 1 : 0;
  }
  return count;
}

const NamedDimension kWhole = {"None"};

TEST(NdProduct, TwoDirectionsGatherAndScatter) {
  NdStep step;
  step.Times({8, 8}, {{{"z"}, {"x", "y"}}, {{"x"}, {"y"}}})
      .Times({8, 4}, {{{"z"}, {"y", "x"}}, {{"y"}, {"x"}}});
  const RandomStep whole = step.Finish();
  EXPECT_EQ(Forward(whole, "AllGather"), 2);
  EXPECT_EQ(Forward(whole, "ReduceScatter"), 2);
  EXPECT_EQ(Difference(whole), "");
}

TEST(NdProduct, WhatIsWholeAlongTheOtherAxisIsNotGathered) {
  NdStep step;
  step.Times({8, 8}, {{{"z"}, {"x"}}, {{"x"}, {"y"}}});
  const RandomStep whole = step.Finish();
  EXPECT_EQ(Forward(whole, "AllGather"), 0);
  EXPECT_EQ(Forward(whole, "ReduceScatter"), 1);
  EXPECT_EQ(Difference(whole), "");
}

TEST(NdProduct, ThreeDirectionsGatherBothOperands) {
  NdStep step;
  step.Times({8, 8}, {{{"z", "y"}, {"x"}}, {{"x", "z"}, {"y"}}})
      .Times({8, 4}, {{{"z", "x"}, {"y"}}, {{"y", "z"}, {"x"}}});
  const RandomStep whole = step.Finish();
  EXPECT_EQ(Forward(whole, "AllGather"), 4);
  EXPECT_EQ(Forward(whole, "ReduceScatter"), 2);
  EXPECT_EQ(Difference(whole), "");
}

TEST(NdProduct, ATransposedWeightHasItsDimensionsSwapped) {
  NdStep two;
  two.Times({4, 8}, {{kWhole, {"x", "y"}}, {{"y"}, {"x"}}}, {{"transpose_b", true}});
  EXPECT_EQ(Difference(two.Finish()), "");
  NdStep three;
  three.Times({4, 8}, {{{"z", "y"}, {"x"}}, {{"y"}, {"x", "z"}}}, {{"transpose_b", true}});
  EXPECT_EQ(Difference(three.Finish()), "");
}

TEST(NdProduct, TheScatteredDimensionCanBeChosen) {
  NdStep step;
  step.Times({8, 8}, {{{"z", "y"}, {"x"}}, {{"x", "z"}, {"y"}}},
             {{"ndtp_reduce_scatter_axis", std::int64_t{1}}});
  const RandomStep whole = step.Finish();
  const auto program = Compile(whole.graph, whole.job);
  ASSERT_TRUE(program);
  // Rows by z alone, columns by y, then x.
  const auto& nodes = program->from->traced.nodes;
  const auto product = std::ranges::find(nodes, "MatMul", &Node::op) - nodes.begin();
  const TensorLayout& result =
      program->from->plans[static_cast<std::size_t>(product)].sharding->outputs.front();
  EXPECT_EQ(CutsOf(result), (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(Difference(whole), "");
}

TEST(NdProduct, OtherLayoutsAndCutsAreRefused) {
  NdStep step;
  step.Times({8, 8}, {{{"z"}, {"y", "x"}}, {{"x"}, {"y"}}});
  const RandomStep wrong = step.Finish();
  const auto refused = Compile(wrong.graph, wrong.job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "MatMul:nd-tp");
  NdStep other;
  RandomStep cuts = other.Times({8, 8}, {{{"z"}, {"x"}}, {{"x"}, {"y"}}}).Finish();
  Node& node = *std::ranges::find(cuts.graph.nodes, "MatMul", &Node::op);
  node.in_layout = {};
  node.in_strategy = Strategy{{2, 2}, {2, 2}};
  const auto by_cuts = Compile(cuts.graph, cuts.job);
  ASSERT_FALSE(by_cuts);
  EXPECT_EQ(by_cuts.error().reason, "MatMul:nd-tp");
}

}  // namespace
}  // namespace drydock::strategies
