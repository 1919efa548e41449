#include <cstdlib>

#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(WorldSizes, ShardedEqualsWhole, testing::Values(2, 3, 4, 6, 8));

}  // namespace
}  // namespace drydock::strategies
