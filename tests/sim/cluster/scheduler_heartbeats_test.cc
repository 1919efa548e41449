#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/cluster/scheduler_harness.h"

namespace drydock::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Two workers, answers to heartbeats wait up to 3 s.
SchedulerHarness Holding() {
  return SchedulerHarness({.worker_num = 2, .heartbeat_hold = seconds(3)});
}

/// Connections that were answered since the last call.
std::vector<std::uint64_t> Answered(SchedulerHarness& scheduler) {
  std::vector<std::uint64_t> peers;
  for (const AddressedFrame& frame : scheduler.output().replies.frames()) {
    peers.push_back(static_cast<std::uint64_t>(frame.peer));
  }
  scheduler.output().Clear();
  return peers;
}

TEST(SchedulerHeartbeats, AnAnswerWaitsForTheTopologyAndSaysSo) {
  SchedulerHarness scheduler = Holding();
  scheduler.Register(1, "0");
  EXPECT_EQ(scheduler.Heartbeat(1, "0"), std::nullopt);
  scheduler.Pass(milliseconds(500));
  scheduler.output().Clear();
  std::string body;
  EncodeBody(RegistrationRequest{.node_id = "1", .role = "MS_WORKER", .host_ip = "10.0.0.1"}, body);
  scheduler.SendOnly(2, WireName(MessageName::kRegistration), body);
  const FrameBatch& replies = scheduler.output().replies;
  ASSERT_EQ(replies.frames().size(), 2U);
  const auto frame = ParseFrame(AsBytes(replies.BytesOf(replies.frames().front())), FrameLimits{});
  EXPECT_EQ(DecodeHeartbeatReply((*frame)->frame.body), (HeartbeatReply{true, 1, 2, 0}));
  EXPECT_THAT(Answered(scheduler), ElementsAre(1, 2));
  // From now on at once.
  EXPECT_EQ(scheduler.Heartbeat(1, "0"), (HeartbeatReply{true, 1, 2, 0}));
}

TEST(SchedulerHeartbeats, AnAnswerWaitsNoLongerThanTold) {
  SchedulerHarness scheduler = Holding();
  scheduler.Register(1, "0");
  scheduler.Pass(seconds(1));
  EXPECT_EQ(scheduler.Heartbeat(1, "0"), std::nullopt);
  scheduler.output().Clear();
  EXPECT_EQ(scheduler.core().NextDeadline(), TimePoint(seconds(4)));  // 1 s + 3 s
  scheduler.Advance(milliseconds(2999));
  EXPECT_THAT(Answered(scheduler), IsEmpty());
  scheduler.Advance(milliseconds(1));
  EXPECT_THAT(Answered(scheduler), ElementsAre(1));
  scheduler.Advance(seconds(10));
  EXPECT_THAT(Answered(scheduler), IsEmpty());
}

TEST(SchedulerHeartbeats, TheNextQuestionIsAnsweredAfterTheFirst) {
  SchedulerHarness scheduler = Holding();
  scheduler.Register(1, "0");
  EXPECT_EQ(scheduler.Heartbeat(1, "0"), std::nullopt);
  scheduler.output().Clear();
  std::string body;
  EncodeBody(UnregistrationRequest{.node_id = "0"}, body);
  scheduler.SendOnly(1, WireName(MessageName::kUnregistration), body);
  EXPECT_THAT(Answered(scheduler), ElementsAre(1, 1));
}

TEST(SchedulerHeartbeats, AClosedConnectionIsNotAnswered) {
  SchedulerHarness scheduler = Holding();
  scheduler.Register(1, "0");
  EXPECT_EQ(scheduler.Heartbeat(1, "0"), std::nullopt);
  scheduler.output().Clear();
  scheduler.core().OnPeerClosed(PeerId{1}, scheduler.now());
  scheduler.Advance(seconds(4));
  EXPECT_THAT(Answered(scheduler), IsEmpty());
}

TEST(SchedulerHeartbeats, ABuildThatFailedLetsNobodyWait) {
  SchedulerHarness scheduler(
      {.worker_num = 2, .build_timeout = seconds(1), .heartbeat_hold = seconds(3)});
  scheduler.Register(1, "0");
  EXPECT_EQ(scheduler.Heartbeat(1, "0"), std::nullopt);
  scheduler.output().Clear();
  scheduler.Advance(seconds(1));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kBuildFailed);
  EXPECT_THAT(Answered(scheduler), ElementsAre(1));
}

}  // namespace
}  // namespace drydock::sim
