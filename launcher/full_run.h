#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "launcher/command.h"
#include "reports/plan_report.h"
#include "sim/fleet/dry_run.h"
#include "strategies/passes/compile_job.h"

namespace drydock::launcher {

/// Dry-runs a script for all ranks, without writing anything.
/// @param words     as msrun takes them: flags, script, its arguments
/// @param hardware  of level 3; null: what the flags say
/// @error  as Simulate
[[nodiscard]] Result<sim::DryRunResult> RunInFull(const std::vector<std::string>& words,
                                                  const sim::HardwareProfile* hardware,
                                                  const Context& context);

/// What the script that trains a planned model recorded of one plan.
struct RecordedPlan {
  sim::Plan plan = {};
  strategies::TracedJob traced = {};
  std::int64_t micro_batches = 0;  ///< Recorded; fewer than the plan has where those tell the rest.
  std::string problem = {};        ///< Why nothing was recorded; empty if something was.
};

/// Runs the script. One at a time in a process: it waits for a child and for stop signals.
[[nodiscard]] RecordedPlan RecordPlan(const sim::TrainingJob& job, const sim::Plan& plan,
                                      std::int64_t limit_bytes, const Context& context);

/// Compiles what was recorded for all ranks of the plan, in any thread.
/// @return  what was found, or in `problem` why nothing was
[[nodiscard]] reports::FullRun CompilePlan(const sim::TrainingJob& job, RecordedPlan recorded,
                                           const sim::HardwareProfile& hardware,
                                           std::int64_t limit_bytes, const Executor& executor);

/// The command line that does the same by hand: "msrun --sim_level=1 ...".
[[nodiscard]] std::string CommandLineOf(const sim::TrainingJob& job, const sim::Plan& plan);

}  // namespace drydock::launcher
