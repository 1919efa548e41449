#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/text.h"
#include "strategies/passes/program.h"
#include "strategies/reference/executor.h"
#include "tests/strategies/random_network.h"

// Proof by numbers: whatever the strategies, the ranks together compute what one device computes:
// forward values, gradients and updated parameters.
namespace drydock::strategies {
namespace {

constexpr double kTolerance = 1e-9;

std::string CompareSlice(const NdArray& whole, const TensorLayout& layout, const NdArray& slice,
                         std::int64_t rank) {
  const NdArray expected = SliceArray(whole, SliceOf(layout, rank));
  if (expected.shape != slice.shape) {
    return "rank " + std::to_string(rank) + " holds shape " + TupleText(slice.shape) +
           ", expected " + TupleText(expected.shape);
  }
  for (std::size_t i = 0; i < slice.data.size(); ++i) {
    const double scale = std::max(1.0, std::abs(expected.data[i]));
    if (!(std::abs(slice.data[i] - expected.data[i]) <= kTolerance * scale)) {
      return "rank " + std::to_string(rank) + " element " + std::to_string(i) + " is " +
             std::to_string(slice.data[i]) + ", expected " + std::to_string(expected.data[i]);
    }
  }
  return {};
}

/// Empty if the sharded run equals the whole one, else the first difference.
std::string Difference(const RandomStep& step) {
  const Result<CompiledProgram> sharded = Compile(step.graph, step.job);
  if (!sharded) {
    return "compile: " + FormatError(sharded.error());
  }
  const Result<CompiledProgram> whole = Compile(step.graph, {.world_size = 1});
  if (!whole) {
    return "compile whole: " + FormatError(whole.error());
  }
  const auto ranks = RunAllRanks(*sharded, step.data);
  const auto single = RunAllRanks(*whole, step.data);
  if (!ranks || !single) {
    return "run: " + FormatError(!ranks ? ranks.error() : single.error());
  }
  for (std::size_t r = 0; r < ranks->size(); ++r) {
    const auto rank = static_cast<std::int64_t>(r);
    for (std::size_t i = 0; i < sharded->output_layouts.size(); ++i) {
      if (!sharded->output_layouts[i]) {
        return "output " + std::to_string(i) + " has no layout";
      }
      const std::string text = CompareSlice((*single)[0].outputs[i], *sharded->output_layouts[i],
                                            (*ranks)[r].outputs[i], rank);
      if (!text.empty()) {
        return "output " + std::to_string(i) + ": " + text;
      }
    }
    for (std::size_t p = 0; p < sharded->local.parameters.size(); ++p) {
      const std::string text =
          CompareSlice((*single)[0].parameters[p], sharded->parameter_layouts[p],
                       (*ranks)[r].parameters[p], rank);
      if (!text.empty()) {
        return "parameter " + std::to_string(p) + ": " + text;
      }
    }
  }
  return {};
}

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
