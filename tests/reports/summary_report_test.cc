#include "reports/summary_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/report_json.h"
#include "reports/report_set.h"
#include "tests/reports/dry_run_sample.h"

namespace drydock::reports {
namespace {

using testing::ElementsAre;

RunFacts Facts() {
  return {.drydock_version = "1.2.3",
          .subject = "net.py",
          .compat_from = "--compat",
          .simulation_level = 1,
          .files = {"rank_0/step_parallel_begin_0000.ir"}};
}

std::int64_t CountOf(const SummaryReport& summary, std::string_view source) {
  for (const SourceCountReport& count : summary.operators) {
    if (count.source == source) {
      return count.operators;
    }
  }
  return -1;
}

TEST(SummaryReport, SaysWhatWasChecked) {
  const SummaryReport summary = BuildReports(Facts(), SampleDryRun()).summary;
  EXPECT_EQ(summary.checked.subject, "net.py");
  EXPECT_EQ(summary.checked.network, "Net");
  EXPECT_EQ(summary.checked.world_size, 8);
  EXPECT_EQ(summary.checked.parallel_mode, "auto_parallel");
  EXPECT_EQ(summary.checked.search_mode, "sharding_propagation");
  EXPECT_EQ(summary.checked.dataset_strategy, "data_parallel");
  EXPECT_EQ(summary.checked.compat, "2.2");
  EXPECT_EQ(summary.checked.compat_from, "--compat");
  EXPECT_EQ(summary.drydock_version, "1.2.3");
  EXPECT_TRUE(summary.complete);
}

// The first MatMul has shard(); ReLU and the second one are propagated; the data set node and
// nothing else is decided by the data set strategy.
TEST(SummaryReport, CountsOperatorsByWhoDecided) {
  const SummaryReport summary = BuildReports(Facts(), SampleDryRun()).summary;
  EXPECT_EQ(CountOf(summary, "user"), 1);
  EXPECT_EQ(CountOf(summary, "propagated"), 2);
  EXPECT_EQ(CountOf(summary, "dataset"), 1);
  EXPECT_EQ(CountOf(summary, "fallback"), 0);
}

TEST(SummaryReport, ListsStrategiesWithLines) {
  const SummaryReport summary = BuildReports(Facts(), SampleDryRun()).summary;
  const auto relu = std::ranges::find_if(
      summary.strategies, [](const auto& item) { return item.name.ends_with("ReLU-op0"); });
  ASSERT_NE(relu, summary.strategies.end());
  EXPECT_EQ(relu->strategy, "((2, 4),)");
  EXPECT_EQ(relu->source, "propagated");
  EXPECT_THAT(relu->device_matrix, ElementsAre(2, 4));
  EXPECT_EQ(ShortPlaceText(relu->place), "net.py:46");
}

TEST(SummaryReport, RepeatsTheTotalsOfTheOtherReports) {
  const ReportSet reports = BuildReports(Facts(), SampleDryRun());
  EXPECT_EQ(reports.summary.communication, reports.communication->total);
  ASSERT_EQ(reports.summary.memory.size(), 2U);
  EXPECT_EQ(reports.summary.memory[1].actual_peak_bytes, 4 * sim::kMiB);
  EXPECT_EQ(reports.summary.rank_classes, 2);
  EXPECT_EQ(reports.summary.ranks_checked, 8);
  EXPECT_EQ(reports.summary.fleet->messages, 32);
}

TEST(SummaryReport, ListsAllFiles) {
  const ReportSet reports = BuildReports(Facts(), SampleDryRun());
  EXPECT_THAT(reports.summary.files,
              ElementsAre("summary.json", "communication.json", "memory.json",
                          "rank_0/step_parallel_begin_0000.ir"));
}

TEST(SummaryReport, SoundJobIsOk) {
  const SummaryReport summary = BuildReports(Facts(), SampleDryRun()).summary;
  EXPECT_EQ(summary.verdict, "ok");
  EXPECT_EQ(summary.verdict_text,
            "the programs of 8 ranks are legal and agree on every collective; they fit into device "
            "memory");
}

TEST(SummaryReport, MemoryThatIsExceededIsTheVerdict) {
  sim::DryRunResult result = SampleDryRun();
  result.classes[1].head_room_bytes = -1;
  const SummaryReport summary = BuildReports(Facts(), result).summary;
  EXPECT_EQ(summary.verdict, "memory-exceeded");
  EXPECT_EQ(summary.verdict_text, "ranks 4-7 need 4.0 MiB of the 58.0 GiB there are");
}

TEST(SummaryReport, DisagreementComesBeforeMemory) {
  sim::DryRunResult result = SampleDryRun();
  result.classes[1].head_room_bytes = -1;
  result.agreement.holds = false;
  result.agreement.first_conflict = "rank 3 waits for rank 4";
  const SummaryReport summary = BuildReports(Facts(), result).summary;
  EXPECT_EQ(summary.verdict, "ranks-disagree");
  EXPECT_EQ(summary.verdict_text, "rank 3 waits for rank 4");
}

struct VerdictCase {
  ErrorCode code = ErrorCode::kInternal;
  const char* verdict = "";
};
class RejectionVerdict : public testing::TestWithParam<VerdictCase> {};

TEST_P(RejectionVerdict, FollowsTheKindOfError) {
  const Error error = {.code = GetParam().code, .message = "no"};
  EXPECT_EQ(BuildRejection(Facts(), {}, error).verdict, GetParam().verdict);
}

INSTANTIATE_TEST_SUITE_P(Codes, RejectionVerdict,
                         testing::Values(VerdictCase{ErrorCode::kInvalidArgument, "rejected"},
                                         VerdictCase{ErrorCode::kUnsupported, "unsupported"},
                                         VerdictCase{ErrorCode::kInternal, "failed"}));

TEST(Rejection, KeepsEverythingTheErrorSays) {
  const Error error = {.code = ErrorCode::kInvalidArgument,
                       .message = "3 does not divide 8",
                       .hint = "use 4",
                       .reason = "MatMul:strategy-not-divisible",
                       .place = SourcePlace{.file = "net.py", .line = 41},
                       .notes = {"while cutting"}};
  const SummaryReport summary = BuildRejection(Facts(), {.world_size = 8}, error);
  ASSERT_TRUE(summary.error);
  EXPECT_EQ(summary.error->code, "invalid-argument");
  EXPECT_EQ(summary.error->reason, "MatMul:strategy-not-divisible");
  EXPECT_EQ(summary.error->hint, "use 4");
  EXPECT_THAT(summary.error->notes, ElementsAre("while cutting"));
  EXPECT_EQ(summary.error->place->line, 41);
  EXPECT_EQ(summary.checked.world_size, 8);
  EXPECT_FALSE(summary.communication);
}

}  // namespace
}  // namespace drydock::reports
