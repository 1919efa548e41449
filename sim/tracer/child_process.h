#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"

namespace drydock::sim {

/// A program to run and wait for.
struct ChildCommand {
  std::string program = {};                   ///< Path of the executable.
  std::vector<std::string> arguments = {};    ///< Without the program's name.
  std::vector<std::string> environment = {};  ///< "NAME=value", all of it.
  bool quiet = false;          ///< Output is thrown away instead of going to our stderr.
  std::int64_t timeout_s = 0;  ///< 0: no limit.
  std::string hold_file = {};  ///< While a file of this name exists, the limit does not end it.
};

/// How a child ended.
struct ChildEnd {
  enum class Kind : std::uint8_t {
    kExited,     ///< By itself; `value` is its exit status.
    kSignalled,  ///< By signal `value`.
    kTimedOut,   ///< We ended it after the time limit.
    kStopped,    ///< We ended it because signal `value` came to us.
  };
  Kind kind = Kind::kExited;
  int value = 0;
};

/// Runs a program in its own process group, its standard input empty, its standard output joined to
/// our standard error.
///
/// SIGINT, SIGTERM and SIGHUP that reach us meanwhile end the child (a SIGHUP that was ignored
/// stays ignored); the actions of these signals are put back afterwards. Whatever the child leaves
/// behind is ended too: its group, and descendants that left the group. Not for two threads at a
/// time.
/// @error kIo  the program cannot be started
[[nodiscard]] Result<ChildEnd> RunChild(const ChildCommand& command);

/// Our children at this moment.
[[nodiscard]] std::set<pid_t> Children();

/// Ends (SIGKILL) every child of ours but `kept`, then what becomes our child by that, and so on:
/// all descendants, if we are their subreaper. Gives their number.
[[nodiscard]] int EndOrphans(const std::set<pid_t>& kept);

/// Path of an executable: `name` itself if it holds a slash, else looked up in the folders of
/// `path_variable` ("/usr/bin:/bin"); empty if there is none.
[[nodiscard]] std::string FindExecutable(const std::string& name, const std::string& path_variable);

}  // namespace drydock::sim
