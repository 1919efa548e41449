#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/command.h"
#include "launcher/load_job.h"
#include "launcher/msrun_options.h"
#include "sim/tracer/run_script.h"
#include "strategies/program/traced_plan.h"

namespace drydock::launcher {

/// What running a script under the tracer gave.
struct TracedScript {
  sim::TraceOutcome outcome = {};                   ///< With one class at least.
  std::vector<strategies::Diagnostic> limits = {};  ///< What the dry run leaves out of the script.
};

/// Runs the script under the tracer.
/// @error  what the script did wrong (has a place), or what it needs that is not handled
[[nodiscard]] tl::expected<TracedScript, sim::TraceFailure> TraceForJob(const MsrunOptions& options,
                                                                        const ScriptCall& call,
                                                                        const Context& context);

}  // namespace drydock::launcher
