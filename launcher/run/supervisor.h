#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "launcher/command.h"
#include "launcher/msrun_options.h"
#include "launcher/run/cluster.h"
#include "launcher/run/job_watch.h"
#include "launcher/run/log_tail.h"
#include "launcher/run/signal_pipe.h"

namespace drydock::launcher {

/// Instant of the monotonic clock.
[[nodiscard]] TimePoint MonotonicNow();

/// The new process of a rank, and where its output goes.
struct RestartedRank {
  pid_t pid = 0;
  std::string log_path = {};
};

/// Starts the rank of an index once more; the number tells how often that happened, 1 for the first
/// time. @error LOG_DIR, NPROC, NO_INTERPRETER
using RestartRank = std::function<Result<RestartedRank>(std::size_t, std::int64_t)>;

/// Watches the processes of a job until all have ended: collects their ends, obeys JobWatch,
/// follows their logs, tells who is missing. Sleeps in poll whenever nothing happens. Source:
/// docs/robustness.md G1, G8, G13
class Supervisor {
 public:
  /// All arguments must outlive the object.
  Supervisor(const MsrunOptions& options, const Context& context, SignalPipe& signals,
             Cluster& cluster, JobWatch& watch);

  /// Shows logs; more than once where there is more than one console.
  void Follow(std::unique_ptr<LogTail> tail);
  /// Shows one more log where the first ones are shown.
  void FollowToo(const std::string& path, std::string tag);
  /// How a rank that failed is started again.
  void RestartBy(RestartRank start) { restart_ = std::move(start); }
  /// A process of `index` was started.
  void Started(std::size_t index, std::int64_t pid);
  /// Until no rank runs.
  void WatchRanks();
  /// Until the launchers of all nodes agree, or the job is over. @error why it is over
  [[nodiscard]] Status WaitForAgreement();
  /// Until the cluster is done with, after our ranks are; and the last lines are on the console.
  void WindUp();
  /// Ends what our ranks left behind, in whatever session; gives how many processes. After a job
  /// that ended well they have the grace to end by themselves: an upload may be under way.
  [[nodiscard]] int EndLeftovers();

 private:
  /// Waits for events until `until` and takes them in.
  void Step(TimePoint until);
  void TakeSignals();
  void TakeNews();
  void Reap();
  void Obey(JobWatch::Order order);
  void SignalRanks(int number);
  void ShowForming();
  void TellOthers();
  void FlushConsole();
  void WaitForHelpers();
  void FollowLogs();
  void RestartRanks();
  [[nodiscard]] static TimePoint NextLook(const LogTail& tail, bool is_early);

  const MsrunOptions& options_;
  const Context& context_;
  SignalPipe& signals_;
  Cluster& cluster_;
  JobWatch& watch_;
  std::vector<std::unique_ptr<LogTail>> tails_ = {};
  TimePoint watch_logs_at_ = kNever;
  RestartRank restart_ = {};
  std::map<std::int64_t, std::size_t> index_of_pid_ = {};
  TimePoint start_ = {};
  TimePoint show_at_ = kNever;
  std::optional<FormingState> shown_ = {};
  bool line_open_ = false;  ///< The progress line stands on the terminal.
  bool gave_up_ = false;
  bool told_ = false;
  int stop_signals_ = 0;
};

}  // namespace drydock::launcher
