#include "strategies/passes/choose/optimal_search.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/strategies/random_network.h"
#include "tests/strategies/sharded_run.h"

// `--search=optimal` on random networks: beside the other searches, and by its numbers.
namespace drydock::strategies {
namespace {

/// The step of a seed with all strategies taken away, so that the search decides them.
RandomStep UndecidedStep(std::uint32_t seed, SearchMode search) {
  RandomStep step = MakeRandomStep(seed, 8);
  step.job.mode = ParallelMode::kAutoParallel;
  step.job.search_mode = search;
  for (Node& node : step.graph.nodes) {
    node.in_strategy = {};
    node.out_strategy = {};
    node.in_layout = {};
    node.out_layout = {};
  }
  return step;
}

TEST(OptimalSearch, CostsNoMoreThanTheOtherSearchesAndProvesIt) {
  int better = 0;
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const RandomStep step = UndecidedStep(seed, SearchMode::kOptimal);
    const auto program = Compile(step.graph, step.job);
    if (!program) {  // As with the other searches: reducers over several axes, for instance.
      EXPECT_FALSE(Compile(step.graph, UndecidedStep(seed, SearchMode::kDynamicProgramming).job))
          << seed << ": " << program.error().message;
      continue;
    }
    ASSERT_TRUE(program->from->search) << seed;
    const SearchOutcome& found = *program->from->search;
    EXPECT_NEAR(found.lower_bound, found.cost, 1e-9 * found.cost) << seed;
    for (const std::optional<double>& other : {found.dynamic_cost, found.recursive_cost}) {
      if (other) {
        EXPECT_LE(found.cost, *other * (1 + 1e-12)) << seed;
        ++compared;
        better += found.cost < *other * (1 - 1e-9) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(compared, 60);
  EXPECT_GT(better, 10);
}

TEST(OptimalSearch, FoundStrategiesComputeWhatOneDeviceDoes) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const RandomStep step = UndecidedStep(seed, SearchMode::kOptimal);
    if (Compile(step.graph, step.job)) {
      EXPECT_EQ(Difference(step), "") << seed;
    }
  }
}

}  // namespace
}  // namespace drydock::strategies
