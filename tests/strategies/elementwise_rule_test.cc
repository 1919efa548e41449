#include <cmath>

#include <gtest/gtest.h>

#include "strategies/operators/sharding.h"
#include "tests/strategies/gradient_check.h"

/// Element-wise operators of one tensor: types, values, gradients, sharding.
namespace drydock::strategies::checks {
namespace {

struct UnaryCase {
  const char* op;
  double low;
  double high;
  friend void PrintTo(const UnaryCase& one, std::ostream* out) { *out << one.op; }
};

class UnaryGradient : public testing::TestWithParam<UnaryCase> {};

TEST_P(UnaryGradient, AgreesWithFiniteDifferences) {
  const std::uint64_t seed = SeedOr(1);
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3, 2}}) {
    EXPECT_TRUE(
        GradientAgrees({.op = GetParam().op,
                        .inputs = {RandomArray(shape, random, GetParam().low, GetParam().high)}}));
  }
}

// The ranges keep away from kinks and poles.
INSTANTIATE_TEST_SUITE_P(
    All, UnaryGradient,
    testing::Values(
        UnaryCase{"ReLU", 0.1, 2}, UnaryCase{"ReLU6", 0.1, 5.9}, UnaryCase{"GeLU", -3, 3},
        UnaryCase{"FastGeLU", -3, 3}, UnaryCase{"Sigmoid", -4, 4}, UnaryCase{"Tanh", -2, 2},
        UnaryCase{"SiLU", -3, 3}, UnaryCase{"Softplus", -3, 3}, UnaryCase{"HSigmoid", -2.9, 2.9},
        UnaryCase{"Exp", -2, 2}, UnaryCase{"Expm1", -2, 2}, UnaryCase{"Log", 0.2, 3},
        UnaryCase{"Log1p", -0.7, 3}, UnaryCase{"Sqrt", 0.2, 3}, UnaryCase{"Rsqrt", 0.2, 3},
        UnaryCase{"Square", -2, 2}, UnaryCase{"Neg", -2, 2}, UnaryCase{"Abs", 0.1, 2},
        UnaryCase{"Reciprocal", 0.3, 3}, UnaryCase{"Sin", -3, 3}, UnaryCase{"Cos", -3, 3},
        UnaryCase{"Tan", -1, 1}, UnaryCase{"Sinh", -2, 2}, UnaryCase{"Cosh", -2, 2},
        UnaryCase{"Asin", -0.8, 0.8}, UnaryCase{"ACos", -0.8, 0.8}, UnaryCase{"Atan", -3, 3},
        UnaryCase{"Asinh", -3, 3}, UnaryCase{"Acosh", 1.3, 3}, UnaryCase{"Atanh", -0.8, 0.8},
        UnaryCase{"Erf", -2, 2}, UnaryCase{"Erfc", -2, 2}, UnaryCase{"Identity", -2, 2},
        UnaryCase{"Load", -2, 2}),
    [](const testing::TestParamInfo<UnaryCase>& one) { return std::string(one.param.op); });

class UnaryKink : public testing::TestWithParam<UnaryCase> {};

TEST_P(UnaryKink, GradientIsRightOnTheOtherSide) {
  std::mt19937_64 random(2);
  EXPECT_TRUE(
      GradientAgrees({.op = GetParam().op,
                      .inputs = {RandomArray({6}, random, GetParam().low, GetParam().high)}}));
}

INSTANTIATE_TEST_SUITE_P(All, UnaryKink,
                         testing::Values(UnaryCase{"ReLU", -2, -0.1}, UnaryCase{"ReLU6", 6.1, 9},
                                         UnaryCase{"HSigmoid", 3.1, 5}, UnaryCase{"Abs", -2, -0.1}),
                         [](const testing::TestParamInfo<UnaryCase>& one) {
                           return std::string(one.param.op);
                         });

struct ValueCase {
  const char* op;
  double x;
  double y;
  friend void PrintTo(const ValueCase& one, std::ostream* stream) {
    *stream << one.op << "(" << one.x << ")";
  }
};

class UnaryValue : public testing::TestWithParam<ValueCase> {};

TEST_P(UnaryValue, IsTheMathematicalOne) {
  const auto result = RunOp(GetParam().op, {{.shape = {}, .data = {GetParam().x}}});
  ASSERT_TRUE(result.has_value()) << FormatError(result.error());
  EXPECT_NEAR((*result)[0].data[0], GetParam().y, 1e-9);
}

// GeLU(1), tanh form: 0.5 * (1 + tanh(0.7978845608 * 1.044715)) = 0.5 * (1 + tanh(0.8335619691))
//   = 0.5 * (1 + 0.6823839764) = 0.8411919906 (the erf form would give 0.8413447461).
// FastGeLU(1) = 1 / (1 + exp(-1.702)) = 0.8457957659; SiLU(1) = 1 / (1 + exp(-1)) = 0.7310585786.
INSTANTIATE_TEST_SUITE_P(All, UnaryValue,
                         testing::Values(ValueCase{"GeLU", 1, 0.841191990608303},
                                         ValueCase{"FastGeLU", 1, 0.845795765908},
                                         ValueCase{"SiLU", 1, 0.731058578630},
                                         ValueCase{"HSigmoid", 1, 2.0 / 3.0},
                                         ValueCase{"Rsqrt", 4, 0.5}, ValueCase{"Round", 2.5, 2},
                                         ValueCase{"Trunc", -1.7, -1}, ValueCase{"Floor", -1.2, -2},
                                         ValueCase{"Ceil", -1.2, -1}, ValueCase{"Sign", -3, -1},
                                         ValueCase{"LogicalNot", 0, 1}, ValueCase{"OnesLike", 7, 1},
                                         ValueCase{"ZerosLike", 7, 0},
                                         ValueCase{"IsFinite", 1, 1}));

struct TypeCase {
  const char* op;
  DType in;
  DType out;
  friend void PrintTo(const TypeCase& one, std::ostream* stream) {
    *stream << one.op << " of " << DTypeName(one.in);
  }
};

class UnaryType : public testing::TestWithParam<TypeCase> {};

TEST_P(UnaryType, FollowsTheTable) {
  const auto types = InferOp(GetParam().op, {{.shape = {2, 3}, .dtype = GetParam().in}});
  ASSERT_TRUE(types.has_value()) << FormatError(types.error());
  EXPECT_EQ((*types)[0], (TensorType{.shape = {2, 3}, .dtype = GetParam().out}));
}

// mindspore ops/infer and the dtype fields of operators.json.
INSTANTIATE_TEST_SUITE_P(All, UnaryType,
                         testing::Values(TypeCase{"Exp", DType::kInt32, DType::kFloat32},
                                         TypeCase{"Exp", DType::kFloat16, DType::kFloat16},
                                         TypeCase{"Sqrt", DType::kBool, DType::kFloat32},
                                         TypeCase{"Erf", DType::kInt64, DType::kFloat32},
                                         TypeCase{"Erf", DType::kInt32, DType::kInt32},
                                         TypeCase{"ReLU", DType::kInt32, DType::kInt32},
                                         TypeCase{"LogicalNot", DType::kBool, DType::kBool},
                                         TypeCase{"IsFinite", DType::kFloat32, DType::kBool},
                                         TypeCase{"GeLU", DType::kBFloat16, DType::kBFloat16}));

TEST(UnaryType, GeluOfIntegersIsRefused) {
  const auto types = InferOp("GeLU", {{.shape = {2}, .dtype = DType::kInt32}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, "GeLU:dtype");
  EXPECT_EQ(types.error().message, "'GeLU' takes floating-point numbers, but input 0 is int32");
}

TEST(UnaryType, TwoOperandsAreRefused) {
  const auto types = InferOp("ReLU", {{.shape = {2}}, {.shape = {2}}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, "ReLU:input-count");
  EXPECT_EQ(types.error().message, "'ReLU' takes 1 tensors, but 2 are given");
}

TEST(CastOp, GradientHasTheTypeOfTheInput) {
  std::mt19937_64 random(3);
  EXPECT_TRUE(GradientAgrees({.op = "Cast",
                              .inputs = {RandomArray({3}, random, -1, 1)},
                              .attrs = {{"dtype", "float32"}},
                              .dtypes = {DType::kFloat64}}));
}

TEST(CastOp, ToIntegersCutsTowardsZero) {
  const auto result =
      RunOp("Cast", {{.shape = {3}, .data = {-1.7, 0.9, 2.0}}}, {{"dtype", "int32"}});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ((*result)[0].data, (std::vector<double>{-1, 0, 2}));
}

TEST(CastOp, WithoutTypeIsRefused) {
  const auto types = InferOp("Cast", {{.shape = {2}}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, "Cast:attribute");
}

// 32 x 64 cut (2, 4) on 16 devices: device matrix (2, 4, 2), slice 16 x 16, neighbours hold the
// same.
TEST(ShardElementwise, LeavesRepetitionOnTheRight) {
  const OpEntry* entry = FindOp("ReLU");
  ASSERT_NE(entry, nullptr);
  const std::vector<TensorType> types = {{.shape = {32, 64}}};
  const AttrMap attrs;
  const OpView view{.op = "ReLU", .inputs = types, .outputs = types, .attrs = &attrs};
  const auto sharding =
      DeriveSharding(*entry, view, {{2, 4}}, {.stage_devices = 16, .job_devices = 16});
  ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
  EXPECT_EQ(sharding->device_matrix, (std::vector<std::int64_t>{2, 4, 2}));
  EXPECT_EQ(SliceShape(sharding->outputs[0]), (Shape{16, 16}));
  EXPECT_EQ(sharding->loss_divisor, 2);
  EXPECT_TRUE(sharding->communication.empty());
}

TEST(Round, HalvesGoToTheEvenNeighbourOfTheLastDigitKept) {
  const NdArray x = {.shape = {2}, .data = {2.5, 0.375}};
  EXPECT_EQ(RunOp("Round", {x})->front().data, (std::vector<double>{2, 0}));
  // In units of 1/100: 250 and 37.5, whose even neighbour is 38.
  EXPECT_EQ(RunOp("Round", {x}, {{"decimals", 2}})->front().data, (std::vector<double>{2.5, 0.38}));
}

}  // namespace
}  // namespace drydock::strategies::checks
