// What a worker sends, and what it makes of the answers.
#include <algorithm>
#include <utility>

#include "sim/cluster/messages/heartbeat.h"
#include "sim/cluster/messages/host_names.h"
#include "sim/cluster/messages/metadata.h"
#include "sim/cluster/messages/registration.h"
#include "sim/cluster/messages/unregistration.h"
#include "sim/cluster/worker_core.h"

namespace drydock::sim {
namespace {

/// Body that is a bare text.
struct TextBody {
  std::string_view text = {};
};
void EncodeBody(const TextBody& body, std::string& out) {
  out.append(body.text);
}

}  // namespace

template <typename Body>
void WorkerCore::Send(Channel channel, MessageName name, const Body& body, WorkerOutput& out) {
  const std::size_t start = out.bytes.size();
  const OpenFrame open = BeginFrame(WireName(name), options_->scheduler_address, out.bytes);
  EncodeBody(body, out.bytes);
  EndFrame(open, out.bytes);
  out.actions.push_back({.kind = WorkerAction::Kind::kSend,
                         .channel = channel,
                         .offset = start,
                         .bytes = out.bytes.size() - start});
}

void WorkerCore::Expect(Channel channel, MessageName name, Duration timeout, TimePoint now) {
  link(channel).unanswered = name;
  link(channel).reply_deadline = AddSaturated(now, timeout);
}

void WorkerCore::SendRegistration(TimePoint now, WorkerOutput& out) {
  const WorkerRules& rules = options_->rules;
  RegistrationRequest request{
      .node_id = identity_.node_id, .host_name = identity_.host_name, .role = options_->role};
  if (rules.sends_host_ip) {
    request.host_ip = identity_.host_ip;
  }
  if (rules.sends_device_id) {
    request.device_id = identity_.device_id;
  }
  Send(Channel::kHeartbeat, MessageName::kRegistration, request, out);
  Expect(Channel::kHeartbeat, MessageName::kRegistration, rules.registration_reply_timeout, now);
}

void WorkerCore::SendHeartbeat(TimePoint now, WorkerOutput& out) {
  heartbeat_at_ = kNever;
  if (link(Channel::kHeartbeat).state != Link::State::kOpen ||
      link(Channel::kHeartbeat).unanswered) {
    return;
  }
  Send(Channel::kHeartbeat, MessageName::kHeartbeat, HeartbeatRequest{.node_id = identity_.node_id},
       out);
  Expect(Channel::kHeartbeat, MessageName::kHeartbeat, options_->rules.reply_timeout, now);
}

void WorkerCore::SendUnregistration(TimePoint now, WorkerOutput& out) {
  const Channel channel = UnregistrationChannel();
  Send(channel, MessageName::kUnregistration, UnregistrationRequest{.node_id = identity_.node_id},
       out);
  Expect(channel, MessageName::kUnregistration, options_->rules.unregistration_reply_timeout, now);
}

void WorkerCore::WriteMetadata(std::string_view name, std::string_view value, TimePoint now,
                               WorkerOutput& out) {
  requests_.push_back({.name = MessageName::kWriteMetadata,
                       .subject = std::string(name),
                       .value = std::string(value)});
  PumpRequests(now, out);
}

void WorkerCore::Ask(MessageName name, std::string_view subject, TimePoint now, WorkerOutput& out) {
  requests_.push_back({.name = name, .subject = std::string(subject)});
  PumpRequests(now, out);
}

/// Sends what waits for the business connection, up to the first request that has an answer.
void WorkerCore::PumpRequests(TimePoint now, WorkerOutput& out) {
  poll_at_ = kNever;
  Link& business = link(Channel::kBusiness);
  while (!requests_.empty() && business.state == Link::State::kOpen && !business.unanswered) {
    const Request& request = requests_.front();
    if (request.purpose == Purpose::kUser && state_ != WorkerState::kReady) {
      return;
    }
    if (request.name == MessageName::kHostNames) {
      Send(Channel::kBusiness, request.name, TextBody{.text = request.subject}, out);
    } else {
      Send(Channel::kBusiness, request.name,
           MetadataMessage{.name = request.subject, .value = request.value}, out);
    }
    if (HasReply(request.name)) {
      Expect(Channel::kBusiness, request.name, options_->rules.reply_timeout, now);
    } else {
      requests_.erase(requests_.begin());
    }
  }
}

void WorkerCore::OnFrame(Channel channel, const FrameView& frame, TimePoint now,
                         WorkerOutput& out) {
  Link& from = link(channel);
  if (over() || from.state != Link::State::kOpen || !from.unanswered) {
    return;  // nobody waits for it
  }
  const MessageName request = *std::exchange(from.unanswered, std::nullopt);
  from.reply_deadline = kNever;
  switch (request) {
    case MessageName::kRegistration:
      return OnRegistrationReply(frame, now, out);
    case MessageName::kHeartbeat:
      return OnHeartbeatReply(frame, now, out);
    case MessageName::kUnregistration:
      return OnUnregistrationReply(frame, now, out);
    default:
      return OnRequestReply(frame, now, out);
  }
}

void WorkerCore::OnRegistrationReply(const FrameView& frame, TimePoint now, WorkerOutput& out) {
  const auto reply = DecodeRegistrationReply(frame.body);
  if (!reply) {
    return OnLinkLost(now, out);
  }
  if (options_->checks_worker_num && reply->node_num != 0 &&
      reply->node_num != options_->worker_num) {
    return Fail(MemberCause::kOtherNumber,
                "the job has " + std::to_string(reply->node_num) + " ranks by its scheduler, and " +
                    std::to_string(options_->worker_num) + " by --worker_num here",
                out);
  }
  if (!reply->success) {
    std::string why(reply->error_reason.empty() ? "its role is not expected" : reply->error_reason);
    return Fail(MemberCause::kRefused,
                "the scheduler refused node '" + identity_.node_id + "': " + std::move(why), out);
  }
  rank_ = reply->rank_id;
  registered_ = true;
  state_ = WorkerState::kWaiting;
  SendHeartbeat(now, out);
}

void WorkerCore::OnHeartbeatReply(const FrameView& frame, TimePoint now, WorkerOutput& out) {
  const auto reply = DecodeHeartbeatReply(frame.body);
  if (!reply) {
    return OnLinkLost(now, out);
  }
  lost_at_ = kNever;
  if (state_ == WorkerState::kLeaving) {
    return SendUnregistration(now, out);
  }
  if (reply->abnormal_nodes_num > 0 && !options_->recovery) {
    return Fail(MemberCause::kNodeLost,
                std::to_string(reply->abnormal_nodes_num) + " of " +
                    std::to_string(reply->nodes_num) + " nodes of the job are lost",
                out);
  }
  heartbeat_at_ = AddSaturated(
      now, RandomPause(options_->rules.heartbeat_lower_s, options_->rules.heartbeat_upper_s));
  if (state_ == WorkerState::kWaiting &&
      reply->topo_state == static_cast<std::uint32_t>(TopologyState::kInitialised)) {
    OnTopologyComplete(now, out);
  }
}

void WorkerCore::OnUnregistrationReply(const FrameView& frame, TimePoint now, WorkerOutput& out) {
  const bool left = frame.body == WireName(MessageName::kSuccess);
  if (left || !options_->recovery) {
    return FinishLeaving(out);
  }
  CloseBoth(out);
  RetryLater(now, out);
}

/// What an answer about metadata says. Its number 11 means "none" or "found", depending on the
/// scheduler's release; where no other answer has told the release yet, the body tells.
bool WorkerCore::IsFound(MessageName request, const FrameView& frame) {
  if (frame.name == MetadataAnswerName(true, MetadataNumbers::kUntilAdd)) {
    numbers_ = MetadataNumbers::kUntilAdd;
    return true;
  }
  if (frame.name == MetadataAnswerName(false, MetadataNumbers::kSinceAdd)) {
    numbers_ = MetadataNumbers::kSinceAdd;
    return false;
  }
  if (frame.name != MetadataAnswerName(true, MetadataNumbers::kSinceAdd)) {
    return false;
  }
  if (numbers_) {
    return numbers_ == MetadataNumbers::kSinceAdd;
  }
  if (request == MessageName::kReadMetadata) {
    const auto answer = DecodeMetadata(frame.body);
    return answer && !answer->value.empty();
  }
  return request == MessageName::kHostNames && frame.body != EncodeHostNames({});
}

void WorkerCore::OnRequestReply(const FrameView& frame, TimePoint now, WorkerOutput& out) {
  if (state_ == WorkerState::kLeaving) {
    if (UnregistrationChannel() == Channel::kBusiness) {
      SendUnregistration(now, out);
    }
    return;
  }
  if (requests_.empty()) {
    return;
  }
  switch (requests_.front().purpose) {
    case Purpose::kRank:
      return OnRankAnswer(frame, now, out);
    case Purpose::kPorts:
      requests_.erase(requests_.begin());
      BecomeReady(out);
      break;
    case Purpose::kUser: {
      const std::size_t offset = out.bytes.size();
      out.bytes.append(frame.body);
      out.actions.push_back({.kind = WorkerAction::Kind::kAnswer,
                             .channel = Channel::kBusiness,
                             .found = IsFound(requests_.front().name, frame),
                             .offset = offset,
                             .bytes = frame.body.size()});
      requests_.erase(requests_.begin());
    }
  }
  PumpRequests(now, out);
}

}  // namespace drydock::sim
