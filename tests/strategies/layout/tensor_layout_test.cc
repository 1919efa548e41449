#include "strategies/layout/tensor_layout.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Numbers = std::vector<std::int64_t>;

TensorLayout Plain(Numbers matrix, const Numbers& map, Shape shape) {
  return MakeLayout(std::move(matrix), map, std::move(shape));
}

TEST(SliceOf, RowsAndColumnsOfEightRanks) {
  // Rank 6 = (1, 2): rows 8..16, columns 8..12.
  const TensorLayout layout = Plain({2, 4}, {1, 0}, {16, 16});
  EXPECT_THAT(SliceShape(layout), ElementsAre(8, 4));
  EXPECT_THAT(SliceOf(layout, 6), ElementsAre(Range{8, 16}, Range{8, 12}));
  EXPECT_EQ(ValueAt(SliceBegin(layout)[1], 6), 8);
}

TEST(SliceOf, FirstOfSeveralAxesIsTheOutermostCut) {
  // D (dp, sp, mp) = (2, 2, 2), map (mp, (sp, dp)) on (2, 4): ranks 0, 4, 2, 6 own columns
  // 0, 1, 2, 3 of row 0.
  const TensorLayout layout{
      .device_matrix = {2, 2, 2}, .tensor_map = {{0}, {1, 2}}, .shape = {2, 4}};
  const Numbers ranks = {0, 4, 2, 6};
  for (std::int64_t column = 0; column < 4; ++column) {
    EXPECT_THAT(SliceOf(layout, ranks[static_cast<std::size_t>(column)]),
                ElementsAre(Range{0, 1}, Range{column, column + 1}));
  }
}

TEST(ReplicaPattern, UnmappedAxesShareTheSlice) {
  // Map {-1, 0} on {2, 4}: replicas r mod 4 and r mod 4 + 4.
  EXPECT_THAT(GroupRanks(ReplicaPattern(Plain({2, 4}, {-1, 0}, {16, 16})), 6, 0),
              ElementsAre(2, 6));
  EXPECT_THAT(ReplicaPattern(Plain({2, 4}, {1, 0}, {16, 16})).digits, IsEmpty());
}

TEST(Standardize, AxesOfSizeOneVanish) {
  // The standard form.
  EXPECT_EQ(Standardize(Plain({2, 2, 1}, {2, 1}, {4, 4})), Plain({2, 2}, {1, 0}, {4, 4}));
  EXPECT_EQ(Standardize(Plain({1, 16, 1}, {2, 1}, {4, 16})), Plain({16}, {-1, 0}, {4, 16}));
  EXPECT_EQ(Standardize(Plain({1, 1}, {1, 0}, {4, 4})), Plain({1}, {-1, -1}, {4, 4}));
}

TEST(SameOwnership, ComparesFunctionsOfTheRank) {
  // Cutting 8 rows over axes (2, 4) in order is the same as over one axis of 8.
  const TensorLayout nested{.device_matrix = {2, 4}, .tensor_map = {{1, 0}}, .shape = {8}};
  const TensorLayout swapped{.device_matrix = {2, 4}, .tensor_map = {{0, 1}}, .shape = {8}};
  EXPECT_TRUE(SameOwnership(nested, Plain({8}, {0}, {8})));
  EXPECT_FALSE(SameOwnership(swapped, Plain({8}, {0}, {8})));
  EXPECT_TRUE(SameOwnership(Plain({2, 1, 4}, {2}, {8}), Plain({2, 2, 2}, {2}, {8})));
  EXPECT_FALSE(SameOwnership(Plain({8}, {0}, {8}), Plain({8}, {0, -1}, {8, 1})));
}

TEST(SetTensorMap, NoneBehindAxesIsRememberedAndCutsNothing) {
  // 8 rows over the axis of 2, 16 columns over another of 2: slices of 4 x 8.
  TensorLayout layout{.device_matrix = {2, 2, 2}, .shape = {8, 16}};
  ASSERT_TRUE(SetTensorMap(layout, {{1, -1}, {0}}).has_value());
  EXPECT_THAT(layout.tensor_map, ElementsAre(Numbers{1}, Numbers{0}));
  EXPECT_THAT(layout.trailing_none, ElementsAre(0));
  EXPECT_THAT(SliceShape(layout), ElementsAre(4, 8));
  TensorLayout whole{.device_matrix = {2, 2, 2}, .shape = {8}};
  ASSERT_TRUE(SetTensorMap(whole, {{-1}}).has_value());
  EXPECT_THAT(whole.tensor_map, ElementsAre(IsEmpty()));
  EXPECT_THAT(whole.trailing_none, IsEmpty());
}

TEST(SetTensorMap, NoneInFrontOfAnAxisIsRefused) {
  TensorLayout layout{.device_matrix = {2, 2, 2}, .shape = {8}};
  const Status status = SetTensorMap(layout, {{-1, 1}});
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().reason, "Layout:none-not-last");
}

TEST(AxesPattern, CountsAxesFromTheLeft) {
  const std::vector<std::size_t> axes = {0, 1};
  EXPECT_THAT(GroupRanks(AxesPattern({2, 2, 3}, axes), 4, 0), ElementsAre(1, 4, 7, 10));
}

struct BadLayout {
  const char* name = "";
  TensorLayout layout = {};
  const char* reason = "";
};
void PrintTo(const BadLayout& bad, std::ostream* out) {
  *out << bad.name;
}

class InvalidLayout : public ::testing::TestWithParam<BadLayout> {};

TEST_P(InvalidLayout, IsRefusedWithItsReason) {
  const Status status = ValidateLayout(GetParam().layout);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().reason, GetParam().reason);
}

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

INSTANTIATE_TEST_SUITE_P(
    Rules, InvalidLayout,
    ::testing::Values(
        BadLayout{"ZeroDevices", Plain({0}, {-1}, {4}), "Layout:not-positive"},
        BadLayout{"NegativeShape", Plain({2}, {-1}, {-4}), "Layout:not-positive"},
        BadLayout{"AxisTwice", Plain({8, 4}, {1, 1}, {512, 1024}), "Layout:axis-used-twice"},
        BadLayout{"AxisTooLarge", Plain({8, 4}, {2, 0}, {512, 1024}), "Layout:no-such-axis"},
        BadLayout{"AxisBelowMinusOne", Plain({8, 4}, {-2}, {512}), "Layout:no-such-axis"},
        BadLayout{"MapTooShort", Plain({8, 4}, {1}, {512, 8}), "Layout:tensor-map-length"},
        BadLayout{"Uneven", Plain({4}, {0}, {6}), "Layout:not-divisible"},
        BadLayout{"NoMatrix", Plain({}, {-1}, {6}), "Layout:rank"},
        BadLayout{"TooLarge", Plain({kHuge, 3}, {-1}, {6}), ""},
        BadLayout{"NoneBehindNothing",
                  {.device_matrix = {2}, .tensor_map = {{}}, .shape = {4}, .trailing_none = {0}},
                  "Layout:trailing-none"}),
    [](const auto& suite) { return std::string(suite.param.name); });

TEST(ValidateLayout, AcceptsScalarsAndReplicas) {
  EXPECT_TRUE(ValidateLayout(ReplicatedLayout(8, {})).has_value());
  EXPECT_TRUE(ValidateLayout(ReplicatedLayout(8, {3, 5})).has_value());
}

}  // namespace
}  // namespace drydock::strategies
