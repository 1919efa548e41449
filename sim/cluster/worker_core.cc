// The worker's states and what moves it between them. Sending and receiving: worker_messages.cc.
#include "sim/cluster/worker_core.h"

#include <algorithm>
#include <utility>

#include "sim/cluster/messages/metadata.h"
#include "sim/cluster/messages/node_port_ranges.h"
#include "sim/cluster/ranking.h"

namespace drydock::sim {
namespace {

/// Nominal pause between attempts to join, seconds.
constexpr std::uint32_t kJoinPauseSeconds = 3;
// Nominal pauses between questions for a value that is not there yet, seconds.
constexpr std::uint32_t kPollLowerSeconds = 1;
constexpr std::uint32_t kPollUpperSeconds = 2;

/// What a cause means for whoever asks about errors in general, and its name where it is printed.
struct MemberFailure {
  ErrorCode code = ErrorCode::kProtocol;
  std::string_view reason = {};
};

MemberFailure FailureOf(MemberCause cause) {
  switch (cause) {
    case MemberCause::kUnreachable:
      return {ErrorCode::kTimeout, "Worker:unreachable"};
    case MemberCause::kBuildTimeout:
      return {ErrorCode::kTimeout, "Worker:build-timeout"};
    case MemberCause::kOtherNumber:
      return {ErrorCode::kInvalidArgument, "Worker:other-number"};
    case MemberCause::kRefused:
      return {ErrorCode::kInvalidArgument, "Worker:refused"};
    case MemberCause::kSchedulerGone:
      return {ErrorCode::kProtocol, "Worker:scheduler-gone"};
    case MemberCause::kNodeLost:
      return {ErrorCode::kProtocol, "Worker:node-lost"};
    case MemberCause::kProtocol:
      break;
  }
  return {ErrorCode::kProtocol, "Worker:protocol"};
}

/// Next value of a small random generator (splitmix64).
std::uint64_t NextRandom(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31U);
}

}  // namespace

void WorkerOutput::Clear() {
  bytes.clear();
  actions.clear();
}

WorkerCore::WorkerCore(const WorkerOptions& options, WorkerIdentity identity)
    : options_(&options), identity_(std::move(identity)), random_state_(identity_.jitter_seed) {}

bool WorkerCore::before_ready() const {
  return state_ == WorkerState::kJoining || state_ == WorkerState::kWaiting ||
         state_ == WorkerState::kReadingRank;
}

Duration WorkerCore::RandomPause(std::uint32_t lower_s, std::uint32_t upper_s) {
  const std::uint32_t span = upper_s >= lower_s ? upper_s - lower_s + 1 : 1;
  const auto nominal = lower_s + static_cast<std::uint32_t>(NextRandom(random_state_) % span);
  return ScaleSleep(nominal, options_->worker_num, options_->rules.scaled_sleep);
}

void WorkerCore::Start(TimePoint now, WorkerOutput& out) {
  if (state_ != WorkerState::kIdle) {
    return;
  }
  state_ = WorkerState::kJoining;
  if (options_->topo_timeout) {
    topo_deadline_ = AddSaturated(now, *options_->topo_timeout);
  }
  BeginConnecting(out);
}

void WorkerCore::Connect(Channel channel, WorkerOutput& out) {
  link(channel).state = Link::State::kConnecting;
  out.actions.push_back({.kind = WorkerAction::Kind::kConnect, .channel = channel});
}

void WorkerCore::Close(Channel channel, WorkerOutput& out) {
  if (link(channel).state != Link::State::kClosed) {
    out.actions.push_back({.kind = WorkerAction::Kind::kDisconnect, .channel = channel});
  }
  link(channel) = Link{};
}

void WorkerCore::CloseBoth(WorkerOutput& out) {
  Close(Channel::kHeartbeat, out);
  Close(Channel::kBusiness, out);
}

/// The reference connects the heartbeat connection first, but last when it reconnects.
void WorkerCore::BeginConnecting(WorkerOutput& out) {
  reconnect_at_ = kNever;
  Connect(registered_ ? Channel::kBusiness : Channel::kHeartbeat, out);
}

void WorkerCore::OnConnected(Channel channel, std::string_view local_ip, TimePoint now,
                             WorkerOutput& out) {
  if (over() || link(channel).state != Link::State::kConnecting) {
    return;
  }
  link(channel).state = Link::State::kOpen;
  if (channel == Channel::kHeartbeat && identity_.host_ip.empty()) {
    identity_.host_ip = local_ip;
  }
  const Channel other = channel == Channel::kHeartbeat ? Channel::kBusiness : Channel::kHeartbeat;
  const bool wants_other = other == Channel::kBusiness || !heartbeats_ended_;
  if (wants_other && link(other).state == Link::State::kClosed) {
    Connect(other, out);
  } else {
    OnLinksUp(now, out);
  }
}

void WorkerCore::OnLinksUp(TimePoint now, WorkerOutput& out) {
  if (!registered_) {
    SendRegistration(now, out);
  } else if (state_ == WorkerState::kLeaving) {
    SendUnregistration(now, out);
  } else {
    if (!heartbeats_ended_) {
      SendHeartbeat(now, out);
    }
    PumpRequests(now, out);
  }
}

void WorkerCore::OnConnectFailed(TimePoint now, WorkerOutput& out, bool refused) {
  if (over()) {
    return;
  }
  CloseBoth(out);
  RetryLater(now, out, refused);
}

/// An attempt to reach the scheduler failed: wait and try again, or give up.
void WorkerCore::RetryLater(TimePoint now, WorkerOutput& out, bool refused) {
  const bool gives_up =
      refused || lost_at_ == kNever || now >= AddSaturated(lost_at_, options_->patience);
  if (state_ == WorkerState::kLeaving) {
    if (!options_->recovery || now >= leave_deadline_) {
      return FinishLeaving(out);
    }
  } else if (state_ == WorkerState::kReady && !options_->recovery && gives_up) {
    return Fail(MemberCause::kSchedulerGone,
                "the scheduler at " + options_->scheduler_address +
                    " cannot be reached any more; maybe it has exited",
                out);
  }
  heartbeat_at_ = kNever;
  const WorkerRules& rules = options_->rules;
  const Duration pause =
      registered_ ? RandomPause(rules.heartbeat_lower_s, rules.heartbeat_upper_s)
                  : ScaleSleep(kJoinPauseSeconds, options_->worker_num, rules.scaled_sleep);
  reconnect_at_ = AddSaturated(now, pause);
}

void WorkerCore::OnDisconnected(Channel channel, TimePoint now, WorkerOutput& out) {
  if (over() || link(channel).state == Link::State::kClosed) {
    return;
  }
  link(channel) = Link{};
  OnLinkLost(now, out);
}

/// A connection broke or an answer did not come: both are closed; a member reconnects at once.
void WorkerCore::OnLinkLost(TimePoint now, WorkerOutput& out) {
  CloseBoth(out);
  heartbeat_at_ = kNever;
  lost_at_ = std::min(lost_at_, now);
  if (!registered_ || state_ == WorkerState::kLeaving) {
    RetryLater(now, out);
  } else {
    BeginConnecting(out);
  }
}

void WorkerCore::OnTopologyComplete(TimePoint now, WorkerOutput& out) {
  if (options_->heartbeat_disabled) {
    heartbeats_ended_ = true;
    heartbeat_at_ = kNever;
    Close(Channel::kHeartbeat, out);
  }
  const WorkerRules& rules = options_->rules;
  const bool is_rank = NumericId(identity_.node_id).has_value();
  const bool reads =
      rules.reads_rank_key && (rules.always_reads_rank_key || !is_rank || options_->rank_table);
  if (!reads) {
    return AfterRankKnown(now, out);
  }
  state_ = WorkerState::kReadingRank;
  requests_.insert(requests_.begin(), {.name = MessageName::kReadMetadata,
                                       .purpose = Purpose::kRank,
                                       .subject = options_->role + identity_.node_id});
  PumpRequests(now, out);
}

void WorkerCore::BecomeReady(WorkerOutput& out) {
  state_ = WorkerState::kReady;
  out.actions.push_back({.kind = WorkerAction::Kind::kReady});
}

Channel WorkerCore::UnregistrationChannel() const {
  return heartbeats_ended_ ? Channel::kBusiness : Channel::kHeartbeat;
}

void WorkerCore::Leave(TimePoint now, WorkerOutput& out) {
  if (over() || state_ == WorkerState::kLeaving) {
    return;
  }
  if (!registered_) {
    return FinishLeaving(out);
  }
  state_ = WorkerState::kLeaving;
  heartbeat_at_ = kNever;
  poll_at_ = kNever;
  requests_.clear();
  leave_deadline_ = AddSaturated(now, options_->leave_timeout);
  const Link& channel = link(UnregistrationChannel());
  // With an unanswered request or a connection under way the unregistration follows it.
  if (channel.state == Link::State::kOpen && !channel.unanswered) {
    SendUnregistration(now, out);
  } else if (channel.state == Link::State::kClosed && reconnect_at_ == kNever &&
             link(Channel::kBusiness).state == Link::State::kClosed) {
    BeginConnecting(out);
  }
}

void WorkerCore::FinishLeaving(WorkerOutput& out) {
  CloseBoth(out);
  state_ = WorkerState::kLeft;
  out.actions.push_back({.kind = WorkerAction::Kind::kLeft});
}

void WorkerCore::Fail(MemberCause cause, std::string message, WorkerOutput& out) {
  CloseBoth(out);
  state_ = WorkerState::kFailed;
  const MemberFailure facts = FailureOf(cause);
  failure_ = std::make_unique<Error>(Error{.code = facts.code,
                                           .message = std::move(message),
                                           .reason = std::string(facts.reason),
                                           .cause = cause});
  out.actions.push_back({.kind = WorkerAction::Kind::kFailed});
}

void WorkerCore::FailForBuildTime(WorkerOutput& out) {
  Fail(MemberCause::kBuildTimeout,
       registered_ ? "not all workers registered in time"
                   : "no scheduler at " + options_->scheduler_address + " answered in time",
       out);
}

void WorkerCore::OnTick(TimePoint now, WorkerOutput& out) {
  if (over() || state_ == WorkerState::kIdle) {
    return;
  }
  if (before_ready() && now >= topo_deadline_) {
    return FailForBuildTime(out);
  }
  for (const Channel channel : {Channel::kHeartbeat, Channel::kBusiness}) {
    if (link(channel).unanswered && now >= link(channel).reply_deadline) {
      OnLinkLost(now, out);
    }
  }
  if (over()) {
    return;
  }
  if (now >= reconnect_at_) {
    BeginConnecting(out);
  }
  if (now >= heartbeat_at_) {
    SendHeartbeat(now, out);
  }
  if (now >= poll_at_) {
    PumpRequests(now, out);
  }
}

TimePoint WorkerCore::NextDeadline() const {
  if (over() || state_ == WorkerState::kIdle) {
    return kNever;
  }
  TimePoint next = std::min({heartbeat_at_, reconnect_at_, poll_at_});
  if (before_ready()) {
    next = std::min(next, topo_deadline_);
  }
  for (const Link& each : links_) {
    if (each.unanswered) {
      next = std::min(next, each.reply_deadline);
    }
  }
  return next;
}

void WorkerCore::OnRankAnswer(const FrameView& frame, TimePoint now, WorkerOutput& out) {
  const auto answer = DecodeMetadata(frame.body);
  const bool found = IsFound(MessageName::kReadMetadata, frame);
  const auto rank = answer && found ? NumericId(answer->value) : std::nullopt;
  if (rank && *rank < options_->worker_num && !answer->value.empty()) {
    rank_ = *rank;
  } else if (found) {
    return Fail(MemberCause::kProtocol, "the scheduler gave a final rank that does not exist", out);
  } else if (!NumericId(identity_.node_id)) {
    // Not there yet. To go on with the provisional rank could mean two workers with one rank.
    poll_at_ = AddSaturated(now, RandomPause(kPollLowerSeconds, kPollUpperSeconds));
    return;
  }
  requests_.erase(requests_.begin());
  AfterRankKnown(now, out);
}

void WorkerCore::AfterRankKnown(TimePoint now, WorkerOutput& out) {
  if (options_->rules.reads_port_range) {
    requests_.insert(requests_.begin(), {.name = MessageName::kReadMetadata,
                                         .purpose = Purpose::kPorts,
                                         .subject = std::string(kNodePortRangeKey)});
    state_ = WorkerState::kReadingRank;
  } else {
    BecomeReady(out);
  }
  PumpRequests(now, out);
}

}  // namespace drydock::sim
