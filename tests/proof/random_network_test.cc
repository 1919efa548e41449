#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "strategies/operators/op_entry.h"
#include "tests/strategies/graph_text.h"
#include "tests/strategies/sharded_run.h"

// Proof by numbers: whatever the strategies, the ranks together compute what one device computes:
// forward values, gradients and updated parameters.
namespace drydock::strategies {
namespace {

std::uint32_t EnvironmentNumber(const char* name, std::uint32_t fallback) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): tests are single-threaded
  return text == nullptr ? fallback : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

class ShardedEqualsWhole : public testing::TestWithParam<std::int64_t> {};

TEST_P(ShardedEqualsWhole, ForwardGradientsAndUpdates) {
  // DRYDOCK_SEED and DRYDOCK_PROGRAMS widen the search; a failure names its seed.
  const std::uint32_t first = EnvironmentNumber("DRYDOCK_SEED", 1);
  const std::uint32_t count = EnvironmentNumber("DRYDOCK_PROGRAMS", 60);
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    const RandomStep step = MakeRandomStep(seed, GetParam());
    const std::string difference = Difference(step);
    ASSERT_EQ(difference, "") << "DRYDOCK_SEED=" << seed << " on " << GetParam() << " ranks\n"
                              << GraphText(step.graph);
  }
  std::cout << "proof: networks-on-" << GetParam() << "-ranks proven=" << count << " cut=" << count
            << " unsupported=0 failed=0\n";
}

TEST_P(ShardedEqualsWhole, WithTheCheapestRedistributions) {
  const std::uint32_t first = EnvironmentNumber("DRYDOCK_SEED", 1);
  const std::uint32_t count = EnvironmentNumber("DRYDOCK_PROGRAMS", 60) / 2;
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    RandomStep step = MakeRandomStep(seed, GetParam());
    step.job.redistribution = RedistributionSearch::kOptimal;
    ASSERT_EQ(Difference(step), "") << "DRYDOCK_SEED=" << seed << " on " << GetParam() << " ranks\n"
                                    << GraphText(step.graph);
  }
}

TEST(ShardedEqualsWholeCheck, NoticesAMissingLossDivision) {
  // Without the division by the replicas of the loss, gradients come out too large on most steps.
  std::int64_t noticed = 0;
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    RandomStep step = MakeRandomStep(seed, 8);
    step.job.loss_repeated_mean = false;
    noticed += Difference(step).empty() ? 0 : 1;
  }
  EXPECT_GE(noticed, 5);
}

/// What the networks of many seeds have between them.
struct Variety {
  std::int64_t least = 1000;
  std::int64_t most = 0;
  std::int64_t shared_parameters = 0;
  std::int64_t reshapes = 0;
  std::int64_t residual_edges = 0;  ///< Results with several users.
  std::int64_t several_outputs = 0;
};

Variety VarietyOf(const RandomStep& step, Variety seen) {
  const auto users = UsersOf(step.graph);
  std::int64_t operators = 0;
  for (const Node& node : step.graph.nodes) {
    operators += node.entry->kind == OpKind::kCompute || node.entry->kind == OpKind::kReshape;
    seen.reshapes += node.entry->kind == OpKind::kReshape;
    seen.several_outputs += node.outputs.size() > 1 && node.entry->kind == OpKind::kCompute;
  }
  for (std::size_t v = 0; v < step.graph.values.size(); ++v) {
    const auto forward = std::ranges::count_if(
        users[v], [&](NodeId user) { return step.graph.at(user).entry->kind == OpKind::kCompute; });
    seen.shared_parameters += forward > 1 && step.graph.values[v].kind == ValueKind::kParameter;
    seen.residual_edges += forward > 1 && step.graph.values[v].kind == ValueKind::kOutput;
  }
  seen.least = std::min(seen.least, operators);
  seen.most = std::max(seen.most, operators);
  return seen;
}

TEST(ShardedEqualsWholeCheck, NetworksAreAsVariedAsPromised) {
  Variety seen;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const RandomStep step = MakeRandomStep(seed, 8);
    seen = VarietyOf(step, seen);
    const auto whole = Compile(step.graph, {.world_size = 1});
    ASSERT_TRUE(whole) << FormatError(whole.error());
    const auto outcome = RunAllRanks(*whole, step.data);
    ASSERT_TRUE(outcome) << FormatError(outcome.error());
    EXPECT_TRUE(std::isfinite(outcome->front().outputs.front().data.front())) << "seed " << seed;
  }
  EXPECT_GE(seen.least, 5);
  EXPECT_LE(seen.most, 34);  // The last layer may have five operators.
  EXPECT_GE(seen.most, 25);
  EXPECT_GE(seen.shared_parameters, 20);
  EXPECT_GE(seen.reshapes, 60);
  EXPECT_GE(seen.residual_edges, 60);
  EXPECT_GE(seen.several_outputs, 30);
}

INSTANTIATE_TEST_SUITE_P(WorldSizes, ShardedEqualsWhole, testing::Values(2, 3, 4, 6, 8, 12));

}  // namespace
}  // namespace drydock::strategies
