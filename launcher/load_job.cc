#include "launcher/load_job.h"

#include <filesystem>
#include <map>

#include "launcher/files.h"
#include "launcher/load_script.h"
#include "strategies/document/json_reader.h"

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

/// Reads what the ranks compute into the job.
Status TakePrograms(sim::TraceOutcome outcome, const strategies::JobConfig& base,
                    const Context& context, LoadedJob& job) {
  std::map<std::size_t, std::size_t> place;  // of a program in document, others, later
  const auto read = [&](std::size_t program, std::int64_t rank) {
    const std::string& text = outcome.programs[program].document;
    context.log.Debug("traced " + job.subject + " as rank " + std::to_string(rank) + ", " +
                      std::to_string(text.size()) + " bytes");
    place.try_emplace(program, place.size());
    return strategies::ReadGraphDocument(text, "graph of " + job.subject, base);
  };
  for (sim::TracedNetwork& network : outcome.networks) {
    DRYDOCK_TRY(strategies::GraphDocument document, read(network.program, network.rank));
    if (place.size() == 1) {
      job.document = std::move(document);
    } else {
      job.others.push_back({.document = std::move(document),
                            .rank = network.rank,
                            .ranks = std::move(network.ranks)});
    }
  }
  job.script_runs = std::move(outcome.runs);
  job.rank_asks = std::move(outcome.asks);
  if (outcome.orders.size() == 1) {
    return {};
  }
  for (sim::TracedOrder& order : outcome.orders) {
    for (std::size_t& program : order.programs) {
      if (!place.contains(program)) {
        DRYDOCK_TRY(strategies::GraphDocument document, read(program, order.rank));
        job.later.push_back({.document = std::move(document), .rank = order.rank});
      }
      program = place.at(program);
    }
    job.orders.push_back({.programs = std::move(order.programs), .ranks = std::move(order.ranks)});
  }
  return {};
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
  LoadedJob job{
      .subject = call.script, .compat_from = "default", .limits = std::move(outcome->limits)};
  strategies::JobConfig base = BaseJob(options);
  const std::string& installed = outcome->outcome.installed_release;
  if (const auto release = strategies::ParseCompat(installed)) {
    job.compat_from = "installed mindspore " + installed;
    base.compat = *release;
  }
  DRYDOCK_RETURN_IF_ERROR(TakePrograms(std::move(outcome->outcome), base, context, job));
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
  for (std::vector<RankDocument>* documents : {&job.others, &job.later}) {
    for (RankDocument& other : *documents) {
      ApplyFlags(options, other.document.job);
    }
  }
  return job;
}

}  // namespace drydock::launcher
