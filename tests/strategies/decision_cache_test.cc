#include "strategies/passes/choose/decision_cache.h"

#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

DecisionQuestion Question(std::int64_t rows) {
  const std::vector<std::int64_t> map = {0, -1};
  return {.inputs = {{.shape = {rows, 8}}},
          .outputs = {{.shape = {rows, 8}}},
          .by_one_edge = true,
          .connections = {{.other = MakeLayout({4}, map, {rows, 8})}}};
}

TEST(DecisionCache, EqualQuestionGetsTheAnswer) {
  DecisionCache cache;
  cache.Add(Question(16), OpSharding{.strategy = {{4, 1}}});
  const SharedValue<OpSharding>* answer = cache.Find(Question(16));
  ASSERT_NE(answer, nullptr);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->strategy, (Strategy{{4, 1}}));
}

TEST(DecisionCache, AnotherLayoutAtTheOtherEndIsAnotherQuestion) {
  DecisionCache cache;
  cache.Add(Question(16), OpSharding{.strategy = {{4, 1}}});
  DecisionQuestion question = Question(16);
  question.connections.front().other.tensor_map = {{}, {0}};
  EXPECT_EQ(cache.Find(question), nullptr);
}

TEST(DecisionCache, AnotherAttributeIsAnotherQuestion) {
  DecisionCache cache;
  cache.Add(Question(16), OpSharding{.strategy = {{4, 1}}});
  DecisionQuestion question = Question(16);
  question.attrs["axis"] = 1;
  EXPECT_EQ(cache.Find(question), nullptr);
}

TEST(DecisionCache, AbsentOperandsAndExactLayoutsAreOtherQuestions) {
  DecisionCache cache;
  cache.Add(Question(16), OpSharding{.strategy = {{4, 1}}});
  DecisionQuestion question = Question(16);
  question.absent = 2;
  EXPECT_EQ(cache.Find(question), nullptr);
  question = Question(16);
  question.exact = true;
  EXPECT_EQ(cache.Find(question), nullptr);
}

TEST(DecisionCache, ThatNothingWillDoIsAnAnswer) {
  DecisionCache cache;
  cache.Add(Question(16), {});
  const SharedValue<OpSharding>* answer = cache.Find(Question(16));
  ASSERT_NE(answer, nullptr);
  EXPECT_FALSE(answer->has_value());
}

TEST(DecisionCache, OldestAnswersMakeRoom) {
  DecisionCache cache;
  for (std::int64_t rows = 1; rows <= 1000; ++rows) {
    cache.Add(Question(rows * 4), OpSharding{.strategy = {{rows, 1}}});
  }
  EXPECT_EQ(cache.Find(Question(4)), nullptr);
  ASSERT_NE(cache.Find(Question(4000)), nullptr);
  EXPECT_EQ((*cache.Find(Question(4000)))->strategy, (Strategy{{1000, 1}}));
}

}  // namespace
}  // namespace drydock::strategies
