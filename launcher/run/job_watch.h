#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace drydock::launcher {

/// How a process ended.
struct ProcessEnd {
  bool signalled = false;
  int value = 0;  ///< Exit status, or number of the signal.
  friend bool operator==(const ProcessEnd&, const ProcessEnd&) = default;
};

/// What became of a rank. Source: docs/robustness.md G3
enum class RankEnd : std::uint8_t {
  kNeverStarted,
  kRunning,
  kRestarting,  ///< Failed, and is about to be started again.
  kOk,
  kFailed,           ///< Exit status other than 0.
  kSignalled,        ///< By a signal that we did not send.
  kEndedByUs,        ///< After we began to end the job.
  kNeverRegistered,  ///< Ended with 0 although the job was waiting for it.
};

/// One local rank while it runs and after.
struct RankRecord {
  std::string name = {};  ///< "rank 3", or "worker 3 of this node" while it has no rank.
  std::string log_path = {};
  bool serves = false;          ///< Ends with the others: its own end is no end of work.
  std::string cluster_id = {};  ///< Id it registers with; empty if not known.
  std::int64_t pid = 0;
  RankEnd end = RankEnd::kNeverStarted;
  ProcessEnd how = {};
  bool registered = false;
  std::int64_t restarts = 0;      ///< How often it was started again.
  TimePoint restart_at = kNever;  ///< With kRestarting: when.
};

/// What a job's supervision is told.
struct WatchRules {
  Duration grace = std::chrono::seconds(10);  ///< From SIGTERM to SIGKILL.
  bool sees_registrations = false;            ///< The scheduler is ours.
  bool may_not_register = false;  ///< Ranks that never register are no failure if none does.
  std::int64_t max_restarts = 0;  ///< Of each rank.
  /// A rank's exit status other than 0 ends the others, too; if not, it counts when all have ended.
  bool ends_with_first_failure = true;
  bool bears_signals = false;  ///< The same holds for a rank that a signal ended.
  std::string host_name = {};
};

/// A rank that ended well is spoken of when others still run after this time. Source:
/// docs/robustness.md R-25
inline constexpr Duration kEarlyEndNotice = std::chrono::seconds(60);
/// Pause before a rank is started again for the first time; doubled each further time. Source:
/// docs/robustness.md R-24
inline constexpr Duration kRestartPause = std::chrono::seconds(1);

/// A rank that a signal to stop ended this long before we got one was stopped by the same hand.
inline constexpr Duration kSameMoment = std::chrono::milliseconds(200);

/// How long a killed process may take to vanish. Source: docs/robustness.md R-59
inline constexpr Duration kKillTime = std::chrono::seconds(5);

/// Supervision of the local ranks of a job as a state machine: ends of processes, signals, news of
/// the cluster and time come in, orders come out. No processes, no clock.
///
/// The first cause of a failure is kept; what happens after we began to end the job is its
/// consequence. Source: docs/robustness.md G3, G8, R-19, R-25, R-26, R-59
class JobWatch {
 public:
  /// What the shell must do now.
  enum class Order : std::uint8_t {
    kNone,
    kTerminate,  ///< SIGTERM to the group of every running rank.
    kKill,       ///< SIGKILL to them.
    kGiveUp,     ///< They cannot be killed: leave without them.
  };

  JobWatch(WatchRules rules, std::vector<RankRecord> ranks);

  /// The process of a rank runs.
  void OnStarted(std::size_t index, std::int64_t pid);
  /// A rank of this or another node registered with the scheduler.
  void OnRegistered(const std::string& cluster_id, TimePoint now);
  /// All ranks of the job have registered.
  void OnFormed() { formed_ = true; }
  void OnEnded(std::size_t index, ProcessEnd end, TimePoint now);
  /// SIGINT, SIGTERM or SIGHUP; one that comes while the job is being ended skips the grace. It is
  /// the cause where a rank got it a moment earlier.
  void OnStopSignal(int number, TimePoint now);
  /// The process that people know as the launcher was killed: no grace.
  void OnLauncherKilled(TimePoint now);
  /// Something outside our ranks ends the job.
  void OnCause(Error cause, TimePoint now);
  /// The launchers were told different jobs: whatever failed before did so for that.
  void OnContradiction(Error cause, TimePoint now);
  /// What is due at `now`; each order is given once.
  [[nodiscard]] Order NextOrder(TimePoint now);
  /// A rank that is to be started again at `now`; OnRestarted must follow.
  [[nodiscard]] std::optional<std::size_t> NextRestart(TimePoint now) const;
  /// A new process of a rank runs. @param log_path  where its output goes
  void OnRestarted(std::size_t index, std::int64_t pid, std::string log_path);
  /// What people should know and is no failure, once.
  [[nodiscard]] std::vector<std::string> TakeNotices(TimePoint now);
  /// When NextOrder, NextRestart or TakeNotices may have something new, kNever if only events
  /// matter.
  [[nodiscard]] TimePoint NextDeadline() const;

  /// No rank runs or is to be started again.
  [[nodiscard]] bool all_ended() const;
  /// A rank ended by a signal that we may yet get ourselves (kSameMoment).
  [[nodiscard]] bool in_doubt(TimePoint now) const { return now < doubt_until_; }
  /// The job is being ended.
  [[nodiscard]] bool stopping() const { return cause_.has_value(); }
  /// All ranks have registered.
  [[nodiscard]] bool formed() const { return formed_; }
  /// Some rank has registered.
  [[nodiscard]] bool any_registered() const { return any_registered_; }
  /// Why the job is a failure; nothing if it is none so far.
  [[nodiscard]] const std::optional<Error>& cause() const { return cause_; }
  /// The launcher was killed.
  [[nodiscard]] bool launcher_died() const { return launcher_died_; }
  /// The local rank that is the cause.
  [[nodiscard]] const std::optional<std::size_t>& first_failed() const { return first_failed_; }
  /// All local ranks.
  [[nodiscard]] const std::vector<RankRecord>& ranks() const { return ranks_; }

 private:
  void Begin(Error cause, TimePoint now);
  void BlameRank(std::size_t index, TimePoint now);
  void CheckRegistrations(TimePoint now);
  void EndServices(TimePoint now);
  [[nodiscard]] bool MayRestart(const RankRecord& rank) const;
  void PlanRestart(std::size_t index, TimePoint now);
  [[nodiscard]] std::string Who(std::size_t index) const;

  WatchRules rules_;
  std::vector<RankRecord> ranks_;
  std::optional<Error> cause_ = {};
  std::optional<Error> late_cause_ = {};  ///< Becomes the cause when all have ended.
  std::optional<std::size_t> first_failed_ = {};
  bool launcher_died_ = false;
  bool services_end_ = false;  ///< Only those are left that serve, and they were told to end.
  bool formed_ = false;
  bool any_registered_ = false;
  Order due_ = Order::kNone;  ///< The next order, at `due_at_`.
  TimePoint due_at_ = kNever;
  TimePoint doubt_until_ = TimePoint::min();
  std::vector<std::string> notices_ = {};
  std::optional<std::size_t> first_ok_ = {};  ///< The rank that ended well first.
  TimePoint early_end_at_ = kNever;           ///< When it is spoken of.
};

/// "exit status 3", "signal KILL (9)".
[[nodiscard]] std::string EndText(const ProcessEnd& end);

}  // namespace drydock::launcher
