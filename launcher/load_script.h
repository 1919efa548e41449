#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/command.h"
#include "launcher/load_job.h"
#include "launcher/msrun_options.h"
#include "strategies/passes/program.h"

namespace drydock::launcher {

/// What running a script under the tracer gave.
struct TracedScript {
  std::string document_text = {};      ///< drydock.graph/1
  std::string installed_release = {};  ///< "2.7.0": mindspore in the interpreter; empty if none.
  std::vector<strategies::Diagnostic> limits = {};  ///< What the dry run leaves out of the script.
};

/// Runs the script under the tracer.
/// @error  what the script did wrong (has a place), or what it needs that is not handled
[[nodiscard]] Result<TracedScript> TraceForJob(const MsrunOptions& options, const ScriptCall& call,
                                               const Context& context);

}  // namespace drydock::launcher
