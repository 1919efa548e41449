#include "strategies/passes/schedule/fuse_graph_kernels.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strategies/operators/basic_program.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/passes/schedule/cluster_kernels.h"
#include "strategies/passes/schedule/exec_order.h"
#include "strategies/passes/schedule/simplify_basic.h"
#include "strategies/passes/schedule/split_areas.h"

namespace drydock::strategies {
namespace {

using Groups = std::vector<std::vector<std::size_t>>;

// Kernels that may not be fused belong to no group.

// 0 <- 1 <- 2, of which 1 may not be fused: nothing that is next to each other may be.
TEST(ClusterKernels, WhatMayNotBeFusedParts) {
  EXPECT_EQ(ClusterKernels({.inputs = {{}, {0}, {1}},
                            .joins = {true, false, true},
                            .is_item = {false, false, false}}),
            (Groups{{0}, {2}}));
}

// 3 reads 0 itself and by way of 1, which may not be fused. In one kernel, 0 and 3 would have to
// run both before and behind 1.
TEST(ClusterKernels, NoGroupWaitsForItself) {
  EXPECT_EQ(ClusterKernels({.inputs = {{}, {0}, {1}, {0, 2}},
                            .joins = {true, false, true, true},
                            .is_item = {false, false, false, false}}),
            (Groups{{0}, {2, 3}}));
}

// An item is fused with the kernel that it is a result of; without it, it is a group of its own.
TEST(ClusterKernels, ItemsFollowTheirKernel) {
  EXPECT_EQ(ClusterKernels({.inputs = {{}, {0}, {1}},
                            .joins = {true, false, true},
                            .is_item = {false, true, false}}),
            (Groups{{0, 1, 2}}));
  EXPECT_EQ(ClusterKernels({.inputs = {{}, {0}, {1}},
                            .joins = {false, false, true},
                            .is_item = {false, true, false}}),
            (Groups{{1}, {2}}));
}

/// A program over one operand of 4 x 8.
struct Basic {
  BasicProgram program = {.operands = {{.shape = {4, 8}}}};

  static BasicValue Operand() { return {.source = BasicValue::Source::kOperand}; }
  static BasicValue Number(double number) { return {.number = number}; }
  BasicValue Add(std::string_view kernel, std::vector<BasicValue> inputs, Shape shape = {4, 8}) {
    program.ops.push_back({.facts = FindBasic(kernel),
                           .inputs = std::move(inputs),
                           .type = {.shape = std::move(shape)}});
    return {.source = BasicValue::Source::kResult,
            .index = static_cast<std::int32_t>(program.ops.size()) - 1};
  }
  [[nodiscard]] std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const BasicOp& op : program.ops) {
      names.emplace_back(op.facts->kernel);
    }
    return names;
  }
};

// (x * 1 + 0) * (2 - 1) is x; what is not needed goes, a result is still made by an operation.
TEST(SimplifyBasic, NothingIsLeftOfNothing) {
  Basic basic;
  const BasicValue same = basic.Add("Mul", {Basic::Operand(), Basic::Number(1.0)});
  const BasicValue sum = basic.Add("Add", {same, Basic::Number(0.0)});
  const BasicValue one = basic.Add("Sub", {Basic::Number(2.0), Basic::Number(1.0)}, {});
  basic.program.results = {basic.Add("Mul", {sum, one})};
  SimplifyBasic(basic.program);
  EXPECT_EQ(Tidy(basic.program), std::vector<std::size_t>{0});
  EXPECT_EQ(basic.Names(), std::vector<std::string>{"Reshape"});
}

TEST(SimplifyBasic, PowersAndQuotients) {
  Basic basic;
  const BasicValue squared = basic.Add("Pow", {Basic::Operand(), Basic::Number(2.0)});
  const BasicValue inverse = basic.Add("RealDiv", {Basic::Number(1.0), squared});
  basic.program.results = {basic.Add("Sub", {inverse, Basic::Number(3.0)})};
  SimplifyBasic(basic.program);
  (void)Tidy(basic.program);
  EXPECT_EQ(basic.Names(), (std::vector<std::string>{"Mul", "Reciprocal", "Add"}));
  EXPECT_EQ(basic.program.ops.back().inputs.back().number, -3.0);
}

// Ten operations in a row are summed in the kernel that makes them, eleven are not.
TEST(SplitAreas, SumsTakeTenOperationsIn) {
  for (const std::size_t count : {10U, 11U}) {
    Basic basic;
    BasicValue value = Basic::Operand();
    for (std::size_t i = 0; i < count; ++i) {
      value = basic.Add("Exp", {value});
    }
    basic.program.results = {basic.Add("ReduceSum", {value}, {8})};
    const std::vector<BasicArea> areas = SplitAreas(basic.program);
    EXPECT_EQ(areas.size(), count == 10 ? 1 : 2);
    EXPECT_EQ(areas.back().ops.size(), count == 10 ? 11 : 1);
  }
}

TEST(SplitAreas, LoneCastsAreCasts) {
  Basic basic;
  basic.program.results = {basic.Add("Cast", {Basic::Operand()})};
  const std::vector<BasicArea> areas = SplitAreas(basic.program);
  ASSERT_EQ(areas.size(), 1);
  EXPECT_TRUE(areas.front().basic);
}

/// Names of the kernels of a graph in order.
std::vector<std::string> Fused(KernelGraph graph) {
  const KernelGraph fused = FuseGraphKernels(std::move(graph));
  std::vector<std::string> names;
  for (const KernelId id : ExecOrder(fused)) {
    names.push_back(fused.at(id).name.str());
  }
  return names;
}

/// Kernels of 4 x 8 floats.
struct Kernels {
  KernelBuilder builder = {};

  KernelId Leaf(const std::string& name) {
    return builder.AddLeaf(KernelKind::kInput, name, {.shape = {4, 8}});
  }
  KernelId Add(std::string_view name, std::vector<KernelId> inputs, TensorType type = {{4, 8}}) {
    return builder.Kernel(
        {.name = name, .inputs = std::move(inputs), .results = {std::move(type)}});
  }
  KernelGraph Returning(std::vector<KernelId> results) {
    builder.graph().outputs = results;
    const KernelId tuple = builder.Virtual(KernelKind::kMakeTuple, std::move(results));
    builder.graph().result = builder.Virtual(KernelKind::kReturn, {tuple});
    return builder.graph();
  }
};

TEST(FuseGraphKernels, NeighboursAreOneKernelNamedByBoth) {
  Kernels kernels;
  const KernelId sum = kernels.Add("Add", {kernels.Leaf("x"), kernels.Leaf("y")});
  EXPECT_EQ(Fused(kernels.Returning({kernels.Add("GeLU", {sum})})),
            std::vector<std::string>{"GraphKernel_Add_GeLU_fusion"});
}

TEST(FuseGraphKernels, ProductsStayAndPart) {
  Kernels kernels;
  const KernelId sum = kernels.Add("Add", {kernels.Leaf("x"), kernels.Leaf("y")});
  const KernelId product = kernels.Add("MatMul", {sum, kernels.Leaf("z")});
  EXPECT_EQ(
      Fused(kernels.Returning({kernels.Add("Neg", {product})})),
      (std::vector<std::string>{"GraphKernel_Add_fusion", "MatMul", "GraphKernel_Neg_fusion"}));
}

// A mean over 32 elements: the sum takes the square in, the quotient has another size.
TEST(FuseGraphKernels, GroupsFallApartBehindSums) {
  Kernels kernels;
  const KernelId squared = kernels.Add("Square", {kernels.Leaf("x")});
  EXPECT_EQ(
      Fused(kernels.Returning({kernels.Add("ReduceMean", {squared}, {{}})})),
      (std::vector<std::string>{"GraphKernel_Mul_ReduceSum_split", "GraphKernel_RealDiv_split"}));
}

TEST(FuseGraphKernels, OtherTypesAreNotFused) {
  Kernels kernels;
  const KernelId x = kernels.builder.AddLeaf(KernelKind::kInput, "x", {{4, 8}, DType::kFloat64});
  const KernelId sum = kernels.Add("Add", {x, x}, {{4, 8}, DType::kFloat64});
  EXPECT_EQ(Fused(kernels.Returning({kernels.Add("Neg", {sum}, {{4, 8}, DType::kFloat64})})),
            (std::vector<std::string>{"Add", "Neg"}));
}

// Numbers stand in the kernel, constants of several elements are operands behind all others.
TEST(FuseGraphKernels, NumbersTakeNoMemory) {
  Kernels kernels;
  const KernelId number = kernels.builder.Constant({.shape = {}}, "2.000000");
  const KernelId table = kernels.builder.Constant({.shape = {4, 8}}, "table");
  const KernelId scaled = kernels.Add("Mul", {number, table});
  const KernelId x = kernels.Leaf("x");
  const KernelGraph fused = FuseGraphKernels(kernels.Returning({kernels.Add("Add", {scaled, x})}));
  const std::vector<KernelId> order = ExecOrder(fused);
  ASSERT_EQ(order.size(), 1);
  const KernelNode& kernel = fused.at(order.front());
  ASSERT_EQ(kernel.inputs.size(), 2);
  EXPECT_EQ(fused.at(kernel.inputs[0]).kind, KernelKind::kInput);
  EXPECT_EQ(fused.at(kernel.inputs[1]).name, "table");
}

// What a result of a fused kernel is written to is its operand, whatever other operands are left.
TEST(FuseGraphKernels, WrittenOperandsAreShared) {
  Kernels kernels;
  const KernelId step =
      kernels.builder.AddLeaf(KernelKind::kParameter, "step", {{1}, DType::kInt32});
  const KernelId one = kernels.builder.Constant({{1}, DType::kInt32}, "1");
  const KernelId state = kernels.builder.AddLeaf(KernelKind::kState, "U", {});
  const KernelId added = kernels.builder.Kernel({.name = "AssignAdd",
                                                 .inputs = {step, one, state},
                                                 .results = {{{1}, DType::kInt32}},
                                                 .shares = {0}});
  const KernelGraph fused = FuseGraphKernels(kernels.Returning({added}));
  const std::vector<KernelId> order = ExecOrder(fused);
  ASSERT_EQ(order.size(), 1);
  const KernelNode& kernel = fused.at(order.front());
  EXPECT_EQ(kernel.name, "GraphKernel_AssignAdd");
  EXPECT_EQ(kernel.results.front().shares, 0);
  EXPECT_TRUE(kernel.update);
  EXPECT_EQ(fused.at(RealOperands(fused, kernel.inputs.front()).front().node).name, "step");
}

}  // namespace
}  // namespace drydock::strategies
