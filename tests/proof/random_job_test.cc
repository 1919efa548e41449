#include "tests/proof/random_job.h"

#include <cstdlib>
#include <iostream>
#include <map>

#include <gtest/gtest.h>

#include "strategies/passes/compile_job.h"
#include "strategies/program/agreement.h"
#include "tests/strategies/graph_text.h"

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

/// What each class of ranks issues.
std::vector<CollectiveSequence> IssuedBy(const JobProgram& job) {
  std::vector<CollectiveSequence> sequences;
  for (const RankClass& one : job.classes) {
    sequences.push_back(SequenceOf(job.programs[one.described]));
  }
  return sequences;
}

// The agreement check covers messages and all stages: whatever message of a random pipeline is left
// out, has another length or another number on one side, the check notices.
TEST(MessagesOfCutJobs, EveryMessageOfEveryStageCounts) {
  std::uint32_t broken = 0;
  for (std::uint32_t seed = EnvironmentNumber("DRYDOCK_SEED", 1); broken < 200; ++seed) {
    const RandomJob random = MakeRandomJob(seed);
    const auto job = CompileJob(JobOf(random.cut, random.config), RankId{0});
    if (!job || job->programs.size() < 2) {
      continue;
    }
    const std::vector<std::int32_t> class_of = ClassOfEachRank(*job);
    const std::int64_t devices = random.config.world_size / random.config.pipeline_stages;
    const auto agree = [&](const std::vector<CollectiveSequence>& issued) {
      return CheckAgreement(issued, class_of, devices).holds;
    };
    const std::vector<CollectiveSequence> whole = IssuedBy(*job);
    ASSERT_TRUE(agree(whole)) << random.how;
    for (std::size_t one = 0; one < whole.size(); ++one) {
      for (std::size_t i = seed % 5; i < whole[one].collectives.size(); i += 5) {
        if (whole[one].collectives[i].half == PointToPoint::kNone) {
          continue;
        }
        auto less = whole;
        auto& left = less[one].collectives;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
        auto longer = whole;
        longer[one].collectives[i].payload_bytes += 4;
        auto other = whole;
        other[one].collectives[i].tag += 1000;
        const std::string where =
            random.how + ": message " + std::to_string(i) + " of class " + std::to_string(one);
        EXPECT_FALSE(agree(less)) << where << " is left out";
        EXPECT_FALSE(agree(longer)) << where << " is longer";
        EXPECT_FALSE(agree(other)) << where << " has another number";
        ++broken;
      }
    }
  }
}

}  // namespace
}  // namespace drydock::strategies
