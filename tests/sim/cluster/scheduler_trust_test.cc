// What strangers, and members that reconnect, can do to a scheduler. Names end in the finding they
// guard against.
#include <string>

#include <gtest/gtest.h>

#include "sim/cluster/job_keys.h"
#include "tests/sim/cluster/scheduler_harness.h"

namespace drydock::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kStranger = "10.0.0.9";

std::string AddressOf(int member) {
  return "10.0.0." + std::to_string(member + 1);
}

/// A job whose members have registered from addresses of their own, on connections 1, 2, ...
class TrustTest : public ::testing::Test {
 protected:
  static SchedulerHarness Formed(int members, SchedulerOptions options) {
    options.worker_num = static_cast<std::uint32_t>(members);
    SchedulerHarness scheduler(options);
    for (int i = 0; i < members; ++i) {
      Enter(scheduler, i);
    }
    return scheduler;
  }
  static SchedulerHarness Formed(int members) { return Formed(members, Job(1)); }

  static std::optional<SeenReply> Enter(SchedulerHarness& scheduler, int member,
                                        std::uint64_t peer = 0) {
    const std::string id = std::to_string(member);
    const std::string address = AddressOf(member);
    return scheduler.SendMessage(
        peer == 0 ? static_cast<std::uint64_t>(member + 1) : peer, MessageName::kRegistration,
        RegistrationRequest{
            .node_id = id, .host_name = "h" + id, .role = "MS_WORKER", .host_ip = address},
        address);
  }
  static std::optional<SeenReply> Beat(SchedulerHarness& scheduler, std::uint64_t peer, int member,
                                       std::string_view address) {
    const std::string id = std::to_string(member);
    return scheduler.SendMessage(peer, MessageName::kHeartbeat, HeartbeatRequest{.node_id = id},
                                 address);
  }
  static std::string Unregister(SchedulerHarness& scheduler, std::uint64_t peer, int member,
                                std::string_view address) {
    const std::string id = std::to_string(member);
    return scheduler
        .SendMessage(peer, MessageName::kUnregistration, UnregistrationRequest{.node_id = id},
                     address)
        ->name;
  }
  static void Write(SchedulerHarness& scheduler, std::uint64_t peer, std::string_view address,
                    std::string_view name, std::string_view value) {
    std::string body;
    EncodeBody(MetadataMessage{.name = name, .value = value}, body);
    scheduler.SendOnly(peer, WireName(MessageName::kWriteMetadata), body, address);
  }
  static std::string Value(SchedulerHarness& scheduler, std::string_view name) {
    const auto reply = scheduler.SendMessage(90, MessageName::kReadMetadata,
                                             MetadataMessage{.name = name}, kStranger);
    return std::string(DecodeMetadata(reply->body)->value);
  }
};

TEST_F(TrustTest, AResetOfAllConnectionsIsNoLossBeforeTheNodeTimeout_Jobs1) {
  SchedulerHarness scheduler = Formed(2);
  scheduler.core().OnPeerClosed(static_cast<PeerId>(1), scheduler.now());
  scheduler.core().OnPeerClosed(static_cast<PeerId>(2), scheduler.now());
  // MindSpore's workers come back after one or two pauses of 3 to 5 s.
  scheduler.Advance(seconds(10));
  EXPECT_TRUE(Beat(scheduler, 11, 0, AddressOf(0)).has_value());
  scheduler.Advance(seconds(15));  // 25 s of silence
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);
  EXPECT_TRUE(Beat(scheduler, 12, 1, AddressOf(1)).has_value());
  scheduler.Advance(seconds(14));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);
}

TEST_F(TrustTest, ClosedConnectionsAreALossAfterTheNodeTimeout_Jobs1) {
  SchedulerOptions options = Job(1);
  options.node_timeout = seconds(7);
  SchedulerHarness scheduler = Formed(2, options);
  scheduler.core().OnPeerClosed(static_cast<PeerId>(2), scheduler.now());
  scheduler.Advance(milliseconds(6900));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);
  scheduler.Advance(milliseconds(200));
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kAborting);
}

TEST_F(TrustTest, ARegistrationOverANewConnectionWaitsForTheEndOfTheOldOne_K2) {
  SchedulerHarness scheduler = Formed(2);
  // The answer to the first registration was lost; the new one is read before the end of the old
  // connection.
  EXPECT_FALSE(Enter(scheduler, 0, 21).has_value());
  const std::size_t before = scheduler.output().replies.frames().size();
  scheduler.core().OnPeerClosed(static_cast<PeerId>(1), scheduler.now());
  scheduler.Advance(milliseconds(1));
  ASSERT_EQ(scheduler.output().replies.frames().size(), before + 1);
  const auto frame = ParseFrame(
      AsBytes(scheduler.output().replies.BytesOf(scheduler.output().replies.frames().back())),
      FrameLimits{});
  EXPECT_EQ((*frame)->frame.name, WireName(MessageName::kSuccess));
  EXPECT_EQ(scheduler.Count(SchedulerEventKind::kRegistrationRepeated), 1U);
}

TEST_F(TrustTest, ASecondProcessIsRefusedWhileTheFirstOneIsConnected_K2) {
  SchedulerHarness scheduler = Formed(2);
  EXPECT_FALSE(Enter(scheduler, 0, 21).has_value());
  scheduler.Advance(milliseconds(1100));
  EXPECT_EQ(scheduler.Count(SchedulerEventKind::kRefusedKnownId), 1U);
  EXPECT_NE(scheduler.LastEventText().find("asked for by one on host 'h0' (10.0.0.1)"),
            std::string::npos)
      << scheduler.LastEventText();
}

TEST_F(TrustTest, NobodyUnregistersMembersFromAnotherAddress_Jobs) {
  SchedulerHarness scheduler = Formed(2);
  for (const int member : {0, 1}) {
    EXPECT_EQ(Unregister(scheduler, 80, member, kStranger), WireName(MessageName::kInvalidNode));
  }
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kReady);
  for (const int member : {0, 1}) {
    EXPECT_EQ(Unregister(scheduler, 50, member, AddressOf(member)),
              WireName(MessageName::kSuccess));
  }
  EXPECT_EQ(scheduler.core().state(), SchedulerState::kFinished);
}

TEST_F(TrustTest, NobodyKeepsALostMemberAliveFromAnotherAddress_Jobs) {
  SchedulerHarness scheduler = Formed(2);
  EXPECT_FALSE(Beat(scheduler, 80, 1, kStranger).has_value());
  EXPECT_TRUE(Beat(scheduler, 51, 1, AddressOf(1)).has_value());
}

TEST_F(TrustTest, WithRecoveryALivingMemberIsNotReplacedFromAnotherAddress_Jobs) {
  SchedulerHarness scheduler = Formed(2, RecoveryJob(2));
  Beat(scheduler, 1, 0, AddressOf(0));
  const RegistrationRequest thief{
      .node_id = "0", .host_name = "evil", .role = "MS_WORKER", .host_ip = kStranger};
  EXPECT_EQ(scheduler.SendMessage(80, MessageName::kRegistration, thief, kStranger)->name,
            WireName(MessageName::kInvalidNode));
  // A pod that was started again elsewhere: its old connection is closed.
  scheduler.core().OnPeerClosed(static_cast<PeerId>(1), scheduler.now());
  EXPECT_EQ(scheduler.SendMessage(81, MessageName::kRegistration, thief, kStranger)->name,
            WireName(MessageName::kSuccess));
}

TEST_F(TrustTest, WhatLaunchersAgreeOnIsWrittenByItsOwnerOnly_Jobs6) {
  SchedulerHarness scheduler = Formed(2);
  Write(scheduler, 80, kStranger, kJobKey, "evil");
  Write(scheduler, 80, AddressOf(1), kJobKey, "evil");  // not of rank 0
  Write(scheduler, 80, kStranger, "drydock_rank_1", "evil");
  Write(scheduler, 80, kStranger, kJobFailureKey, "evil");
  Write(scheduler, 80, AddressOf(0), "drydock_other", "evil");
  for (const std::string_view key : {kJobKey, std::string_view("drydock_rank_1"), kJobFailureKey,
                                     std::string_view("drydock_other")}) {
    EXPECT_EQ(Value(scheduler, key), "") << key;
  }
  Write(scheduler, 1, AddressOf(0), kJobKey, "job");
  Write(scheduler, 2, AddressOf(1), "drydock_rank_1", "here");
  Write(scheduler, 2, AddressOf(1), kJobFailureKey, "rank 1 failed");
  // Once and for good.
  Write(scheduler, 1, AddressOf(0), kJobKey, "other");
  std::string body;
  EncodeBody(MetadataMessage{.name = kJobFailureKey}, body);
  scheduler.Send(2, WireName(MessageName::kDeleteMetadata), body, AddressOf(1));
  EXPECT_EQ(Value(scheduler, kJobKey), "job");
  EXPECT_EQ(Value(scheduler, "drydock_rank_1"), "here");
  EXPECT_EQ(Value(scheduler, kJobFailureKey), "rank 1 failed");
}

TEST_F(TrustTest, OtherMetadataIsEverybodys) {
  SchedulerHarness scheduler = Formed(2);
  Write(scheduler, 80, kStranger, "key", "value");
  EXPECT_EQ(Value(scheduler, "key"), "value");
}

TEST_F(TrustTest, WithASecretLaunchersMustKnowIt_Jobs6) {
  SchedulerOptions options = Job(2);
  options.members_are_launchers = true;
  options.proof = std::string(64, 'p');
  SchedulerHarness scheduler(options);
  EXPECT_EQ(Enter(scheduler, 0)->name, WireName(MessageName::kInvalidNode));
  Write(scheduler, 80, kStranger, kProofKey, std::string(64, 'q'));
  ASSERT_EQ(scheduler.output().broken_peers.size(), 1U);  // a wrong guess ends the connection
  Write(scheduler, 1, AddressOf(0), kProofKey, options.proof);
  EXPECT_EQ(Enter(scheduler, 0)->name, WireName(MessageName::kSuccess));
  EXPECT_EQ(Value(scheduler, kProofKey), "");  // never stored
  scheduler.core().OnPeerClosed(static_cast<PeerId>(1), scheduler.now());
  EXPECT_FALSE(Beat(scheduler, 1, 0, AddressOf(0)).has_value()) << "another connection";
}

TEST_F(TrustTest, HostNamesAtSeveralAddressesAreSpokenOf_K21) {
  SchedulerHarness scheduler(Job(2));
  scheduler.Register(1, "0", "10.0.0.1", "same");
  scheduler.Register(2, "1", "10.0.0.2", "same");
  EXPECT_EQ(scheduler.Count(SchedulerEventKind::kHostNameShared), 1U);
  EXPECT_NE(scheduler.LastEventText().find("10.0.0.1, 10.0.0.2"), std::string::npos);
}

TEST(JobKeys, OwnersFollowFromNames) {
  using Kind = KeyOwner::Kind;
  EXPECT_EQ(OwnerOf("MS_WORKER0").kind, Kind::kAnybody);
  EXPECT_EQ(OwnerOf("drydock_rank_12").rank, 12U);
  EXPECT_EQ(OwnerOf("drydock_rank_x").kind, Kind::kNobody);
  EXPECT_EQ(OwnerOf("drydock_size").kind, Kind::kNobody);
}

}  // namespace
}  // namespace drydock::sim
