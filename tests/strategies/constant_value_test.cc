#include "strategies/reference/constant_value.h"

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"

/// Numbers that follow from constants of the script.
namespace drydock::strategies {
namespace {

constexpr std::size_t kMany = 1000;

class ConstantValueTest : public testing::Test {
 protected:
  ValueId Constant(Shape shape, std::vector<double> data) {
    return *builder_.AddConstant({.shape = std::move(shape)}, std::move(data));
  }
  ValueId Of(std::string_view op, std::vector<ValueId> inputs, AttrMap attrs = {}) {
    const NodeId id =
        *builder_.AddNode({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs)});
    return builder_.graph().nodes[ToIndex(id)].outputs.front();
  }
  [[nodiscard]] std::optional<std::vector<double>> Numbers(ValueId id,
                                                           std::size_t most = kMany) const {
    const std::optional<NdArray> found = ConstantValue(builder_.graph(), id, most);
    return found ? std::optional(found->data) : std::nullopt;
  }
  GraphBuilder builder_ = GraphBuilder("net");
};

// (1, 2) + (3, 4) = (4, 6); its sum is 10; squared it is 100.
TEST_F(ConstantValueTest, OperatorsOnConstants) {
  const ValueId sum = Of("Add", {Constant({2}, {1, 2}), Constant({2}, {3, 4})});
  EXPECT_EQ(Numbers(sum), (std::vector<double>{4, 6}));
  const ValueId all = Of("ReduceSum", {sum}, {{"axis", Attr::List{Attr(0)}}});
  EXPECT_EQ(Numbers(Of("Mul", {all, all})), (std::vector<double>{100}));
}

TEST_F(ConstantValueTest, InputsParametersAndUnknownConstantsHaveNoNumbers) {
  const ValueId one = Constant({2}, {1, 2});
  const ValueId input = *builder_.AddInput("x", {.shape = {2}});
  const ValueId parameter = *builder_.AddParameter("w", {.shape = {2}}, {});
  const ValueId unknown = *builder_.AddConstant({.shape = {2}}, std::nullopt);
  for (const ValueId other : {input, parameter, unknown}) {
    EXPECT_EQ(Numbers(other), std::nullopt);
    EXPECT_EQ(Numbers(Of("Add", {one, other})), std::nullopt);
  }
}

TEST_F(ConstantValueTest, WhatOtherRanksOrChanceDecideHasNoNumbers) {
  const ValueId one = Constant({2}, {1, 2});
  EXPECT_EQ(Numbers(Of("AllReduce", {one}, {{"op", "sum"}, {"rank_size", 2}})), std::nullopt);
  EXPECT_EQ(Numbers(Of("Dropout", {one}, {{"keep_prob", 0.5}})), std::nullopt);
}

TEST_F(ConstantValueTest, LargeTensorsAreNotWorkedOut) {
  const ValueId three = Constant({3}, {1, 2, 3});
  EXPECT_EQ(Numbers(Of("Neg", {three}), 3), (std::vector<double>{-1, -2, -3}));
  EXPECT_EQ(Numbers(Of("Neg", {three}), 2), std::nullopt);
}

// 1 + 1 + ... (20,000 times): the walk is no recursion.
TEST_F(ConstantValueTest, LongChains) {
  const ValueId one = Constant({1}, {1});
  ValueId sum = one;
  for (int i = 0; i < 20'000; ++i) {
    sum = Of("Add", {sum, one});
  }
  EXPECT_EQ(Numbers(sum), (std::vector<double>{20'001}));
}

}  // namespace
}  // namespace drydock::strategies
