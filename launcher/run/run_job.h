#pragma once

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

}  // namespace drydock::launcher
