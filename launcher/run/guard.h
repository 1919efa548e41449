#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "launcher/command.h"

namespace drydock::launcher {

/// What is left behind if the job's process dies without a word.
struct GuardNote {
  std::string path = {};  ///< File to write; empty: none.
  std::string text = {};
};

/// Goes on in a child process, and gives the number of the one above it. That one, the process that
/// people see and signal, hands signals on, waits, and ends as its child does. Each of the two
/// notices that the other was killed, and as an ancestor finds every process of the job, in
/// whatever session and with whatever environment: it ends them all. Source: docs/robustness.md
///
/// @error NPROC
[[nodiscard]] Result<pid_t> EnterGuarded(const Context& context, const GuardNote& note);

}  // namespace drydock::launcher
