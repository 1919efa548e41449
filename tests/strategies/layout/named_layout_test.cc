#include "strategies/layout/named_layout.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

using ::testing::ElementsAre;
using Numbers = std::vector<std::int64_t>;

NamedLayout Cube() {
  return MakeNamedLayout({2, 2, 2}, {"dp", "sp", "mp"}).value();
}

TEST(ToTensorLayout, TuplesCutFromOutsideIn) {
  // By definition: layout("mp", ("sp", "dp")) -> axes 0 and (1, 2).
  const auto layout = ToTensorLayout(Cube(), {{"mp"}, {"sp", "dp"}}, {2, 4});
  ASSERT_TRUE(layout.has_value());
  EXPECT_THAT(layout->tensor_map, ElementsAre(Numbers{0}, Numbers{1, 2}));
}

TEST(ToTensorLayout, TrailingNoneKeepsOwnershipAndIsRemembered) {
  const auto with = ToTensorLayout(Cube(), {{"sp", "None"}, {"mp"}}, {8, 16});
  const auto without = ToTensorLayout(Cube(), {{"sp"}, {"mp"}}, {8, 16});
  ASSERT_TRUE(with.has_value() && without.has_value());
  EXPECT_TRUE(SameOwnership(*with, *without));
  EXPECT_THAT(with->trailing_none, ElementsAre(0));
  EXPECT_THAT(SliceShape(*with), ElementsAre(4, 8));
}

TEST(ToTensorLayout, NoneInFrontOfAnAxisIsRefused) {
  const auto layout = ToTensorLayout(Cube(), {{"None", "sp"}}, {8});
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().reason, "Layout:none-not-last");
}

TEST(ToTensorLayout, UnevenCutIsRefused) {
  EXPECT_FALSE(ToTensorLayout(Cube(), {{"sp", "mp"}}, {6}).has_value());
}

TEST(ToTensorLayout, InterleavedAxisCountsOnlyWhereItCuts) {
  const auto named = MakeNamedLayout({4, 2}, {"dp", "interleaved_parallel"});
  ASSERT_TRUE(named.has_value());
  const auto cut = ToTensorLayout(*named, {{"dp", "interleaved_parallel"}}, {8});
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->interleave, 2);
  EXPECT_THAT(SliceShape(*cut), ElementsAre(1));  // 8 / (4 * 2)
  // Not used by the tensor, the axis has no devices: {4, 1}.
  const auto plain = ToTensorLayout(*named, {{"dp"}}, {8});
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->interleave, 1);
  EXPECT_THAT(plain->device_matrix, ElementsAre(4, 1));
}

TEST(TensorMapOf, UnknownAliasSuggestsTheNearest) {
  const auto named = MakeNamedLayout({2, 4}, {"data", "model"});
  const auto map = TensorMapOf(*named, {{"modle"}});
  ASSERT_FALSE(map.has_value());
  EXPECT_EQ(map.error().hint, "did you mean 'model'?");
}

TEST(TensorMapOf, AxisMayBeUsedOnce) {
  const auto map = TensorMapOf(Cube(), {{"dp"}, {"mp", "dp"}});
  ASSERT_FALSE(map.has_value());
  EXPECT_EQ(map.error().reason, "Layout:axis-used-twice");
}

TEST(MakeNamedLayout, ArgumentsThatCannotBeRightAreRefused) {
  EXPECT_EQ(MakeNamedLayout({2, 2}, {"dp"}).error().reason, "Layout:alias-count");
  EXPECT_EQ(MakeNamedLayout({}, {}).error().reason, "Layout:alias-count");
  EXPECT_EQ(MakeNamedLayout({2}, {"None"}).error().reason, "Layout:alias");
  EXPECT_EQ(MakeNamedLayout({2, 0}, {"dp", "mp"}).error().reason, "Layout:not-positive");
  EXPECT_EQ(MakeNamedLayout({2, 2}, {"dp", "mp"}, {0, 1, 2}).error().reason, "Layout:rank-list");
}

TEST(MakeNamedLayout, RankListDefaultsToAllRanks) {
  EXPECT_THAT(MakeNamedLayout({2, 2}, {"dp", "mp"})->rank_list, ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace drydock::strategies
