#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/command.h"
#include "reports/plan_report.h"
#include "sim/fleet/dry_run.h"

namespace drydock::launcher {

/// Dry-runs a script for all ranks, without writing anything.
/// @param words     as msrun takes them: flags, script, its arguments
/// @param hardware  of level 3; null: what the flags say
/// @error  as Simulate
[[nodiscard]] Result<sim::DryRunResult> RunInFull(const std::vector<std::string>& words,
                                                  const sim::HardwareProfile* hardware,
                                                  const Context& context);

/// The script that trains a planned model, compiled for all ranks of a plan.
/// @return  what was found, or in `problem` why nothing was
[[nodiscard]] reports::FullRun RunPlan(const sim::TrainingJob& job, const sim::Plan& plan,
                                       const sim::HardwareProfile& hardware,
                                       std::int64_t limit_bytes, const Context& context);

/// The command line that does the same by hand: "msrun --sim_level=1 ...".
[[nodiscard]] std::string CommandLineOf(const sim::TrainingJob& job, const sim::Plan& plan);

}  // namespace drydock::launcher
