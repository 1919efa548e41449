// Dispatch of messages and the transitions they cause. Verdicts that time draws:
// scheduler_monitor.cc.
#include "sim/cluster/scheduler_core.h"

#include <algorithm>
#include <utility>

#include "sim/cluster/job_keys.h"
#include "sim/cluster/messages/host_names.h"
#include "sim/cluster/messages/node_port_ranges.h"
#include "sim/cluster/messages/unregistration.h"

namespace drydock::sim {
namespace {

/// More members are taken for a mistake.
constexpr std::uint32_t kMaxMembers = 1U << 24U;
/// Tables are not pre-sized beyond this.
constexpr std::uint32_t kMaxReserved = 1U << 20U;
/// How long a registration waits for the end of an older connection, and how many do.
constexpr Duration kLateCloseTime = std::chrono::seconds(1);
constexpr std::size_t kMostHeld = 4096;
/// Role of a store that a script opened beside its worker.
constexpr std::string_view kClientRole = "MS_CLIENT";

std::string RankKey(const Node& node) {
  return std::string(RoleName(node.role)) + node.id;
}

}  // namespace

void SchedulerOutput::Clear() {
  replies.Clear();
  events.clear();
  broken_peers.clear();
  snapshot_changed = false;
}

SchedulerCore::SchedulerCore(const SchedulerOptions& options, TimePoint now)
    : options_(options),
      membership_(options),
      metadata_(options.limits),
      answers_(options.rules.metadata_answers) {
  metadata_.Reserve(std::min(membership_.total(), kMaxReserved));
  if (options.build_timeout) {
    build_deadline_ = AddSaturated(now, *options.build_timeout);
  }
}

Result<SchedulerCore> SchedulerCore::Create(const SchedulerOptions& options, TimePoint now,
                                            const SchedulerSnapshot& snapshot) {
  const std::uint64_t total = std::uint64_t{options.worker_num} + options.server_num.value_or(0);
  if (total == 0 || total > kMaxMembers) {
    return FailInput("Scheduler:worker-num",
                     "a job of " + std::to_string(total) + " members is not possible",
                     "expect 1 to " + std::to_string(kMaxMembers) + " workers and servers");
  }
  SchedulerCore core(options, now);
  for (const NodeSnapshot& node : snapshot.nodes) {
    const Node restored{.id = node.node_id,
                        .host_name = node.host_name,
                        .host_ip = node.host_ip,
                        .role = node.role,
                        .state = node.left ? NodeState::kLeft : NodeState::kRegistered,
                        .device_id = node.device_id,
                        .rank = node.rank};
    DRYDOCK_RETURN_IF_ERROR(core.membership_.Restore(restored, now, snapshot.topology_ready));
    core.silence_deadline_ = core.SilenceDeadline(now);
    if (snapshot.topology_ready) {
      core.PublishRank(restored);
    }
  }
  const std::size_t known = snapshot.nodes.size();
  if (snapshot.topology_ready && known < core.membership_.total()) {
    return FailInput("Recovery:other-job",
                     "the stored state has " + std::to_string(known) + " nodes, the job expects " +
                         std::to_string(core.membership_.total()),
                     "remove the recovery file of an earlier job");
  }
  if (snapshot.topology_ready) {
    core.state_ =
        core.membership_.present() == 0 ? SchedulerState::kFinished : SchedulerState::kReady;
  }
  return core;
}

template <typename Body>
void SchedulerCore::Reply(const Origin& to, MessageName name, const Body& body,
                          SchedulerOutput& out) const {
  out.replies.Add(to.peer, WireName(name), options_.address,
                  [&body](std::string& bytes) { EncodeBody(body, bytes); });
}

void SchedulerCore::ReplyText(const Origin& to, std::string_view name, std::string_view body,
                              SchedulerOutput& out) const {
  out.replies.Add(to.peer, name, options_.address,
                  [body](std::string& bytes) { bytes.append(body); });
}

void SchedulerCore::ReplyMetadata(const Origin& to, bool found, const MetadataMessage& message,
                                  SchedulerOutput& out) const {
  out.replies.Add(to.peer, answers_.AnswerName(found), options_.address,
                  [&message](std::string& bytes) { EncodeBody(message, bytes); });
}

void SchedulerCore::Record(SchedulerEvent event, SchedulerOutput& out) const {
  if (options_.records_events) {
    event.expected = membership_.total();
    out.events.push_back(std::move(event));
  }
}

void SchedulerCore::RecordNode(SchedulerEventKind kind, const Node& node,
                               SchedulerOutput& out) const {
  if (options_.records_events) {
    Record({.kind = kind,
            .node_id = node.id,
            .role = std::string(RoleName(node.role)),
            .host_name = node.host_name,
            .host_ip = node.host_ip,
            .device_id = node.device_id,
            .rank = node.rank,
            .present = membership_.present()},
           out);
  }
}

void SchedulerCore::RecordIgnored(std::string what, SchedulerOutput& out) const {
  if (options_.records_events) {
    Record({.kind = SchedulerEventKind::kMessageIgnored, .detail = std::move(what)}, out);
  }
}

void SchedulerCore::RecordBroken(const Origin& from, SchedulerOutput& out) const {
  out.broken_peers.push_back(from.peer);
  RecordIgnored("its body is broken", out);
}

void SchedulerCore::OnFrame(const Origin& from, const FrameView& frame, TimePoint now,
                            SchedulerOutput& out) {
  const auto name = ParseMessageName(frame.name);
  if (!name) {
    RecordIgnored("its name is unknown", out);
    return;
  }
  AnswerHeld(from.peer, out);  // answers keep the order of the questions
  switch (*name) {
    case MessageName::kRegistration:
      return OnRegistration(from, frame, now, out);
    case MessageName::kUnregistration:
      return OnUnregistration(from, frame, out);
    case MessageName::kHeartbeat:
      return OnHeartbeat(from, frame, now, out);
    case MessageName::kWriteMetadata:
      return OnWrite(from, frame, out);
    case MessageName::kReadMetadata:
      return OnRead(from, frame, out);
    case MessageName::kDeleteMetadata:
      return OnDelete(from, frame, out);
    case MessageName::kHostNames:
      return OnHostNames(from, frame, out);
    case kAddMetadata:
      return OnAdd(from, frame, out);
    case MessageName::kSuccess:
    case MessageName::kInvalidNode:
    case MessageName::kNotReady:
    case MessageName::kInvalidMetadata:
      return RecordIgnored("it is an answer, not a request", out);
  }
}

RegistrationVerdict SchedulerCore::Judge(const RegistrationRequest& request, const Origin& from,
                                         TimePoint now) {
  if (options_.members_are_launchers && !IsProven(from.peer)) {
    return {.reason =
                "It does not know the secret of the job; give all nodes the same --job_secret."};
  }
  if (state_ == SchedulerState::kBuilding || state_ == SchedulerState::kReady) {
    return membership_.Register(request, from, now, IsBuilding());
  }
  if (state_ == SchedulerState::kFinished) {
    return {.reason = "The job is finished. Start a new scheduler for a new job."};
  }
  return {.reason = "The job has failed and does not take members any more."};
}

void SchedulerCore::OnRegistration(const Origin& from, const FrameView& frame, TimePoint now,
                                   SchedulerOutput& out) {
  const RegistrationRequest request =
      DecodeRegistration(frame.body).value_or(RegistrationRequest{});
  if (membership_.MayBeRetry(request, from) && held_registrations_.size() < kMostHeld) {
    held_registrations_.push_back({.peer = from.peer,
                                   .address = std::string(from.address),
                                   .body = std::string(frame.body),
                                   .due = AddSaturated(now, kLateCloseTime)});
    return;
  }
  JudgeRegistration(from, frame.body, now, out);
}

/// Judges registrations that waited for the end of an older connection, now that it came or is
/// late.
void SchedulerCore::JudgeHeld(TimePoint now, SchedulerOutput& out) {
  std::deque<HeldRegistration> due;
  std::erase_if(held_registrations_, [&](HeldRegistration& held) {
    const RegistrationRequest request =
        DecodeRegistration(held.body).value_or(RegistrationRequest{});
    const bool is_due =
        held.due <= now ||
        !membership_.MayBeRetry(request, {.peer = held.peer, .address = held.address});
    if (is_due) {
      due.push_back(std::move(held));
    }
    return is_due;
  });
  for (const HeldRegistration& held : due) {
    JudgeRegistration({.peer = held.peer, .address = held.address}, held.body, now, out);
  }
}

void SchedulerCore::JudgeRegistration(const Origin& from, std::string_view body, TimePoint now,
                                      SchedulerOutput& out) {
  using Kind = RegistrationVerdict::Kind;
  const RegistrationRequest request = DecodeRegistration(body).value_or(RegistrationRequest{});
  if (ServeClient(request, from, out)) {
    return;
  }
  const RegistrationVerdict verdict = Judge(request, from, now);
  Announce(verdict, request, out);
  if (verdict.kind == Kind::kRefused) {
    // A launcher that was told another number is wrong about that, whatever it was refused for.
    const bool names_number = options_.members_are_launchers && IsProven(from.peer);
    Reply(from, MessageName::kInvalidNode,
          RegistrationReply{.node_num = names_number ? membership_.total() : 0,
                            .error_reason = verdict.reason},
          out);
    return;
  }
  if (verdict.kind == Kind::kAccepted) {
    out.snapshot_changed = true;
    silence_deadline_ = std::min(silence_deadline_, SilenceDeadline(now));
    TryCompleteTopology(now, out);
  }
  if (state_ == SchedulerState::kReady) {
    PublishRank(membership_.nodes().at(verdict.node));
  }
  const bool names_total = verdict.kind != Kind::kRecovered;
  Reply(from, MessageName::kSuccess,
        RegistrationReply{.success = true,
                          .rank_id = verdict.rank,
                          .node_num = names_total ? membership_.total() : 0},
        out);
}

bool SchedulerCore::ServeClient(const RegistrationRequest& request, const Origin& from,
                                SchedulerOutput& out) {
  if (request.role != kClientRole ||
      options_.rules.metadata_answers == MetadataAnswerRule::kUntilAdd) {
    return false;
  }
  answers_.OnAddRequest();  // only releases with that request have such clients
  Reply(from, MessageName::kSuccess,
        RegistrationReply{.success = true, .node_num = membership_.total()}, out);
  return true;
}

void SchedulerCore::Announce(const RegistrationVerdict& verdict, const RegistrationRequest& request,
                             SchedulerOutput& out) const {
  using Kind = RegistrationVerdict::Kind;
  if (!options_.records_events) {
    return;
  }
  if (verdict.kind == Kind::kRefused) {
    const auto known = membership_.nodes().Find(request.node_id);
    const bool held = known && membership_.nodes().at(*known).holds_slot;
    Record({.kind = held ? SchedulerEventKind::kRefusedKnownId : SchedulerEventKind::kRefused,
            .node_id = std::string(request.node_id),
            .role = std::string(request.role),
            .host_name = std::string(request.host_name),
            .host_ip = std::string(request.host_ip),
            .rank = verdict.rank,
            .present = membership_.present(),
            .detail = verdict.reason.empty() ? "the role is not expected" : verdict.reason},
           out);
    return;
  }
  SchedulerEventKind kind = SchedulerEventKind::kRegistered;
  if (verdict.kind == Kind::kRepeated) {
    kind = SchedulerEventKind::kRegistrationRepeated;
  } else if (verdict.kind == Kind::kRecovered) {
    kind = SchedulerEventKind::kRecovered;
  }
  RecordNode(kind, membership_.nodes().at(verdict.node), out);
}

void SchedulerCore::PublishRank(const Node& node) {
  if (options_.rules.numeric_id_is_rank) {
    metadata_.InsertIfAbsent(RankKey(node), std::to_string(node.rank));
  }
}

void SchedulerCore::TryCompleteTopology(TimePoint now, SchedulerOutput& out) {
  if (!IsBuilding() || !membership_.complete()) {
    return;
  }
  for (const RankChange& change : membership_.AssignFinalRanks()) {
    if (options_.records_events) {
      const Node& node = membership_.nodes().at(change.node);
      RecordNode(SchedulerEventKind::kRankAssigned, node, out);
      out.events.back().old_rank = change.old_rank;
    }
  }
  if (membership_.rank_table_error()) {
    Record({.kind = SchedulerEventKind::kRankTableUnusable,
            .detail = membership_.rank_table_error()->message},
           out);
  }
  membership_.nodes().ForEach([this](NodeIndex, const Node& node) {
    if (node.holds_slot) {
      PublishRank(node);
    }
  });
  state_ = SchedulerState::kReady;
  AnswerAllHeld(out);
  silence_deadline_ = std::min(silence_deadline_, SilenceDeadline(now));
  Record({.kind = SchedulerEventKind::kTopologyReady, .present = membership_.present()}, out);
  WarnOfHostNames(out);
}

void SchedulerCore::OnUnregistration(const Origin& from, const FrameView& frame,
                                     SchedulerOutput& out) {
  const auto reply = [&](MessageName name) {
    ReplyText(from, WireName(name), WireName(name), out);
  };
  const auto request = DecodeUnregistration(frame.body);
  if (!request || request->node_id.empty()) {
    return RecordBroken(from, out);
  }
  const auto node = membership_.nodes().Find(request->node_id);
  const bool has_left = node && membership_.nodes().at(*node).state == NodeState::kLeft;
  if (has_left && options_.rules.repeats_lost_leave) {
    return reply(MessageName::kSuccess);
  }
  if (state_ != SchedulerState::kReady && state_ != SchedulerState::kAborting) {
    return reply(MessageName::kNotReady);
  }
  if (!node || !membership_.nodes().at(*node).holds_slot || !membership_.MaySpeakFor(*node, from) ||
      (options_.members_are_launchers && !IsProven(from.peer))) {
    return reply(MessageName::kInvalidNode);
  }
  membership_.Leave(*node);
  out.snapshot_changed = true;
  RecordNode(SchedulerEventKind::kNodeLeft, membership_.nodes().at(*node), out);
  if (membership_.present() == 0 && state_ == SchedulerState::kReady) {
    state_ = SchedulerState::kFinished;
    Record({.kind = SchedulerEventKind::kFinished}, out);
  }
  reply(MessageName::kSuccess);
}

void SchedulerCore::OnHeartbeat(const Origin& from, const FrameView& frame, TimePoint now,
                                SchedulerOutput& out) {
  const auto request = DecodeHeartbeat(frame.body);
  if (!request || request->node_id.empty()) {
    return RecordBroken(from, out);
  }
  const auto index = membership_.nodes().Find(request->node_id);
  if (!index || membership_.nodes().at(*index).state == NodeState::kLeft) {
    RecordIgnored("heartbeat of an unknown node", out);
    return;
  }
  if (!membership_.MaySpeakFor(*index, from) ||
      (options_.members_are_launchers && !IsProven(from.peer))) {
    RecordIgnored("heartbeat for a member at another address", out);
    return;
  }
  const Node& node = membership_.nodes().at(*index);
  const bool was_lost = node.state == NodeState::kLost;
  membership_.Hear(*index, from, now, IsBuilding());
  if (was_lost && node.state == NodeState::kRegistered) {
    RecordNode(SchedulerEventKind::kNodeReturned, node, out);
    silence_deadline_ = std::min(silence_deadline_, SilenceDeadline(now));
    out.snapshot_changed = true;
    TryCompleteTopology(now, out);
  }
  if (IsBuilding() && node.holds_slot && options_.heartbeat_hold > Duration::zero()) {
    return HoldHeartbeat(from.peer, *index, now);
  }
  AnswerHeartbeat(from, node, out);
}

void SchedulerCore::OnWrite(const Origin& from, const FrameView& frame, SchedulerOutput& out) {
  const auto request = DecodeMetadata(frame.body);
  if (!request) {
    RecordBroken(from, out);
  } else if (TakeProof(from, *request, out)) {
    return;
  } else if (!MayChange(from, *request, false)) {
    RecordIgnored("metadata write of a key that is not the writer's", out);
  } else if (!metadata_.Write(request->name, request->value)) {
    RecordIgnored("metadata write of a name that is empty or too long, or beyond the memory limit",
                  out);
  }
}

std::optional<std::string_view> SchedulerCore::ReadValue(std::string_view name) {
  // Made at the first read: only workers of old releases ask, and it is large in large jobs.
  const bool ready = state_ != SchedulerState::kBuilding && state_ != SchedulerState::kBuildFailed;
  if (name == kNodePortRangeKey && options_.rules.publishes_port_range && ready &&
      !port_ranges_published_) {
    port_ranges_published_ = true;
    metadata_.InsertIfAbsent(std::string(name), PortRanges());
  }
  if (name == kJobSizeKey && options_.rules.protects_members) {
    metadata_.InsertIfAbsent(std::string(name), std::to_string(membership_.total()));
  }
  return metadata_.Read(name);
}

void SchedulerCore::OnRead(const Origin& from, const FrameView& frame, SchedulerOutput& out) {
  const auto request = DecodeMetadata(frame.body);
  if (!request) {
    return RecordBroken(from, out);
  }
  answers_.OnRequest(from.peer, request->name);
  const auto value = ReadValue(request->name);
  // The scheduler's own values teach nothing: a worker that misses them goes on without.
  if (value && !answers_.settled() && !metadata_.IsOwn(request->name)) {
    answers_.OnHit(from.peer, request->name);
  }
  ReplyMetadata(from, value.has_value(),
                value ? MetadataMessage{.name = request->name, .value = *value} : *request, out);
}

void SchedulerCore::OnDelete(const Origin& from, const FrameView& frame, SchedulerOutput& out) {
  const auto request = DecodeMetadata(frame.body);
  if (!request) {
    return RecordBroken(from, out);
  }
  answers_.OnRequest(from.peer, {});
  const bool existed = ReadValue(request->name).has_value() && MayChange(from, *request, true) &&
                       metadata_.Erase(request->name);
  ReplyMetadata(from, existed, *request, out);
}

void SchedulerCore::OnAdd(const Origin& from, const FrameView& frame, SchedulerOutput& out) {
  if (options_.rules.metadata_answers == MetadataAnswerRule::kUntilAdd) {
    return RecordIgnored("it is an answer, not a request", out);
  }
  const auto request = DecodeMetadata(frame.body);
  if (!request) {
    return RecordBroken(from, out);
  }
  answers_.OnAddRequest();
  const auto sum = MayChange(from, *request, true) ? metadata_.Add(request->name, request->value)
                                                   : std::optional<std::string>();
  ReplyMetadata(from, sum.has_value(),
                sum ? MetadataMessage{.name = request->name, .value = *sum} : *request, out);
}

bool SchedulerCore::AnswersHostNames(Role role) const {
  switch (options_.rules.host_names) {
    case HostNameAnswer::kWhileComplete:
      return membership_.complete();
    case HostNameAnswer::kCached:
      return membership_.complete() || host_names_[static_cast<std::size_t>(role)].has_value();
    case HostNameAnswer::kOnceReady:
      return state_ != SchedulerState::kBuilding && state_ != SchedulerState::kBuildFailed;
  }
  return false;
}

void SchedulerCore::OnHostNames(const Origin& from, const FrameView& frame, SchedulerOutput& out) {
  answers_.OnRequest(from.peer, {});
  const auto role = ParseRole(frame.body);
  if (!AnswersHostNames(role.value_or(Role::kWorker))) {
    return ReplyText(from, answers_.AnswerName(false), EncodeHostNames({}), out);
  }
  if (!role) {
    return ReplyText(from, answers_.AnswerName(true), EncodeHostNames({}), out);
  }
  auto& cached = host_names_[static_cast<std::size_t>(*role)];
  if (!cached || options_.rules.host_names == HostNameAnswer::kWhileComplete) {
    cached = EncodeHostNames(membership_.HostNames(*role));
  }
  ReplyText(from, answers_.AnswerName(true), *cached, out);
}

}  // namespace drydock::sim
