#include "strategies/layout/rank_pattern.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

using ::testing::ElementsAre;

TEST(AxisDigit, StrideIsTheProductOfInnerAxes) {
  // D = {2, 2, 3}: axis 0 changes every 6 ranks, axis 1 every 3, axis 2 every rank.
  EXPECT_EQ(AxisDigit({2, 2, 3}, 0), (RankDigit{.stride = 6, .extent = 2}));
  EXPECT_EQ(AxisDigit({2, 2, 3}, 1), (RankDigit{.stride = 3, .extent = 2}));
  EXPECT_EQ(AxisDigit({2, 2, 3}, 2), (RankDigit{.stride = 1, .extent = 3}));
}

TEST(GroupRanks, AxisOfADeviceMatrix) {
  // By definition: D = {2, 2, 3}, ranks 0..11, self 5: axis 0 {5, 11}, axis 1 {2, 5}, axis 2 {3, 4,
  // 5}.
  const std::vector<std::int64_t> matrix = {2, 2, 3};
  EXPECT_THAT(GroupRanks(MakeGroupPattern({AxisDigit(matrix, 0)}), 5, 0), ElementsAre(5, 11));
  EXPECT_THAT(GroupRanks(MakeGroupPattern({AxisDigit(matrix, 1)}), 5, 0), ElementsAre(2, 5));
  EXPECT_THAT(GroupRanks(MakeGroupPattern({AxisDigit(matrix, 2)}), 5, 0), ElementsAre(3, 4, 5));
}

TEST(GroupRanks, SeveralAxesAscendAndAddTheStageBegin) {
  // Axes 0 and 2 of {2, 2, 3}, position 4 = (0, 1, 1), stage begins at 12: middle coordinate 1
  // stays, so positions 3, 4, 5 and 9, 10, 11.
  const GroupPattern pattern = MakeGroupPattern({{1, 3}, {6, 2}});
  EXPECT_THAT(GroupRanks(pattern, 4, 12), ElementsAre(15, 16, 17, 21, 22, 23));
  EXPECT_EQ(GroupLeader(pattern, 4), 3);
  EXPECT_EQ(IndexInGroup(pattern, 10), 4);
  EXPECT_EQ(GroupSize(pattern), 6);
}

TEST(GroupRanks, NoDigitsIsEveryRankAlone) {
  EXPECT_THAT(GroupRanks({}, 5, 8), ElementsAre(13));
  EXPECT_EQ(GroupSize({}), 1);
}

TEST(MakeGroupPattern, NeighboursMergeAndOnesVanish) {
  // {12, 2} {4, 3}: 12 = 4 * 3, one digit of stride 4 and extent 6; {1, 2} is apart (2 != 4).
  const GroupPattern pattern = MakeGroupPattern({{1, 2}, {4, 3}, {2, 1}, {12, 2}, {4, 3}});
  EXPECT_THAT(pattern.digits, ElementsAre(RankDigit{4, 6}, RankDigit{1, 2}));
}

TEST(Plus, MergesEqualDigitsAndDropsZeros) {
  const RankExpr a = Plus(DigitTimes({4, 2}, 3), DigitTimes({1, 4}, 5));
  const RankExpr b = Plus(DigitTimes({4, 2}, -3), RankExpr{.constant = 7});
  const RankExpr sum = Plus(a, b);
  EXPECT_EQ(sum, (RankExpr{.constant = 7, .terms = {{.digit = {1, 4}, .scale = 5}}}));
  // Position 6: 6 mod 4 = 2, 7 + 5 * 2.
  EXPECT_EQ(ValueAt(sum, 6), 17);
}

TEST(Canonical, SplitDigitsBecomeOne) {
  // position mod 8 = 4 * ((position / 4) mod 2) + position mod 4.
  const RankExpr split = Plus(DigitTimes({4, 2}, 4), DigitTimes({1, 4}, 1));
  EXPECT_EQ(Canonical(split), DigitTimes({1, 8}, 1));
  // Swapped weights are another function: (p / 4) mod 2 + 2 * (p mod 4).
  const RankExpr swapped = Plus(DigitTimes({4, 2}, 1), DigitTimes({1, 4}, 2));
  EXPECT_EQ(Canonical(swapped), swapped);
}

}  // namespace
}  // namespace drydock::strategies
