#pragma once

#include <array>
#include <csignal>
#include <vector>

#include <sys/types.h>

namespace drydock::launcher {

/// Comes when the process above us is gone.
inline constexpr int kGuardEnded = SIGUSR1;

/// While this lives, the signals that a running job minds come as bytes from a descriptor: SIGINT,
/// SIGTERM, SIGHUP (unless it was ignored: nohup), SIGQUIT, SIGTSTP, SIGCONT, SIGCHLD, and SIGKILL
/// for the end of the guard above us. Actions from before are put back at the end. One object at a
/// time. Source: docs/robustness.md
///
/// A signal that somebody sends to all our processes comes twice, from him and from the guard that
/// hands on what it gets: it counts once.
class SignalPipe {
 public:
  /// @param guard  the process above us that watches us; 0: there is none
  explicit SignalPipe(pid_t guard = 0);
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  /// Readable when a signal came.
  [[nodiscard]] int fd() const { return ends_[0]; }
  /// The signals that came since the last call, in order.
  [[nodiscard]] std::vector<int> Take();

 private:
  static constexpr std::array<int, 8> kSignals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                                  SIGTSTP, SIGCONT, SIGCHLD, kGuardEnded};
  struct Count {
    int direct = 0;
    int handed_on = 0;
  };
  [[nodiscard]] bool IsNew(int number, bool is_handed_on);

  pid_t guard_ = 0;
  std::array<Count, NSIG> counts_ = {};
  std::array<int, 2> ends_ = {-1, -1};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

}  // namespace drydock::launcher
