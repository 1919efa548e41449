#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"

namespace drydock::launcher {

/// A process to start.
struct SpawnRequest {
  std::string program = {};                   ///< Path of the executable.
  std::vector<std::string> arguments = {};    ///< argv, with argv[0].
  std::vector<std::string> environment = {};  ///< "NAME=value".
  int input = -1;                             ///< Becomes fd 0; -1: ours is inherited.
  int output = -1;                            ///< Becomes fd 1 and 2; -1: ours are inherited.
  int error = -1;                             ///< Becomes fd 2; -1: as `output`.
  std::vector<int> cpus = {};                 ///< Processors it may use; empty: ours.
  bool dies_with_us = true;  ///< SIGKILL when the thread that started it ends, however it ends.
  long file_limit = -1;      ///< Soft limit of open files; -1: ours.
};

/// Starts a process in a session of its own, so that it can read our terminal without being stopped
/// by it and is ended with its whole group. It gets default signal actions, no blocked signals and
/// no descriptors but 0 to 2. Source: docs/robustness.md
///
/// The caller's thread waits until the program is loaded, so a failure is known at once, and memory
/// is not copied: the time does not depend on our size.
/// @error kIo  the program cannot be started; NPROC, if there are too many processes
[[nodiscard]] Result<pid_t> Spawn(const SpawnRequest& request);

}  // namespace drydock::launcher
