#include <gtest/gtest.h>

#include "strategies/operators/sharding.h"
#include "tests/strategies/gradient_check.h"

/// Reshape and relatives, Transpose, BroadcastTo, Tile, Concat, Split.
namespace drydock::strategies::checks {
namespace {

using Numbers = std::vector<std::int64_t>;

// ---- Shapes -------------------------------------------------------------------------------------

struct ShapeCase {
  const char* op;
  Shape in;
  AttrMap attrs;
  Shape out;
  friend void PrintTo(const ShapeCase& one, std::ostream* stream) {
    *stream << one.op << testing::PrintToString(one.in) << " -> "
            << testing::PrintToString(one.out);
  }
};

class ShapeOp : public testing::TestWithParam<ShapeCase> {};

TEST_P(ShapeOp, InfersTheShape) {
  const auto types = InferOp(GetParam().op, {{.shape = GetParam().in}}, GetParam().attrs);
  ASSERT_TRUE(types.has_value()) << FormatError(types.error());
  EXPECT_EQ((*types)[0].shape, GetParam().out);
}

TEST_P(ShapeOp, GradientAgreesWithFiniteDifferences) {
  const std::uint64_t seed = SeedOr(41);
  SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  EXPECT_TRUE(GradientAgrees({.op = GetParam().op,
                              .inputs = {RandomArray(GetParam().in, random, -1, 1)},
                              .attrs = GetParam().attrs}));
}

INSTANTIATE_TEST_SUITE_P(
    All, ShapeOp,
    testing::Values(ShapeCase{"Reshape", {2, 6}, {{"shape", Numbers{3, -1}}}, {3, 4}},
                    ShapeCase{"Reshape", {2, 3}, {{"shape", Numbers{6}}}, {6}},
                    ShapeCase{"Reshape", {1, 1}, {{"shape", Numbers{}}}, {}},
                    ShapeCase{"Flatten", {2, 3, 4}, {}, {2, 12}},
                    ShapeCase{"Flatten", {3}, {}, {3, 1}},
                    ShapeCase{"ExpandDims", {2, 3}, {{"axis", 1}}, {2, 1, 3}},
                    ShapeCase{"ExpandDims", {2, 3}, {{"axis", -1}}, {2, 3, 1}},
                    ShapeCase{"ExpandDims", {}, {{"axis", 0}}, {1}},
                    ShapeCase{"Squeeze", {2, 1, 3, 1}, {}, {2, 3}},
                    ShapeCase{"Squeeze", {2, 1, 3, 1}, {{"axis", Numbers{-1}}}, {2, 1, 3}},
                    ShapeCase{
                        "Transpose", {2, 3, 4}, {{"input_perm", Numbers{2, 0, 1}}}, {4, 2, 3}},
                    ShapeCase{"Transpose", {2, 3}, {{"input_perm", Numbers{-1, 0}}}, {3, 2}},
                    ShapeCase{"BroadcastTo", {3, 1}, {{"shape", Numbers{2, -1, 4}}}, {2, 3, 4}},
                    ShapeCase{"BroadcastTo", {}, {{"shape", Numbers{2}}}, {2}},
                    ShapeCase{"Tile", {2, 3}, {{"dims", Numbers{2, 1}}}, {4, 3}},
                    ShapeCase{"Tile", {3}, {{"dims", Numbers{2, 2}}}, {2, 6}},
                    ShapeCase{"Tile", {2, 3}, {{"dims", Numbers{2}}}, {2, 6}},
                    ShapeCase{"Tile", {2, 3}, {{"dims", Numbers{1, 1}}}, {2, 3}}));

struct RefusedCase {
  const char* op;
  Shape in;
  AttrMap attrs;
  const char* message;
  friend void PrintTo(const RefusedCase& one, std::ostream* out) { *out << one.op; }
};

class RefusedShape : public testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedShape, SaysWhatDoesNotFit) {
  const auto types = InferOp(GetParam().op, {{.shape = GetParam().in}}, GetParam().attrs);
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().message, GetParam().message);
  EXPECT_TRUE(types.error().reason.starts_with(std::string(GetParam().op) + ":"));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedShape,
    testing::Values(
        RefusedCase{"Reshape",
                    {2, 6},
                    {{"shape", Numbers{5, -1}}},
                    "'Reshape' cannot turn (2, 6) into (5, -1): the input has 12 elements, which 5 "
                    "does not divide"},
        RefusedCase{
            "Reshape",
            {2, 6},
            {{"shape", Numbers{3, 5}}},
            "'Reshape' cannot turn (2, 6) into (3, 5): the input has 12 elements, the target 15"},
        RefusedCase{"Reshape",
                    {2, 6},
                    {{"shape", Numbers{-1, -1}}},
                    "'Reshape' cannot turn (2, 6) into (-1, -1): at most one extent may be -1, "
                    "none below -1"},
        RefusedCase{"ExpandDims",
                    {2},
                    {{"axis", 3}},
                    "axis 3 of 'ExpandDims' is outside a tensor of 2 dimensions"},
        RefusedCase{"Squeeze",
                    {2, 3},
                    {{"axis", 1}},
                    "'Squeeze' cannot remove dimension 1 of (2, 3): its extent is 3, not 1"},
        RefusedCase{
            "Transpose",
            {2, 3},
            {{"input_perm", Numbers{0, 0}}},
            "'Transpose' needs each dimension of (2, 3) once, but its permutation is (0, 0)"},
        RefusedCase{"BroadcastTo",
                    {3, 2},
                    {{"shape", Numbers{3, 4}}},
                    "'BroadcastTo' cannot turn (3, 2) into (3, 4): dimension 1 of the target is 4, "
                    "dimension 1 "
                    "of the input is 2"},
        RefusedCase{"Tile", {2}, {{"dims", Numbers{-2}}}, "'Tile' repeats dimension 0 -2 times"},
        RefusedCase{"Split",
                    {6},
                    {{"output_num", 4}},
                    "'Split' cannot cut dimension 0 of (6,) into 4 equal parts: its extent is 6"}));

TEST(ReshapeOp, OverflowingTargetIsRefused) {
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_FALSE(InferOp("Reshape", {{.shape = {4}}}, {{"shape", Numbers{huge, huge}}}).has_value());
}

TEST(TileOp, RepeatsInOrder) {
  const auto result = RunOp("Tile", {Counting({3})}, {{"dims", Numbers{2}}});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ((*result)[0].data, (std::vector<double>{0, 1, 2, 0, 1, 2}));
}

TEST(TransposeOp, MovesElements) {
  const auto result = RunOp("Transpose", {Counting({2, 3})}, {{"input_perm", Numbers{1, 0}}});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ((*result)[0], (NdArray{.shape = {3, 2}, .data = {0, 3, 1, 4, 2, 5}}));
}

// ---- Concat and Split ---------------------------------------------------------------------------

TEST(ConcatOp, GradientIsCutApart) {
  std::mt19937_64 random(42);
  EXPECT_TRUE(GradientAgrees(
      {.op = "Concat",
       .inputs = {RandomArray({2, 1}, random, -1, 1), RandomArray({2, 3}, random, -1, 1)},
       .attrs = {{"axis", -1}}}));
}

TEST(ConcatOp, MismatchNamesTheDimension) {
  const auto types = InferOp("Concat", {{.shape = {2, 3}}, {.shape = {2, 4}}}, {{"axis", 0}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().message,
            "'Concat' cannot join (2, 3) and (2, 4) on dimension 0: dimension 1 of input 0 is 3, "
            "of input 1 it is 4");
}

TEST(SplitOp, GradientIsJoined) {
  std::mt19937_64 random(43);
  EXPECT_TRUE(GradientAgrees({.op = "Split",
                              .inputs = {RandomArray({2, 6}, random, -1, 1)},
                              .attrs = {{"axis", 1}, {"output_num", 3}}}));
}

// Also where one of the three parts reaches no loss.
TEST(UnstackOp, GradientIsStacked) {
  std::mt19937_64 random(44);
  const std::vector<NdArray> inputs = {RandomArray({2, 3, 4}, random, -1, 1)};
  const AttrMap attrs = {{"axis", -2}, {"num", 3}};
  EXPECT_TRUE(GradientAgrees({.op = "Unstack", .inputs = inputs, .attrs = attrs}));
  EXPECT_TRUE(GradientAgrees(
      {.op = "Unstack", .inputs = inputs, .attrs = attrs, .weighed = {true, false, true}}));
}

TEST(SplitOp, GivesOneOutputForEachPart) {
  const auto result = RunOp("Split", {Counting({2, 2})}, {{"axis", 1}, {"output_num", 2}});
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->size(), 2U);
  EXPECT_EQ((*result)[1], (NdArray{.shape = {2, 1}, .data = {1, 3}}));
}

// ---- Sharding -----------------------------------------------------------------------------------

struct ShardCase {
  const char* op;
  std::vector<Shape> in;
  AttrMap attrs;
  Strategy strategy;
  Shape local;  ///< Of output 0; empty if the strategy is refused.
  const char* reason;
  friend void PrintTo(const ShardCase& one, std::ostream* stream) {
    *stream << one.op << testing::PrintToString(one.strategy);
  }
};

class ShapeRule : public testing::TestWithParam<ShardCase> {};

TEST_P(ShapeRule, CutsOrRefuses) {
  const ShardCase& one = GetParam();
  std::vector<TensorType> inputs = {};
  for (const Shape& shape : one.in) {
    inputs.push_back({.shape = shape});
  }
  const auto outputs = InferOp(one.op, inputs, one.attrs);
  ASSERT_TRUE(outputs.has_value()) << FormatError(outputs.error());
  const OpView view{.op = one.op, .inputs = inputs, .outputs = *outputs, .attrs = &one.attrs};
  const auto sharding =
      DeriveSharding(*FindOp(one.op), view, one.strategy, {.stage_devices = 8, .job_devices = 8});
  if (one.local.empty()) {
    ASSERT_FALSE(sharding.has_value());
    EXPECT_EQ(sharding.error().reason, one.reason);
  } else {
    ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
    EXPECT_EQ(SliceShape(sharding->outputs[0]), one.local);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ShapeRule,
    testing::Values(
        // (8, 16, 32) cut (2, 4, 1), dimensions 1 and 2 swapped: 8/2, 32, 16/4
        ShardCase{"Transpose",
                  {{8, 16, 32}},
                  {{"input_perm", Numbers{0, 2, 1}}},
                  {{2, 4, 1}},
                  {4, 32, 4},
                  ""},
        ShardCase{"Transpose",
                  {{8, 16}},
                  {{"input_perm", Numbers{-1, 0}}},
                  {{1, 1}},
                  {},
                  "Transpose:strategy-permutation"},
        ShardCase{"ExpandDims", {{8, 4}}, {{"axis", 1}}, {{4, 2}}, {2, 1, 2}, ""},
        ShardCase{"Squeeze", {{8, 1, 4}}, {}, {{4, 1, 2}}, {2, 2}, ""},
        ShardCase{"BroadcastTo", {{8, 1}}, {{"shape", Numbers{2, 8, 4}}}, {{8, 1}}, {2, 1, 4}, ""},
        ShardCase{"BroadcastTo",
                  {{8, 1}},
                  {{"shape", Numbers{8, 4}}},
                  {{1, 2}},
                  {},
                  "BroadcastTo:strategy-divisible"},
        // multiples (4, 1): the repetition is cut 4 times, dimension 1 twice: 32/4, 16/2
        ShardCase{"Tile", {{8, 16}}, {{"dims", Numbers{4, 1}}}, {{4, 2}}, {8, 8}, ""},
        ShardCase{
            "Tile", {{8, 16}}, {{"dims", Numbers{2, 1}}}, {{4, 2}}, {}, "Tile:strategy-divisible"},
        ShardCase{
            "Tile", {{8}}, {{"dims", Numbers{1, 2}}}, {{2, 1}}, {}, "Tile:strategy-divisible"},
        ShardCase{"Tile", {{8, 16}}, {{"dims", Numbers{2}}}, {{2}}, {}, "Tile:strategy-rank"},
        ShardCase{"Concat", {{8, 4}, {8, 2}}, {{"axis", 1}}, {{8, 1}, {8, 1}}, {1, 6}, ""},
        ShardCase{"Concat",
                  {{8, 4}, {8, 2}},
                  {{"axis", 1}},
                  {{1, 2}, {1, 2}},
                  {},
                  "Concat:strategy-uncut"},
        ShardCase{"Concat",
                  {{8, 4}, {8, 2}},
                  {{"axis", 1}},
                  {{8, 1}, {4, 1}},
                  {},
                  "Concat:strategy-axis"},
        ShardCase{"Split", {{8, 4}}, {{"axis", 1}, {"output_num", 2}}, {{8, 1}}, {1, 2}, ""},
        ShardCase{"Split",
                  {{8, 4}},
                  {{"axis", 1}, {"output_num", 2}},
                  {{1, 2}},
                  {},
                  "Split:strategy-uncut"},
        ShardCase{"Flatten", {{8, 2, 2}}, {}, {{8, 1, 1}}, {1, 4}, ""},
        ShardCase{"Flatten", {{8, 2, 2}}, {}, {{1, 2, 1}}, {}, "Flatten:strategy-uncut"}));

// ---- Default strategies -------------------------------------------------------------------------

struct DefaultShapeCase {
  const char* op;
  std::vector<Shape> in;
  AttrMap attrs;
  Strategy strategy;
  friend void PrintTo(const DefaultShapeCase& one, std::ostream* stream) {
    *stream << one.op << testing::PrintToString(one.strategy);
  }
};

class ShapeDefault : public testing::TestWithParam<DefaultShapeCase> {};

TEST_P(ShapeDefault, FollowsTheSpec) {
  const DefaultShapeCase& one = GetParam();
  std::vector<TensorType> inputs = {};
  for (const Shape& shape : one.in) {
    inputs.push_back({.shape = shape});
  }
  const auto outputs = InferOp(one.op, inputs, one.attrs);
  ASSERT_TRUE(outputs.has_value()) << FormatError(outputs.error());
  const OpView view{.op = one.op, .inputs = inputs, .outputs = *outputs, .attrs = &one.attrs};
  const auto strategy =
      DefaultStrategy(*FindOp(one.op), view, {.stage_devices = 8, .job_devices = 8});
  ASSERT_TRUE(strategy.has_value()) << FormatError(strategy.error());
  EXPECT_EQ(*strategy, one.strategy);
}

// mindspore ops_info/reshape_info.cc and column "dflt" of section 8.
INSTANTIATE_TEST_SUITE_P(
    All, ShapeDefault,
    testing::Values(
        DefaultShapeCase{"Concat", {{8, 4}, {8, 2}}, {{"axis", 1}}, {{8, 1}, {8, 1}}},
        DefaultShapeCase{"Concat", {{8, 4}, {8, 4}}, {{"axis", 0}}, {{1, 1}, {1, 1}}},
        DefaultShapeCase{"Split", {{8, 4}}, {{"axis", 1}, {"output_num", 2}}, {{8, 1}}},
        DefaultShapeCase{"Split", {{8}}, {{"axis", 0}, {"output_num", 2}}, {{1}}},
        DefaultShapeCase{
            "Slice", {{8, 4}}, {{"begin", Numbers{1, 0}}, {"size", Numbers{2, 4}}}, {{1, 1}}},
        DefaultShapeCase{
            "Slice", {{8, 4}}, {{"begin", Numbers{0, 0}}, {"size", Numbers{8, 2}}}, {{8, 1}}},
        // the common divisor is taken with the input's extent 2, not with the multiple
        DefaultShapeCase{"Tile", {{2, 4}}, {{"dims", Numbers{8, 1}}}, {{2, 1}}},
        DefaultShapeCase{"Tile", {{4}}, {{"dims", Numbers{8, 1}}}, {{8, 1}}}));

}  // namespace
}  // namespace drydock::strategies::checks
