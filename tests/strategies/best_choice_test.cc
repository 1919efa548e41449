#include "strategies/passes/choose/best_choice.h"

#include <algorithm>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "strategies/passes/choose/elimination.h"

// The solver beside trying all choices.
namespace drydock::strategies {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Operators with 2 to 4 candidates; each is connected with some of the three before it.
ChoiceGraph RandomChoices(std::uint32_t seed, std::size_t operators) {
  std::mt19937 random(seed);
  const auto below = [&random](std::uint32_t n) {
    return static_cast<std::uint32_t>(random() % n);
  };
  ChoiceGraph graph;
  for (std::size_t op = 0; op < operators; ++op) {
    ChoiceCosts choices;
    const std::uint32_t count = 2 + below(3);
    for (std::uint32_t c = 0; c < count; ++c) {
      choices.costs.push_back(below(50));
      choices.bytes.push_back(1 + below(20));
    }
    graph.operators.push_back({.choices = std::make_shared<const ChoiceCosts>(choices)});
    for (std::size_t before = op < 3 ? 0 : op - 3; before < op; ++before) {
      if (below(2) == 0) {
        PairCosts pairs = {.columns = count};
        const std::size_t rows = graph.operators[before].choices->costs.size();
        for (std::size_t k = 0; k < rows * count; ++k) {
          pairs.costs.push_back(below(8) == 0 ? kInfinite : below(30));
        }
        graph.connections.push_back(
            {.from = before, .to = op, .costs = std::make_shared<const PairCosts>(pairs)});
      }
    }
  }
  return graph;
}

/// The least cost of all choices that need at most `limit` bytes; infinite if there is none.
double LeastOfAll(const ChoiceGraph& graph, double limit) {
  double least = kInfinite;
  Choice choice(graph.operators.size(), 0);
  while (true) {
    if (limit <= 0 || BytesOfChoice(graph, choice) <= limit) {
      least = std::min(least, CostOfChoice(graph, choice));
    }
    std::size_t op = 0;
    while (op < choice.size() && ++choice[op] == graph.operators[op].choices->costs.size()) {
      choice[op++] = 0;
    }
    if (op == choice.size()) {
      return least;
    }
  }
}

TEST(ChooseBest, FindsTheLeastCostOfAllChoices) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const ChoiceGraph graph = RandomChoices(seed, 3 + seed % 5);
    const double least = LeastOfAll(graph, 0);
    const auto best = ChooseBest(graph, 0);
    if (least == kInfinite) {
      EXPECT_FALSE(best) << seed;
      continue;
    }
    ASSERT_TRUE(best) << seed;
    EXPECT_EQ(best->cost, least) << seed;
    EXPECT_EQ(best->lower_bound, least) << seed;
    EXPECT_EQ(CostOfChoice(graph, best->chosen), least) << seed;
  }
}

TEST(ChooseBest, WithinALimitTheTruthLiesBetweenBoundAndCost) {
  int exact = 0;
  int limited = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const ChoiceGraph graph = RandomChoices(seed, 7);
    const auto free = ChooseBest(graph, 0);
    if (!free) {
      continue;
    }
    const double limit = free->bytes - 1;  // The best choice of all does not fit.
    const double least = LeastOfAll(graph, limit);
    const auto best = ChooseBest(graph, limit);
    ASSERT_TRUE(best) << seed;
    if (best->fits) {
      EXPECT_LE(best->bytes, limit) << seed;
      EXPECT_GE(best->cost, least) << seed;
      ++limited;
      exact += best->cost == least ? 1 : 0;
    }
    if (least != kInfinite) {
      EXPECT_LE(best->lower_bound, least + 1e-9) << seed;
    }
  }
  EXPECT_GT(limited, 100);
  EXPECT_GT(exact, limited / 2);
}

TEST(ChooseBest, IsNeverWorseThanWhatIsKnown) {
  // Two operators, each 1 or 10, of 10 or 1 bytes; 11 bytes fit. One price per byte takes both to
  // the same side, so that (1, 10) is found only because it is known.
  const auto choices =
      std::make_shared<const ChoiceCosts>(ChoiceCosts{.costs = {1, 10}, .bytes = {10, 1}});
  const ChoiceGraph graph = {.operators = {{.choices = choices}, {.choices = choices}}};
  const std::vector<Choice> known = {{0, 1}};
  const auto best = ChooseBest(graph, 11, known);
  ASSERT_TRUE(best);
  EXPECT_TRUE(best->fits);
  EXPECT_EQ(best->cost, 11);
  // A linear mixture of both would need 11 bytes for 11: no bound can be higher.
  EXPECT_NEAR(best->lower_bound, 11, 0.1);
}

TEST(ChooseBest, WhatDoesNotFitIsSaid) {
  const auto choices =
      std::make_shared<const ChoiceCosts>(ChoiceCosts{.costs = {1, 5}, .bytes = {8, 4}});
  const ChoiceGraph graph = {.operators = {{.choices = choices}, {.choices = choices}}};
  const auto best = ChooseBest(graph, 7);  // The least is 4 + 4.
  ASSERT_TRUE(best);
  EXPECT_FALSE(best->fits);
  EXPECT_EQ(best->bytes, 8);
}

TEST(ChooseBest, EveryStageHasTheLimit) {
  // 8 bytes fit into each of two stages: both operators may take their cheapest candidate.
  const auto choices =
      std::make_shared<const ChoiceCosts>(ChoiceCosts{.costs = {1, 5}, .bytes = {8, 4}});
  const ChoiceGraph graph = {.operators = {{.choices = choices}, {.choices = choices, .part = 1}},
                             .parts = 2};
  const auto best = ChooseBest(graph, 8);
  ASSERT_TRUE(best);
  EXPECT_TRUE(best->fits);
  EXPECT_EQ(best->cost, 2);
}

TEST(Eliminate, SmallTablesGiveABoundBelowTheLeastCost) {
  int below = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const ChoiceGraph graph = RandomChoices(seed, 8);
    const double least = LeastOfAll(graph, 0);
    const Eliminated small = Eliminate(graph, 0, {.table_entries = 17});
    EXPECT_LE(small.lower_bound, least) << seed;
    below += small.lower_bound < least ? 1 : 0;
    const double exact = Eliminate(graph, 0, {}).lower_bound;
    EXPECT_EQ(exact, least) << seed;
  }
  EXPECT_GT(below, 0);  // Else the small tables were large enough for all.
}

}  // namespace
}  // namespace drydock::strategies
