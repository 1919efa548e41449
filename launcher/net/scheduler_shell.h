#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "launcher/net/event_loop.h"
#include "launcher/net/recovery_file.h"
#include "launcher/net/scheduler_log.h"
#include "sim/cluster/frame.h"
#include "sim/cluster/scheduler_core.h"

namespace drydock::launcher {

/// What strangers and broken peers may cost. Source: docs/robustness.md.
struct ShellLimits {
  std::size_t connections = 0;                             ///< Open at a time.
  std::size_t body_bytes = std::size_t{64} << 20U;         ///< Of one frame.
  std::size_t unfinished_bytes = std::size_t{512} << 20U;  ///< Of all frames under way.
  /// Replies one peer does not read when it is sent another one.
  std::size_t queued_bytes = std::size_t{1} << 20U;
  std::size_t all_queued_bytes = std::size_t{512} << 20U;  ///< The same of all peers, at any time.
  Duration header_time = std::chrono::seconds(10);         ///< From the first byte of a frame.
  Duration frame_time = std::chrono::seconds(60);          ///< For a whole frame.
  std::size_t bytes_per_second = 1024;                     ///< Least speed of a frame.
  Duration handshake_time = std::chrono::seconds(10);
};

/// The limits for a job of so many members: 8 connections for each, since MindSpore's workers leak
/// some, and some for strangers.
[[nodiscard]] ShellLimits LimitsFor(std::uint32_t members);

/// Feeds the scheduler's state machine from TCP streams. Lives on the loop's thread.
///
/// Replies are written in order, each frame in one write; the first of a connection is held back
/// (sim::kFirstReplyDelay). With a recovery file a change of the members is on the disk before
/// anything that followed it is answered; changes that arrive together are stored together.
class SchedulerShell {
 public:
  /// What the shell works with; all of it outlives the shell.
  struct Parts {
    EventLoop& loop;
    SchedulerLog& log;
    const RecoveryFile* recovery = nullptr;  ///< Null: recovery is off.
    std::function<void(const sim::SchedulerEvent&)> on_event = {};
    std::function<void()> on_over = {};          ///< The state machine is done.
    std::function<void(Error)> on_failure = {};  ///< Nothing can be acknowledged any more.
  };
  SchedulerShell(sim::SchedulerCore core, const ShellLimits& limits, Parts parts);
  ~SchedulerShell();
  SchedulerShell(const SchedulerShell&) = delete;
  SchedulerShell& operator=(const SchedulerShell&) = delete;

  /// Takes a stream, or refuses it: then null.
  StreamHandler* Accept(std::unique_ptr<TcpStream> stream);
  /// See SchedulerCore::DeclareLost.
  void DeclareLost(std::string_view node_id);
  /// Sends what is held back and closes all connections.
  void Close();
  [[nodiscard]] const sim::SchedulerCore& core() const { return core_; }
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  class Connection;
  struct Held {
    TimePoint due = {};
    sim::PeerId peer = {};
  };

  [[nodiscard]] TimePoint CoreNow();
  void OnBytes(Connection& connection, std::span<const std::byte> bytes);
  void OnEnd(Connection& connection, const Error& why);
  void Drop(Connection& connection, std::string_view why);
  void Forget(Connection& connection);
  bool MakeRoom();
  [[nodiscard]] std::map<std::string_view, std::size_t, std::less<>> MembersByAddress() const;
  [[nodiscard]] bool TellsNow(const sim::SchedulerEvent& event);
  void NoteSpeaker(Connection& connection);
  void NoteUnfinished(Connection& connection);
  void Handle();
  void Flush();
  [[nodiscard]] bool PassOnEarly(const Connection& connection);
  void SendReplies();
  [[nodiscard]] bool ReadsTooLittle(const Connection& connection, std::size_t last_reply) const;
  void DropBroken();
  void TellEvents();
  void SendHeld();
  void SetTick();
  void Tick();
  void Sweep();
  [[nodiscard]] bool IsTooSlow(const Connection& connection, TimePoint now) const;
  void NoteStranger(const Endpoint& peer, std::string_view why);
  [[nodiscard]] Connection* Find(sim::PeerId peer);

  sim::SchedulerCore core_;
  ShellLimits limits_;
  Parts parts_;
  sim::SchedulerOutput out_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> closing_;  ///< Freed once their calls have returned.
  std::set<std::uint64_t> silent_;                    ///< Never sent a frame; oldest first.
  std::set<std::uint64_t> unfinished_;                ///< Stopped in the middle of a frame.
  std::map<std::string, std::size_t, std::less<>> speakers_;  ///< Speaking connections by address.
  std::uint64_t next_peer_ = 0;
  std::size_t unfinished_bytes_ = 0;
  std::deque<Held> held_;
  bool flush_posted_ = false;
  bool over_ = false;
  bool told_over_ = false;
  TimePoint alive_at_ = {};  ///< When the loop last worked.
  Duration stalled_ = {};    ///< Time the process did not run; the state machine does not see it.
  TimePoint stranger_logged_at_ = {};
  std::size_t strangers_ = 0;  ///< Since the last line about them.
  TimePoint refusals_since_ = {};
  std::size_t refusals_ = 0;         ///< Written since then.
  std::size_t hidden_refusals_ = 0;  ///< Not written.
  std::unique_ptr<Timer> tick_timer_;
  std::unique_ptr<Timer> held_timer_;
  std::unique_ptr<Timer> sweep_timer_;
};

}  // namespace drydock::launcher
