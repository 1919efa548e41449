#pragma once

#include <functional>
#include <memory>
#include <mutex>

namespace drydock::launcher {

/// Ends the process on SIGINT, SIGTERM or SIGHUP with status 128 + n, but never in the middle of a
/// section that asked for a delay. A second signal ends it at once. SIGHUP that was ignored when
/// the process started stays ignored; SIGPIPE and SIGXFSZ are ignored. See docs/robustness.md G5,
///
///
/// One object per process, made in main. Child processes that are started meanwhile must reset
/// their signal actions themselves.
class StopGuard {
 public:
  StopGuard();
  ~StopGuard();
  StopGuard(const StopGuard&) = delete;
  StopGuard& operator=(const StopGuard&) = delete;

  /// While the lock is held a first signal waits: for work that must be complete or absent.
  [[nodiscard]] std::unique_lock<std::mutex> Delay();
  /// Ends the thread that listens, so that the process may fork; signals wait until Resume.
  void Pause();
  /// Listens again, in the process that calls it, with a pipe of its own.
  void Resume();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace drydock::launcher
