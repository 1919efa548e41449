#include "reports/report_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/executor.h"
#include "reports/terminal_summary.h"
#include "tests/reports/quick_start.h"

namespace drydock::reports {
namespace {

ReportSet Reports(std::size_t threads) {
  const auto executor = MakeExecutor(threads);
  const Result<sim::DryRunResult> result =
      sim::DryRun(strategies::JobOf(QuickStartProgram()), {}, *executor);
  EXPECT_TRUE(result.has_value());
  return BuildReports({.subject = "net.py", .compat_from = "--compat", .simulation_level = 1},
                      *result);
}

std::string AllTexts(const ReportSet& reports) {
  std::string text = TerminalSummary(reports.summary, reports.memory, {.verbose = true});
  for (const ReportFile& file : ReportFiles(reports)) {
    text += file.name + "\n" + file.text;
  }
  return text;
}

TEST(ReportSet, BytesDoNotDependOnTheThreadCount) {
  const std::string text = AllTexts(Reports(1));
  EXPECT_GT(text.size(), 1000U);
  EXPECT_EQ(text, AllTexts(Reports(8)));
}

// All 8 ranks are one class. Of the figures only what is independent of kernel lifetimes is stated
// here: w (8, 16) and w2 (4, 16) take 512 + 512 -> 1024 and 256 -> 512 bytes of the pool.
TEST(ReportSet, RealDryRunOfTheQuickStartIsSound) {
  const ReportSet reports = Reports(2);
  EXPECT_EQ(reports.summary.verdict, "ok");
  ASSERT_TRUE(reports.memory);
  ASSERT_EQ(reports.memory->classes.size(), 1U);
  const RankClassReport& item = reports.memory->classes[0];
  EXPECT_EQ(item.ranks, "0-7");
  ASSERT_EQ(item.breakdown[0].part, "parameters");
  EXPECT_EQ(item.breakdown[0].bytes, 1024 + 512);
  EXPECT_FALSE(item.peak.name.empty());
  EXPECT_NE(item.peak.phase, "preparation");
  // Rows of 4 and columns of 2 ranks: 2 + 4 groups, with 4 and 2 (mirrors) collectives each.
  EXPECT_EQ(reports.summary.agreement->groups_checked, 6);
  EXPECT_EQ(reports.summary.agreement->collectives_checked, 2 * 4 + 4 * 2);
}

}  // namespace
}  // namespace drydock::reports
