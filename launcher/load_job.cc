#include "launcher/load_job.h"

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

/// Reading the first byte tells whether the script is there, a file, and readable.
Status CheckScript(const std::string& path) {
  if (sim::MayBeModule(path)) {
    return {};
  }
  const auto text = ReadFile(path, strategies::JsonLimits().bytes);
  return text ? Status() : FailCommand("NO_SCRIPT", text.error().message);
}

Result<LoadedJob> LoadFromScript(const MsrunOptions& options, const ScriptCall& call,
                                 const Context& context) {
  DRYDOCK_RETURN_IF_ERROR(CheckScript(call.script));
  DRYDOCK_TRY(TracedScript traced, TraceForJob(options, call, context));
  context.log.Debug("traced " + call.script + ", " + std::to_string(traced.document_text.size()) +
                    " bytes");
  DRYDOCK_TRY(strategies::GraphDocument document,
              strategies::ReadGraphDocument(traced.document_text, "graph of " + call.script,
                                            BaseJob(options)));
  LoadedJob job{.document = std::move(document),
                .subject = call.script,
                .compat_from = "default",
                .limits = std::move(traced.limits)};
  if (const auto release = strategies::ParseCompat(traced.installed_release); release) {
    job.document.job.compat = *release;
    job.compat_from = "installed mindspore " + traced.installed_release;
  }
  return job;
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

Result<LoadedJob> LoadJob(const MsrunOptions& options, const Context& context) {
  DRYDOCK_TRY(const ScriptCall call, ScriptCallOf(options));
  DRYDOCK_TRY(LoadedJob job, options.script.ends_with(".json")
                                 ? LoadDocument(options, options.script)
                                 : LoadFromScript(options, call, context));
  if (options.compat) {
    job.document.job.compat = *options.compat;
    job.compat_from = options.compat_from;
  }
  if (options.redistribution) {
    job.document.job.redistribution = *options.redistribution;
  }
  if (!options.device_memory.empty()) {
    job.document.job.max_device_memory = options.device_memory;
  }
  return job;
}

}  // namespace drydock::launcher
