#include "launcher/load_job.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "launcher/environment.h"
#include "launcher/exit_code.h"
#include "launcher/files.h"
#include "launcher/load_script.h"
#include "launcher/typed_words.h"
#include "sim/memory/device_memory.h"
#include "sim/tracer/child_process.h"
#include "strategies/document/json_codec.h"
#include "strategies/document/json_reader.h"
#include "strategies/operators/known_ops.h"
#include "strategies/passes/prepare/recompute_layers.h"

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
    std::error_code failure;
    return FailCommand(FailureCode::kNoScript, text.error().message,
                       std::filesystem::exists(path, failure) ? "" : HintForScript(path));
  }
  const std::optional<std::int64_t> world_size =
      options.worker_num_given ? std::optional(options.worker_num) : std::nullopt;
  DRYDOCK_TRY(strategies::GraphDocument document,
              strategies::ReadGraphDocument(*text, path, BaseJob(options), world_size));
  strategies::UseDocumentPlaces(document);
  document.job.enable_parallel_optimizer |= options.shard_optimizer;
  std::string recomputed =
      options.recompute_layers ? strategies::RecomputeLayers(document.graph) : "";
  return LoadedJob{.traced = strategies::JobOf(std::move(document.graph), document.job),
                   .subject = path,
                   .compat_from = "default",
                   .layers = std::move(recomputed)};
}

/// Whether the script is there, a file, and readable. A pipe could be read once only, but the
/// script may be run several times, for ranks that behave differently.
Status CheckScript(const std::string& path, const Environment& environment) {
  std::error_code failure;
  const auto kind = std::filesystem::status(path, failure).type();
  if (!failure && kind != std::filesystem::file_type::regular &&
      kind != std::filesystem::file_type::directory &&
      kind != std::filesystem::file_type::not_found) {
    return FailCommand(
        FailureCode::kNoScript,
        "'" + path + "' is not a regular file; the script may be read more than once",
        "save the script to a file");
  }
  // A command like `pytest` runs a module of its name; a name that lacks its ending is none.
  if (sim::MayBeModule(path)) {
    if (!std::filesystem::exists(path + ".py", failure) ||
        !sim::FindExecutable(path, Variable(environment, "PATH").value_or("")).empty()) {
      return {};
    }
    return FailCommand(FailureCode::kNoScript, path + ": No such file or directory",
                       "did you mean '" + path + ".py'?");
  }
  const auto text = ReadFile(path, strategies::JsonLimits().bytes);
  return text ? Status()
              : FailCommand(FailureCode::kNoScript, text.error().message,
                            std::filesystem::exists(path, failure) ? "" : HintForScript(path));
}

/// What the script's recompute() of each layer would have recorded (nn/_recompute.py of the
/// tracer).
void RecomputeRecorded(strategies::Graph& graph, const std::vector<sim::TracedLayer>& layers) {
  std::set<std::string> outer;
  std::set<std::string> apart;
  for (const sim::TracedLayer& layer : layers) {
    outer.insert(layer.scope);
    apart.insert(layer.apart.begin(), layer.apart.end());
  }
  strategies::RecomputeScopes(graph, outer, apart);
  for (const sim::TracedLayer& layer : layers) {
    for (const sim::TracedLayer::Kept& kept : layer.kept) {
      if (kept.node < graph.nodes.size()) {
        graph.nodes[kept.node].attrs.insert_or_assign(std::string(strategies::kRecompute), false);
        if (kept.slice) {
          graph.nodes[kept.node].attrs["slice_activation"] = true;
        }
      }
    }
  }
}

/// Reads the programs of the script that are compiled into the job: those that reports describe
/// and, where the ranks differ, all others, to be compared.
class ProgramReader {
 public:
  ProgramReader(const Recording& recording, bool recompute, const Context& context, LoadedJob& job)
      : outcome_(recording.outcome),
        base_(recording.base),
        recompute_(recompute),
        context_(context),
        job_(job) {}

  Status Run() {
    for (const sim::TracedRanks& ranks : outcome_.classes) {
      DRYDOCK_RETURN_IF_ERROR(Read(ranks.described, ranks.rank));
    }
    for (const sim::TracedRanks& ranks : outcome_.classes) {
      strategies::TracedClass item{.ranks = ranks.ranks, .described = place_.at(ranks.described)};
      for (const std::size_t program :
           outcome_.classes.size() > 1 ? ranks.programs : std::vector{ranks.described}) {
        DRYDOCK_RETURN_IF_ERROR(Read(program, ranks.rank));
        item.runs.push_back(place_.at(program));
      }
      job_.traced.classes.push_back(std::move(item));
    }
    return {};
  }

 private:
  Status Read(std::size_t program, std::int64_t rank) {
    if (!place_.try_emplace(program, place_.size()).second) {
      return {};
    }
    const std::string& text = outcome_.programs[program].document;
    context_.log.Debug("traced " + job_.subject + " as rank " + std::to_string(rank) + ", " +
                       std::to_string(text.size()) + " bytes");
    DRYDOCK_TRY(strategies::GraphDocument document,
                strategies::ReadGraphDocument(text, "graph of " + job_.subject, base_));
    if (recompute_) {
      RecomputeRecorded(document.graph, outcome_.programs[program].layers);
    }
    strategies::TracedNetwork& network = job_.traced.networks.emplace_back();
    network.graph = std::move(document.graph);
    network.config = std::move(document.job);
    if (job_.traced.networks.size() > 1) {
      network.note = "in what the script does as rank " + std::to_string(rank) +
                     ", since it asks for its rank at " + sim::PlacesText(outcome_.asks);
    }
    return {};
  }

  const sim::TraceOutcome& outcome_;
  const strategies::JobConfig& base_;
  bool recompute_;
  const Context& context_;
  LoadedJob& job_;
  std::map<std::size_t, std::size_t> place_ = {};  ///< Of a program among the networks.
};

tl::expected<LoadedJob, LoadFailure> LoadFromScript(const MsrunOptions& options,
                                                    const ScriptCall& call,
                                                    const Context& context) {
  if (!call.is_module) {
    DRYDOCK_RETURN_IF_ERROR(CheckScript(call.script, context.environment));
  }
  auto outcome = TraceForJob(options, call, context);
  if (!outcome) {
    LoadFailure failure(std::move(outcome.error().error));
    if (auto job =
            strategies::ReadJobText(outcome.error().settings, "settings", BaseJob(options))) {
      failure.settings = *std::move(job);
    }
    return tl::unexpected(std::move(failure));
  }
  LoadedJob job{
      .subject = call.script, .compat_from = "default", .limits = std::move(outcome->limits)};
  Recording recording{.outcome = std::move(outcome->outcome), .base = BaseJob(options)};
  const std::string& installed = recording.outcome.installed_release;
  if (const auto release = strategies::ParseCompat(installed)) {
    job.compat_from = "installed mindspore " + installed;
    recording.base.compat = *release;
  }
  DRYDOCK_RETURN_IF_ERROR(ProgramReader(recording, false, context, job).Run());
  job.script_runs = recording.outcome.runs;
  job.rank_asks = recording.outcome.asks;
  job.layers = recording.outcome.layers;
  if (options.suggest && !options.trial) {
    job.recording = std::move(recording);
  }
  return job;
}

tl::expected<LoadedJob, LoadFailure> OrFailure(Result<LoadedJob> job) {
  if (!job) {
    return tl::unexpected(LoadFailure(std::move(job).error()));
  }
  return *std::move(job);
}

/// `--search` in place of the script's search; operators that it gives a strategy keep it.
Status ApplySearch(strategies::SearchMode search, strategies::JobConfig& job) {
  if (!strategies::CutsOperators(job.mode)) {
    return FailCommand(
        FailureCode::kUsage,
        fmt::format("argument --search: parallel_mode is {}, in which no operator is "
                    "cut",
                    strategies::ParallelModeName(job.mode)),
        "set parallel_mode=\"auto_parallel\" in the script, or leave --search out");
  }
  job.mode = strategies::ParallelMode::kAutoParallel;
  job.search_mode = search;
  return {};
}

/// What the command line says overrides the script.
Status ApplyFlags(const MsrunOptions& options, strategies::JobConfig& job) {
  job.compat = options.compat.value_or(job.compat);
  job.redistribution = options.redistribution.value_or(job.redistribution);
  if (!options.device_memory.empty()) {
    job.max_device_memory = options.device_memory;
  }
  if (options.search) {
    DRYDOCK_RETURN_IF_ERROR(ApplySearch(*options.search, job));
  }
  if (job.search_mode == strategies::SearchMode::kOptimal) {
    DRYDOCK_TRY(const sim::DeviceMemory device, sim::DeviceOfSetting(job.max_device_memory));
    job.search_limit_bytes = device.ms_used_bytes;
  }
  return {};
}

Status ApplyFlags(const MsrunOptions& options, LoadedJob& job) {
  for (strategies::TracedNetwork& network : job.traced.networks) {
    DRYDOCK_RETURN_IF_ERROR(ApplyFlags(options, network.config));
  }
  job.settings = job.traced.networks.front().config;
  return {};
}

/// Number of words in front of the script, which is there: flags of the interpreter that change
/// nothing in a dry run, and `-m`.
Result<std::size_t> SkipInterpreterFlags(const std::string& interpreter,
                                         const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 6> kHarmless = {"-u", "-B", "-s", "-E", "-I", "-q"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_last = i + 1 == words.size();
    if (!word.starts_with('-')) {
      return i;
    }
    if (word == "-m" && !is_last) {
      return i + 1;
    }
    if ((word == "-W" || word == "-X") && !is_last) {
      ++i;
    } else if (std::ranges::find(kHarmless, word) == kHarmless.end()) {
      return FailCommand(FailureCode::kUnsupported,
                         fmt::format("'{} {}' is not handled in a dry run", interpreter, word),
                         "give the script's file, or -m and the name of its module");
    }
  }
  return FailCommand(FailureCode::kUsage, "'" + interpreter + "' is given no script",
                     "msrun --sim_level=1 " + interpreter + " net.py");
}

}  // namespace

Result<ScriptCall> ScriptCallOf(const MsrunOptions& options) {
  ScriptCall call{.python = options.python, .script = options.script, .args = options.script_args};
  if (!IsInterpreter(options.script)) {
    return call;
  }
  if (call.args.empty()) {
    return FailCommand(FailureCode::kUsage, "'" + options.script + "' is given no script",
                       "msrun --sim_level=1 " + options.script + " net.py");
  }
  DRYDOCK_TRY(const std::size_t flags, SkipInterpreterFlags(options.script, call.args));
  call.is_module = flags > 0 && call.args[flags - 1] == "-m";
  call.python = options.python.empty() ? options.script : options.python;
  call.script = call.args[flags];
  call.args.erase(call.args.begin(), call.args.begin() + static_cast<std::ptrdiff_t>(flags) + 1);
  return call;
}

tl::expected<LoadedJob, LoadFailure> LoadJobOrSettings(const MsrunOptions& options,
                                                       const Context& context) {
  DRYDOCK_TRY(const ScriptCall call, ScriptCallOf(options));
  DRYDOCK_TRY(LoadedJob job, options.script.ends_with(".json")
                                 ? OrFailure(LoadDocument(options, options.script))
                                 : LoadFromScript(options, call, context));
  if (options.compat) {
    job.compat_from = options.compat_from;
  }
  DRYDOCK_RETURN_IF_ERROR(ApplyFlags(options, job));
  DRYDOCK_RETURN_IF_ERROR(CheckFleetSize(job.settings.world_size));
  return job;
}

Result<LoadedJob> LoadJob(const MsrunOptions& options, const Context& context) {
  return LoadJobOrSettings(options, context).map_error([](LoadFailure failure) {
    return std::move(failure.error);
  });
}

Result<LoadedJob> LoadRecomputed(const MsrunOptions& options, const Context& context,
                                 const Recording& recording) {
  LoadedJob job{.subject = options.script, .compat_from = "default"};
  DRYDOCK_RETURN_IF_ERROR(ProgramReader(recording, true, context, job).Run());
  job.layers = recording.outcome.layers;
  DRYDOCK_RETURN_IF_ERROR(ApplyFlags(options, job));
  return job;
}

}  // namespace drydock::launcher
