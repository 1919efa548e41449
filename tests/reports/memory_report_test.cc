#include "reports/memory_report.h"

#include <numeric>

#include <gtest/gtest.h>

#include "tests/reports/dry_run_sample.h"

namespace drydock::reports {
namespace {

using sim::kGiB;
using sim::kMiB;

TEST(MemoryReport, DescribesEveryClass) {
  const auto report = BuildMemoryReport(SampleDryRun());
  ASSERT_TRUE(report);
  ASSERT_EQ(report->classes.size(), 2U);
  const RankClassReport& first = report->classes[0];
  EXPECT_EQ(first.ranks, "0-3");
  EXPECT_EQ(first.rank_count, 4);
  EXPECT_EQ(first.used_peak_bytes, 2 * kMiB);
  EXPECT_EQ(first.actual_peak_bytes, 3 * kMiB);
  EXPECT_EQ(first.limit_bytes, 58 * kGiB);
  EXPECT_EQ(first.head_room_bytes, 58 * kGiB - 3 * kMiB);
  EXPECT_TRUE(first.fits);
  EXPECT_EQ(report->classes[1].ranks, "4-7");
}

TEST(MemoryReport, BreakdownNamesAllPartsAndSumsToThePeak) {
  const RankClassReport item = BuildMemoryReport(SampleDryRun())->classes[0];
  ASSERT_EQ(item.breakdown.size(), sim::kBufferKindCount);
  const std::int64_t sum = std::accumulate(
      item.breakdown.begin(), item.breakdown.end(), std::int64_t{0},
      [](std::int64_t total, const MemoryPartReport& part) { return total + part.bytes; });
  EXPECT_EQ(sum, item.used_peak_bytes);
  EXPECT_EQ(item.breakdown[0].part, "parameters");
  EXPECT_EQ(item.breakdown[0].bytes, kMiB);
}

TEST(MemoryReport, PeakHasOperatorPhaseAndLine) {
  const PeakPointReport peak = BuildMemoryReport(SampleDryRun())->classes[0].peak;
  EXPECT_EQ(peak.kernel, 2);
  EXPECT_EQ(peak.name, "Default/network-WithLossCell/_backbone-Net/MatMul-op0");
  EXPECT_EQ(peak.phase, "forward");
  EXPECT_EQ(ShortPlaceText(peak.place), "net.py:45");
}

TEST(MemoryReport, PeakBeforeTheFirstKernelIsPreparation) {
  sim::DryRunResult result = SampleDryRun();
  result.classes[0].peak_op.clear();
  result.classes[0].memory->at_kernel = sim::kBeforeKernels;
  const PeakPointReport peak = BuildMemoryReport(result)->classes[0].peak;
  EXPECT_EQ(peak.phase, "preparation");
  EXPECT_EQ(peak.kernel, -1);
}

TEST(MemoryReport, LargestTensorsKeepTheirLines) {
  const RankClassReport item = BuildMemoryReport(SampleDryRun())->classes[0];
  ASSERT_EQ(item.largest.size(), 2U);
  EXPECT_EQ(item.largest[0].name, "w");
  EXPECT_EQ(item.largest[0].part, "parameters");
  EXPECT_EQ(item.largest[0].tensor, "float32 (8, 16)");
  EXPECT_EQ(item.largest[0].place->text, "out = a");
  EXPECT_EQ(item.largest[1].producer, "MatMul");
  EXPECT_FALSE(item.largest[1].place);
}

TEST(MemoryReport, ParametersShowTheLineThatFirstUsesThem) {
  sim::DryRunResult result = SampleDryRun();
  result.classes[0].largest[0].name = "w2";
  result.classes[0].largest[0].place.reset();
  // w2 is read by the second MatMul.
  EXPECT_EQ(ShortPlaceText(BuildMemoryReport(result)->classes[0].largest[0].place), "net.py:47");
}

TEST(MemoryReport, HeaviestClassIsTheOneWithTheLargestActualPeak) {
  EXPECT_EQ(BuildMemoryReport(SampleDryRun())->heaviest, 1);
}

TEST(MemoryReport, ARankThatDoesNotFitIsSaid) {
  sim::DryRunResult result = SampleDryRun();
  result.classes[1].head_room_bytes = -1;
  const auto report = BuildMemoryReport(result);
  EXPECT_FALSE(report->fits);
  EXPECT_TRUE(report->classes[0].fits);
  EXPECT_FALSE(report->classes[1].fits);
}

// The quick start communicates along two axes: 2 communicators of 200 MiB.
TEST(MemoryReport, CommunicatorsAreEstimatedApart) {
  EXPECT_EQ(BuildMemoryReport(SampleDryRun())->classes[0].communicator_bytes, 400 * kMiB);
}

TEST(MemoryReport, LevelZeroHasNone) {
  sim::DryRunResult result = SampleDryRun();
  result.options.level = 0;
  for (sim::ClassMemory& item : result.classes) {
    item.memory.reset();
  }
  EXPECT_FALSE(BuildMemoryReport(result));
}

// Each class is told of with the facts of its own program: ranks 4-7 run the quick start without
// its collectives, so they need no communicator, and nothing in it has the name of their peak.
TEST(MemoryReport, EveryClassHasTheFactsOfItsOwnProgram) {
  sim::DryRunResult result = SampleDryRun();
  strategies::LocalProgram other = result.job.programs[0];
  for (strategies::Node& node : other.local.nodes) {
    node.group.reset();
    node.scope = "Elsewhere";
  }
  result.job.programs.push_back(std::move(other));
  result.classes[1].program = 1;
  const auto report = BuildMemoryReport(result);
  EXPECT_EQ(report->classes[0].communicator_bytes, 400 * kMiB);
  EXPECT_EQ(report->classes[0].peak.phase, "forward");
  EXPECT_EQ(report->classes[1].communicator_bytes, 0);
  EXPECT_EQ(report->classes[1].peak.phase, "preparation");
}

}  // namespace
}  // namespace drydock::reports
