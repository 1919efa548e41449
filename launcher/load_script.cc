#include "launcher/load_script.h"

#include <algorithm>
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

/// Says what is not checked of a script that computes several programs.
/// @error NOTHING_TRACED  there is none
Status CheckPrograms(const std::string& script, const sim::TraceOutcome& outcome,
                     const Context& context, TracedScript& traced) {
  const auto longest = std::ranges::max_element(
      outcome.networks, {},
      [](const sim::TracedNetwork& network) { return network.programs.size(); });
  if (longest == outcome.networks.end() || longest->programs.empty()) {
    return FailCommand("NOTHING_TRACED", "'" + script + "' computed nothing");
  }
  if (longest->programs.size() > 1) {
    const std::string text =
        "'" + script + "' computes " + std::to_string(longest->programs.size()) +
        " programs; only the first " +
        (longest->programs.front().training ? "training step" : "one") + " is checked";
    context.log.Warning(text);
    traced.limits.push_back(NotModelled(text));
  }
  return {};
}

}  // namespace

Result<TracedScript> TraceForJob(const MsrunOptions& options, const ScriptCall& call,
                                 const Context& context, std::string& settings_of_failure) {
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
                        .python_folder = paths.python_folder},
                       &settings_of_failure));
  TracedScript traced{.installed_release = std::move(outcome.installed_release)};
  for (const std::string& warning : outcome.warnings) {
    context.log.Warning(warning);
    if (warning.starts_with(kLimitPrefix)) {
      traced.limits.push_back(NotModelled(warning.substr(kLimitPrefix.size())));
    }
  }
  DRYDOCK_RETURN_IF_ERROR(CheckPrograms(call.script, outcome, context, traced));
  for (sim::TracedNetwork& network : outcome.networks) {
    traced.documents.push_back({.text = std::move(network.programs.front().document),
                                .rank = network.rank,
                                .ranks = std::move(network.ranks)});
  }
  traced.runs = std::move(outcome.runs);
  traced.asks = std::move(outcome.asks);
  return traced;
}

}  // namespace drydock::launcher
