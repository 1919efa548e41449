#include "launcher/run/job_summary.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

JobWatch Failed(std::size_t ranks) {
  std::vector<RankRecord> records;
  for (std::size_t i = 0; i < ranks; ++i) {
    records.push_back(
        {.name = "rank " + std::to_string(i), .log_path = std::to_string(i) + ".log"});
  }
  JobWatch watch({.host_name = "h"}, records);
  for (std::size_t i = 0; i < ranks; ++i) {
    watch.OnStarted(i, 100 + static_cast<std::int64_t>(i));
  }
  watch.OnEnded(1, {.value = 3}, {});
  return watch;
}

TEST(LastLines, GivesTheEndInOrder) {
  EXPECT_THAT(LastLines("a\nb\nc\n", 2), ElementsAre("b", "c"));
  EXPECT_THAT(LastLines("a\n\nc", 5), ElementsAre("a", "", "c"));
  EXPECT_THAT(LastLines("", 5), IsEmpty());
  EXPECT_THAT(LastLines("\x1b[31mred", 1), ElementsAre("\\x1b[31mred"));
}

TEST(JobSummary, NamesTheFirstFailureAndSortsTheOthers) {
  JobWatch watch = Failed(4);
  watch.OnEnded(0, {.signalled = true, .value = SIGTERM}, {});
  watch.OnEnded(2, {.value = 9}, {});
  watch.OnEnded(3, {}, {});
  const std::string text = JobSummary(watch, {"last words"}, std::chrono::milliseconds(12'340));
  EXPECT_EQ(text,
            "msrun: the job failed after 12.3 s\n"
            "  first: rank 1 (h, pid 101) ended with exit status 3\n"
            "  log:   1.log\n"
            "    | last words\n"
            "  later failures: rank 2 (exit status 9)\n"
            "  ended by msrun: rank 0\n"
            "  ended well:     rank 3\n");
}

TEST(JobSummary, AnInterpreterWithoutMindSporeHasARemedy) {
  const std::string text =
      JobSummary(Failed(2), {"ModuleNotFoundError: No module named 'mindspore'"}, {});
  EXPECT_THAT(text, HasSubstr("has no MindSpore: install it there"));
  EXPECT_THAT(text, HasSubstr("msrun --sim_level=1"));
  EXPECT_THAT(JobSummary(Failed(2), {"No module named 'mindsporex'"}, {}),
              testing::Not(HasSubstr("hint:")));
}

TEST(JobSummary, ManyLaterFailuresAreCounted) {
  JobWatch watch = Failed(8);
  for (const std::size_t i : {0U, 2U, 3U, 4U, 5U}) {
    watch.OnEnded(i, {.value = 1}, {});
  }
  // Five failed later, three are named.
  EXPECT_THAT(JobSummary(watch, {}, {}), HasSubstr("rank 3 (exit status 1) and 2 more\n"));
}

TEST(JobStatusJson, SaysTheSameForPrograms) {
  JobWatch watch = Failed(2);
  watch.OnEnded(0, {.signalled = true, .value = SIGKILL}, {});
  const auto json = nlohmann::json::parse(JobStatusJson(watch, "RANK_FAILED", 1));
  EXPECT_EQ(json["schema"], "drydock.launch/1");
  EXPECT_EQ(json["state"], "failed");
  EXPECT_EQ(json["code"], "RANK_FAILED");
  EXPECT_EQ(json["exit_status"], 1);
  EXPECT_EQ(json["ranks"][0]["end"], "ended-by-us");
  EXPECT_EQ(json["ranks"][0]["status"], 128 + SIGKILL);
  EXPECT_EQ(json["ranks"][1]["status"], 3);
}

TEST(JoiningText, NamesTheSchedulerAndTheTimeLeft) {
  EXPECT_EQ(JoiningText("10.0.0.1:8118", 590),
            "waiting for the scheduler at 10.0.0.1:8118 and the other nodes; 590 s left");
  EXPECT_EQ(JoiningText("[::1]:8118", -1),
            "waiting for the scheduler at [::1]:8118 and the other nodes");
}

TEST(FormingText, NamesWhoIsMissing) {
  EXPECT_EQ(FormingText(62, 64, {3, 5}, 590),
            "62 of 64 ranks have registered; waiting for ranks 3, 5; 590 s left");
  EXPECT_EQ(FormingText(0, 64, {0, 1, 2}, -1),
            "0 of 64 ranks have registered; waiting for ranks 0, 1, 2, ...");
}

}  // namespace
}  // namespace drydock::launcher
