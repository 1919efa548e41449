// Each transition of the worker, under a manual clock; the test is its scheduler.
#include <gtest/gtest.h>

#include "base/byte_reader.h"
#include "sim/cluster/messages/heartbeat.h"
#include "sim/cluster/messages/metadata.h"
#include "sim/cluster/messages/registration.h"
#include "sim/cluster/messages/unregistration.h"
#include "sim/cluster/worker_core.h"

namespace drydock::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = WorkerAction::Kind;

class WorkerHarness {
 public:
  explicit WorkerHarness(WorkerOptions options = {}, std::string node_id = "0")
      : options_(std::move(options)),
        core_(options_, {.node_id = std::move(node_id), .host_name = "h"}) {
    core_.Start(now_, output_);
  }

  WorkerCore& core() { return core_; }
  WorkerOutput& output() { return output_; }
  TimePoint now() const { return now_; }

  /// The actions since the last call, as text: "connect hb", "send biz 7", "ready", ...
  std::vector<std::string> Actions() {
    std::vector<std::string> texts;
    for (const WorkerAction& action : output_.actions) {
      const std::string channel = action.channel == Channel::kHeartbeat ? " hb" : " biz";
      switch (action.kind) {
        case Kind::kConnect:
          texts.push_back("connect" + channel);
          break;
        case Kind::kDisconnect:
          texts.push_back("close" + channel);
          break;
        case Kind::kSend: {
          const auto frame = ParseFrame(AsBytes(output_.BytesOf(action)), {}).value().value().frame;
          texts.push_back("send" + channel + " " + std::string(frame.name));
          break;
        }
        case Kind::kReady:
          texts.emplace_back("ready");
          break;
        case Kind::kAnswer:
          texts.push_back(std::string(action.found ? "hit " : "miss ") +
                          std::string(output_.BytesOf(action)));
          break;
        case Kind::kLeft:
          texts.emplace_back("left");
          break;
        case Kind::kFailed:
          texts.push_back("failed " + core_.failure()->reason);
          break;
      }
    }
    output_.Clear();
    return texts;
  }

  void ConnectBoth() {
    core_.OnConnected(Channel::kHeartbeat, "10.0.0.5", now_, output_);
    core_.OnConnected(Channel::kBusiness, "10.0.0.5", now_, output_);
  }
  template <typename Body>
  void Reply(Channel channel, MessageName name, const Body& body) {
    std::string bytes;
    EncodeBody(body, bytes);
    ReplyText(channel, name, bytes);
  }
  void ReplyText(Channel channel, MessageName name, std::string_view body) {
    core_.OnFrame(channel, {.name = WireName(name), .to = "@", .from = "@", .body = body}, now_,
                  output_);
  }
  void Heartbeat(std::uint32_t topo_state, std::uint32_t abnormal = 0) {
    Reply(Channel::kHeartbeat, MessageName::kSuccess,
          HeartbeatReply{true, topo_state, 1, abnormal});
  }
  /// Moves the clock to the next deadline and ticks; returns how far that was.
  Duration NextTick() {
    const TimePoint before = now_;
    now_ = core_.NextDeadline();
    core_.OnTick(now_, output_);
    return now_ - before;
  }
  /// Brings the worker up to its first heartbeat.
  void Register(std::uint32_t rank = 0) {
    ConnectBoth();
    Reply(Channel::kHeartbeat, MessageName::kSuccess, RegistrationReply{true, rank, 1, ""});
    output_.Clear();
  }
  void MakeReady() {
    Register();
    Heartbeat(1);
    output_.Clear();
  }

 private:
  WorkerOptions options_;
  WorkerCore core_;
  WorkerOutput output_;
  TimePoint now_ = {};
};

using Texts = std::vector<std::string>;

TEST(Worker, ConnectsHeartbeatFirstRegistersWaitsAndLeaves) {
  WorkerHarness worker;
  EXPECT_EQ(worker.Actions(), Texts{"connect hb"});
  worker.core().OnConnected(Channel::kHeartbeat, "10.0.0.5", worker.now(), worker.output());
  EXPECT_EQ(worker.Actions(), Texts{"connect biz"});
  worker.core().OnConnected(Channel::kBusiness, "10.0.0.5", worker.now(), worker.output());
  const auto registration =
      ParseFrame(AsBytes(worker.output().BytesOf(worker.output().actions[0])), {}).value()->frame;
  EXPECT_EQ(DecodeRegistration(registration.body).value().host_ip, "10.0.0.5");
  EXPECT_EQ(worker.Actions(), Texts{"send hb 0"});
  worker.Reply(Channel::kHeartbeat, MessageName::kSuccess, RegistrationReply{true, 5, 8, ""});
  EXPECT_EQ(worker.Actions(), Texts{"send hb 2"});
  worker.Heartbeat(0);
  EXPECT_EQ(worker.core().state(), WorkerState::kWaiting);
  EXPECT_EQ(worker.NextTick(), milliseconds(500));
  EXPECT_EQ(worker.Actions(), Texts{"send hb 2"});
  worker.Heartbeat(1);
  EXPECT_EQ(worker.Actions(), Texts{"ready"});
  EXPECT_EQ(worker.core().rank(), 5U);
  worker.core().Leave(worker.now(), worker.output());
  EXPECT_EQ(worker.Actions(), Texts{"send hb 1"});
  worker.ReplyText(Channel::kHeartbeat, MessageName::kSuccess, "3");
  EXPECT_EQ(worker.Actions(), (Texts{"close hb", "close biz", "left"}));
  EXPECT_EQ(worker.core().NextDeadline(), kNever);
}

TEST(Worker, TextIdReadsItsFinalRankAndAsksAgainUntilThereIsOne) {
  WorkerHarness worker({.worker_num = 4}, "w");
  worker.Register(0);
  worker.Heartbeat(1);
  EXPECT_EQ(worker.Actions(), Texts{"send biz 7"});
  worker.Reply(Channel::kBusiness, MessageName::kInvalidMetadata,
               MetadataMessage{"MS_WORKERw", ""});
  EXPECT_EQ(worker.core().state(), WorkerState::kReadingRank);
  EXPECT_EQ(worker.NextTick(), milliseconds(500));  // heartbeat and question are due together
  EXPECT_EQ(worker.Actions(), (Texts{"send hb 2", "send biz 7"}));
  worker.Reply(Channel::kBusiness, MessageName::kValidMetadata, MetadataMessage{"MS_WORKERw", "3"});
  EXPECT_EQ(worker.Actions(), Texts{"ready"});
  EXPECT_EQ(worker.core().rank(), 3U);
}

TEST(Worker, ARankThatIsNoneIsAnError) {
  for (const char* const value : {"", "x", "4"}) {
    WorkerHarness worker({.worker_num = 4}, "w");
    worker.Register(0);
    worker.Heartbeat(1);
    worker.Reply(Channel::kBusiness, MessageName::kValidMetadata, MetadataMessage{"n", value});
    EXPECT_TRUE(IsCausedBy(*worker.core().failure(), MemberCause::kProtocol)) << value;
  }
}

TEST(Worker, OldReleasesReadRankAndPortsEvenIfTheIdIsARank) {
  WorkerOptions options;
  options.rules = WorkerRulesOf(ProtocolVersion::kMindSpore240);
  WorkerHarness worker(options);
  worker.Register();
  worker.Heartbeat(1);
  EXPECT_EQ(worker.Actions(), Texts{"send biz 7"});
  worker.Reply(Channel::kBusiness, MessageName::kInvalidMetadata,
               MetadataMessage{"MS_WORKER0", ""});
  EXPECT_EQ(worker.Actions(), Texts{"send biz 7"});
  worker.Reply(Channel::kBusiness, MessageName::kInvalidMetadata, MetadataMessage{"ports", ""});
  EXPECT_EQ(worker.Actions(), Texts{"ready"});
}

TEST(Worker, ReleaseBefore21SendsNoAddress) {
  WorkerOptions options;
  options.rules = WorkerRulesOf(ProtocolVersion::kMindSpore20);
  WorkerHarness worker(options);
  worker.ConnectBoth();
  const auto frame =
      ParseFrame(AsBytes(worker.output().BytesOf(worker.output().actions.back())), {})
          .value()
          ->frame;
  EXPECT_EQ(DecodeRegistration(frame.body).value().host_ip, "");
}

TEST(Worker, ARefusalIsFinal) {
  WorkerHarness worker;
  worker.ConnectBoth();
  worker.Actions();
  worker.Reply(Channel::kHeartbeat, MessageName::kInvalidNode,
               RegistrationReply{false, 0, 0, "extra"});
  EXPECT_EQ(worker.Actions(), (Texts{"close hb", "close biz", "failed Worker:refused"}));
  EXPECT_TRUE(IsCausedBy(*worker.core().failure(), MemberCause::kRefused));
  EXPECT_NE(worker.core().failure()->message.find("extra"), std::string::npos);
}

// What it is refused for follows from the numbers that differ, whatever the scheduler saw first.
TEST(Worker, ARefusalThatNamesAnotherNumberIsAboutThat_K4) {
  WorkerHarness worker({.worker_num = 32, .checks_worker_num = true});
  worker.ConnectBoth();
  worker.Actions();
  worker.Reply(Channel::kHeartbeat, MessageName::kInvalidNode,
               RegistrationReply{false, 0, 16, "extra"});
  EXPECT_EQ(worker.Actions(), (Texts{"close hb", "close biz", "failed Worker:other-number"}));
  EXPECT_TRUE(IsCausedBy(*worker.core().failure(), MemberCause::kOtherNumber));
  EXPECT_NE(worker.core().failure()->message.find("16 ranks by its scheduler, and 32"),
            std::string::npos);
}

TEST(Worker, KeepsTryingToJoinUntilItsTimeIsOver) {
  WorkerHarness worker({.worker_num = 129, .topo_timeout = seconds(7)});
  worker.Actions();
  worker.core().OnConnectFailed(worker.now(), worker.output());
  EXPECT_EQ(worker.Actions(), Texts{"close hb"});
  EXPECT_EQ(worker.NextTick(), seconds(3));
  EXPECT_EQ(worker.Actions(), Texts{"connect hb"});
  worker.core().OnConnectFailed(worker.now(), worker.output());
  EXPECT_EQ(worker.NextTick(), seconds(3));
  worker.core().OnConnectFailed(worker.now(), worker.output());
  EXPECT_EQ(worker.NextTick(), seconds(1));
  EXPECT_TRUE(IsCausedBy(*worker.core().failure(), MemberCause::kBuildTimeout));
}

TEST(Worker, ALostRegistrationReplyClosesBothConnectionsBeforeTheNextTry) {
  WorkerHarness worker;
  worker.ConnectBoth();
  worker.Actions();
  EXPECT_EQ(worker.NextTick(), seconds(15));
  EXPECT_EQ(worker.Actions(), (Texts{"close hb", "close biz"}));
  worker.NextTick();
  EXPECT_EQ(worker.Actions(), Texts{"connect hb"});
}

TEST(Worker, AnUnansweredHeartbeatMeansOneReconnectBusinessFirst) {
  WorkerHarness worker;
  worker.MakeReady();
  worker.NextTick();
  worker.Actions();
  EXPECT_EQ(worker.NextTick(), seconds(15));
  EXPECT_EQ(worker.Actions(), (Texts{"close hb", "close biz", "connect biz"}));
  worker.core().OnConnected(Channel::kBusiness, "", worker.now(), worker.output());
  worker.core().OnConnected(Channel::kHeartbeat, "", worker.now(), worker.output());
  EXPECT_EQ(worker.Actions(), (Texts{"connect hb", "send hb 2"}));  // no new registration
}

TEST(Worker, AFailedReconnectIsFinalOnceReadyUnlessRecoveryIsOn) {
  for (const bool recovery : {false, true}) {
    WorkerHarness worker({.recovery = recovery});
    worker.MakeReady();
    worker.core().OnDisconnected(Channel::kHeartbeat, worker.now(), worker.output());
    worker.core().OnConnectFailed(worker.now(), worker.output());
    EXPECT_EQ(worker.core().state(), recovery ? WorkerState::kReady : WorkerState::kFailed);
  }
}

TEST(Worker, ALossElsewhereEndsItUnlessRecoveryIsOn) {
  for (const bool recovery : {false, true}) {
    WorkerHarness worker({.recovery = recovery});
    worker.MakeReady();
    worker.NextTick();
    worker.Heartbeat(1, 1);
    EXPECT_EQ(worker.core().state(), recovery ? WorkerState::kReady : WorkerState::kFailed);
  }
}

TEST(Worker, WithHeartbeatsDisabledItLeavesOnTheBusinessConnection) {
  WorkerHarness worker({.heartbeat_disabled = true});
  worker.Register();
  worker.Heartbeat(1);
  EXPECT_EQ(worker.Actions(), (Texts{"close hb", "ready"}));
  EXPECT_EQ(worker.core().NextDeadline(), kNever);
  worker.core().Leave(worker.now(), worker.output());
  EXPECT_EQ(worker.Actions(), Texts{"send biz 1"});
}

TEST(Worker, WritesAreNotWaitedForAndQuestionsAreAskedOneAtATime) {
  WorkerHarness worker;
  worker.MakeReady();
  WorkerCore& core = worker.core();
  core.WriteMetadata("k", "v", worker.now(), worker.output());
  core.Ask(MessageName::kReadMetadata, "k", worker.now(), worker.output());
  core.Ask(MessageName::kHostNames, "MS_WORKER", worker.now(), worker.output());
  EXPECT_EQ(worker.Actions(), (Texts{"send biz 6", "send biz 7"}));
  worker.ReplyText(Channel::kBusiness, MessageName::kValidMetadata, "kv");
  EXPECT_EQ(worker.Actions(), (Texts{"hit kv", "send biz 9"}));
  worker.ReplyText(Channel::kBusiness, MessageName::kInvalidMetadata, "{}");
  EXPECT_EQ(worker.Actions(), Texts{"miss {}"});
}

TEST(Worker, ALostAnswerIsAskedForAgainOnANewConnection) {
  WorkerHarness worker({.heartbeat_disabled = true});
  worker.MakeReady();
  worker.core().Ask(MessageName::kReadMetadata, "k", worker.now(), worker.output());
  worker.Actions();
  EXPECT_EQ(worker.NextTick(), seconds(15));
  EXPECT_EQ(worker.Actions(), (Texts{"close biz", "connect biz"}));
  worker.core().OnConnected(Channel::kBusiness, "", worker.now(), worker.output());
  EXPECT_EQ(worker.Actions(), Texts{"send biz 7"});
}

TEST(Worker, LeavingWaitsForTheHeartbeatUnderWayAndEndsEvenIfRefused) {
  WorkerHarness worker;
  worker.MakeReady();
  worker.NextTick();
  worker.Actions();
  worker.core().Leave(worker.now(), worker.output());
  EXPECT_EQ(worker.Actions(), Texts{});
  worker.Heartbeat(1);
  EXPECT_EQ(worker.Actions(), Texts{"send hb 1"});
  worker.ReplyText(Channel::kHeartbeat, MessageName::kNotReady, "5");
  EXPECT_EQ(worker.core().state(), WorkerState::kLeft);
}

TEST(Worker, WithRecoveryLeavingIsRetriedUntilItsTimeIsOver) {
  WorkerHarness worker({.recovery = true, .leave_timeout = seconds(1)});
  worker.MakeReady();
  worker.core().Leave(worker.now(), worker.output());
  worker.Actions();
  worker.ReplyText(Channel::kHeartbeat, MessageName::kNotReady, "5");
  EXPECT_EQ(worker.NextTick(), milliseconds(500));
  EXPECT_EQ(worker.Actions(), (Texts{"close hb", "close biz", "connect biz"}));
  worker.core().OnConnectFailed(worker.now(), worker.output());
  EXPECT_EQ(worker.core().state(), WorkerState::kLeaving);
  worker.NextTick();
  worker.core().OnConnectFailed(worker.now(), worker.output());
  EXPECT_EQ(worker.core().state(), WorkerState::kLeft);
}

TEST(Worker, AnswersNobodyWaitsForAreIgnored) {
  WorkerHarness worker;
  worker.MakeReady();
  worker.Heartbeat(1, 7);  // no heartbeat is under way
  EXPECT_EQ(worker.core().state(), WorkerState::kReady);
  EXPECT_EQ(worker.Actions(), Texts{});
}

TEST(Worker, LargeJobsPauseThreeToFiveSecondsBetweenHeartbeats) {
  WorkerHarness worker({.worker_num = 129});
  worker.MakeReady();
  std::vector<Duration> seen;
  for (int i = 0; i < 50; ++i) {
    const Duration pause = worker.NextTick();
    EXPECT_TRUE(pause == seconds(3) || pause == seconds(4) || pause == seconds(5));
    seen.push_back(pause);
    worker.Heartbeat(1);
  }
  EXPECT_NE(seen, std::vector<Duration>(50, seen[0]));
}

}  // namespace
}  // namespace drydock::sim
