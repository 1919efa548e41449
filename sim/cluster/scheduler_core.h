#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/cluster/frame.h"
#include "sim/cluster/frame_batch.h"
#include "sim/cluster/membership.h"
#include "sim/cluster/messages/heartbeat.h"
#include "sim/cluster/messages/metadata.h"
#include "sim/cluster/metadata_numbers.h"
#include "sim/cluster/metadata_store.h"
#include "sim/cluster/scheduler_events.h"
#include "sim/cluster/scheduler_options.h"
#include "sim/cluster/snapshot.h"

namespace drydock::sim {

/// Where a job stands, as its scheduler sees it. Table of transitions: docs/protocol.md.
enum class SchedulerState : std::uint8_t {
  kBuilding,     ///< Members are missing.
  kReady,        ///< Everybody registered; ranks are final.
  kAborting,     ///< A member is lost; the others are being told.
  kFinished,     ///< Everybody has left.
  kBuildFailed,  ///< Members were still missing when the time was over.
  kAborted,      ///< A member was lost and the others had time to hear of it.
};

/// What the scheduler wants its shell to do. Collected over any number of calls.
struct SchedulerOutput {
  FrameBatch replies = {};
  std::vector<SchedulerEvent> events = {};
  /// What Snapshot() gives has changed: with recovery on, store it before sending `replies`.
  bool snapshot_changed = false;
  /// Peers that sent a malformed body. Close them: only a registration can be refused by a reply.
  /// Source: docs/robustness.md R-36
  std::vector<PeerId> broken_peers = {};
  /// Empties it for the next call.
  void Clear();
};

/// The scheduler's state machine: registration, ranks, heartbeats, metadata, host names.
///
/// No sockets, no clock, no threads: frames and time come in, frames come out, so that virtual
/// ranks and TCP peers drive the same code. Every replying request gets exactly one reply, in order
/// and at once, heartbeats after options.heartbeat_hold at the latest; nothing else is ever sent.
/// Source: docs/protocol.md.
class SchedulerCore {
 public:
  /// A scheduler that starts at `now`, from a snapshot if there is one.
  /// @error kInvalidArgument  no worker expected, too many, or a snapshot of another job
  [[nodiscard]] static Result<SchedulerCore> Create(const SchedulerOptions& options, TimePoint now,
                                                    const SchedulerSnapshot& snapshot = {});

  /// Handles one frame. Unknown messages, writes and malformed bodies get no reply; a malformed
  /// registration is refused.
  void OnFrame(const Origin& from, const FrameView& frame, TimePoint now, SchedulerOutput& out);
  /// A connection closed. Connections that are opened need not be announced.
  void OnPeerClosed(PeerId peer, TimePoint now);
  /// Applies expired time-outs.
  void OnTick(TimePoint now, SchedulerOutput& out);
  /// When OnTick must be called next, if nothing else happens; nothing if no verdict can come.
  [[nodiscard]] std::optional<TimePoint> NextDeadline() const;
  /// The shell knows that a member's process ended without leaving. False if it is no member.
  bool DeclareLost(std::string_view node_id, TimePoint now, SchedulerOutput& out);

  /// Where the job stands.
  [[nodiscard]] SchedulerState state() const { return state_; }
  /// True once nothing more will change; the shell may end after a short time of answering.
  [[nodiscard]] bool done() const;
  /// What workers are told.
  [[nodiscard]] TopologyState topology_state() const;
  /// Who belongs to the job.
  [[nodiscard]] const Membership& membership() const { return membership_; }
  /// The state that must survive a restart.
  [[nodiscard]] SchedulerSnapshot Snapshot() const;

 private:
  SchedulerCore(const SchedulerOptions& options, TimePoint now);

  void OnRegistration(const Origin& from, const FrameView& frame, TimePoint now,
                      SchedulerOutput& out);
  void OnUnregistration(const Origin& from, const FrameView& frame, SchedulerOutput& out);
  void OnHeartbeat(const Origin& from, const FrameView& frame, TimePoint now, SchedulerOutput& out);
  void AnswerHeartbeat(const Origin& to, const Node& node, SchedulerOutput& out) const;
  void HoldHeartbeat(PeerId peer, NodeIndex node, TimePoint now);
  void AnswerHeld(PeerId peer, SchedulerOutput& out);
  void AnswerAllHeld(SchedulerOutput& out);
  void AnswerHeldUntil(TimePoint now, SchedulerOutput& out);
  void OnWrite(const Origin& from, const FrameView& frame, SchedulerOutput& out);
  void OnRead(const Origin& from, const FrameView& frame, SchedulerOutput& out);
  void OnDelete(const Origin& from, const FrameView& frame, SchedulerOutput& out);
  void OnAdd(const Origin& from, const FrameView& frame, SchedulerOutput& out);
  void OnHostNames(const Origin& from, const FrameView& frame, SchedulerOutput& out);

  void JudgeRegistration(const Origin& from, std::string_view body, TimePoint now,
                         SchedulerOutput& out);
  void JudgeHeld(TimePoint now, SchedulerOutput& out);
  [[nodiscard]] bool TakeProof(const Origin& from, const MetadataMessage& message,
                               SchedulerOutput& out);
  [[nodiscard]] bool IsProven(PeerId peer) const;
  [[nodiscard]] bool MayChange(const Origin& from, const MetadataMessage& message,
                               bool erases) const;
  void WarnOfHostNames(SchedulerOutput& out) const;
  [[nodiscard]] Duration GraceOfClosed() const;
  [[nodiscard]] RegistrationVerdict Judge(const RegistrationRequest& request, const Origin& from,
                                          TimePoint now);
  /// A store client of a worker's script: served, but no member.
  bool ServeClient(const RegistrationRequest& request, const Origin& from, SchedulerOutput& out);
  void Announce(const RegistrationVerdict& verdict, const RegistrationRequest& request,
                SchedulerOutput& out) const;
  void TryCompleteTopology(TimePoint now, SchedulerOutput& out);
  void PublishRank(const Node& node);
  [[nodiscard]] std::string PortRanges() const;
  [[nodiscard]] std::optional<std::string_view> ReadValue(std::string_view name);
  [[nodiscard]] bool AnswersHostNames(Role role) const;

  void Lose(NodeIndex node, std::string_view why, TimePoint now, SchedulerOutput& out);
  void CheckConnections(TimePoint now, SchedulerOutput& out);
  void CheckSilence(TimePoint now, SchedulerOutput& out);
  void CheckBuildTime(TimePoint now, SchedulerOutput& out);
  [[nodiscard]] TimePoint SilenceDeadline(TimePoint last_heard) const;
  [[nodiscard]] bool IsBuilding() const { return state_ == SchedulerState::kBuilding; }

  template <typename Body>
  void Reply(const Origin& to, MessageName name, const Body& body, SchedulerOutput& out) const;
  void ReplyMetadata(const Origin& to, bool found, const MetadataMessage& message,
                     SchedulerOutput& out) const;
  void ReplyText(const Origin& to, std::string_view name, std::string_view body,
                 SchedulerOutput& out) const;
  void Record(SchedulerEvent event, SchedulerOutput& out) const;
  void RecordNode(SchedulerEventKind kind, const Node& node, SchedulerOutput& out) const;
  void RecordIgnored(std::string what, SchedulerOutput& out) const;
  void RecordBroken(const Origin& from, SchedulerOutput& out) const;

  /// A member whose connection closed, and when.
  struct ClosedConnection {
    NodeIndex node = {};
    TimePoint closed_at = {};
  };

  /// When the answer to a held heartbeat is due.
  struct HeldUntil {
    TimePoint due = {};
    PeerId peer = {};
  };

  /// A registration that may repeat one whose connection has not been seen to close.
  struct HeldRegistration {
    PeerId peer = {};
    std::string address = {};
    std::string body = {};
    TimePoint due = {};
  };

  SchedulerOptions options_;
  SchedulerState state_ = SchedulerState::kBuilding;
  Membership membership_;
  MetadataStore metadata_;
  MetadataNumberLearner answers_;
  std::array<std::optional<std::string>, kRoleCount> host_names_;
  bool port_ranges_published_ = false;
  std::deque<ClosedConnection> closed_;
  std::map<PeerId, NodeIndex> held_;  ///< Connections that wait for the answer to a heartbeat.
  std::deque<HeldRegistration> held_registrations_;
  std::set<PeerId> proven_;           ///< Connections that know the job's secret.
  std::deque<HeldUntil> held_until_;  ///< The same by time; entries that are no longer held stay.
  TimePoint build_deadline_ = kNever;
  TimePoint silence_deadline_ = kNever;  ///< No member can have been silent for too long before.
  TimePoint abort_deadline_ = kNever;
};

}  // namespace drydock::sim
