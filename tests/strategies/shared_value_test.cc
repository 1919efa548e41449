#include "strategies/graph/shared_value.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

struct Pair {
  std::string first = {};
  std::vector<int> second = {};
};

TEST(SharedValue, EmptyByDefault) {
  EXPECT_FALSE(SharedValue<Pair>());
  EXPECT_FALSE(SharedValue<Pair>().has_value());
}

TEST(SharedValue, CopiesAreTheSameObject) {
  SharedValue<Pair> a = Pair{.first = "one", .second = {1, 2}};
  const SharedValue<Pair> b = a;
  EXPECT_EQ(&*a, &*b);
  a = {};
  EXPECT_EQ(b->first, "one");
}

TEST(SharedValue, PartOutlivesTheHandleOfTheWhole) {
  SharedValue<std::vector<int>> part;
  {
    const SharedValue<Pair> whole = Pair{.first = "one", .second = {1, 2}};
    part = whole.Share(whole->second);
    EXPECT_EQ(&*part, &whole->second);
  }
  EXPECT_EQ(*part, (std::vector<int>{1, 2}));  // the address sanitizer would see a dead one
}

}  // namespace
}  // namespace drydock::strategies
