#include "launcher/load_script.h"

#include <filesystem>

#include "launcher/install_paths.h"
#include "sim/tracer/run_script.h"

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

}  // namespace

Result<TracedScript> TraceForJob(const MsrunOptions& options, const ScriptCall& call,
                                 const Context& context) {
  DRYDOCK_TRY(const InstallPaths paths, OwnFiles());
  const bool single_rank = options.sim_rank_id >= 0;
  DRYDOCK_TRY(
      sim::TraceOutcome outcome,
      sim::TraceScript({.script = call.script,
                        .arguments = call.args,
                        .python = call.python,
                        .world_size = options.worker_num,
                        .rank = single_rank ? options.sim_rank_id : 0,
                        .single_rank = single_rank,
                        .simulation_level = options.sim_level,
                        .timeout_s = options.trace_timeout_s,
                        .compat = options.compat ? strategies::CompatText(*options.compat) : "",
                        .environment = Assignments(context.environment),
                        .trace_library = paths.trace_library,
                        .python_folder = paths.python_folder}));
  TracedScript traced{.installed_release = std::move(outcome.installed_release)};
  for (const std::string& warning : outcome.warnings) {
    context.log.Warning(warning);
    if (warning.starts_with(kLimitPrefix)) {
      traced.limits.push_back(NotModelled(warning.substr(kLimitPrefix.size())));
    }
  }
  if (outcome.programs.empty()) {
    return FailCommand("NOTHING_TRACED", "'" + call.script + "' computed nothing");
  }
  if (outcome.programs.size() > 1) {
    const std::string text =
        "'" + call.script + "' computes " + std::to_string(outcome.programs.size()) +
        " programs; only the first " +
        (outcome.programs.front().training ? "training step" : "one") + " is checked";
    context.log.Warning(text);
    traced.limits.push_back(NotModelled(text));
  }
  traced.document_text = std::move(outcome.programs.front().document);
  return traced;
}

}  // namespace drydock::launcher
