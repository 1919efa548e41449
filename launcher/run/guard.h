#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.h"

namespace drydock::launcher {

/// A small process that ends the job if we die without a word (SIGKILL, crash): it holds one end of
/// a pipe to us and, at its end, kills every process that carries the job's mark, then leaves a
/// note. Source: docs/robustness.md R-57
class Guard {
 public:
  /// @param mark       "NAME=value" in the environment of all processes of the job
  /// @param note_path  file to write then; empty: none
  /// @param note       its text
  /// @error NPROC
  [[nodiscard]] static Result<Guard> Start(const std::string& mark, const std::string& note_path,
                                           const std::string& note);
  /// Dismisses the guard and waits for its end.
  ~Guard();
  /// Tells the guard that the job is over: it ends by itself meanwhile.
  void Dismiss();
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&&) = delete;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  /// Process id of the guard, so that its end is not taken for a rank's.
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Guard(pid_t pid, int pipe_end) : pid_(pid), pipe_end_(pipe_end) {}
  pid_t pid_ = 0;
  int pipe_end_ = -1;
};

}  // namespace drydock::launcher
