#include "launcher/net/agent.h"

#include <gtest/gtest.h>

#include "launcher/net/agent_table.h"
#include "tests/launcher/net/wait_for.h"

namespace drydock::launcher {
namespace {

using Kind = AgentEvent::Kind;

/// An agent for ranks `first` .. `first + count - 1` of a job of `worker_num`.
std::unique_ptr<Agent> StartAgent(const SchedulerServer& server, std::uint32_t worker_num,
                                  std::uint32_t first, std::uint32_t count) {
  AgentOptions options{.scheduler = server.endpoint(), .job = {.worker_num = worker_num}};
  for (std::uint32_t rank = first; rank < first + count; ++rank) {
    options.members.push_back({.node_id = std::to_string(rank),
                               .host_name = "host" + std::to_string(first),
                               .device_id = rank - first});
  }
  return Agent::Start(std::move(options)).value();
}

TEST(Agent, TwoNodesAgreeOnRanksAndAddresses) {
  const auto server = Serve({.job = {.worker_num = 5}});
  const auto second = StartAgent(*server, 5, 3, 2);
  const auto first = StartAgent(*server, 5, 0, 3);
  EXPECT_EQ(NextEvent(*first)->kind, Kind::kReady);
  EXPECT_EQ(NextEvent(*second)->kind, Kind::kReady);
  EXPECT_EQ(first->Job().ranks, second->Job().ranks);
  EXPECT_EQ(first->Job().master, second->Job().master);
  EXPECT_EQ(first->Job().own_ranks, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(second->Job().own_ranks, (std::vector<std::uint32_t>{3, 4}));
  ASSERT_EQ(first->Job().ranks.size(), 5U);
  EXPECT_EQ(first->Job().ranks[4], (AgentRank{4, "4", "host3", "127.0.0.1"}));
  EXPECT_EQ(first->Job().master.address, "127.0.0.1");
  EXPECT_NE(first->Job().master.port, 0);
  first->Leave();
  second->Leave();
  EXPECT_EQ(NextEvent(*first)->kind, Kind::kLeft);
  EXPECT_EQ(NextEvent(*second)->kind, Kind::kLeft);
  WaitFor(*server, sim::SchedulerEventKind::kFinished);
}

TEST(Agent, AFailureOnOneNodeIsHeardOnTheOther) {
  const auto server = Serve({.job = {.worker_num = 2}});
  const auto first = StartAgent(*server, 2, 0, 1);
  const auto second = StartAgent(*server, 2, 1, 1);
  NextEvent(*first);
  NextEvent(*second);
  const auto start = std::chrono::steady_clock::now();
  second->ReportFailure("rank 1 ended with status 3");
  const auto event = NextEvent(*first);
  EXPECT_EQ(event->kind, Kind::kJobFailed);
  EXPECT_EQ(event->error->message, "rank 1 ended with status 3");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(25));
}

TEST(Agent, AnExtraNodeIsRefused) {
  const auto server = Serve({.job = {.worker_num = 1}});
  const auto first = StartAgent(*server, 1, 0, 1);
  EXPECT_EQ(NextEvent(*first)->kind, Kind::kReady);
  const auto extra = StartAgent(*server, 1, 7, 1);
  const auto event = NextEvent(*extra);
  EXPECT_EQ(event->kind, Kind::kFailed);
  EXPECT_TRUE(IsCausedBy(*event->error, MemberCause::kRefused));
}

// The launcher of the other node was killed: its connections close, nobody unregisters.
TEST(Agent, ANodeThatVanishesFailsTheJob) {
  const auto server = Serve({.job = {.worker_num = 2}});
  const auto first = StartAgent(*server, 2, 0, 1);
  const auto second = StartAgent(*server, 2, 1, 1);
  NextEvent(*first);
  NextEvent(*second);
  second->Stop();
  const auto event = NextEvent(*first);
  EXPECT_EQ(event->kind, Kind::kFailed);
  EXPECT_TRUE(IsCausedBy(*event->error, MemberCause::kNodeLost));
}

TEST(Agent, NoMembersAndAHostNameAreUsageErrors) {
  EXPECT_EQ(Agent::Start({.scheduler = {"127.0.0.1", 1}}).error().reason, "USAGE");
  EXPECT_EQ(Agent::Start({.scheduler = {"localhost", 1}, .members = {{}}}).error().reason, "USAGE");
}

TEST(AgentTable, WhatIsEncodedIsDecoded) {
  AgentJob job{
      .ranks = {{0, "0", "a\"b", "10.0.0.1"}, {1, "1", "c", "fe80::1", "a note\nof \"c\""}},
      .master = {"10.0.0.1", 8119}};
  EXPECT_EQ(DecodeAgentRank(EncodeAgentRank(job.ranks[1])).value(), job.ranks[1]);
  EXPECT_EQ(DecodeAgentJob(EncodeAgentJob(job), 2).value(), job);
}

TEST(AgentTable, WhatNoAgentWritesIsRefused) {
  const AgentJob job{.ranks = {{1, "0", "a", "10.0.0.1"}}};
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{\"ranks\":{}}"), EncodeAgentJob(job)}) {
    EXPECT_EQ(DecodeAgentJob(text, 1).error().code, ErrorCode::kProtocol) << text;
  }
  EXPECT_FALSE(DecodeAgentJob(EncodeAgentJob({}), 1));
  EXPECT_FALSE(DecodeAgentRank("7"));
  EXPECT_FALSE(
      DecodeAgentRank(R"({"rank":0,"node_id":"0","host_name":"a","address":"10.0.0.1","note":7})"));
}

}  // namespace
}  // namespace drydock::launcher
