#include "strategies/program/rank_set.h"

#include <gtest/gtest.h>

/// Sets of ranks against sets of numbers.
namespace drydock::strategies {
namespace {

using Numbers = std::vector<std::int64_t>;

RankSet Ranks(std::vector<RankRange> ranges) {
  return {.ranges = std::move(ranges)};
}

/// The members, by asking for every rank below 16.
Numbers Members(const RankSet& set) {
  Numbers members;
  for (std::int64_t rank = 0; rank < 16; ++rank) {
    if (Contains(set, rank)) {
      members.push_back(rank);
    }
  }
  return members;
}

TEST(RankSet, RangesAreSortedAndJoined) {
  EXPECT_EQ(RanksOf({{8, 9}, {3, 5}, {0, 2}, {4, 4}, {7, 6}}), Ranks({{0, 5}, {8, 9}}));
}

TEST(RankSet, AllRanksOfNoneIsEmpty) {
  EXPECT_EQ(AllRanks(4), Ranks({{0, 3}}));
  EXPECT_EQ(AllRanks(0), Ranks({}));
}

TEST(RankSet, HighestRanksAreJoined) {
  RankSet set;
  for (const std::int64_t rank : {0, 1, 3}) {
    AddHighest(set, rank);
  }
  EXPECT_EQ(set, Ranks({{0, 1}, {3, 3}}));
  EXPECT_EQ(CountRanks(set), 3);
}

// All pairs of subsets of ranks 0 to 4, made of numbers: 32 * 32 cases.
TEST(RankSet, MergeCommonAndTakeAreThoseOfSets) {
  const auto set_of = [](unsigned bits) {
    RankSet set;
    for (std::int64_t rank = 0; rank < 5; ++rank) {
      if ((bits >> static_cast<unsigned>(rank) & 1U) != 0) {
        AddHighest(set, rank);
      }
    }
    return set;
  };
  for (unsigned a = 0; a < 32; ++a) {
    for (unsigned b = 0; b < 32; ++b) {
      EXPECT_EQ(Merge(set_of(a), set_of(b)), set_of(a | b)) << a << " " << b;
      EXPECT_EQ(Common(set_of(a), set_of(b)), set_of(a & b)) << a << " " << b;
      RankSet left = set_of(a);
      EXPECT_EQ(Take(left, set_of(b)), set_of(a & b)) << a << " " << b;
      EXPECT_EQ(left, set_of(a & ~b)) << a << " " << b;
    }
  }
}

TEST(RankSet, ContainsAsksTheRanges) {
  EXPECT_EQ(Members(Ranks({{2, 4}, {9, 9}})), (Numbers{2, 3, 4, 9}));
}

TEST(RankSetText, JoinsRanges) {
  EXPECT_EQ(RankSetText(Ranks({{0, 3}, {8, 8}})), "0-3,8");
  EXPECT_EQ(RankSetText({}), "");
}

TEST(SteppedRanksText, FoldsRunsAndSteps) {
  EXPECT_EQ(SteppedRanksText(Numbers{}), "");
  EXPECT_EQ(SteppedRanksText(Numbers{3}), "3");
  EXPECT_EQ(SteppedRanksText(Numbers{0, 1, 2, 3}), "0-3");
  EXPECT_EQ(SteppedRanksText(Numbers{0, 1}), "0-1");
  EXPECT_EQ(SteppedRanksText(Numbers{0, 4}), "0,4");
  EXPECT_EQ(SteppedRanksText(Numbers{0, 4, 8, 12}), "0-12:4");
  EXPECT_EQ(SteppedRanksText(Numbers{0, 1, 8, 9, 16, 17}), "0-1,8-9,16-17");
  EXPECT_EQ(SteppedRanksText(Numbers{1, 3, 5, 6, 7}), "1-5:2,6-7");
}

}  // namespace
}  // namespace drydock::strategies
