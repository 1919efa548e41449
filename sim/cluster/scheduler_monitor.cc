// What the scheduler does because time passes: losses, the end of the build, the end of an abort;
// and the values it publishes.
#include <algorithm>
#include <map>

#include "sim/cluster/messages/node_port_ranges.h"
#include "sim/cluster/scheduler_core.h"

namespace drydock::sim {
namespace {

/// How many missing ranks the message of a build time-out names.
constexpr std::size_t kNamedMissingRanks = 8;

// Ports of workers before 2.4.10: 4096 of them are shared by the nodes of one host.
constexpr std::uint32_t kFirstPort = 8118;
constexpr std::uint32_t kPortsPerHost = 4096;

/// Seconds since the epoch, rounded down: the reference stamps heartbeats with whole seconds.
std::chrono::seconds WholeSeconds(TimePoint time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
}

}  // namespace

TopologyState SchedulerCore::topology_state() const {
  switch (state_) {
    case SchedulerState::kBuilding:
    case SchedulerState::kBuildFailed:
      return TopologyState::kInitialising;
    case SchedulerState::kReady:
      return TopologyState::kInitialised;
    case SchedulerState::kAborting:
    case SchedulerState::kAborted:
      return membership_.ranks_final() ? TopologyState::kInitialised : TopologyState::kInitialising;
    case SchedulerState::kFinished:
      return TopologyState::kFinished;
  }
  return TopologyState::kInitialising;
}

bool SchedulerCore::done() const {
  return state_ == SchedulerState::kFinished || state_ == SchedulerState::kBuildFailed ||
         state_ == SchedulerState::kAborted;
}

/// First instant at which `floor(now) - floor(last_heard) > timeout` in whole seconds.
TimePoint SchedulerCore::SilenceDeadline(TimePoint last_heard) const {
  if (!options_.node_timeout || options_.heartbeat_disabled) {
    return kNever;
  }
  const auto timeout = std::chrono::floor<std::chrono::seconds>(*options_.node_timeout);
  const TimePoint second(WholeSeconds(last_heard));
  return AddSaturated(second, timeout + std::chrono::seconds(1));
}

void SchedulerCore::Lose(NodeIndex index, std::string_view why, TimePoint now,
                         SchedulerOutput& out) {
  const bool frees_slot = IsBuilding() && options_.rules.frees_lost_slots;
  membership_.Lose(index, frees_slot);
  out.snapshot_changed = out.snapshot_changed || frees_slot;
  RecordNode(SchedulerEventKind::kNodeLost, membership_.nodes().at(index), out);
  if (options_.records_events) {
    out.events.back().detail = why;
  }
  const bool fatal = !frees_slot && !options_.recovery;
  if (fatal && (IsBuilding() || state_ == SchedulerState::kReady)) {
    state_ = SchedulerState::kAborting;
    abort_deadline_ = AddSaturated(now, AbnormalReportTime(options_.worker_num));
  }
}

bool SchedulerCore::DeclareLost(std::string_view node_id, TimePoint now, SchedulerOutput& out) {
  const auto index = membership_.nodes().Find(node_id);
  if (!index || done()) {
    return false;
  }
  const Node& node = membership_.nodes().at(*index);
  if (!node.holds_slot || node.state != NodeState::kRegistered) {
    return false;
  }
  Lose(*index, "Its process has ended.", now, out);
  AnswerHeldUntil(now, out);
  return true;
}

void SchedulerCore::OnPeerClosed(PeerId peer, TimePoint now) {
  answers_.OnPeerClosed(peer);
  held_.erase(peer);
  proven_.erase(peer);
  std::erase_if(held_registrations_,
                [peer](const HeldRegistration& held) { return held.peer == peer; });
  for (const NodeIndex node : membership_.ClosePeer(peer, now)) {
    if (options_.rules.watches_connections && !options_.heartbeat_disabled) {
      closed_.push_back({node, now});
    }
    for (HeldRegistration& held : held_registrations_) {
      held.due = now;  // maybe what they wait for
    }
  }
}

/// How long a closed connection may stay without another one. Members that reconnect at once have
/// little time, and so has everybody where a wrong verdict is taken back by the next heartbeat.
/// Where it would end the job, the rule of silence decides.
Duration SchedulerCore::GraceOfClosed() const {
  const Duration least = ConnectionGrace(options_.worker_num);
  const bool is_fatal = !options_.recovery && !(IsBuilding() && options_.rules.frees_lost_slots);
  if (!is_fatal || options_.members_are_launchers) {
    return least;
  }
  return options_.node_timeout ? *options_.node_timeout : Duration::max();
}

void SchedulerCore::CheckConnections(TimePoint now, SchedulerOutput& out) {
  const Duration grace = GraceOfClosed();
  while (!closed_.empty() && AddSaturated(closed_.front().closed_at, grace) <= now) {
    const ClosedConnection closed = closed_.front();
    closed_.pop_front();
    const Node& node = membership_.nodes().at(closed.node);
    if (node.holds_slot && node.state == NodeState::kRegistered && node.peer_closed &&
        node.closed_at == closed.closed_at) {
      Lose(closed.node, "Its connection is closed and no heartbeat came on another one.", now, out);
    }
  }
}

void SchedulerCore::CheckSilence(TimePoint now, SchedulerOutput& out) {
  if (now < silence_deadline_) {
    return;
  }
  std::vector<NodeIndex> silent;
  TimePoint next = kNever;
  membership_.nodes().ForEach([&](NodeIndex index, const Node& node) {
    if (!node.holds_slot || node.state != NodeState::kRegistered) {
      return;
    }
    const TimePoint deadline = SilenceDeadline(node.last_heard);
    if (deadline <= now) {
      silent.push_back(index);
    } else {
      next = std::min(next, deadline);
    }
  });
  silence_deadline_ = next;
  std::sort(silent.begin(), silent.end(), [this](NodeIndex a, NodeIndex b) {
    return membership_.nodes().at(a).id < membership_.nodes().at(b).id;
  });
  std::string names;
  for (const NodeIndex index : silent) {
    Lose(index, "No heartbeat came in time.", now, out);
    names += (names.empty() ? "" : ", ") + membership_.nodes().at(index).id;
  }
  if (!silent.empty()) {
    Record({.kind = SchedulerEventKind::kLossReported,
            .present = static_cast<std::uint32_t>(silent.size()),
            .detail = names},
           out);
  }
}

void SchedulerCore::CheckBuildTime(TimePoint now, SchedulerOutput& out) {
  if (!IsBuilding() || now < build_deadline_) {
    return;
  }
  state_ = SchedulerState::kBuildFailed;
  std::string missing;
  for (const Role role : {Role::kWorker, Role::kServer}) {
    for (const std::uint32_t rank : membership_.MissingRanks(role, kNamedMissingRanks)) {
      missing += (missing.empty() ? "" : ", ") + std::string(RoleName(role)) + " rank " +
                 std::to_string(rank);
    }
  }
  Record({.kind = SchedulerEventKind::kBuildTimedOut,
          .present = membership_.present(),
          .detail = missing},
         out);
}

void SchedulerCore::OnTick(TimePoint now, SchedulerOutput& out) {
  if (done()) {
    return;
  }
  JudgeHeld(now, out);
  CheckConnections(now, out);
  CheckSilence(now, out);
  CheckBuildTime(now, out);
  if (state_ == SchedulerState::kAborting && now >= abort_deadline_) {
    state_ = SchedulerState::kAborted;
  }
  AnswerHeldUntil(now, out);
}

std::optional<TimePoint> SchedulerCore::NextDeadline() const {
  if (done()) {
    return std::nullopt;
  }
  TimePoint next = silence_deadline_;
  if (!closed_.empty()) {
    next = std::min(next, AddSaturated(closed_.front().closed_at, GraceOfClosed()));
  }
  for (const HeldRegistration& held : held_registrations_) {
    next = std::min(next, held.due);
  }
  if (IsBuilding()) {
    next = std::min(next, build_deadline_);
    if (!held_until_.empty()) {
      next = std::min(next, held_until_.front().due);
    }
  }
  if (state_ == SchedulerState::kAborting) {
    next = std::min(next, abort_deadline_);
  }
  return next == kNever ? std::nullopt : std::optional(next);
}

std::string SchedulerCore::PortRanges() const {
  std::map<std::string_view, std::vector<std::string_view>> ids_of_host;
  membership_.nodes().ForEach([&](NodeIndex, const Node& node) {
    if (node.holds_slot || node.state == NodeState::kLeft) {
      ids_of_host[node.host_name].push_back(node.id);
    }
  });
  std::vector<NodePortRange> ranges;
  for (auto& [host, ids] : ids_of_host) {
    std::sort(ids.begin(), ids.end());
    const auto width = kPortsPerHost / static_cast<std::uint32_t>(ids.size());
    std::uint32_t min_port = kFirstPort;
    for (const std::string_view id : ids) {
      ranges.push_back({.node_id = id, .min_port = min_port, .max_port = min_port + width - 1});
      min_port += width;
    }
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const NodePortRange& a, const NodePortRange& b) { return a.node_id < b.node_id; });
  std::string text;
  EncodeNodePortRanges(ranges, text);
  return text;
}

SchedulerSnapshot SchedulerCore::Snapshot() const {
  SchedulerSnapshot snapshot{.topology_ready = membership_.ranks_final()};
  membership_.nodes().ForEach([&](NodeIndex, const Node& node) {
    const bool left = node.state == NodeState::kLeft;
    if (node.holds_slot || left) {
      snapshot.nodes.push_back({.node_id = node.id,
                                .host_name = node.host_name,
                                .host_ip = node.host_ip,
                                .role = node.role,
                                .rank = node.rank,
                                .device_id = node.device_id,
                                .left = left});
    }
  });
  std::sort(snapshot.nodes.begin(), snapshot.nodes.end(),
            [](const NodeSnapshot& a, const NodeSnapshot& b) { return a.node_id < b.node_id; });
  return snapshot;
}

}  // namespace drydock::sim
