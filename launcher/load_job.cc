#include "launcher/load_job.h"

#include <filesystem>

#include "launcher/files.h"
#include "launcher/load_script.h"
#include "sim/tracer/run_script.h"
#include "strategies/graph/json_reader.h"

namespace drydock::launcher {
namespace {

bool IsInterpreter(std::string_view word) {
  return word == "python" || word == "python3";
}

strategies::JobConfig BaseJob(const MsrunOptions& options) {
  strategies::JobConfig job;
  job.world_size = options.worker_num;
  job.compat = options.compat.value_or(job.compat);
  return job;
}

Result<LoadedJob> LoadDocument(const MsrunOptions& options, const std::string& path) {
  const auto text = ReadFile(path, strategies::JsonLimits().bytes);
  if (!text) {
    return FailCommand("NO_SCRIPT", text.error().message);
  }
  const std::optional<std::int64_t> world_size =
      options.worker_num_given ? std::optional(options.worker_num) : std::nullopt;
  DRYDOCK_TRY(strategies::GraphDocument document,
              strategies::ReadGraphDocument(*text, path, BaseJob(options), world_size));
  strategies::UseDocumentPlaces(document);
  return LoadedJob{.document = std::move(document), .subject = path, .compat_from = "default"};
}

/// Whether the script is there, a file, and readable. A pipe could be read once only, but the
/// script may be run several times, for ranks that behave differently.
Status CheckScript(const std::string& path) {
  std::error_code failure;
  const auto kind = std::filesystem::status(path, failure).type();
  if (!failure && kind != std::filesystem::file_type::regular &&
      kind != std::filesystem::file_type::directory &&
      kind != std::filesystem::file_type::not_found) {
    return FailCommand("NO_SCRIPT", "script '" + path + "': is no file and cannot be read twice",
                       "save the script to a file");
  }
  if (sim::MayBeModule(path)) {
    return {};
  }
  const auto text = ReadFile(path, strategies::JsonLimits().bytes);
  return text ? Status() : FailCommand("NO_SCRIPT", text.error().message);
}

Result<LoadedJob> LoadFromScript(const MsrunOptions& options, const ScriptCall& call,
                                 const Context& context,
                                 std::optional<strategies::JobConfig>& settings_of_failure) {
  DRYDOCK_RETURN_IF_ERROR(CheckScript(call.script));
  std::string settings;
  Result<TracedScript> outcome = TraceForJob(options, call, context, settings);
  if (!outcome) {
    if (auto job = strategies::ReadJobText(settings, "settings", BaseJob(options)); job) {
      settings_of_failure = *std::move(job);
    }
    return tl::unexpected(std::move(outcome).error());
  }
  TracedScript& traced = *outcome;
  LoadedJob job{.script_runs = std::move(traced.runs),
                .rank_asks = std::move(traced.asks),
                .subject = call.script,
                .compat_from = "default",
                .limits = std::move(traced.limits)};
  const auto release = strategies::ParseCompat(traced.installed_release);
  if (release) {
    job.compat_from = "installed mindspore " + traced.installed_release;
  }
  for (std::size_t i = 0; i < traced.documents.size(); ++i) {
    TracedDocument& part = traced.documents[i];
    context.log.Debug("traced " + call.script + " as rank " + std::to_string(part.rank) + ", " +
                      std::to_string(part.text.size()) + " bytes");
    DRYDOCK_TRY(
        strategies::GraphDocument document,
        strategies::ReadGraphDocument(part.text, "graph of " + call.script, BaseJob(options)));
    document.job.compat = release.value_or(document.job.compat);
    if (i == 0) {
      job.document = std::move(document);
    } else {
      job.others.push_back(
          {.document = std::move(document), .rank = part.rank, .ranks = std::move(part.ranks)});
    }
  }
  return job;
}

/// What the command line says overrides the script.
void ApplyFlags(const MsrunOptions& options, strategies::JobConfig& job) {
  job.compat = options.compat.value_or(job.compat);
  job.redistribution = options.redistribution.value_or(job.redistribution);
  if (!options.device_memory.empty()) {
    job.max_device_memory = options.device_memory;
  }
}

}  // namespace

Result<ScriptCall> ScriptCallOf(const MsrunOptions& options) {
  ScriptCall call{.python = options.python, .script = options.script, .args = options.script_args};
  if (!IsInterpreter(options.script)) {
    return call;
  }
  if (call.args.empty()) {
    return FailCommand("USAGE", "'" + options.script + "' is given no script",
                       "msrun --sim_level=1 " + options.script + " net.py");
  }
  if (call.args.front().starts_with('-')) {
    return FailCommand(
        "UNSUPPORTED",
        "'" + options.script + " " + call.args.front() + "' is not handled in a dry run",
        "give the script's file");
  }
  call.python = options.python.empty() ? options.script : options.python;
  call.script = call.args.front();
  call.args.erase(call.args.begin());
  return call;
}

Result<LoadedJob> LoadJob(const MsrunOptions& options, const Context& context,
                          std::optional<strategies::JobConfig>& settings_of_failure) {
  DRYDOCK_TRY(const ScriptCall call, ScriptCallOf(options));
  DRYDOCK_TRY(LoadedJob job, options.script.ends_with(".json")
                                 ? LoadDocument(options, options.script)
                                 : LoadFromScript(options, call, context, settings_of_failure));
  if (options.compat) {
    job.compat_from = options.compat_from;
  }
  ApplyFlags(options, job.document.job);
  for (RankDocument& other : job.others) {
    ApplyFlags(options, other.document.job);
  }
  return job;
}

}  // namespace drydock::launcher
