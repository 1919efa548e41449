#include "launcher/load_script.h"

#include <algorithm>
#include <filesystem>

#include "launcher/install_paths.h"

namespace drydock::launcher {
namespace {

Result<InstallPaths> OwnFiles() {
  DRYDOCK_TRY(const std::string program, ProgramPath());
  InstallPaths paths = PathsFor(program);
  for (const std::string& path : {paths.trace_library, paths.python_folder}) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      return FailCommand("NO_TRACER", path + " is missing, without which no script can be traced",
                         "install drydock again, or give a graph document (*.json)");
    }
  }
  return paths;
}

/// Begins the tracer's warnings about what it leaves out.
constexpr std::string_view kLimitPrefix = "unsupported: ";

/// Begins the tracer's report of a script that failed after its network.
constexpr std::string_view kFailedPrefix = "failed: ";

/// Begins the tracer's report of a parallel mode without init().
constexpr std::string_view kNoInitPrefix = "no-init: ";

strategies::Diagnostic NotModelled(std::string text) {
  return {.code = "not-modelled", .text = std::move(text), .unsupported = true};
}

std::vector<std::string> Assignments(const Environment& environment) {
  std::vector<std::string> assignments;
  for (const auto& [name, value] : environment) {
    assignments.emplace_back(name).append("=").append(value);
  }
  return assignments;
}

/// Says what is not checked of a script that computes several programs; empty if it is all.
std::string LeftOutText(const std::string& script, const sim::TraceOutcome& outcome) {
  std::size_t longest = 0;
  for (const sim::TracedRanks& ranks : outcome.classes) {
    longest = std::max(longest, ranks.programs.size());
  }
  if (longest <= 1) {
    return {};
  }
  const bool training = outcome.programs[outcome.classes.front().described].training;
  return "'" + script + "' computes " + std::to_string(longest) + " programs; only the first " +
         (training ? "training step" : "one") + " is checked" +
         (outcome.classes.size() > 1 ? ", of the others only that the ranks agree" : "");
}

}  // namespace

Result<TracedScript> TraceForJob(const MsrunOptions& options, const ScriptCall& call,
                                 const Context& context, std::string& settings_of_failure) {
  DRYDOCK_TRY(const InstallPaths paths, OwnFiles());
  const bool single_rank = options.sim_rank_id >= 0;
  TracedScript traced;
  DRYDOCK_TRY(
      traced.outcome,
      sim::TraceScript({.script = call.script,
                        .is_module = call.is_module,
                        .arguments = call.args,
                        .python = call.python,
                        .world_size = options.worker_num,
                        .rank = single_rank ? options.sim_rank_id : 0,
                        .single_rank = single_rank,
                        .simulation_level = options.sim_level,
                        .timeout_s = options.trace_timeout_s,
                        .compat = options.compat ? strategies::CompatText(*options.compat) : "",
                        .environment = Assignments(context.environment),
                        .quiet = options.trial,
                        .shard_optimizer = options.shard_optimizer,
                        .recompute_layers = options.recompute_layers,
                        .progress_file = options.progress_file,
                        .trace_library = paths.trace_library,
                        .python_folder = paths.python_folder},
                       &settings_of_failure));
  if (traced.outcome.classes.empty()) {
    return FailCommand("NOTHING_TRACED", "'" + call.script + "' computed nothing");
  }
  if (options.trial) {
    return traced;  // Its warnings are said already.
  }
  for (const std::string& warning : traced.outcome.warnings) {
    if (warning.starts_with(kFailedPrefix)) {
      traced.limits.push_back(
          {.code = std::string(kScriptFailed), .text = warning.substr(kFailedPrefix.size())});
      context.log.Warning(traced.limits.back().text);
      continue;
    }
    if (warning.starts_with(kNoInitPrefix)) {
      traced.limits.push_back({.code = "no-init", .text = warning.substr(kNoInitPrefix.size())});
    }
    context.log.Warning(warning);
    if (warning.starts_with(kLimitPrefix)) {
      traced.limits.push_back(NotModelled(warning.substr(kLimitPrefix.size())));
    }
  }
  if (const std::string text = LeftOutText(call.script, traced.outcome); !text.empty()) {
    context.log.Warning(text);
    traced.limits.push_back(NotModelled(text));
  }
  return traced;
}

}  // namespace drydock::launcher
