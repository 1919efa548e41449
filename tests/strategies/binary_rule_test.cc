#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/operators/sharding.h"
#include "strategies/passes/backward/differentiate.h"
#include "tests/strategies/gradient_check.h"

/// Operators of two broadcasting tensors, of several equal tensors, and the bias.
namespace drydock::strategies::checks {
namespace {

// ---- Gradients ----------------------------------------------------------------------------------

struct BinaryCase {
  const char* op;
  double low;
  double high;
  friend void PrintTo(const BinaryCase& one, std::ostream* out) { *out << one.op; }
};

class BinaryGradient : public testing::TestWithParam<BinaryCase> {};

TEST_P(BinaryGradient, AgreesWithFiniteDifferences) {
  const std::uint64_t seed = SeedOr(11);
  SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}}, {{}, {4}}, {{2, 1, 2}, {3, 1}}};
  for (const auto& [a, b] : shapes) {
    EXPECT_TRUE(
        GradientAgrees({.op = GetParam().op,
                        .inputs = {RandomArray(a, random, GetParam().low, GetParam().high),
                                   RandomArray(b, random, GetParam().low, GetParam().high)}}));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BinaryGradient,
    testing::Values(BinaryCase{"Add", -2, 2}, BinaryCase{"Sub", -2, 2}, BinaryCase{"Mul", -2, 2},
                    BinaryCase{"RealDiv", 0.5, 2}, BinaryCase{"Div", 0.5, 2},
                    BinaryCase{"DivNoNan", 0.5, 2}, BinaryCase{"Pow", 0.5, 2},
                    BinaryCase{"SquaredDifference", -2, 2}, BinaryCase{"Atan2", 0.3, 2},
                    BinaryCase{"Xlogy", 0.5, 2}, BinaryCase{"Xdivy", 0.5, 2}),
    [](const testing::TestParamInfo<BinaryCase>& one) { return std::string(one.param.op); });

/// Extremes: operands without ties.
class SpreadGradient : public testing::TestWithParam<const char*> {};

TEST_P(SpreadGradient, AgreesWithFiniteDifferences) {
  std::mt19937_64 random(12);
  NdArray both = SpreadArray({24}, random);
  const NdArray a{.shape = {3, 4}, .data = {both.data.begin(), both.data.begin() + 12}};
  const NdArray b{.shape = {4}, .data = {both.data.begin() + 12, both.data.begin() + 16}};
  EXPECT_TRUE(GradientAgrees({.op = GetParam(), .inputs = {a, b}}));
  EXPECT_TRUE(GradientAgrees({.op = GetParam(), .inputs = {b, a}}));
}

INSTANTIATE_TEST_SUITE_P(All, SpreadGradient, testing::Values("Maximum", "Minimum"));

TEST(FloorModGradient, AgreesWithFiniteDifferences) {
  // Quotients 2.65, -2.73, 1.1 and 5.13: away from the jumps.
  EXPECT_TRUE(GradientAgrees({.op = "FloorMod",
                              .inputs = {{.shape = {2, 2}, .data = {5.3, -4.1, 2.2, 7.7}},
                                         {.shape = {2}, .data = {2.0, 1.5}}}}));
}

// d(a * b)/da = dout * b: one Mul. The second Mul, a * dout, is b's and is there only if asked for.
TEST(BinaryGradient, OnlyWantedGradientsAreComputed) {
  const auto backward_nodes = [](bool both) {
    GraphBuilder builder("net");
    const ValueId a = *builder.AddParameter("a", {.shape = {2}}, {});
    const ValueId b = *builder.AddParameter("b", {.shape = {2}}, {});
    const ValueId product = *builder.Emit({.op = "Mul", .inputs = {a, b}});
    const std::size_t forward = builder.graph().nodes.size();
    std::vector<ValueId> wrt = {a};
    if (both) {
      wrt.push_back(b);
    }
    const ValueId sens = builder.AddScalar(1, DType::kFloat32);
    EXPECT_TRUE(Differentiate(builder, product, wrt, sens).has_value());
    return builder.graph().nodes.size() - forward;
  };
  EXPECT_EQ(backward_nodes(false) + 1, backward_nodes(true));
}

TEST(PowGradient, IsFiniteAtZeroBase) {
  // d/dy x^y at x = 0, y = 2: 0^2 * log 0 counts as 0.
  const auto slope = RunOp("Xlogy", {{.shape = {}, .data = {0.0}}, {.shape = {}, .data = {0.0}}});
  ASSERT_TRUE(slope.has_value());
  EXPECT_EQ((*slope)[0].data[0], 0.0);
}

// ---- Shapes and types ---------------------------------------------------------------------------

TEST(InferBroadcast, AlignsAtTheRight) {
  const auto types = InferOp("Add", {{.shape = {8, 1, 6}}, {.shape = {7, 1}}});
  ASSERT_TRUE(types.has_value());
  EXPECT_EQ((*types)[0].shape, (Shape{8, 7, 6}));
}

TEST(InferBroadcast, MismatchNamesBothShapesAndTheDimension) {
  const auto types = InferOp("Add", {{.shape = {8, 3}}, {.shape = {2, 8, 4}}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, "Add:shape-mismatch");
  EXPECT_EQ(
      types.error().message,
      "'Add' cannot broadcast (8, 3) with (2, 8, 4): dimension 1 of the first is 3, dimension "
      "2 of the second is 4");
}

struct PromotionCase {
  const char* op;
  DType a;
  DType b;
  DType out;
  friend void PrintTo(const PromotionCase& one, std::ostream* stream) {
    *stream << one.op << " " << DTypeName(one.a) << " " << DTypeName(one.b);
  }
};

class Promotion : public testing::TestWithParam<PromotionCase> {};

TEST_P(Promotion, FollowsTheTable) {
  const auto types = InferOp(GetParam().op, {{.shape = {2}, .dtype = GetParam().a},
                                             {.shape = {2}, .dtype = GetParam().b}});
  ASSERT_TRUE(types.has_value()) << FormatError(types.error());
  EXPECT_EQ((*types)[0].dtype, GetParam().out);
}

// mindspore ops/infer `promote` and table.
INSTANTIATE_TEST_SUITE_P(
    All, Promotion,
    testing::Values(PromotionCase{"Add", DType::kInt64, DType::kFloat16, DType::kFloat16},
                    PromotionCase{"Mul", DType::kFloat16, DType::kBFloat16, DType::kFloat32},
                    PromotionCase{"Sub", DType::kInt8, DType::kUInt8, DType::kInt16},
                    PromotionCase{"RealDiv", DType::kInt32, DType::kInt32, DType::kInt32},
                    PromotionCase{"Div", DType::kInt32, DType::kInt32, DType::kFloat32},
                    PromotionCase{"Div", DType::kFloat16, DType::kInt32, DType::kFloat16},
                    PromotionCase{"Equal", DType::kFloat32, DType::kFloat32, DType::kBool},
                    PromotionCase{"LogicalOr", DType::kBool, DType::kBool, DType::kBool}));

TEST(InferBroadcast, UnsignedWithSignedHasNoCommonType) {
  const auto types = InferOp(
      "Add", {{.shape = {2}, .dtype = DType::kUInt16}, {.shape = {2}, .dtype = DType::kInt32}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, "Add:dtype-mismatch");
}

TEST(RealDivOp, OfIntegersCutsTowardsZero) {
  const auto result =
      RunOp("RealDiv", {{.shape = {2}, .data = {7, -7}}, {.shape = {}, .data = {2}}}, {},
            {DType::kInt32, DType::kInt32});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ((*result)[0].data, (std::vector<double>{3, -3}));
}

// ---- Sharding -----------------------------------------------------------------------------------

Result<OpSharding> ShardPair(const char* op, const Shape& a, const Shape& b, const Shape& out,
                             const Strategy& strategy, std::int64_t devices) {
  const std::vector<TensorType> inputs = {{.shape = a}, {.shape = b}};
  const std::vector<TensorType> outputs = {{.shape = out}};
  const AttrMap attrs;
  const OpView view{.op = op, .inputs = inputs, .outputs = outputs, .attrs = &attrs};
  return DeriveSharding(*FindOp(op), view, strategy,
                        {.stage_devices = devices, .job_devices = devices});
}

// (32, 1) and (1, 64) cut (4, 1) and (1, 2): device matrix (4, 2), each operand lies on one axis.
TEST(ShardBroadcast, BroadcastDimensionsStayWhole) {
  const auto sharding = ShardPair("Mul", {32, 1}, {1, 64}, {32, 64}, {{4, 1}, {1, 2}}, 8);
  ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
  EXPECT_EQ(sharding->device_matrix, (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(SliceShape(sharding->inputs[0]), (Shape{8, 1}));
  EXPECT_EQ(SliceShape(sharding->inputs[1]), (Shape{1, 32}));
  EXPECT_EQ(SliceShape(sharding->outputs[0]), (Shape{8, 32}));
}

TEST(ShardBroadcast, UnequalCutsOfRealExtentsAreRefused) {
  const auto sharding = ShardPair("Add", {32, 64}, {64}, {32, 64}, {{2, 4}, {2}}, 8);
  ASSERT_FALSE(sharding.has_value());
  EXPECT_EQ(sharding.error().reason, "Add:strategy-axis");
}

// The right operand aligned to (1, 64) does not reach dimension 0, so only the left one is cut:
// gcd(8, 32) = 8.
TEST(DefaultBroadcast, CutsOperandsThatReachDimensionZero) {
  const std::vector<TensorType> inputs = {{.shape = {32, 64}}, {.shape = {64}}};
  const std::vector<TensorType> outputs = {{.shape = {32, 64}}};
  const AttrMap attrs;
  const OpView view{.op = "Add", .inputs = inputs, .outputs = outputs, .attrs = &attrs};
  const auto strategy =
      DefaultStrategy(*FindOp("Add"), view, {.stage_devices = 8, .job_devices = 8});
  ASSERT_TRUE(strategy.has_value());
  EXPECT_EQ(*strategy, (Strategy{{8, 1}, {1}}));
}

// ---- AddN, Select, BiasAdd ----------------------------------------------------------------------

TEST(AddNOp, GradientGoesToEveryInput) {
  std::mt19937_64 random(14);
  EXPECT_TRUE(GradientAgrees(
      {.op = "AddN",
       .inputs = {RandomArray({2, 2}, random, -1, 1), RandomArray({2, 2}, random, -1, 1),
                  RandomArray({2, 2}, random, -1, 1)}}));
}

TEST(AddNOp, UnequalShapesAreRefused) {
  const auto types = InferOp("AddN", {{.shape = {2}}, {.shape = {2}}, {.shape = {3}}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().message,
            "'AddN' cannot add (3,) (input 2) to (2,): all inputs must have one shape");
}

TEST(SelectOp, GradientFollowsTheCondition) {
  std::mt19937_64 random(15);
  EXPECT_TRUE(GradientAgrees({.op = "Select",
                              .inputs = {{.shape = {3, 1}, .data = {1, 0, 1}},
                                         RandomArray({3, 2}, random, -1, 1),
                                         RandomArray({2}, random, -1, 1)},
                              .dtypes = {DType::kBool, DType::kFloat64, DType::kFloat64}}));
}

TEST(SelectOp, ConditionMustBeBool) {
  const auto types = InferOp("Select", {{.shape = {2}}, {.shape = {2}}, {.shape = {2}}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, "Select:dtype");
}

TEST(SelectOp, BroadcastConditionKeepsItsDimensionWhole) {
  const std::vector<TensorType> inputs = {
      {.shape = {8, 1}, .dtype = DType::kBool}, {.shape = {8, 4}}, {.shape = {8, 4}}};
  const std::vector<TensorType> outputs = {{.shape = {8, 4}}};
  const AttrMap attrs;
  const OpView view{.op = "Select", .inputs = inputs, .outputs = outputs, .attrs = &attrs};
  const DeviceContext devices{.stage_devices = 4, .job_devices = 4};
  EXPECT_TRUE(
      DeriveSharding(*FindOp("Select"), view, {{4, 1}, {4, 1}, {4, 1}}, devices).has_value());
  EXPECT_FALSE(
      DeriveSharding(*FindOp("Select"), view, {{1, 1}, {1, 4}, {1, 4}}, devices).has_value());
}

class BiasGradient : public testing::TestWithParam<const char*> {};

TEST_P(BiasGradient, AgreesWithFiniteDifferences) {
  std::mt19937_64 random(16);
  const Shape shape = std::string(GetParam()) == "NHWC" ? Shape{2, 2, 2, 3} : Shape{2, 3, 2, 2};
  EXPECT_TRUE(GradientAgrees(
      {.op = "BiasAdd",
       .inputs = {RandomArray(shape, random, -1, 1), RandomArray({3}, random, -1, 1)},
       .attrs = {{"data_format", GetParam()}}}));
}

INSTANTIATE_TEST_SUITE_P(Formats, BiasGradient, testing::Values("NCHW", "NHWC"));

TEST(BiasAddOp, MismatchNamesTheChannels) {
  const auto types = InferOp("BiasAdd", {{.shape = {4, 3}}, {.shape = {4}}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().message,
            "'BiasAdd' cannot add (4,) to (4, 3): dimension 1 of input 0 is 3, dimension 0 of "
            "input 1 is 4");
}

// ---- Assignments --------------------------------------------------------------------------------

TEST(AssignOps, ComputeTheNewContents) {
  const NdArray variable{.shape = {2}, .data = {1, 2}};
  const NdArray value{.shape = {2}, .data = {10, 20}};
  EXPECT_EQ((*RunOp("Assign", {variable, value}))[0].data, (std::vector<double>{10, 20}));
  EXPECT_EQ((*RunOp("AssignAdd", {variable, value}))[0].data, (std::vector<double>{11, 22}));
  EXPECT_EQ((*RunOp("AssignSub", {variable, value}))[0].data, (std::vector<double>{-9, -18}));
}

TEST(AssignOps, DoNotBroadcast) {
  const auto types = InferOp("Assign", {{.shape = {2, 3}}, {.shape = {3}}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, "Assign:shape-mismatch");
}

TEST(AssignOps, ScalarTakesOneElement) {
  EXPECT_TRUE(
      InferOp("AssignAdd", {{.shape = {}, .dtype = DType::kInt32}, {.shape = {1}}}).has_value());
}

}  // namespace
}  // namespace drydock::strategies::checks
