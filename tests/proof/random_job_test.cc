#include "tests/proof/random_job.h"

#include <cstdlib>
#include <iostream>
#include <map>

#include <gtest/gtest.h>

// Proof by numbers of everything that cuts a job: whatever the stages, micro batches, sharded
// optimizer, accumulation, recomputation, clipping, fusion and strategies, the parameters after two
// steps are those of the uncut step on one device.
namespace drydock::strategies {
namespace {

std::uint32_t EnvironmentNumber(const char* name, std::uint32_t fallback) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): tests are single-threaded
  return text == nullptr ? fallback : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

/// Jobs are spread over several tests, which run side by side.
constexpr std::uint32_t kSlices = 4;

class CutJobs : public testing::TestWithParam<std::uint32_t> {};

TEST_P(CutJobs, TrainAsOneDeviceDoes) {
  // DRYDOCK_SEED and DRYDOCK_PROGRAMS widen the search; a failure names its seed.
  const std::uint32_t first = EnvironmentNumber("DRYDOCK_SEED", 1);
  const std::uint32_t count = EnvironmentNumber("DRYDOCK_PROGRAMS", 300);
  const bool all = std::getenv("DRYDOCK_KEEP_GOING") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  std::uint32_t proven = 0;
  std::uint32_t tried = 0;
  std::map<std::string, std::uint32_t> refused;
  for (std::uint32_t seed = first + GetParam(); seed < first + count; seed += kSlices) {
    const RandomJob job = MakeRandomJob(seed);
    const Result<std::string> difference = DifferenceOf(job);
    ++tried;
    if (!difference) {
      ++refused[FormatError(difference.error())];
      continue;
    }
    proven += difference->empty() ? 1 : 0;
    EXPECT_TRUE(difference->empty())
        << "DRYDOCK_SEED=" << seed << " " << job.how << ": " << *difference;
    ASSERT_TRUE(all || difference->empty()) << GraphText(job.cut);
  }
  EXPECT_GE(10 * proven, 9 * tried) << "too many jobs are refused";
  std::cout << "proof: cut-jobs proven=" << proven << "\n";
  for (const auto& [why, times] : refused) {
    std::cout << "refused " << times << ": " << why << "\n";
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CutJobs, testing::Range(0U, kSlices));

}  // namespace
}  // namespace drydock::strategies
