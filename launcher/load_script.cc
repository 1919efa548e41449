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
      return FailCommand(FailureCode::kNoTracer,
                         path + " is missing, without which no script can be traced",
                         "install drydock again, or give a graph document (*.json)");
    }
  }
  return paths;
}

strategies::Diagnostic NotModelled(std::string text) {
  return {
      .code = "not-modelled", .text = std::move(text), .kind = strategies::DiagnosticKind::kLimit};
}

/// In front of a warning on the terminal.
std::string_view LabelOf(sim::TraceWarning::Kind kind) {
  switch (kind) {
    case sim::TraceWarning::Kind::kLimit:
      return "unsupported: ";
    case sim::TraceWarning::Kind::kNoInit:
      return "no-init: ";
    case sim::TraceWarning::Kind::kFailure:
    case sim::TraceWarning::Kind::kNote:
      break;
  }
  return "";
}

strategies::Diagnostic DiagnosticOf(const sim::TraceWarning& warning) {
  switch (warning.kind) {
    case sim::TraceWarning::Kind::kFailure:
      return {.code = "script-failed",
              .text = warning.text,
              .kind = strategies::DiagnosticKind::kFailure};
    case sim::TraceWarning::Kind::kNoInit:
      return {.code = "no-init", .text = warning.text};
    case sim::TraceWarning::Kind::kLimit:
    case sim::TraceWarning::Kind::kNote:
      break;
  }
  return NotModelled(warning.text);
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

tl::expected<TracedScript, sim::TraceFailure> TraceForJob(const MsrunOptions& options,
                                                          const ScriptCall& call,
                                                          const Context& context) {
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
                        .python_folder = paths.python_folder}));
  if (traced.outcome.classes.empty()) {
    return FailCommand(FailureCode::kNothingTraced, "'" + call.script + "' computed nothing");
  }
  if (options.trial) {
    return traced;  // Its warnings are said already.
  }
  for (const sim::TraceWarning& warning : traced.outcome.warnings) {
    context.log.Warning(std::string(LabelOf(warning.kind)) + warning.text);
    if (warning.kind != sim::TraceWarning::Kind::kNote) {
      traced.limits.push_back(DiagnosticOf(warning));
    }
  }
  if (const std::string text = LeftOutText(call.script, traced.outcome); !text.empty()) {
    context.log.Warning(text);
    traced.limits.push_back(NotModelled(text));
  }
  return traced;
}

}  // namespace drydock::launcher
