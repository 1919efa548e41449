#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/command.h"
#include "launcher/load_job.h"
#include "launcher/msrun_options.h"
#include "sim/tracer/trace_result.h"
#include "strategies/passes/program.h"

namespace drydock::launcher {

/// What the script computes on some of the ranks.
struct TracedDocument {
  std::string text = {};                   ///< drydock.graph/1
  std::int64_t rank = 0;                   ///< That the script played for it.
  std::vector<sim::RankRange> ranks = {};  ///< That compute it.
};

/// What running a script under the tracer gave.
struct TracedScript {
  std::vector<TracedDocument> documents = {};  ///< Distinct; at least one.
  std::vector<sim::ScriptRun> runs = {};
  std::vector<std::string> asks = {};  ///< "net.py:12": where the path depends on the rank.
  std::string installed_release = {};  ///< "2.7.0": mindspore in the interpreter; empty if none.
  std::vector<strategies::Diagnostic> limits = {};  ///< What the dry run leaves out of the script.
};

/// Runs the script under the tracer.
/// @error  what the script did wrong (has a place), or what it needs that is not handled
/// @param settings_of_failure  what the script had set if it fails (sim::SettingsOf)
[[nodiscard]] Result<TracedScript> TraceForJob(const MsrunOptions& options, const ScriptCall& call,
                                               const Context& context,
                                               std::string& settings_of_failure);

}  // namespace drydock::launcher
