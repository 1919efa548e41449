#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/environment.h"
#include "launcher/msrun_options.h"
#include "launcher/run/job_spec.h"

namespace drydock::launcher {

/// What every worker runs.
struct TaskCommand {
  std::string program = {};                 ///< Path of the executable.
  std::vector<std::string> arguments = {};  ///< argv, with argv[0].
  ScriptKind kind = ScriptKind::kUnknown;
};

/// Command of the task: `python`, `python3` and `pytest` as they are; a Python script by the
/// interpreter; an executable file (machine code, or one that names its interpreter), and the name
/// of a program in PATH, directly. Source: docs/launching.md
/// @error NO_SCRIPT       missing, a folder, not readable, a pipe
/// @error NO_INTERPRETER  neither python nor python3, or no pytest, in PATH
[[nodiscard]] Result<TaskCommand> TaskCommandOf(const MsrunOptions& options,
                                                const Environment& environment);

}  // namespace drydock::launcher
