#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "launcher/command.h"
#include "launcher/msrun_options.h"
#include "sim/tracer/run_script.h"
#include "sim/tracer/trace_result.h"
#include "strategies/passes/compile_job.h"

namespace drydock::launcher {

/// What a run of the script left, and the settings that hold where it says nothing.
struct Recording {
  sim::TraceOutcome outcome = {};
  strategies::JobConfig base = {};
};

/// A job as it goes into the compiler.
struct LoadedJob {
  strategies::TracedJob traced = {};
  strategies::JobConfig settings = {};           ///< Of the rank that is described.
  std::vector<sim::ScriptRun> script_runs = {};  ///< Empty for a graph file.
  std::vector<std::string> rank_asks = {};  ///< Lines where the script's path depends on the rank.
  std::string subject = {};                 ///< Script or graph file as given.
  std::string compat_from =
      {};  ///< "--compat", "DRYDOCK_COMPAT", "installed mindspore 2.7.0", "default".
  bool settings_known = true;  ///< False: `settings` are the default, nothing was read.
  std::vector<strategies::Diagnostic> limits = {};  ///< What the dry run leaves out of the script.
  std::string layers = {};  ///< That recompute for a trial, else that could; see sim::TraceOutcome.
  std::optional<Recording> recording = {};  ///< Of a script, if it may be compiled once more.
};

/// Why there is no job.
struct LoadFailure {
  // NOLINTNEXTLINE(google-explicit-constructor): an error is a failure of which no more is known
  LoadFailure(Error why) : error(std::move(why)) {}
  Error error;
  std::optional<strategies::JobConfig> settings = {};  ///< What a script that failed had set.
};

/// Which file is to be run by which interpreter.
struct ScriptCall {
  std::string python = {};  ///< Empty: found in PATH.
  std::string script = {};
  std::vector<std::string> args = {};
  bool is_module = false;  ///< `python -m NAME`: the script is the name of a module.
};

/// Takes `python net.py --lr 1` and `python -u -m package.train` apart; any other first word is the
/// script itself.
/// Source: docs/launching.md
/// @error USAGE        an interpreter without a script
/// @error UNSUPPORTED  `python -c`, other flags of the interpreter
[[nodiscard]] Result<ScriptCall> ScriptCallOf(const MsrunOptions& options);

/// Reads a graph document (`*.json`) or runs the script under the tracer, and applies the flags
/// that override what it says.
/// @error NO_SCRIPT    missing, a folder or not readable
/// @error kInvalidArgument, kUnsupported  what is wrong with the network; has a place
[[nodiscard]] tl::expected<LoadedJob, LoadFailure> LoadJobOrSettings(const MsrunOptions& options,
                                                                     const Context& context);

/// LoadJob for those who do not ask what a script that failed had set.
[[nodiscard]] Result<LoadedJob> LoadJob(const MsrunOptions& options, const Context& context);

/// The job of a recording once more, with recompute() of its layers: the script does not run again.
[[nodiscard]] Result<LoadedJob> LoadRecomputed(const MsrunOptions& options, const Context& context,
                                               const Recording& recording);

}  // namespace drydock::launcher
