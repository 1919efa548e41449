#include "strategies/graph/boxed.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

using Numbers = Boxed<std::vector<int>>;

TEST(Boxed, EmptyByDefaultAndFromNullopt) {
  EXPECT_FALSE(Numbers().has_value());
  EXPECT_FALSE(Numbers(std::nullopt));
  EXPECT_FALSE(Numbers(std::optional<std::vector<int>>()));
  EXPECT_EQ(sizeof(Numbers), sizeof(void*));
}

TEST(Boxed, CopiesAreIndependent) {
  Numbers a = std::vector<int>{1, 2};
  Numbers b = a;
  b->push_back(3);
  EXPECT_EQ(*a, (std::vector<int>{1, 2}));
  EXPECT_EQ(*b, (std::vector<int>{1, 2, 3}));
  a = b;
  *b = {};
  EXPECT_EQ(*a, (std::vector<int>{1, 2, 3}));
}

TEST(Boxed, AssignmentToItselfKeepsTheValue) {
  Numbers a = std::vector<int>{4};
  const Numbers& same = a;
  a = same;
  ASSERT_TRUE(a);
  EXPECT_EQ(*a, (std::vector<int>{4}));
}

TEST(Boxed, TakesListsInBraces) {
  Numbers a;
  a = {1, 2};
  EXPECT_EQ(a, Numbers(std::vector<int>{1, 2}));
  a = {};
  EXPECT_FALSE(a);
  a.emplace().push_back(3);
  EXPECT_EQ(a, Numbers(std::vector<int>{3}));
}

TEST(Boxed, MovingLeavesNothingBehind) {
  Numbers a = std::vector<int>{5};
  const Numbers b = std::move(a);
  EXPECT_TRUE(b);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): that is what is tested
}

TEST(Boxed, ComparesValuesNotPlaces) {
  EXPECT_EQ(Numbers(std::vector<int>{1}), Numbers(std::vector<int>{1}));
  EXPECT_FALSE(Numbers(std::vector<int>{1}) == Numbers(std::vector<int>{2}));
  EXPECT_FALSE(Numbers(std::vector<int>{}) == Numbers());
  EXPECT_EQ(Numbers(), Numbers());
}

TEST(Boxed, ValueOrChoosesTheOtherOnlyIfEmpty) {
  EXPECT_EQ(Boxed<std::string>().value_or("x"), "x");
  EXPECT_EQ(Boxed<std::string>(std::string("y")).value_or("x"), "y");
}

}  // namespace
}  // namespace drydock::strategies
