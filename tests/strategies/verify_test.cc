#include "strategies/reference/verify.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "strategies/passes/compile_job.h"
#include "tests/strategies/random_network.h"

// What msrun --verify says of jobs that are right, and of one that is not.
namespace drydock::strategies {
namespace {

struct TwoJobs {
  JobProgram uncut = {};
  JobProgram cut = {};
};

Result<TwoJobs> Compiled(std::uint32_t seed) {
  const RandomStep step = MakeRandomStep(seed, 8);
  DRYDOCK_TRY(JobProgram uncut, CompileJob(JobOf(step.graph, {}), RankId{0}));
  DRYDOCK_TRY(JobProgram cut, CompileJob(JobOf(step.graph, step.job), RankId{0}));
  return TwoJobs{.uncut = std::move(uncut), .cut = std::move(cut)};
}

TEST(VerifyJob, RandomNetworksComputeWhatOneDeviceComputes) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const auto jobs = Compiled(seed);
    ASSERT_TRUE(jobs) << FormatError(jobs.error());
    const auto found = VerifyJob(jobs->uncut, jobs->cut);
    ASSERT_TRUE(found) << "seed " << seed << ": " << FormatError(found.error());
    EXPECT_EQ(found->difference, "") << "seed " << seed;
    EXPECT_GE(found->tensors, 8);  // at least one weight, on each rank
  }
}

TEST(VerifyJob, AMissingSumIsADifference) {
  std::int64_t tampered = 0;
  std::int64_t noticed = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    auto jobs = Compiled(seed);
    ASSERT_TRUE(jobs) << FormatError(jobs.error());
    auto& nodes = jobs->cut.programs.front().local.nodes;
    const auto sum = std::ranges::find_if(nodes, [](const Node& node) {
      return node.op == "AllReduce" && node.reason == CommReason::kParameterGradient;
    });
    if (sum == nodes.end()) {
      continue;
    }
    ++tampered;
    sum->attrs["op"] = std::string("max");
    const auto found = VerifyJob(jobs->uncut, jobs->cut);
    ASSERT_TRUE(found) << FormatError(found.error());
    noticed += found->difference.empty() ? 0 : 1;
  }
  EXPECT_GT(tampered, 5);
  EXPECT_EQ(noticed, tampered);
}

TEST(VerifyJob, TooManyRanksAreALimit) {
  auto jobs = Compiled(1);
  ASSERT_TRUE(jobs) << FormatError(jobs.error());
  jobs->cut.config.world_size = kMaxVerifiedRanks + 1;
  const auto found = VerifyJob(jobs->uncut, jobs->cut);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace drydock::strategies
