// The scheduler behind a port: captured exchanges, faults of members, strangers.
#include "launcher/net/scheduler_server.h"

#include <unistd.h>

#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "launcher/files.h"
#include "sim/cluster/messages/heartbeat.h"
#include "sim/cluster/messages/metadata.h"
#include "sim/cluster/messages/registration.h"
#include "tests/launcher/net/raw_client.h"
#include "tests/launcher/net/swarm.h"
#include "tests/sim/cluster/captured.h"

namespace drydock::launcher {
namespace {

using sim::SchedulerEventKind;

/// Begin of a TLS handshake.
constexpr std::string_view kTlsHello("\x16\x03\x01\x02\x00\x01", 6);

/// Registers as a worker; the answer says whether it worked.
sim::RegistrationReply Register(RawClient& client, std::string_view id) {
  client.SendMessage(
      "0", sim::RegistrationRequest{.node_id = id, .host_name = "h", .role = "MS_WORKER"});
  const auto reply = client.Receive();
  EXPECT_TRUE(reply);
  const auto decoded = reply ? sim::DecodeRegistrationReply(reply->body)
                             : Result<sim::RegistrationReply>(sim::RegistrationReply{});
  return {.success = decoded->success, .rank_id = decoded->rank_id, .node_num = decoded->node_num};
}

// Every exchange of real workers: names and bodies of all replies, byte for byte.
TEST(SchedulerServer, ReplaysTheCapturedExchanges) {
  std::size_t replies = 0;
  for (const sim::CapturedExchange& exchange : sim::LoadCaptures()) {
    if (!exchange.real_workers) {
      continue;
    }
    const auto server =
        Serve({.job = {.worker_num = exchange.workers,
                       .rules = sim::ReferenceRules(sim::ProtocolVersion::kMaster)}});
    std::map<std::string, RawClient> clients;
    for (std::size_t i = 0; i < exchange.frames.size(); ++i) {
      const sim::CapturedFrame& frame = exchange.frames[i];
      if (!frame.to_scheduler) {
        continue;
      }
      RawClient& client = clients.try_emplace(frame.connection, server->endpoint()).first->second;
      ASSERT_TRUE(client.Send(*frame.bytes)) << exchange.id;
      const sim::CapturedFrame* expected = sim::ReplyTo(exchange, i);
      if (expected == nullptr || !expected->bytes) {
        continue;
      }
      const auto reply = client.Receive();
      ASSERT_TRUE(reply) << exchange.id << ": " << frame.what;
      EXPECT_EQ(reply->to, "@" + EndpointText(server->endpoint()));
      const auto captured = sim::ParseFrame(AsBytes(*expected->bytes), {});
      EXPECT_EQ(reply->name, (*captured)->frame.name) << exchange.id << ": " << frame.what;
      EXPECT_EQ(reply->body, (*captured)->frame.body) << exchange.id << ": " << frame.what;
      ++replies;
    }
  }
  EXPECT_GT(replies, 50U);
}

TEST(SchedulerServer, TheFirstReplyOfAConnectionIsHeldBack) {
  const auto server = Serve({.job = {.worker_num = 2}});
  RawClient client(server->endpoint());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(Register(client, "0").success);
  EXPECT_GE(std::chrono::steady_clock::now() - start, sim::kFirstReplyDelay);
}

TEST(SchedulerServer, AWriteAndAReadInOnePieceAreAnsweredInOrder) {
  const auto server = Serve({.job = {.worker_num = 1}});
  RawClient client(server->endpoint());
  std::string bytes;
  std::string body;
  EncodeBody(sim::MetadataMessage{"k", "v"}, body);
  sim::AppendFrame({.name = "6", .to = "@s", .from = "@", .body = body}, bytes);
  sim::AppendFrame({.name = "7", .to = "@s", .from = "@", .body = "\x0a\x01k"}, bytes);
  for (const char byte : bytes) {
    client.Send({&byte, 1});
  }
  const auto reply = client.Receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->name, "10");
  EXPECT_EQ(reply->body, body);
}

TEST(SchedulerServer, APortInUseNamesItsHolder_R01) {
  const auto first = Serve({.job = {.worker_num = 1}});
  const auto second = SchedulerServer::Start({.job = {.worker_num = 1}, .bind = first->endpoint()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, "PORT_IN_USE");
  EXPECT_THAT(second.error().message,
              testing::HasSubstr("held by process " + std::to_string(::getpid()) + " "));
  EXPECT_TRUE(SchedulerServer::Start(
      {.job = {.worker_num = 1}, .bind = {"127.0.0.2", first->endpoint().port}}));
}

TEST(SchedulerServer, AHostNameIsNoAddressToListenAt) {
  const auto server = SchedulerServer::Start({.bind = {"localhost", 0}});
  EXPECT_EQ(server.error().reason, "RESOLVE");
}

TEST(SchedulerServer, ADeclaredLossIsToldToTheOthers_R21) {
  const auto server = Serve({.job = {.worker_num = 2}});
  RawClient first(server->endpoint());
  RawClient second(server->endpoint());
  Register(first, "0");
  Register(second, "1");
  WaitFor(*server, SchedulerEventKind::kTopologyReady);
  server->DeclareLost("1");
  EXPECT_EQ(WaitFor(*server, SchedulerEventKind::kNodeLost)->node_id, "1");
  first.SendMessage("2", sim::HeartbeatRequest{.node_id = "0"});
  EXPECT_EQ(sim::DecodeHeartbeatReply(first.Receive()->body)->abnormal_nodes_num, 1U);
  EXPECT_EQ(server->Look().lost, 1U);
}

TEST(SchedulerServer, MissingWorkersAreNamedWhenTheTimeIsOver) {
  const auto server =
      Serve({.job = {.worker_num = 3, .build_timeout = std::chrono::milliseconds(200)}});
  RawClient client(server->endpoint());
  Register(client, "1");
  EXPECT_THAT(WaitFor(*server, SchedulerEventKind::kBuildTimedOut)->detail,
              testing::HasSubstr("MS_WORKER rank 0, MS_WORKER rank 2"));
  const SchedulerStatus status = server->Look();
  EXPECT_EQ(status.state, sim::SchedulerState::kBuildFailed);
  EXPECT_EQ(status.missing_ranks, (std::vector<std::uint32_t>{0, 2}));
}

TEST(SchedulerServer, GarbageClosesItsConnectionOnly_R33) {
  const auto server = Serve({.job = {.worker_num = 1}});
  RawClient good(server->endpoint());
  for (const std::string_view bytes :
       {std::string_view("GET / HTTP/1.1\r\n\r\n"), std::string_view("RPC1"), kTlsHello,
        std::string_view("RPC0\0\0\0\1\0\0\0\1\0\0\0\1\xff\xff\xff\xff", 20),
        std::string_view("RPC0\xff\xff\xff\xff\0\0\0\1\0\0\0\1\0\0\0\1", 20)}) {
    RawClient stranger(server->endpoint());
    stranger.Send(bytes);
    EXPECT_TRUE(stranger.IsClosed());
  }
  EXPECT_TRUE(Register(good, "0").success);
}

TEST(SchedulerServer, ABrokenBodyClosesItsConnectionOnly_R36) {
  const auto server = Serve({.job = {.worker_num = 1}});
  RawClient good(server->endpoint());
  EXPECT_TRUE(Register(good, "0").success);
  for (const std::string_view name : {"1", "2", "6", "7", "8"}) {
    RawClient broken(server->endpoint());
    broken.SendFrame(name, "\xff");
    EXPECT_TRUE(broken.IsClosed()) << name;
  }
  good.SendMessage("2", sim::HeartbeatRequest{.node_id = "0"});
  EXPECT_TRUE(good.Receive());
}

TEST(SchedulerServer, APeerThatDoesNotReadIsClosed_R11) {
  const auto server = Serve({.job = {.worker_num = 1}});
  RawClient peer(server->endpoint());
  peer.SendMessage("6", sim::MetadataMessage{"k", std::string(1 << 16, 'v')});
  // 64 KiB for every request of some 30 bytes: system buffers and 1 MiB are full long before.
  std::string requests;
  for (int i = 0; i < 10'000; ++i) {
    sim::AppendFrame({.name = "7", .to = "@s", .from = "@", .body = "\x0a\x01k"}, requests);
  }
  (void)peer.Send(requests);  // may be closed already
  EXPECT_TRUE(peer.IsClosed());
}

/// Most memory this process ever had.
std::int64_t PeakKib() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Some 33 bytes each, so that 2,000 requests arrive in one piece of 64 KiB: their answers of 1 MiB
// must not all be made before the first is sent.
TEST(SchedulerServer, ManyRequestsInOnePieceCostLittleMemory_G12) {
  const auto server = Serve({.job = {.worker_num = 1}});
  RawClient peer(server->endpoint());
  peer.SendMessage("6", sim::MetadataMessage{"k", std::string(1U << 20U, 'v')});
  std::string requests;
  for (int i = 0; i < 2'000; ++i) {
    sim::AppendFrame({.name = "7", .to = "@s", .from = "@", .body = "\x0a\x01k"}, requests);
  }
  const std::int64_t before = PeakKib();
  (void)peer.Send(requests);
  EXPECT_TRUE(peer.IsClosed());
  EXPECT_LT(PeakKib() - before, 512 * 1024);  // all answers together are 2,000 MiB
}

// More than the system takes at once, and more than one peer may leave unread otherwise.
TEST(SchedulerServer, ALargeValueIsReadWhole) {
  const auto server = Serve({.job = {.worker_num = 1}});
  RawClient peer(server->endpoint());
  const std::string value(std::size_t{24} << 20U, 'v');
  peer.SendMessage("6", sim::MetadataMessage{"k", value});
  for (int i = 0; i < 2; ++i) {
    peer.SendMessage("7", sim::MetadataMessage{"k", ""});
    const auto reply = peer.Receive();
    ASSERT_TRUE(reply);
    EXPECT_TRUE(sim::DecodeMetadata(reply->body)->value == value);
  }
}

TEST(SchedulerServer, ConnectionsBeyondTheLimitReplaceSilentOnes_R12) {
  const auto server = Serve({.job = {.worker_num = 1}});  // 8 * 1 + 64 connections
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 200; ++i) {
    strangers.push_back(std::make_unique<RawClient>(server->endpoint()));
  }
  RawClient worker(server->endpoint());
  EXPECT_TRUE(Register(worker, "0").success);
  EXPECT_LE(server->Look().connections, 72U);
}

/// What scheduler.log says when somebody sends these bytes first.
std::string LogOfStranger(std::string_view bytes) {
  const std::string path = testing::TempDir() + "stranger.log";
  const auto server = Serve({.job = {.worker_num = 1}, .log_path = path});
  RawClient stranger(server->endpoint());
  stranger.Send(bytes);
  EXPECT_TRUE(stranger.IsClosed());
  server->Stop();
  return ReadFile(path, 1 << 20).value();
}

TEST(SchedulerServer, TheLogSaysWhatAStrangerSpeaks_R39_R42) {
  using testing::HasSubstr;
  EXPECT_THAT(LogOfStranger("GET / HTTP/1.1\r\n\r\n"), HasSubstr("is closed: an HTTP request."));
  EXPECT_THAT(LogOfStranger("SSH-2.0-x\r\n"), HasSubstr("is closed: an SSH client."));
  EXPECT_THAT(LogOfStranger(kTlsHello), HasSubstr("is closed: TLS_MISMATCH: a TLS handshake, but"));
  EXPECT_THAT(LogOfStranger("rubbish"), HasSubstr("bytes do not begin with the magic 'RPC0'"));
}

constexpr unsigned kBadConnections = 10'000;

/// Does what bad peers do.
void Disturb(const Endpoint& server) {
  constexpr std::size_t kIdle = 400;
  std::vector<std::unique_ptr<RawClient>> idle;
  idle.reserve(kIdle);
  for (unsigned round = 0; round < kBadConnections; ++round) {
    RawClient passing(server);
    if (round % 4 == 0) {
      passing.Send("GET / HTTP/1.1\r\n\r\n");
    } else if (round % 4 == 1) {
      passing.Send(std::string_view("RPC0\0\0\0\1\0\0\0\1\0\0\0\1\x7f\xff\xff\xff@", 21));
    } else if (round % 4 == 2) {
      passing.Send(kTlsHello);
    }
    if (round % 4 == 3 && idle.size() < kIdle) {
      idle.push_back(std::make_unique<RawClient>(server));
      idle.back()->Send("RPC");  // half a frame, and then silence
    }
  }
}

/// Lets this process open only so many more descriptors while it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = ::dup(STDERR_FILENO);
    ::close(lowest_free);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(lowest_free) + more;
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_ = {};
};

TEST(SchedulerServer, WithoutDescriptorsMembersGoOnAndNewcomersWait_R13) {
  const auto server = Serve({.job = {.worker_num = 2}});
  RawClient member(server->endpoint());
  EXPECT_TRUE(Register(member, "0").success);
  std::optional<RawClient> newcomer;
  {
    const FewDescriptors few(1);  // the newcomer's own end takes the last one
    newcomer.emplace(server->endpoint());
    member.SendMessage("2", sim::HeartbeatRequest{.node_id = "0"});
    EXPECT_TRUE(member.Receive());
    EXPECT_EQ(server->Look().connections, 1U);
  }
  EXPECT_TRUE(Register(*newcomer, "1").success);
}

// 64 workers join while the connections come; the 65th joins behind them, and only then do the
// others know their ranks.
TEST(SchedulerServer, BadPeersDoNotDisturb64Workers_R11_R12_R34) {
  const auto server = Serve({.job = {.worker_num = 65}});
  std::jthread disturber([&] {
    Disturb(server->endpoint());
    RawClient last(server->endpoint());
    EXPECT_TRUE(Register(last, "64").success);
  });
  Swarm swarm(server->endpoint(), 64);
  EXPECT_EQ(swarm.Run(), 64U) << swarm.failure();
}

}  // namespace
}  // namespace drydock::launcher
