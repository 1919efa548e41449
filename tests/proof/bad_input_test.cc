#include <vector>

#include <gtest/gtest.h>

#include "strategies/passes/compile_job.h"

// Operands and strategies that nobody should write: a clear answer each.
namespace drydock::strategies {
namespace {

struct Application {
  std::string_view op = {};
  std::vector<Shape> shapes = {};
  AttrMap attrs = {};
  Strategy strategy = {};
};

/// The error of compiling one operator on 4 ranks; empty code text if it compiles.
std::string ReasonOf(const Application& one) {
  GraphBuilder builder("bad");
  NodeSpec spec{.op = one.op, .attrs = one.attrs};
  for (std::size_t i = 0; i < one.shapes.size(); ++i) {
    const auto id = builder.AddParameter("p" + std::to_string(i), {.shape = one.shapes[i]}, {});
    if (!id) {
      return id.error().reason.empty() ? id.error().message : id.error().reason;
    }
    spec.inputs.push_back(*id);
  }
  const auto node = builder.AddNode(std::move(spec));
  if (!node) {
    return node.error().reason;
  }
  builder.SetOutputs(builder.graph().at(*node).outputs);
  builder.mutable_graph().nodes[ToIndex(*node)].in_strategy = one.strategy;
  const auto program = Compile(std::move(builder).Take(),
                               {.world_size = 4, .mode = ParallelMode::kSemiAutoParallel});
  return program ? "" : program.error().reason;
}

TEST(BadInput, DynamicExtentIsRefusedWhereItEnters) {
  EXPECT_NE(ReasonOf({.op = "ReLU", .shapes = {{-1, 4}}, .strategy = {{2, 1}}}), "");
}

TEST(BadInput, ScalarTakesAnEmptyEntryOnly) {
  EXPECT_EQ(ReasonOf({.op = "ReLU", .shapes = {{}}, .strategy = {{}}}), "");
  EXPECT_EQ(ReasonOf({.op = "ReLU", .shapes = {{}}, .strategy = {{1}}}), "ReLU:strategy-rank");
}

TEST(BadInput, ScalarCannotBeLookedUpAlongAnAxis) {
  EXPECT_EQ(ReasonOf({.op = "LogSoftmax", .shapes = {{}}, .strategy = {{}}}),
            "LogSoftmax:axis-out-of-range");
}

TEST(BadInput, EmptyTensorsHaveNoSlices) {
  EXPECT_EQ(ReasonOf({.op = "ReLU", .shapes = {{0, 4}}, .strategy = {{1, 4}}}),
            "ReLU:strategy-input");
  EXPECT_EQ(ReasonOf({.op = "ReLU", .shapes = {{0, 4}}, .strategy = {{4, 1}}}),
            "ReLU:strategy-input");
}

TEST(BadInput, EmptyDataSetTensorIsNamedWithItsReader) {
  GraphBuilder builder("bad");
  const ValueId x = *builder.AddInput("x", {.shape = {0, 4}});
  NodeSpec spec{.op = "ReLU", .inputs = {x}};
  spec.place = builder.AddStack({{.file = "net.py", .line = 7}});
  builder.SetOutputs({*builder.Emit(std::move(spec))});
  const auto program = Compile(std::move(builder).Take(),
                               {.world_size = 4, .mode = ParallelMode::kSemiAutoParallel});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "graph:empty-input");
  ASSERT_TRUE(program.error().place);
  EXPECT_EQ(program.error().place->line, 7);
}

TEST(BadInput, MoreThanEightDimensionsAreRefusedWhereTheyEnter) {
  const Shape shape = {2, 1, 2, 1, 2, 1, 2, 1, 2, 1};
  EXPECT_EQ(
      ReasonOf({.op = "Add",
                .shapes = {shape, shape},
                .strategy = {{2, 1, 1, 1, 1, 1, 1, 1, 2, 1}, {2, 1, 1, 1, 1, 1, 1, 1, 2, 1}}}),
      "tensor:rank");
}

TEST(BadInput, CutsThatOverflowAreRefused) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(
      ReasonOf({.op = "MatMul", .shapes = {{4, 4}, {4, 4}}, .strategy = {{huge, 4}, {4, huge}}}),
      "MatMul:strategy-product");
}

TEST(BadInput, CutOfZeroNeverReachesARule) {
  EXPECT_EQ(ReasonOf({.op = "ReduceSum", .shapes = {{4, 4}}, .strategy = {{0, 1}}}),
            "ReduceSum:strategy-cut");
}

}  // namespace
}  // namespace drydock::strategies
