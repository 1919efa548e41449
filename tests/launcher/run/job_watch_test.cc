#include "launcher/run/job_watch.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using Order = JobWatch::Order;

constexpr ProcessEnd kWell = {};
constexpr ProcessEnd kStatus3 = {.signalled = false, .value = 3};
constexpr ProcessEnd kTerminated = {.signalled = true, .value = SIGTERM};

TimePoint At(std::int64_t milliseconds) {
  return TimePoint(std::chrono::milliseconds(milliseconds));
}

/// Three running ranks with ids 0, 1, 2 and process ids 100, 101, 102.
JobWatch Watch(WatchRules rules = {}) {
  rules.host_name = "h";
  JobWatch watch(rules, {{.name = "rank 0", .log_path = "0.log", .cluster_id = "0"},
                         {.name = "rank 1", .log_path = "1.log", .cluster_id = "1"},
                         {.name = "rank 2", .log_path = "2.log", .cluster_id = "2"}});
  for (std::size_t i = 0; i < 3; ++i) {
    watch.OnStarted(i, 100 + static_cast<std::int64_t>(i));
  }
  return watch;
}

TEST(JobWatch, RanksThatEndWellAreNoFailure) {
  JobWatch watch = Watch();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(watch.all_ended());
    watch.OnEnded(i, kWell, At(1));
  }
  EXPECT_TRUE(watch.all_ended());
  EXPECT_FALSE(watch.cause().has_value());
  EXPECT_EQ(watch.NextOrder(At(1)), Order::kNone);
  EXPECT_EQ(watch.NextDeadline(), kNever);
}

TEST(JobWatch, FirstFailureEndsTheOthersByTermThenKillThenGivesUp) {
  JobWatch watch = Watch({.grace = std::chrono::seconds(10)});
  watch.OnEnded(1, kStatus3, At(1000));
  EXPECT_EQ(watch.NextOrder(At(1000)), Order::kTerminate);
  EXPECT_EQ(watch.NextOrder(At(1000)), Order::kNone);
  // 1 s + 10 s of grace; then 5 s for a killed process to vanish.
  EXPECT_EQ(watch.NextDeadline(), At(11'000));
  EXPECT_EQ(watch.NextOrder(At(10'999)), Order::kNone);
  EXPECT_EQ(watch.NextOrder(At(11'000)), Order::kKill);
  EXPECT_EQ(watch.NextDeadline(), At(16'000));
  EXPECT_EQ(watch.NextOrder(At(16'000)), Order::kGiveUp);
  EXPECT_EQ(watch.NextOrder(At(99'000)), Order::kNone);
}

TEST(JobWatch, FirstCauseStaysAndConsequencesAreToldApart) {
  JobWatch watch = Watch();
  watch.OnEnded(1, kStatus3, At(0));
  watch.OnEnded(0, kTerminated, At(1));
  watch.OnEnded(2, kStatus3, At(2));
  EXPECT_THAT(watch.first_failed(), Optional(1U));
  EXPECT_EQ(CodeOf(*watch.cause()), "RANK_FAILED");
  EXPECT_THAT(watch.cause()->message, HasSubstr("rank 1 (h, pid 101) ended with exit status 3"));
  EXPECT_EQ(watch.ranks()[0].end, RankEnd::kEndedByUs);
  EXPECT_EQ(watch.ranks()[1].end, RankEnd::kFailed);
  EXPECT_EQ(watch.ranks()[2].end, RankEnd::kFailed);
}

TEST(JobWatch, RankThatEndsWellWithinTheGraceIsWell) {
  JobWatch watch = Watch();
  watch.OnEnded(1, kStatus3, At(0));
  watch.OnEnded(0, kWell, At(1));
  EXPECT_EQ(watch.ranks()[0].end, RankEnd::kOk);
}

TEST(JobWatch, SignalFromOutsideIsNamed) {
  JobWatch watch = Watch();
  watch.OnEnded(2, {.signalled = true, .value = SIGKILL}, At(0));
  EXPECT_EQ(CodeOf(*watch.cause()), "RANK_SIGNALLED");
  EXPECT_THAT(watch.cause()->message, HasSubstr("signal KILL (9)"));
  EXPECT_THAT(watch.cause()->hint, HasSubstr("out of memory"));
}

TEST(JobWatch, StopSignalGivesItsStatus) {
  JobWatch watch = Watch();
  watch.OnStopSignal(SIGINT, At(5));
  EXPECT_EQ(StatusOf(*watch.cause()), 130);
  EXPECT_EQ(watch.NextOrder(At(5)), Order::kTerminate);
}

TEST(JobWatch, SecondStopSignalSkipsTheGrace) {
  JobWatch watch = Watch();
  watch.OnStopSignal(SIGTERM, At(0));
  EXPECT_EQ(watch.NextOrder(At(0)), Order::kTerminate);
  watch.OnStopSignal(SIGTERM, At(1));
  EXPECT_EQ(watch.NextOrder(At(1)), Order::kKill);
  EXPECT_EQ(StatusOf(*watch.cause()), 143);
}

TEST(JobWatch, QuitLeavesTimeForDumps) {
  JobWatch watch = Watch();
  watch.OnStopSignal(SIGQUIT, At(0));
  EXPECT_EQ(watch.NextOrder(At(0)), Order::kNone);
  EXPECT_EQ(watch.NextOrder(At(100)), Order::kTerminate);
  EXPECT_EQ(StatusOf(*watch.cause()), 131);
}

TEST(JobWatch, EndBeforeJoiningIsAFailureWhereRanksMustJoin) {
  JobWatch watch = Watch({.sees_registrations = true});
  watch.OnRegistered("0", At(0));
  watch.OnEnded(1, kWell, At(1));
  EXPECT_EQ(CodeOf(*watch.cause()), "EXIT_BEFORE_JOIN");
  EXPECT_EQ(StatusOf(*watch.cause()), 4);
  EXPECT_EQ(watch.ranks()[1].end, RankEnd::kNeverRegistered);
}

TEST(JobWatch, EndAfterJoiningIsNone) {
  JobWatch watch = Watch({.sees_registrations = true});
  watch.OnRegistered("1", At(0));
  watch.OnEnded(1, kWell, At(1));
  EXPECT_FALSE(watch.cause().has_value());
}

TEST(JobWatch, EndWithoutJoiningIsNoneOnceTheJobHasFormed) {
  // The ids it formed with may be others than those we know.
  JobWatch watch = Watch({.sees_registrations = true});
  watch.OnFormed();
  watch.OnEnded(1, kWell, At(1));
  EXPECT_FALSE(watch.cause().has_value());
}

TEST(JobWatch, ScriptThatMayNotJoinIsBlamedOnlyIfAnotherRankJoined) {
  JobWatch watch = Watch({.sees_registrations = true, .may_not_register = true});
  watch.OnEnded(1, kWell, At(1));
  EXPECT_FALSE(watch.cause().has_value());
  watch.OnRegistered("0", At(2));
  EXPECT_EQ(CodeOf(*watch.cause()), "EXIT_BEFORE_JOIN");
}

TEST(JobWatch, RanksWithoutAnIdAreBlamedOnlyWhenAllAreGone) {
  JobWatch watch({.sees_registrations = true}, {{.name = "worker 0"}, {.name = "worker 1"}});
  watch.OnStarted(0, 100);
  watch.OnStarted(1, 101);
  watch.OnEnded(0, kWell, At(0));
  EXPECT_FALSE(watch.cause().has_value());
  watch.OnEnded(1, kWell, At(1));
  EXPECT_EQ(CodeOf(*watch.cause()), "EXIT_BEFORE_JOIN");
}

TEST(JobWatch, CauseFromOutsideEndsOurRanks) {
  JobWatch watch = Watch();
  watch.OnCause(FailCommand(FailureCode::kRankLost, "rank 7 is lost").value(), At(3));
  watch.OnEnded(0, kTerminated, At(4));
  EXPECT_EQ(CodeOf(*watch.cause()), "RANK_LOST");
  EXPECT_FALSE(watch.first_failed().has_value());
}

// Slurm and Open MPI signal every process of a job: which of them ends first is chance.
TEST(JobWatch, ARankThatTheSameHandStoppedAMomentEarlierDidNotFail) {
  for (const ProcessEnd& end :
       {kTerminated, ProcessEnd{.signalled = false, .value = 128 + SIGTERM}}) {
    JobWatch watch = Watch();
    watch.OnEnded(1, end, At(1000));
    EXPECT_EQ(watch.NextOrder(At(1000)), Order::kNone);
    EXPECT_TRUE(watch.in_doubt(At(1199)));
    watch.OnStopSignal(SIGTERM, At(1199));
    EXPECT_EQ(StatusOf(*watch.cause()), 128 + SIGTERM);
    EXPECT_FALSE(watch.first_failed().has_value());
    EXPECT_EQ(watch.NextOrder(At(1199)), Order::kTerminate);
    EXPECT_FALSE(watch.in_doubt(At(1199)));
    watch.OnEnded(0, kTerminated, At(1200));
    EXPECT_EQ(watch.ranks()[0].end, RankEnd::kEndedByUs);
  }
}

TEST(JobWatch, ARankThatIsTerminatedAloneFailsTheJobAMomentLater) {
  JobWatch watch = Watch({.grace = std::chrono::seconds(10)});
  watch.OnEnded(1, kTerminated, At(1000));
  EXPECT_EQ(watch.NextDeadline(), At(1200));
  EXPECT_EQ(watch.NextOrder(At(1200)), Order::kTerminate);
  watch.OnStopSignal(SIGTERM, At(1300));
  EXPECT_EQ(CodeOf(*watch.cause()), "RANK_SIGNALLED");
  EXPECT_EQ(watch.NextOrder(At(1300)), Order::kKill);  // as any signal while the job is ended
}

TEST(JobWatch, ARankThatFailsIsNeverInDoubt) {
  for (const ProcessEnd& end : {kStatus3, ProcessEnd{.signalled = true, .value = SIGKILL}}) {
    JobWatch watch = Watch();
    watch.OnEnded(1, end, At(1000));
    EXPECT_FALSE(watch.in_doubt(At(1000)));
    watch.OnStopSignal(SIGTERM, At(1001));
    EXPECT_THAT(watch.first_failed(), Optional(1U));
  }
}

TEST(JobWatch, AContradictionExplainsWhatFailedBefore) {
  JobWatch watch = Watch();
  watch.OnEnded(1, kStatus3, At(0));
  watch.OnContradiction(FailCommand(FailureCode::kUsage, "4 ranks there, 8 here").value(), At(1));
  EXPECT_EQ(CodeOf(*watch.cause()), "USAGE");
  EXPECT_FALSE(watch.first_failed().has_value());
  EXPECT_EQ(watch.NextOrder(At(1)), Order::kTerminate);
}

TEST(JobWatch, AContradictionDoesNotExplainThatTheUserStoppedTheJob) {
  JobWatch watch = Watch();
  watch.OnStopSignal(SIGINT, At(0));
  watch.OnContradiction(FailCommand(FailureCode::kUsage, "4 ranks there, 8 here").value(), At(1));
  EXPECT_EQ(StatusOf(*watch.cause()), 130);
}

TEST(EndText, NamesStatusAndSignal) {
  EXPECT_EQ(EndText(kStatus3), "exit status 3");
  EXPECT_EQ(EndText(kTerminated), "signal TERM (15)");
  EXPECT_EQ(EndText({.signalled = true, .value = 40}), "signal (40)");
}

TEST(JobWatch, ARankThatEndedWellIsSpokenOfAfterAMinute_R25) {
  JobWatch watch = Watch();
  watch.OnEnded(1, kWell, At(5000));
  // 5 s + 60 s
  EXPECT_EQ(watch.NextDeadline(), At(65'000));
  EXPECT_THAT(watch.TakeNotices(At(64'999)), IsEmpty());
  EXPECT_THAT(watch.TakeNotices(At(65'000)),
              ElementsAre(AllOf(HasSubstr("rank 1"), HasSubstr("60 s"), HasSubstr("2 ranks"))));
  EXPECT_THAT(watch.TakeNotices(At(99'000)), IsEmpty());
  EXPECT_EQ(watch.NextDeadline(), kNever);
  EXPECT_FALSE(watch.stopping());
}

TEST(JobWatch, NobodyIsSpokenOfWhenAllHaveEnded_R25) {
  JobWatch watch = Watch();
  for (std::size_t i = 0; i < 3; ++i) {
    watch.OnEnded(i, kWell, At(0));
  }
  EXPECT_EQ(watch.NextDeadline(), kNever);
  EXPECT_THAT(watch.TakeNotices(At(60'000)), IsEmpty());
}

TEST(JobWatch, AFailedRankIsStartedAgainWithDoublingPausesThenFailsTheJob_R24) {
  JobWatch watch = Watch({.max_restarts = 2});
  watch.OnEnded(1, kStatus3, At(1000));
  EXPECT_FALSE(watch.stopping());
  EXPECT_FALSE(watch.all_ended());
  EXPECT_EQ(watch.NextDeadline(), At(2000));  // 1 s later
  EXPECT_EQ(watch.NextRestart(At(1999)), std::nullopt);
  EXPECT_THAT(watch.NextRestart(At(2000)), Optional(1U));
  watch.OnRestarted(1, 200, "1.r1.log");
  EXPECT_EQ(watch.NextRestart(At(2000)), std::nullopt);
  watch.OnEnded(1, kStatus3, At(3000));
  EXPECT_EQ(watch.NextDeadline(), At(5000));  // 2 s later
  watch.OnRestarted(1, 201, "1.r2.log");
  watch.OnEnded(1, kStatus3, At(6000));
  EXPECT_TRUE(watch.stopping());
  EXPECT_THAT(watch.cause()->hint, HasSubstr("1.r2.log"));
  EXPECT_EQ(watch.ranks()[1].restarts, 2);
  EXPECT_THAT(watch.TakeNotices(At(6000)),
              ElementsAre(HasSubstr("in 1 s (1 of 2)"), HasSubstr("in 2 s (2 of 2)")));
}

TEST(JobWatch, ARankThatWaitsForItsRestartIsNotStartedWhenTheJobEnds_R24) {
  JobWatch watch = Watch({.max_restarts = 1});
  watch.OnEnded(1, kStatus3, At(1000));
  watch.OnStopSignal(SIGINT, At(1500));
  EXPECT_EQ(watch.NextRestart(At(9000)), std::nullopt);
  EXPECT_EQ(watch.ranks()[1].end, RankEnd::kFailed);
}

}  // namespace
}  // namespace drydock::launcher
