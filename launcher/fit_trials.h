#pragma once

#include <vector>

#include "base/result.h"
#include "launcher/command.h"
#include "launcher/load_job.h"
#include "launcher/msrun_options.h"
#include "launcher/run_progress.h"
#include "reports/fit_trial.h"
#include "sim/fleet/dry_run.h"

namespace drydock::launcher {

/// Changes that might make a job fit that does not, each found out by a dry run of its own.
/// @param job     as the compiler got it
/// @param result  of the job as it is
/// @error a stop signal came
[[nodiscard]] Result<std::vector<reports::FitTrialReport>> TryToFit(const MsrunOptions& options,
                                                                    const Context& context,
                                                                    const LoadedJob& job,
                                                                    const sim::DryRunResult& result,
                                                                    RunProgress& progress);

}  // namespace drydock::launcher
