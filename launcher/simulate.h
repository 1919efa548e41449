#pragma once

#include "base/result.h"
#include "launcher/command.h"
#include "launcher/msrun_options.h"

namespace drydock::launcher {

/// Dry-runs a job: load, compile for all ranks, play the ranks, write the reports, print the
/// summary.
///
/// A rejected program is an error value like any other failure, but its summary is written and
/// printed too, so that programs that read `--json` or summary.json see why.
/// @return kOk, or kLimitExceeded with --fail_on_memory
/// @error  docs/robustness.md G5: kInvalidArgument (6), kUnsupported (8), NO_SCRIPT, LOG_DIR,
/// REPORT_WRITE (3)
[[nodiscard]] Result<ExitCode> Simulate(const MsrunOptions& options, const Context& context);

}  // namespace drydock::launcher
