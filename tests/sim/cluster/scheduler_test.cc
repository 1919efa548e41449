// Each transition of the scheduler, under a manual clock.
#include <gtest/gtest.h>

#include "tests/sim/cluster/scheduler_harness.h"

namespace drydock::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Scheduler, IsReadyWhenTheLastWorkerRegistersAndFinishedWhenTheLastLeaves) {
  SchedulerHarness scheduler(Job(2));
  EXPECT_EQ(scheduler.Register(1, "0"), (RegistrationReply{true, 0, 2, ""}));
  EXPECT_EQ(scheduler.Heartbeat(1, "0"), (HeartbeatReply{true, 0, 2, 0}));
  EXPECT_EQ(scheduler.Unregister(1, "0"), "5");
  EXPECT_EQ(scheduler.Register(2, "1"), (RegistrationReply{true, 1, 2, ""}));
  EXPECT_EQ(scheduler.Heartbeat(1, "0"), (HeartbeatReply{true, 1, 2, 0}));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);
  EXPECT_EQ(scheduler.Unregister(1, "0"), "3");
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);
  EXPECT_EQ(scheduler.Unregister(9, "nobody"), "4");
  EXPECT_EQ(scheduler.Unregister(2, "1"), "3");
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kFinished);
  EXPECT_TRUE(scheduler.core().done());
  EXPECT_EQ(scheduler.LastEventText(), "All nodes have unregistered, the job is finished.");
}

TEST(Scheduler, TextIdsGetProvisionalRanksInOrderOfArrivalAndFinalOnesByAddress) {
  SchedulerHarness scheduler(Job(3));
  EXPECT_EQ(scheduler.Register(1, "c", "10.0.0.3").rank_id, 0U);
  EXPECT_EQ(scheduler.Register(2, "a", "10.0.0.2").rank_id, 1U);
  EXPECT_EQ(scheduler.FinalRank("c"), std::nullopt);
  EXPECT_EQ(scheduler.Register(3, "b", "10.0.0.1").rank_id, 2U);
  EXPECT_EQ(scheduler.FinalRank("c"), "2");
  EXPECT_EQ(scheduler.FinalRank("a"), "1");
  EXPECT_EQ(scheduler.FinalRank("b"), "0");
}

TEST(Scheduler, AnAddressThatIsMissingIsThePeersAndARubbishOneIsRefused_R36) {
  SchedulerHarness scheduler(Job(2));
  const std::string body =
      "\x0a\x01"
      "b\x12\x01h\x1a\x09MS_WORKER";  // no field 4
  EXPECT_TRUE(scheduler.Send(1, "0", body, "10.0.0.9").has_value());
  EXPECT_EQ(scheduler.Register(2, "a", "rubbish").error_reason,
            "'rubbish' is not an IP address; check MS_WORKER_IP.");
  EXPECT_TRUE(scheduler.Register(2, "a", "10.0.0.10").success);
  EXPECT_EQ(scheduler.FinalRank("b"), "0");  // 10.0.0.9 is before 10.0.0.10
}

TEST(Scheduler, RefusesExtraWorkersBeforeAndAfterTheBuild) {
  SchedulerHarness scheduler(Job(2));
  const auto extra = scheduler.Register(1, "2");
  EXPECT_FALSE(extra.success);
  EXPECT_EQ(extra.error_reason.substr(0, 38), "This node is extra or rank id exceeds.");
  EXPECT_TRUE(scheduler.Register(1, "0").success);
  EXPECT_TRUE(scheduler.Register(2, "1").success);
  EXPECT_FALSE(scheduler.Register(3, "text").success);
  EXPECT_FALSE(scheduler.Register(3, "7").success);
  EXPECT_EQ(scheduler.core().membership().present(), 2U);
}

TEST(Scheduler, RefusesASecondIdForTheSameRank) {
  SchedulerHarness scheduler(Job(3));
  EXPECT_TRUE(scheduler.Register(1, "1").success);
  EXPECT_EQ(scheduler.Register(2, "01").error_reason, "Rank id:1 for role:MS_WORKER exists.");
}

TEST(Scheduler, UnknownRolesAndBrokenRegistrationsAreRefusedWithAReason_R36_R37) {
  SchedulerHarness scheduler(Job(2));
  EXPECT_EQ(
      scheduler.Register(1, RegistrationRequest{.node_id = "0", .role = "MS_SERVER"}).error_reason,
      "The job expects no role 'MS_SERVER'; check MS_ROLE and MS_SERVER_NUM.");
  const auto broken = scheduler.Send(1, "0", "\xff");
  ASSERT_TRUE(broken);
  EXPECT_EQ(broken->name, "4");
  EXPECT_FALSE(DecodeRegistrationReply(broken->body)->error_reason.empty());
  EXPECT_TRUE(scheduler.output().broken_peers.empty());
}

// The numbers of the reference's releases answer with an empty body.
TEST(Scheduler, UnknownRolesAreRefusedByTheReferenceWithoutAReason) {
  SchedulerOptions options = Job(2);
  options.rules = ReferenceRules(ProtocolVersion::kMaster);
  SchedulerHarness scheduler(options);
  EXPECT_EQ(scheduler.Register(1, RegistrationRequest{.node_id = "0", .role = "MS_SERVER"}),
            RegistrationReply{});
}

TEST(Scheduler, OtherMessagesWithABrokenBodyEndTheirConnectionOnly_R36) {
  const std::string megabyte(1U << 20U, 'x');
  std::string long_id;
  EncodeBody(HeartbeatRequest{.node_id = megabyte}, long_id);
  for (const std::string_view name : {"1", "2", "6", "7", "8", "10"}) {
    std::vector<std::string> bodies = {"\xff", "\x0a\x05no", "\x0a\x01\xff"};  // text cut, no UTF-8
    if (name == "1" || name == "2") {
      bodies.insert(bodies.end(), {"", long_id});  // no id, one of 1 MiB
    }
    for (const std::string& body : bodies) {
      SchedulerHarness scheduler(Job(1));
      EXPECT_TRUE(scheduler.Register(1, "0").success);
      EXPECT_EQ(scheduler.Send(2, name, body), std::nullopt) << name;
      EXPECT_EQ(scheduler.output().broken_peers, std::vector{static_cast<PeerId>(2)}) << name;
      EXPECT_TRUE(scheduler.Heartbeat(1, "0").has_value());
    }
  }
}

TEST(Scheduler, EmptyOverlongAndUnprintableTextsAreRefused_R36) {
  SchedulerHarness scheduler(Job(2));
  EXPECT_FALSE(scheduler.Register(1, "").success);
  EXPECT_FALSE(scheduler.Register(1, std::string(257, 'x')).success);
  EXPECT_FALSE(scheduler.Register(1, "a\nb").success);
  EXPECT_FALSE(scheduler.Register(1, "a", "10.0.0.1", "h\x7f").success);
  EXPECT_TRUE(scheduler.Register(1, std::string(256, 'x')).success);
}

TEST(Scheduler, ARegistrationWhoseAnswerWasLostIsAnsweredAgain) {
  SchedulerHarness scheduler(Job(2));
  const RegistrationReply first = scheduler.Register(1, "0");
  EXPECT_EQ(scheduler.Register(1, "0"), first);
  scheduler.core().OnPeerClosed(static_cast<PeerId>(1), scheduler.now());
  EXPECT_FALSE(scheduler.Register(2, "0", "10.9.9.9").success) << "another host";
  EXPECT_EQ(scheduler.Register(2, "0"), first);
  EXPECT_EQ(scheduler.core().membership().present(), 1U);
}

TEST(Scheduler, AfterAHeartbeatTheIdIsTaken) {
  SchedulerHarness scheduler(Job(2));
  EXPECT_TRUE(scheduler.Register(1, "0").success);
  EXPECT_TRUE(scheduler.Heartbeat(1, "0").has_value());
  const auto refused = scheduler.Register(1, "0");
  EXPECT_FALSE(refused.success);
  EXPECT_EQ(refused.error_reason.substr(0, 46), "Repeated registration node: 0 to the scheduler");
  EXPECT_NE(scheduler.LastEventText().find("registered repeatedly"), std::string::npos);
}

TEST(Scheduler, WithRecoveryAKnownIdComesBackWithItsRankAndWithoutTotal) {
  SchedulerHarness scheduler(RecoveryJob(1));
  EXPECT_EQ(scheduler.Register(1, "w", "10.0.0.1"), (RegistrationReply{true, 0, 1, ""}));
  scheduler.Heartbeat(1, "w");
  EXPECT_EQ(scheduler.Register(2, "w", "10.0.0.2"), (RegistrationReply{true, 0, 0, ""}));
  EXPECT_EQ(scheduler.Count(SchedulerEventKind::kRecovered), 1U);
}

TEST(Scheduler, SilenceIsMeasuredInWholeSecondsAndMustExceedTheTimeout) {
  SchedulerOptions options = Job(1);
  options.node_timeout = seconds(4);
  SchedulerHarness scheduler(options);
  scheduler.Pass(milliseconds(900));
  scheduler.Register(1, "0");
  // Heard of in second 0; lost in the first second s with s - 0 > 4, that is at 5.0 s.
  scheduler.Advance(milliseconds(4050));  // 4.95 s
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);
  EXPECT_EQ(scheduler.core().NextDeadline(), TimePoint(seconds(5)));
  scheduler.Advance(milliseconds(50));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kAborting);
  EXPECT_EQ(EventText(scheduler.output().events.at(2)),
            "The node: 0 is timed out. No heartbeat came in time.");
}

TEST(Scheduler, AfterALossEverybodyIsToldAndThenTheJobEnds) {
  SchedulerHarness scheduler(Job(2));
  scheduler.Register(1, "0");
  scheduler.Register(2, "1");
  scheduler.Advance(seconds(20));
  scheduler.Heartbeat(1, "0");
  scheduler.Advance(seconds(11));  // 31 s: node 1 silent for 31 > 30, node 0 for 11
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kAborting);
  EXPECT_EQ(scheduler.Heartbeat(1, "0"), (HeartbeatReply{true, 1, 2, 1}));
  EXPECT_EQ(scheduler.Heartbeat(2, "1")->abnormal_nodes_num, 1U) << "the lost one must end, too";
  EXPECT_FALSE(scheduler.Register(3, "1").success);
  scheduler.Advance(milliseconds(4999));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kAborting);
  scheduler.Advance(milliseconds(1));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kAborted);
}

TEST(Scheduler, WithRecoveryALossIsReportedUntilTheNodeIsHeardOfAgain) {
  SchedulerHarness scheduler(RecoveryJob(2));
  scheduler.Register(1, "0");
  scheduler.Register(2, "1");
  scheduler.Advance(seconds(20));
  scheduler.Heartbeat(1, "0");
  scheduler.Advance(seconds(12));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);
  EXPECT_EQ(scheduler.Heartbeat(1, "0")->abnormal_nodes_num, 1U);
  EXPECT_TRUE(scheduler.Register(3, "1").success);
  EXPECT_EQ(scheduler.Heartbeat(1, "0")->abnormal_nodes_num, 1U);
  EXPECT_EQ(scheduler.Heartbeat(3, "1")->abnormal_nodes_num, 0U);
}

TEST(Scheduler, ANodeLostDuringTheBuildMakesRoomForAnother) {
  SchedulerHarness scheduler(Job(2));
  scheduler.Register(1, "u1");
  scheduler.Register(2, "u2");
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);

  SchedulerHarness building(Job(3));
  building.Register(1, "u1");
  building.Register(2, "u2");
  building.Advance(seconds(20));
  building.Heartbeat(1, "u1");
  building.Advance(seconds(11));
  EXPECT_EQ(building.core().membership().present(), 1U);
  EXPECT_EQ(building.core().state(), SchedulerState::kBuilding);
  EXPECT_EQ(building.Register(3, "u3").rank_id, 2U);
  EXPECT_EQ(building.Register(4, "u4").rank_id, 1U) << "the free rank, the counter is at its end";
  EXPECT_EQ(building.core().state(), SchedulerState::kReady);
  // Its slot is gone: it must end, and never hear that the topology is complete.
  EXPECT_EQ(building.Heartbeat(2, "u2"), (HeartbeatReply{true, 0, 3, 1}));
}

TEST(Scheduler, ANodeLostDuringTheBuildIsTakenBackIfItsSlotIsFree) {
  SchedulerHarness scheduler(Job(2));
  scheduler.Register(1, "0");
  scheduler.Advance(seconds(31));
  EXPECT_EQ(scheduler.core().membership().present(), 0U);
  EXPECT_EQ(scheduler.Heartbeat(1, "0"), (HeartbeatReply{true, 0, 2, 0}));
  EXPECT_EQ(scheduler.Register(2, "1").rank_id, 1U);
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);
}

TEST(Scheduler, ReferenceRulesAbortOnALossDuringTheBuild) {
  SchedulerOptions options = Job(2);
  options.rules = ReferenceRules(ProtocolVersion::kMaster);
  SchedulerHarness scheduler(options);
  scheduler.Register(1, "0");
  scheduler.Advance(seconds(31));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kAborting);
}

TEST(Scheduler, AClosedConnectionOfALauncherIsALossUnlessAHeartbeatComesOnAnother) {
  SchedulerOptions options = Job(2);
  options.members_are_launchers = true;
  SchedulerHarness scheduler(options);
  scheduler.Register(1, "0");
  scheduler.Register(2, "1");
  scheduler.core().OnPeerClosed(static_cast<PeerId>(1), scheduler.now());
  scheduler.core().OnPeerClosed(static_cast<PeerId>(2), scheduler.now());
  scheduler.Advance(milliseconds(4900));
  scheduler.Heartbeat(7, "1");  // reconnected
  scheduler.Advance(milliseconds(100));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kAborting);
  EXPECT_EQ(scheduler.core().membership().abnormal(), 1U);
}

TEST(Scheduler, ARefusedLauncherHearsTheNumberOfRanks_K4) {
  EXPECT_EQ(SchedulerHarness(Job(2)).Register(1, "2").node_num, 0U);  // as MindSpore's
  SchedulerOptions options = Job(2);
  options.members_are_launchers = true;
  EXPECT_EQ(SchedulerHarness(options).Register(1, "2").node_num, 2U);
  options.proof = std::string(64, 'p');
  EXPECT_EQ(SchedulerHarness(options).Register(1, "2").node_num, 0U) << "it knows no secret";
}

TEST(Scheduler, AConnectionThatNeverCarriedAHeartbeatMayClose) {
  SchedulerHarness scheduler(Job(1));
  scheduler.Register(1, "0");
  scheduler.Write("k", "v");  // on another connection
  scheduler.core().OnPeerClosed(static_cast<PeerId>(1'000'000), scheduler.now());
  scheduler.Advance(seconds(20));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);
}

TEST(Scheduler, WithHeartbeatsDisabledNoVerdictComesFromSilence) {
  SchedulerOptions options = Job(1);
  options.heartbeat_disabled = true;
  SchedulerHarness scheduler(options);
  scheduler.Register(1, "0");
  scheduler.core().OnPeerClosed(static_cast<PeerId>(1), scheduler.now());
  scheduler.Advance(seconds(100000));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);
}

TEST(Scheduler, AProcessThatIsKnownToBeDeadIsLostAtOnce) {
  SchedulerHarness scheduler(Job(1));
  scheduler.Register(1, "0");
  EXPECT_FALSE(scheduler.core().DeclareLost("1", scheduler.now(), scheduler.output()));
  EXPECT_TRUE(scheduler.core().DeclareLost("0", scheduler.now(), scheduler.output()));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kAborting);
}

TEST(Scheduler, TheBuildEndsWhenItsTimeIsOver) {
  SchedulerOptions options = Job(3);
  options.build_timeout = seconds(600);
  options.node_timeout = std::nullopt;
  SchedulerHarness scheduler(options);
  scheduler.Register(1, "1");
  scheduler.Advance(seconds(600) - milliseconds(1));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kBuilding);
  scheduler.Advance(milliseconds(1));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kBuildFailed);
  EXPECT_NE(scheduler.LastEventText().find("missing: MS_WORKER rank 0, MS_WORKER rank 2"),
            std::string::npos);
  EXPECT_FALSE(scheduler.Register(2, "0").success);
}

TEST(Scheduler, ANumericIdMayComeBackAfterLeaving) {
  SchedulerHarness scheduler(Job(2));
  scheduler.Register(1, "0");
  scheduler.Register(2, "1");
  EXPECT_EQ(scheduler.Unregister(1, "0"), "3");
  EXPECT_EQ(scheduler.Unregister(1, "0"), "3") << "the answer may have been lost";
  EXPECT_EQ(scheduler.Heartbeat(1, "0"), std::nullopt);
  EXPECT_EQ(scheduler.Register(3, "0"), (RegistrationReply{true, 0, 2, ""}));
  EXPECT_EQ(scheduler.Heartbeat(3, "0"), (HeartbeatReply{true, 1, 2, 0}));
}

TEST(Scheduler, JobsOfNoOrTooManyMembersAreRefused) {
  EXPECT_FALSE(SchedulerCore::Create(Job(0), TimePoint{}).has_value());
  EXPECT_FALSE(SchedulerCore::Create(Job(0xFFFFFFFF), TimePoint{}).has_value());
}

TEST(Scheduler, MessagesNobodyKnowsGetNoAnswer) {
  SchedulerHarness scheduler(Job(1));
  for (const char* const name : {"42", "3", "hello", "99999999999999999999"}) {
    EXPECT_EQ(scheduler.Send(1, name, "x"), std::nullopt) << name;
  }
  EXPECT_EQ(scheduler.Heartbeat(1, "nobody"), std::nullopt);
}

// Old rules, docs/protocol.md.
TEST(SchedulerRules, Release20RanksInOrderOfArrivalAndAcceptsKnownIds) {
  SchedulerOptions options = Job(2);
  options.rules = ReferenceRules(ProtocolVersion::kMindSpore20);
  SchedulerHarness scheduler(options);
  EXPECT_EQ(scheduler.Register(1, "1").rank_id, 0U);
  EXPECT_EQ(scheduler.Register(2, "1").rank_id, 0U);
  EXPECT_EQ(scheduler.Register(3, "0").rank_id, 1U);
  EXPECT_EQ(scheduler.FinalRank("0"), std::nullopt);
}

TEST(SchedulerRules, Release2410NoticesDuplicateRanksAndRelease25DoesNot) {
  for (const auto version : {ProtocolVersion::kMindSpore2410, ProtocolVersion::kMindSpore250}) {
    SchedulerOptions options = Job(2);
    options.rules = ReferenceRules(version);
    SchedulerHarness scheduler(options);
    scheduler.Register(1, "1");
    EXPECT_EQ(scheduler.Register(2, "01").success, version == ProtocolVersion::kMindSpore250);
  }
}

}  // namespace
}  // namespace drydock::sim
