// Every exchange of tests/vectors/frames.json, byte for byte: decoding, encoding, the scheduler's
// answers and the worker's requests.
#include "tests/sim/cluster/captured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/byte_reader.h"
#include "sim/cluster/frame.h"
#include "sim/cluster/messages/heartbeat.h"
#include "sim/cluster/messages/metadata.h"
#include "sim/cluster/messages/registration.h"
#include "sim/cluster/messages/unregistration.h"
#include "sim/cluster/scheduler_core.h"
#include "sim/cluster/worker_core.h"

namespace drydock::sim {
namespace {

using Json = nlohmann::json;

FrameView ParseWhole(const std::string& bytes) {
  const auto parsed = ParseFrame(AsBytes(bytes), FrameLimits{});
  EXPECT_TRUE(parsed && *parsed && (*parsed)->bytes == bytes.size());
  return parsed && *parsed ? (*parsed)->frame : FrameView{};
}

/// Member of the listed fields of a frame, `absent` where it is not listed.
template <typename T>
T Field(const Json& fields, const char* name, T absent) {
  return fields.contains(name) ? fields.at(name).get<T>() : absent;
}

/// Encodes the body from the values listed beside a captured frame.
std::string EncodeListed(const Json& entry) {
  std::string body;
  const std::string kind = entry.value("body_message", "text");
  if (kind == "text") {
    return entry.value("text", "");
  }
  const Json fields = entry.value("fields", Json::object());
  const auto text = [&](const char* name) { return Field<std::string>(fields, name, ""); };
  const auto number = [&](const char* name) { return Field<std::uint32_t>(fields, name, 0); };
  const bool success = Field<bool>(fields, "success", false);
  const std::string a = text("node_id");
  if (kind == "RegistrationMessage") {
    const std::string b = text("host_name");
    const std::string c = text("role");
    const std::string d = text("host_ip");
    EncodeBody(RegistrationRequest{a, b, c, d, number("device_id")}, body);
  } else if (kind == "RegistrationRespMessage") {
    const std::string b = text("error_reason");
    EncodeBody(RegistrationReply{success, number("rank_id"), number("node_num"), b}, body);
  } else if (kind == "HeartbeatMessage") {
    EncodeBody(HeartbeatRequest{a}, body);
  } else if (kind == "HeartbeatRespMessage") {
    EncodeBody(HeartbeatReply{success, number("topo_state"), number("nodes_num"),
                              number("abnormal_nodes_num")},
               body);
  } else if (kind == "UnregistrationMessage") {
    EncodeBody(UnregistrationRequest{a}, body);
  } else if (kind == "MetadataMessage") {
    const std::string name = text("name");
    const std::string value =
        fields.contains("value_hex") ? FromHex(text("value_hex")) : text("value_text");
    EncodeBody(MetadataMessage{name, value}, body);
  } else {
    ADD_FAILURE() << "unknown body " << kind;
  }
  return body;
}

TEST(CapturedFrames, ListedValuesEncodeToTheCapturedBytes) {
  std::size_t checked = 0;
  for (const CapturedExchange& exchange : LoadCaptures()) {
    for (const CapturedFrame& frame : exchange.frames) {
      if (!frame.bytes) {
        continue;
      }
      const std::string name = frame.entry.at("name");
      const std::string to = frame.entry.at("to");
      const std::string from = frame.entry.at("from");
      const std::string body = EncodeListed(frame.entry);
      std::string bytes;
      AppendFrame({.name = name, .to = to, .from = from, .body = body}, bytes);
      EXPECT_EQ(bytes, *frame.bytes) << exchange.id << ": " << frame.what;
      const FrameView view = ParseWhole(*frame.bytes);
      EXPECT_EQ(view, (FrameView{name, to, from, body})) << exchange.id << ": " << frame.what;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0U);
}

/// Says for one exchange which answers differ from the captured ones: "<what>: <ours>".
std::vector<std::string> Replay(const CapturedExchange& exchange, const SchedulerRules& rules) {
  SchedulerOptions options;
  options.worker_num = exchange.workers;
  options.address = exchange.scheduler_address;
  options.rules = rules;
  SchedulerCore scheduler = SchedulerCore::Create(options, TimePoint{}).value();
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < exchange.frames.size(); ++i) {
    const CapturedFrame& request = exchange.frames[i];
    if (!request.to_scheduler) {
      continue;
    }
    SchedulerOutput out;
    const auto peer = static_cast<PeerId>(std::hash<std::string>{}(request.connection));
    scheduler.OnFrame({.peer = peer}, ParseWhole(*request.bytes), TimePoint{}, out);
    const CapturedFrame* const expected = ReplyTo(exchange, i);
    const std::string ours = out.replies.frames().empty()
                                 ? std::string()
                                 : std::string(out.replies.BytesOf(out.replies.frames().front()));
    bool equal = ours == (expected != nullptr ? expected->bytes.value_or("") : "");
    if (expected != nullptr && !expected->bytes && !ours.empty()) {
      const FrameView reply = ParseWhole(ours);
      const auto decoded = DecodeRegistrationReply(reply.body);
      const std::string begin = expected->entry.at("fields").at("error_reason_begins");
      equal = reply.name == expected->entry.at("name").get<std::string>() && decoded &&
              !decoded->success && decoded->error_reason.substr(0, begin.size()) == begin;
    }
    if (!equal) {
      differences.push_back(request.what + " -> " +
                            (ours.empty() ? "no reply" : std::string(ParseWhole(ours).name)));
    }
  }
  return differences;
}

TEST(CapturedScheduler, ReferenceRulesGiveEveryCapturedReply) {
  for (const CapturedExchange& exchange : LoadCaptures()) {
    std::vector<std::string> differences =
        Replay(exchange, ReferenceRules(ProtocolVersion::kMaster));
    // The reference process had ended by then; ours still answers for a while.
    std::erase(differences, "unregister after finish -> 5");
    EXPECT_THAT(differences, testing::IsEmpty()) << exchange.id;
  }
}

TEST(CapturedScheduler, DrydockRulesDifferOnlyWhereTheyAreMeantTo) {
  const std::vector<std::string> intended = {
      // 12 is a miss for every release; which numbers the workers know is not settled yet.
      "host names before the build -> 12",
      // With a reason.
      "registration, role not expected -> 4",
      // The same connection asks again before any heartbeat: its answer was lost.
      "registration repeated, recovery off -> 3",
      // As above.
      "read of rank key before the build (miss) -> 12",
      // Workers of old releases look for it.
      "read node_port_range (absent on master) -> 10",
      // The job is full: the reference lets them in since 2.5.
      "registration, extra text id when full -> 4", "registration, 2nd extra text id -> 4",
      "registration id 01 -> 4", "unregister 01 -> 4", "unregistration -> 4", "unregistration -> 4",
      // Has left already; see above for the reference's silence.
      "unregister after finish -> 3"};
  for (const CapturedExchange& exchange : LoadCaptures()) {
    std::vector<std::string> differences = Replay(exchange, DrydockRules());
    if (exchange.id == "hand-made-requests") {
      EXPECT_EQ(differences, intended);
      continue;
    }
    std::erase(differences, "read metadata -> 12");  // as above
    std::erase_if(differences, [&](const std::string& difference) {
      return std::find(intended.begin(), intended.end(), difference) != intended.end();
    });
    EXPECT_THAT(differences, testing::IsEmpty()) << exchange.id;
  }
}

/// Plays one real worker of an exchange: whatever ours sends must be what the real one sent next on
/// that connection, and is answered with the captured reply.
class WorkerReplay {
 public:
  WorkerReplay(const CapturedExchange& exchange, std::size_t registration)
      : exchange_(exchange), at_(registration) {
    options_.worker_num = exchange.workers;
    options_.scheduler_address = exchange.address_seen_by_workers;
    const Json fields = exchange.frames[registration].entry.at("fields");
    worker_.emplace(options_, WorkerIdentity{.node_id = fields.at("node_id"),
                                             .host_name = fields.at("host_name"),
                                             .device_id = fields.value("device_id", 0U)});
  }

  void Run() {
    worker_->Start(now_, out_);
    for (int step = 0; step < 1000 && worker_->state() != WorkerState::kLeft; ++step) {
      Perform();
      ASSERT_FALSE(testing::Test::HasFailure());
      if (at_ < exchange_.frames.size() && exchange_.frames[at_].entry.at("name") == "1" &&
          worker_->state() == WorkerState::kReady) {
        worker_->Leave(now_, out_);
      } else if (worker_->state() != WorkerState::kLeft) {
        now_ = worker_->NextDeadline();
        worker_->OnTick(now_, out_);
      }
    }
    EXPECT_EQ(worker_->state(), WorkerState::kLeft);
    EXPECT_EQ(at_, exchange_.frames.size()) << "requests of the real worker that ours did not send";
  }

 private:
  void Perform() {
    for (std::size_t i = 0; i < out_.actions.size(); ++i) {
      const WorkerAction action = out_.actions[i];
      if (action.kind == WorkerAction::Kind::kConnect) {
        worker_->OnConnected(action.channel, "127.0.0.1", now_, out_);
      } else if (action.kind == WorkerAction::Kind::kSend) {
        Answer(action.channel, std::string(out_.BytesOf(action)));
      }
    }
    out_.Clear();
  }

  void Answer(Channel channel, const std::string& sent) {
    std::size_t position = at_;
    if (channel == Channel::kHeartbeat) {
      ASSERT_LT(at_, exchange_.frames.size());
      ASSERT_EQ(sent, exchange_.frames[at_].bytes) << exchange_.frames[at_].what;
    } else {
      position = 0;
      while (position < exchange_.frames.size() && exchange_.frames[position].bytes != sent) {
        ++position;
      }
      ASSERT_LT(position, exchange_.frames.size()) << "no real worker sent this";
    }
    const CapturedFrame* const reply = ReplyTo(exchange_, position);
    ASSERT_NE(reply, nullptr);
    if (channel == Channel::kHeartbeat) {
      NextOwnRequest();
    }
    worker_->OnFrame(channel, ParseWhole(*reply->bytes), now_, out_);
  }

  void NextOwnRequest() {
    const std::string connection = exchange_.frames[at_].connection;
    do {
      ++at_;
    } while (at_ < exchange_.frames.size() && (exchange_.frames[at_].connection != connection ||
                                               !exchange_.frames[at_].to_scheduler));
  }

  const CapturedExchange& exchange_;
  std::size_t at_;  ///< Next request of the real worker on its heartbeat connection.
  WorkerOptions options_;
  std::optional<WorkerCore> worker_;
  WorkerOutput out_;
  TimePoint now_ = {};
};

TEST(CapturedWorker, SendsWhatRealWorkersSent) {
  int workers = 0;
  for (const CapturedExchange& exchange : LoadCaptures()) {
    for (std::size_t i = 0; exchange.real_workers && i < exchange.frames.size(); ++i) {
      if (exchange.frames[i].entry.at("name") == "0") {
        SCOPED_TRACE(exchange.id + " worker on connection " + exchange.frames[i].connection);
        WorkerReplay(exchange, i).Run();
        ++workers;
      }
    }
  }
  EXPECT_GT(workers, 0);
}

}  // namespace
}  // namespace drydock::sim
