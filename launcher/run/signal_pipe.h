#pragma once

#include <array>
#include <csignal>
#include <vector>

namespace drydock::launcher {

/// While this lives, the signals that a running job minds come as bytes from a descriptor: SIGINT,
/// SIGTERM, SIGHUP (unless it was ignored: nohup), SIGQUIT, SIGTSTP, SIGCONT, SIGCHLD. Actions from
/// before are put back at the end. One object at a time. Source: docs/robustness.md
class SignalPipe {
 public:
  SignalPipe();
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  /// Readable when a signal came.
  [[nodiscard]] int fd() const { return ends_[0]; }
  /// The signals that came since the last call, in order.
  [[nodiscard]] std::vector<int> Take() const;

 private:
  static constexpr std::array<int, 7> kSignals = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                                  SIGTSTP, SIGCONT, SIGCHLD};
  std::array<int, 2> ends_ = {-1, -1};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

}  // namespace drydock::launcher
