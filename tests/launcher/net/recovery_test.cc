#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "launcher/files.h"
#include "launcher/net/recovery_file.h"
#include "sim/cluster/messages/heartbeat.h"
#include "sim/cluster/messages/registration.h"
#include "sim/cluster/messages/unregistration.h"
#include "tests/launcher/net/raw_client.h"

namespace drydock::launcher {
namespace {

/// A folder of its own, removed at the end.
class Recovery : public testing::Test {
 protected:
  Recovery() {
    std::string name = testing::TempDir() + "recoveryXXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~Recovery() override { std::filesystem::remove_all(folder_); }

  void Put(std::string_view text) const { std::ofstream(folder_ + "/recovery.dat") << text; }
  [[nodiscard]] SchedulerServerOptions Job() const {
    return {.job = {.worker_num = 2, .recovery = true}, .recovery_folder = folder_};
  }

  std::string folder_;
};

sim::RegistrationReply Register(RawClient& client, std::string_view id) {
  client.SendMessage(
      "0", sim::RegistrationRequest{.node_id = id, .host_name = "h", .role = "MS_WORKER"});
  const auto reply = sim::DecodeRegistrationReply(client.Receive()->body).value();
  return {.success = reply.success, .rank_id = reply.rank_id, .node_num = reply.node_num};
}

TEST_F(Recovery, WhatIsStoredIsLoaded) {
  const RecoveryFile file(folder_);
  EXPECT_TRUE(file.Load()->nodes.empty());
  const sim::SchedulerSnapshot state{.topology_ready = true,
                                     .nodes = {{.node_id = "a", .host_name = "h", .rank = 0}}};
  ASSERT_TRUE(file.Store(state));
  EXPECT_EQ(file.Load()->nodes.front().node_id, "a");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/recovery.dat.tmp"));
}

TEST_F(Recovery, AnEmptyFileAndEmptyBracesAreAFirstStart_R29) {
  for (const char* text : {"", "{}"}) {
    Put(text);
    EXPECT_TRUE(RecoveryFile(folder_).Load()->nodes.empty());
  }
}

TEST_F(Recovery, ABrokenFileIsRefusedAndLeftAsItIs_R29) {
  Put("{\"compute_node_states\": 7}");
  const auto server = SchedulerServer::Start(Job());
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().reason, "RECOVERY_STATE");
  EXPECT_EQ(ReadFile(folder_ + "/recovery.dat", 100).value(), "{\"compute_node_states\": 7}");
}

TEST_F(Recovery, TheStateOfAnotherJobIsRefused_R29) {
  ASSERT_TRUE(RecoveryFile(folder_).Store({.topology_ready = true, .nodes = {{.node_id = "0"}}}));
  EXPECT_EQ(SchedulerServer::Start(Job()).error().reason, "RECOVERY_STATE");
}

TEST_F(Recovery, AMissingFolderAndAnUnwritableFileAreRefused_R29) {
  auto job = Job();
  job.recovery_folder = folder_ + "/missing";
  EXPECT_EQ(SchedulerServer::Start(job).error().reason, "RECOVERY_STATE");
  std::filesystem::create_directory(folder_ + "/recovery.dat.tmp");  // in the way of the new state
  EXPECT_EQ(SchedulerServer::Start(Job()).error().reason, "RECOVERY_WRITE");
}

TEST_F(Recovery, AnAcknowledgedRegistrationIsInTheFile_G7) {
  const auto server = Serve(Job());
  RawClient client(server->endpoint());
  ASSERT_TRUE(Register(client, "1").success);
  const auto state = RecoveryFile(folder_).Load();
  ASSERT_EQ(state->nodes.size(), 1U);
  EXPECT_EQ(state->nodes.front().node_id, "1");
}

TEST_F(Recovery, AfterARestartMembersGoOnWithTheirRanks_R29) {
  auto server = Serve(Job());
  {
    RawClient first(server->endpoint());
    RawClient second(server->endpoint());
    ASSERT_TRUE(Register(first, "0").success);
    ASSERT_TRUE(Register(second, "1").success);
  }
  server.reset();  // as far as the members see, a kill: nobody is told
  server = Serve(Job());
  EXPECT_EQ(server->Look().state, sim::SchedulerState::kReady);
  RawClient member(server->endpoint());
  member.SendMessage("2", sim::HeartbeatRequest{.node_id = "0"});
  EXPECT_EQ(sim::DecodeHeartbeatReply(member.Receive()->body)->topo_state, 1U);
  RawClient restarted(server->endpoint());
  EXPECT_EQ(Register(restarted, "1").rank_id, 1U);
}

TEST_F(Recovery, AFinishedJobLeavesNothingToTheNextOne) {
  auto server = Serve(Job());
  {
    RawClient first(server->endpoint());
    RawClient second(server->endpoint());
    ASSERT_TRUE(Register(first, "0").success);
    ASSERT_TRUE(Register(second, "1").success);
    first.SendMessage("1", sim::UnregistrationRequest{.node_id = "0"});
    ASSERT_EQ(first.Receive()->name, "3");
    second.SendMessage("1", sim::UnregistrationRequest{.node_id = "1"});
    ASSERT_EQ(second.Receive()->name, "3");
  }
  EXPECT_EQ(RecoveryFile(folder_).Load()->nodes.size(), 2U) << "until the scheduler has ended";
  server.reset();
  EXPECT_EQ(RecoveryFile(folder_).Load(), sim::SchedulerSnapshot{});
  server = Serve(Job());
  EXPECT_EQ(server->Look().state, sim::SchedulerState::kBuilding);
}

TEST_F(Recovery, AFullDiskEndsTheServerWithoutAnAnswer_R29) {
  const auto server = Serve(Job());
  std::filesystem::create_directory(folder_ + "/recovery.dat.tmp");
  RawClient client(server->endpoint());
  client.SendMessage(
      "0", sim::RegistrationRequest{.node_id = "0", .host_name = "h", .role = "MS_WORKER"});
  EXPECT_TRUE(client.IsClosed());
  ASSERT_TRUE(WaitReadable(server->event_fd()));
  EXPECT_EQ(server->Look().failure->reason, "RECOVERY_WRITE");
}

}  // namespace
}  // namespace drydock::launcher
