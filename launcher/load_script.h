#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/command.h"
#include "launcher/load_job.h"
#include "launcher/msrun_options.h"
#include "sim/tracer/run_script.h"
#include "strategies/program/traced_plan.h"

namespace drydock::launcher {

/// Code of the diagnostic of a script that failed after its network was recorded.
inline constexpr std::string_view kScriptFailed = "script-failed";

/// What running a script under the tracer gave.
struct TracedScript {
  sim::TraceOutcome outcome = {};                   ///< With one class at least.
  std::vector<strategies::Diagnostic> limits = {};  ///< What the dry run leaves out of the script.
};

/// Runs the script under the tracer.
/// @error  what the script did wrong (has a place), or what it needs that is not handled
/// @param settings_of_failure  what the script had set if it fails (sim::SettingsOf)
[[nodiscard]] Result<TracedScript> TraceForJob(const MsrunOptions& options, const ScriptCall& call,
                                               const Context& context,
                                               std::string& settings_of_failure);

}  // namespace drydock::launcher
