#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/cluster/frame.h"
#include "sim/cluster/message_name.h"
#include "sim/cluster/metadata_numbers.h"
#include "sim/cluster/worker_options.h"

namespace drydock::sim {

/// Where a worker stands. Table of transitions: docs/protocol.md.
enum class WorkerState : std::uint8_t {
  kIdle,         ///< Not started.
  kJoining,      ///< Connects and registers, again and again if need be.
  kWaiting,      ///< Registered; members are missing.
  kReadingRank,  ///< Everybody is registered; asks for the final rank.
  kReady,        ///< Knows its final rank.
  kLeaving,      ///< Unregisters.
  kLeft,         ///< Done.
  kFailed,       ///< Gave up; `failure()` says why.
};

/// Something the worker wants its shell to do, or tells it.
struct WorkerAction {
  enum class Kind : std::uint8_t {
    kConnect,     ///< Open `channel`, then call OnConnected or OnConnectFailed.
    kDisconnect,  ///< Close `channel`; nothing is reported back.
    kSend,        ///< Write the frame at [offset, offset + bytes) to `channel` in one piece.
    kReady,       ///< The topology is complete and `rank()` final.
    kAnswer,  ///< Answer to the oldest Ask(): `found`, and its body at [offset, offset + bytes).
    kLeft,    ///< The worker has left.
    kFailed,  ///< The worker gave up.
  };
  Kind kind = Kind::kConnect;
  Channel channel = Channel::kHeartbeat;
  bool found = false;  ///< The answer's name was "valid metadata".
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// Actions of any number of calls, in order, and the bytes they speak of.
struct WorkerOutput {
  std::string bytes = {};
  std::vector<WorkerAction> actions = {};
  /// The bytes an action speaks of.
  [[nodiscard]] std::string_view BytesOf(const WorkerAction& action) const {
    return std::string_view(bytes).substr(action.offset, action.bytes);
  }
  /// Forgets everything, keeps the memory.
  void Clear();
};

/// One worker's side of the protocol: connect, register, heartbeat, wait, metadata, leave.
///
/// No sockets, no clock, no threads, as SchedulerCore. At most one request per connection is
/// unanswered; after a reply time-out both connections are closed before anything else is asked, so
/// that a late answer cannot be taken for another one. Source: docs/protocol.md.
class WorkerCore {
 public:
  /// `options` must outlive the worker.
  WorkerCore(const WorkerOptions& options, WorkerIdentity identity);

  /// Begins to join the job. Once only.
  void Start(TimePoint now, WorkerOutput& out);
  /// `local_ip` is the local address of the new connection, without port.
  void OnConnected(Channel channel, std::string_view local_ip, TimePoint now, WorkerOutput& out);
  /// A connection that was asked for could not be opened; `refused`: the machine says that nobody
  /// listens.
  void OnConnectFailed(TimePoint now, WorkerOutput& out, bool refused = false);
  /// The other side closed the connection, or sent something that is no frame.
  void OnDisconnected(Channel channel, TimePoint now, WorkerOutput& out);
  /// A frame arrived on `channel`. One that nobody waits for is ignored.
  void OnFrame(Channel channel, const FrameView& frame, TimePoint now, WorkerOutput& out);
  /// Does what is due.
  void OnTick(TimePoint now, WorkerOutput& out);
  /// When OnTick must be called next, kNever if only messages matter.
  [[nodiscard]] TimePoint NextDeadline() const;

  /// Stores a metadata value; there is no answer.
  void WriteMetadata(std::string_view name, std::string_view value, TimePoint now,
                     WorkerOutput& out);
  /// Asks on the business connection: kReadMetadata or kDeleteMetadata of a name, or kHostNames of
  /// a role. The answer comes as a kAnswer action, in the order of asking.
  void Ask(MessageName name, std::string_view subject, TimePoint now, WorkerOutput& out);
  /// Unregisters and ends; possible in every state.
  void Leave(TimePoint now, WorkerOutput& out);

  /// Where the worker stands.
  [[nodiscard]] WorkerState state() const { return state_; }
  /// Provisional once registered, final once ready.
  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  /// Who it is; the address is known once connected.
  [[nodiscard]] const WorkerIdentity& identity() const { return identity_; }
  /// Why the worker gave up; has a MemberCause. Null unless kFailed.
  [[nodiscard]] const Error* failure() const { return failure_.get(); }

 private:
  /// What a business request is for.
  enum class Purpose : std::uint8_t { kUser, kRank, kPorts };
  struct Request {
    MessageName name = MessageName::kReadMetadata;
    Purpose purpose = Purpose::kUser;
    std::string subject = {};
    std::string value = {};
  };
  /// One connection.
  struct Link {
    enum class State : std::uint8_t { kClosed, kConnecting, kOpen };
    State state = State::kClosed;
    std::optional<MessageName> unanswered = {};
    TimePoint reply_deadline = kNever;
  };

  [[nodiscard]] Link& link(Channel channel) { return links_[static_cast<std::size_t>(channel)]; }
  [[nodiscard]] const Link& link(Channel channel) const {
    return links_[static_cast<std::size_t>(channel)];
  }
  [[nodiscard]] bool over() const {
    return state_ == WorkerState::kLeft || state_ == WorkerState::kFailed;
  }
  [[nodiscard]] bool before_ready() const;

  void Connect(Channel channel, WorkerOutput& out);
  void Close(Channel channel, WorkerOutput& out);
  void CloseBoth(WorkerOutput& out);
  void BeginConnecting(WorkerOutput& out);
  void OnLinksUp(TimePoint now, WorkerOutput& out);
  void OnLinkLost(TimePoint now, WorkerOutput& out);
  void RetryLater(TimePoint now, WorkerOutput& out, bool refused = false);

  template <typename Body>
  void Send(Channel channel, MessageName name, const Body& body, WorkerOutput& out);
  void Expect(Channel channel, MessageName name, Duration timeout, TimePoint now);
  void SendRegistration(TimePoint now, WorkerOutput& out);
  void SendHeartbeat(TimePoint now, WorkerOutput& out);
  void SendUnregistration(TimePoint now, WorkerOutput& out);
  void PumpRequests(TimePoint now, WorkerOutput& out);

  void OnRegistrationReply(const FrameView& frame, TimePoint now, WorkerOutput& out);
  void OnHeartbeatReply(const FrameView& frame, TimePoint now, WorkerOutput& out);
  void OnUnregistrationReply(const FrameView& frame, TimePoint now, WorkerOutput& out);
  [[nodiscard]] bool IsFound(MessageName request, const FrameView& frame);
  void OnRequestReply(const FrameView& frame, TimePoint now, WorkerOutput& out);
  void OnRankAnswer(const FrameView& frame, TimePoint now, WorkerOutput& out);
  void OnTopologyComplete(TimePoint now, WorkerOutput& out);
  void AfterRankKnown(TimePoint now, WorkerOutput& out);
  void BecomeReady(WorkerOutput& out);
  void FinishLeaving(WorkerOutput& out);
  void Fail(MemberCause cause, std::string message, WorkerOutput& out);
  void FailForBuildTime(WorkerOutput& out);

  [[nodiscard]] Duration RandomPause(std::uint32_t lower_s, std::uint32_t upper_s);
  [[nodiscard]] Channel UnregistrationChannel() const;

  const WorkerOptions* options_;
  WorkerIdentity identity_;
  WorkerState state_ = WorkerState::kIdle;
  bool registered_ = false;
  bool heartbeats_ended_ = false;
  std::uint32_t rank_ = 0;
  std::optional<MetadataNumbers> numbers_ = {};  ///< Of the scheduler's answers, once known.
  std::uint64_t random_state_ = 0;
  std::array<Link, 2> links_;
  TimePoint topo_deadline_ = kNever;
  TimePoint leave_deadline_ = kNever;
  TimePoint heartbeat_at_ = kNever;
  TimePoint reconnect_at_ = kNever;
  TimePoint lost_at_ = kNever;  ///< Since when the scheduler has not answered; kNever: it does.
  TimePoint poll_at_ = kNever;  ///< When the rank is asked for again.
  std::vector<Request> requests_;
  std::unique_ptr<Error> failure_;
};

}  // namespace drydock::sim
