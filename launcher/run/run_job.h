#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "launcher/command.h"
#include "launcher/msrun_options.h"

namespace drydock::launcher {

/// Starts a real job: checks everything, starts the scheduler where it belongs here, starts the
/// local ranks and, with --join=True, watches them to their end. Nothing of the job is left running
/// when it fails or is joined. Source: docs/launching.md, docs/robustness.md G
/// @return kOk  all local ranks ended well, or (--join=False) all have started
/// @error  docs/errors.md
[[nodiscard]] Result<ExitCode> RunJob(const MsrunOptions& options, const Context& context);

/// The same in a process that is watched over already (EnterGuarded).
/// @param guard  the process above; 0: none
[[nodiscard]] Result<ExitCode> RunGuardedJob(const MsrunOptions& options, const Context& context,
                                             pid_t guard);

}  // namespace drydock::launcher
