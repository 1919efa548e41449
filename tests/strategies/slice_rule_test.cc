#include <algorithm>

#include <gtest/gtest.h>

#include "strategies/operators/sharding.h"
#include "tests/strategies/gradient_check.h"

/// Slices: positions against Python's rules, masks, gradients, sharding.
namespace drydock::strategies::checks {
namespace {

using Numbers = std::vector<std::int64_t>;

// ---- Against Python's slice rules ---------------------------------------------------------------

/// Positions that Python's `range(n)[begin:end:stride]` selects, by the language reference's words:
/// clamp both ends into the sequence, then walk.
Numbers PythonSlice(std::int64_t n, std::int64_t begin, std::int64_t end, std::int64_t stride) {
  const auto clamp = [n, stride](std::int64_t position) {
    const std::int64_t from_left = position < 0 ? position + n : position;
    const std::int64_t lowest = stride < 0 ? -1 : 0;
    const std::int64_t highest = stride < 0 ? n - 1 : n;
    return std::clamp(from_left, lowest, highest);
  };
  Numbers positions = {};
  const std::int64_t last = clamp(end);
  for (std::int64_t i = clamp(begin); stride > 0 ? i < last : i > last; i += stride) {
    positions.push_back(i);
  }
  return positions;
}

struct RandomSlice {
  Shape shape = {};
  Numbers begin = {};
  Numbers end = {};
  Numbers strides = {};
  [[nodiscard]] AttrMap Attrs() const {
    return {{"begin", begin}, {"end", end}, {"strides", strides}};
  }
};

RandomSlice DrawSlice(std::mt19937_64& random) {
  const auto draw = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  RandomSlice slice = {};
  const std::int64_t rank = draw(1, 3);
  for (std::int64_t d = 0; d < rank; ++d) {
    const std::int64_t n = draw(1, 5);
    slice.shape.push_back(n);
    slice.begin.push_back(draw(-n - 2, n + 1));
    slice.end.push_back(draw(-n - 2, n + 2));
    const std::int64_t stride = draw(1, 3);
    slice.strides.push_back(draw(0, 1) == 0 ? stride : -stride);
  }
  return slice;
}

TEST(StridedSlice, TakesWhatPythonTakes) {
  const std::uint64_t seed = SeedOr(31);
  SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    const RandomSlice one = DrawSlice(random);
    const std::string text = testing::PrintToString(one.shape) + testing::PrintToString(one.begin) +
                             testing::PrintToString(one.end) + testing::PrintToString(one.strides);
    std::vector<Numbers> positions = {};
    Shape shape = {};
    for (std::size_t d = 0; d < one.shape.size(); ++d) {
      positions.push_back(PythonSlice(one.shape[d], one.begin[d], one.end[d], one.strides[d]));
      shape.push_back(std::ssize(positions.back()));
    }
    const auto result = RunOp("StridedSlice", {Counting(one.shape)}, one.Attrs());
    ASSERT_TRUE(result.has_value()) << text << FormatError(result.error());
    ASSERT_EQ((*result)[0].shape, shape) << text;
    // Counting data: the element at an index is the index's row-major number.
    for (std::size_t i = 0; i < (*result)[0].data.size(); ++i) {
      std::int64_t rest = static_cast<std::int64_t>(i);
      std::int64_t number = 0;
      std::int64_t scale = 1;
      for (std::size_t d = shape.size(); d-- > 0;) {
        number += positions[d][static_cast<std::size_t>(rest % shape[d])] * scale;
        rest /= shape[d];
        scale *= one.shape[d];
      }
      ASSERT_EQ((*result)[0].data[i], static_cast<double>(number)) << text;
    }
  }
}

TEST(StridedSlice, GradientAgreesWithFiniteDifferences) {
  const std::uint64_t seed = SeedOr(32);
  SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    const RandomSlice one = DrawSlice(random);
    ASSERT_TRUE(GradientAgrees({.op = "StridedSlice",
                                .inputs = {RandomArray(one.shape, random, -1, 1)},
                                .attrs = one.Attrs()}));
  }
}

// ---- Masks --------------------------------------------------------------------------------------

struct MaskCase {
  const char* name;
  Shape input;
  AttrMap attrs;
  Shape output;
  friend void PrintTo(const MaskCase& one, std::ostream* out) { *out << one.name; }
};

AttrMap Lists(Numbers begin, Numbers end, Numbers strides, AttrMap masks) {
  masks["begin"] = begin;
  masks["end"] = end;
  masks["strides"] = strides;
  return masks;
}

class SliceMask : public testing::TestWithParam<MaskCase> {};

TEST_P(SliceMask, GivesTheShape) {
  const auto types = InferOp("StridedSlice", {{.shape = GetParam().input}}, GetParam().attrs);
  ASSERT_TRUE(types.has_value()) << FormatError(types.error());
  EXPECT_EQ((*types)[0].shape, GetParam().output);
  std::mt19937_64 random(33);
  EXPECT_TRUE(GradientAgrees({.op = "StridedSlice",
                              .inputs = {RandomArray(GetParam().input, random, -1, 1)},
                              .attrs = GetParam().attrs}));
}

// mindspore ops/infer, the walk over input dimension i and list position j.
INSTANTIATE_TEST_SUITE_P(
    All, SliceMask,
    testing::Values(
        // x[:3, 1:] of (4, 5)
        MaskCase{"BeginAndEnd",
                 {4, 5},
                 Lists({2, 1}, {3, 2}, {1, 1}, {{"begin_mask", 1}, {"end_mask", 2}}),
                 {3, 4}},
        // x[::-1] of (4,): begin and end masks with a negative stride
        MaskCase{
            "Backwards", {4}, Lists({0}, {0}, {-1}, {{"begin_mask", 1}, {"end_mask", 1}}), {4}},
        // x[None, 1] of (4, 5): new axis, then one row
        MaskCase{"NewAndShrunk",
                 {4, 5},
                 Lists({0, 1}, {0, 2}, {1, 1}, {{"new_axis_mask", 1}, {"shrink_axis_mask", 2}}),
                 {1, 5}},
        // x[-1] of (4, 5)
        MaskCase{"LastRow", {4, 5}, Lists({-1}, {0}, {1}, {{"shrink_axis_mask", 1}}), {5}},
        // x[..., 1:3] of (2, 4, 5)
        MaskCase{"Ellipsis",
                 {2, 4, 5},
                 Lists({0, 1}, {0, 3}, {1, 1}, {{"ellipsis_mask", 1}}),
                 {2, 4, 2}},
        // x[0, ..., None, 2] of (2, 4, 5): the ellipsis stands for dimension 1 alone
        MaskCase{"EllipsisInside",
                 {2, 4, 5},
                 Lists({0, 0, 0, 2}, {1, 0, 0, 3}, {1, 1, 1, 1},
                       {{"shrink_axis_mask", 9}, {"ellipsis_mask", 2}, {"new_axis_mask", 4}}),
                 {4, 1}},
        // fewer positions than dimensions: the rest is whole
        MaskCase{"ShortLists", {4, 5, 6}, Lists({1}, {3}, {1}, {}), {2, 5, 6}}),
    [](const testing::TestParamInfo<MaskCase>& one) { return std::string(one.param.name); });

struct BadSlice {
  const char* name;
  AttrMap attrs;
  const char* reason;
  friend void PrintTo(const BadSlice& one, std::ostream* out) { *out << one.name; }
};

class RefusedSlice : public testing::TestWithParam<BadSlice> {};

TEST_P(RefusedSlice, HasAReason) {
  const auto types = InferOp("StridedSlice", {{.shape = {4, 5}}}, GetParam().attrs);
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedSlice,
    testing::Values(BadSlice{"StrideZero", Lists({0}, {1}, {0}, {}), "StridedSlice:stride"},
                    BadSlice{"UnequalLists", Lists({0}, {1, 1}, {1}, {}), "StridedSlice:lists"},
                    BadSlice{"TooManyPositions", Lists({0, 0, 0}, {1, 1, 1}, {1, 1, 1}, {}),
                             "StridedSlice:lists"},
                    BadSlice{"IndexOutside", Lists({4}, {5}, {1}, {{"shrink_axis_mask", 1}}),
                             "StridedSlice:index-out-of-range"},
                    BadSlice{"TwoEllipses", Lists({0, 0}, {1, 1}, {1, 1}, {{"ellipsis_mask", 3}}),
                             "StridedSlice:ellipsis"},
                    BadSlice{"NoBegin", AttrMap{{"end", Numbers{1}}, {"strides", Numbers{1}}},
                             "StridedSlice:attribute"}),
    [](const testing::TestParamInfo<BadSlice>& one) { return std::string(one.param.name); });

TEST(StridedSlice, ScalarInputIsRefused) {
  EXPECT_EQ(InferOp("StridedSlice", {{}}, Lists({}, {}, {}, {})).error().reason,
            "StridedSlice:rank");
}

// Positions that depend on the rank count as those of rank 0 in inference and are numbers later.
TEST(StridedSlice, RankDependentPositionsHaveTheShapeOfRankZero) {
  const RankExpr begin{.constant = 0, .terms = {{.digit = {1, 4}, .scale = 2}}};
  const RankExpr end{.constant = 2, .terms = {{.digit = {1, 4}, .scale = 2}}};
  const AttrMap attrs = {
      {"begin", Attr::List{begin}}, {"end", Attr::List{end}}, {"strides", Numbers{1}}};
  const auto types = InferOp("StridedSlice", {{.shape = {8}}}, attrs);
  ASSERT_TRUE(types.has_value());
  EXPECT_EQ((*types)[0].shape, (Shape{2}));
}

// ---- Slice and _GetTensorSlice ------------------------------------------------------------------

TEST(SliceOp, TakesSizeElementsFromBegin) {
  const AttrMap attrs = {{"begin", Numbers{1, 0}}, {"size", Numbers{1, -1}}};
  const auto result = RunOp("Slice", {Counting({2, 3})}, attrs);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ((*result)[0], (NdArray{.shape = {1, 3}, .data = {3, 4, 5}}));
  std::mt19937_64 random(34);
  EXPECT_TRUE(GradientAgrees(
      {.op = "Slice", .inputs = {RandomArray({2, 3}, random, -1, 1)}, .attrs = attrs}));
}

TEST(SliceOp, BeyondTheEndNamesTheDimension) {
  const auto types =
      InferOp("Slice", {{.shape = {4, 5}}}, {{"begin", Numbers{0, 3}}, {"size", Numbers{4, 3}}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().message,
            "'Slice' takes 3 elements from position 3 of dimension 1, whose extent is 5");
}

TEST(SliceOp, HugeNumbersAreRefused) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(InferOp("Slice", {{.shape = {4}}}, {{"begin", Numbers{1}}, {"size", Numbers{huge}}})
                .error()
                .reason,
            "Slice:out-of-range");
  EXPECT_EQ(InferOp("Slice", {{.shape = {4}}}, {{"begin", Numbers{-huge}}, {"size", Numbers{1}}})
                .error()
                .reason,
            "Slice:out-of-range");
}

TEST(TensorSlice, TakesTheRanksPart) {
  const auto result = RunOp("_GetTensorSlice", {Counting({4, 2})},
                            {{"begin", Numbers{2, 0}}, {"slice_shape", Numbers{2, 1}}});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ((*result)[0], (NdArray{.shape = {2, 1}, .data = {4, 6}}));
}

// ---- Sharding -----------------------------------------------------------------------------------

Result<OpSharding> ShardSlice(const AttrMap& attrs, const Shape& in, const Strategy& strategy) {
  const std::vector<TensorType> inputs = {{.shape = in}};
  DRYDOCK_TRY(const auto outputs, InferOp("StridedSlice", inputs, attrs));
  const OpView view{.op = "StridedSlice", .inputs = inputs, .outputs = outputs, .attrs = &attrs};
  return DeriveSharding(*FindOp("StridedSlice"), view, strategy,
                        {.stage_devices = 8, .job_devices = 8});
}

TEST(StridedSliceRule, WholeDimensionsMayBeCut) {
  const auto sharding = ShardSlice(Lists({0, 1}, {8, 3}, {1, 1}, {}), {8, 4}, {{8, 1}});
  ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
  EXPECT_EQ(SliceShape(sharding->outputs[0]), (Shape{1, 2}));
}

TEST(StridedSliceRule, PartlyTakenDimensionsMayNot) {
  const auto sharding = ShardSlice(Lists({0, 1}, {8, 3}, {1, 1}, {}), {8, 4}, {{1, 4}});
  ASSERT_FALSE(sharding.has_value());
  EXPECT_EQ(sharding.error().reason, "StridedSlice:strategy-uncut");
}

TEST(StridedSliceRule, StridesForbidCuts) {
  EXPECT_FALSE(ShardSlice(Lists({0}, {8}, {2}, {}), {8, 4}, {{2, 1}}).has_value());
}

// Negative positions are taken literally: x[-8:] is the whole dimension, but not for the rule.
TEST(StridedSliceRule, NegativeBeginIsNoFullFetch) {
  EXPECT_FALSE(ShardSlice(Lists({-8}, {8}, {1}, {}), {8, 4}, {{2, 1}}).has_value());
}

TEST(StridedSliceRule, EllipsisIsRefused) {
  const auto sharding = ShardSlice(Lists({0}, {0}, {1}, {{"ellipsis_mask", 1}}), {8, 4}, {{1, 1}});
  ASSERT_FALSE(sharding.has_value());
  EXPECT_EQ(sharding.error().reason, "StridedSlice:strategy-ellipsis");
}

// x[None, :, 0] of (8, 4): output (1, 8); the cut of input dimension 0 arrives at output
// dimension 1.
TEST(StridedSliceRule, NewAndShrunkAxesMoveTheCuts) {
  const auto sharding = ShardSlice(
      Lists({0, 0, 0}, {0, 8, 1}, {1, 1, 1}, {{"new_axis_mask", 1}, {"shrink_axis_mask", 4}}),
      {8, 4}, {{4, 1}});
  ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
  EXPECT_EQ(SliceShape(sharding->outputs[0]), (Shape{1, 2}));
}

TEST(SliceRule, PartlyTakenDimensionsAreWhole) {
  const AttrMap attrs = {{"begin", Numbers{0, 1}}, {"size", Numbers{8, 2}}};
  const std::vector<TensorType> inputs = {{.shape = {8, 4}}};
  const std::vector<TensorType> outputs = {{.shape = {8, 2}}};
  const OpView view{.op = "Slice", .inputs = inputs, .outputs = outputs, .attrs = &attrs};
  const DeviceContext devices{.stage_devices = 8, .job_devices = 8};
  EXPECT_TRUE(DeriveSharding(*FindOp("Slice"), view, {{8, 1}}, devices).has_value());
  EXPECT_FALSE(DeriveSharding(*FindOp("Slice"), view, {{1, 2}}, devices).has_value());
}

}  // namespace
}  // namespace drydock::strategies::checks
