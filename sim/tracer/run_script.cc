#include "sim/tracer/run_script.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <sys/stat.h>

#include "sim/tracer/child_process.h"
#include "sim/tracer/trace_result.h"

namespace drydock::sim {
namespace {

using strategies::RankSet;

constexpr std::int64_t kRanksPerNode = 8;
constexpr std::int64_t kMaxStoppedBytes = 65536;

/// A private folder that is gone at the end of its scope.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& parent) : path_(parent + "/drydock-trace-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) {
      path_.clear();
    }
  }
  ~TemporaryFolder() {
    if (!path_.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Value of a variable in "NAME=value" lines; empty if absent.
std::string ValueOf(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& line : environment) {
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == '=') {
      return line.substr(name.size() + 1);
    }
  }
  return "";
}

void SetValue(std::vector<std::string>& environment, const std::string& name,
              const std::string& value) {
  std::erase_if(environment, [&](const std::string& line) { return line.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

Result<std::string> FindPython(const ScriptJob& job) {
  const std::string path = ValueOf(job.environment, "PATH");
  for (const std::string& name : job.python.empty() ? std::vector<std::string>{"python", "python3"}
                                                    : std::vector<std::string>{job.python}) {
    if (std::string found = FindExecutable(name, path); !found.empty()) {
      return found;
    }
  }
  return FailScript(ScriptCause::kNoInterpreter, "script:no-interpreter",
                    job.python.empty() ? "neither 'python' nor 'python3' is on the PATH"
                                       : "there is no interpreter '" + job.python + "'",
                    "install Python 3.8 or newer, or name one with --python");
}

std::string SystemText(int number) {
  return std::generic_category().message(number);
}

std::string SignalText(int number) {
  const char* const text = ::sigdescr_np(number);
  return text == nullptr ? "unknown" : text;
}

/// Why a script cannot be run; empty if it can.
std::string ProblemOf(const std::string& script) {
  struct stat facts = {};
  if (::stat(script.c_str(), &facts) != 0) {
    return SystemText(errno);
  }
  if (S_ISDIR(facts.st_mode)) {
    return "is a folder";
  }
  return ::access(script.c_str(), R_OK) == 0 ? "" : SystemText(errno);
}

Status CheckScript(const std::string& script) {
  if (MayBeModule(script)) {
    return {};
  }
  const std::string problem = ProblemOf(script);
  if (problem.empty()) {
    return {};
  }
  return FailScript(ScriptCause::kUnreadable, "script:unreadable",
                    "script '" + script + "': " + problem, "give the path of a Python script");
}

/// At most `limit` bytes of a file.
Result<std::string> ReadText(const std::string& path, std::int64_t limit) {
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(path, failure);
  if (failure) {
    return Fail(ErrorCode::kIo, path + ": " + failure.message());
  }
  if (bytes > static_cast<std::uintmax_t>(limit)) {
    return Fail(ErrorCode::kUnsupported,
                "the recorded graph has " + std::to_string(bytes) + " bytes",
                "at most " + std::to_string(limit) + " bytes are read");
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

ChildCommand CommandFor(const ScriptJob& job, const std::string& python, std::int64_t rank,
                        const std::string& folder) {
  ChildCommand command{.program = python,
                       .arguments = {job.python_folder + "/drydock_run.py", folder},
                       .environment = job.environment,
                       .quiet = job.quiet || rank != job.rank,
                       .timeout_s = job.timeout_s,
                       .hold_file = folder + "/debugger"};
  if (job.is_module) {
    command.arguments.emplace_back("-m");
  }
  command.arguments.push_back(job.script);
  command.arguments.insert(command.arguments.end(), job.arguments.begin(), job.arguments.end());
  const std::string ranks = std::to_string(job.world_size);
  SetValue(command.environment, "MS_SIMULATION_LEVEL", std::to_string(job.simulation_level));
  SetValue(command.environment, "MS_ROLE", "MS_WORKER");
  SetValue(command.environment, "MS_WORKER_NUM", ranks);
  SetValue(command.environment, "RANK_SIZE", ranks);
  SetValue(command.environment, "RANK_ID", std::to_string(rank));
  SetValue(command.environment, "DEVICE_ID", std::to_string(rank % kRanksPerNode));
  SetValue(command.environment, "DRYDOCK_TRACE_LIBRARY", job.trace_library);
  SetValue(command.environment, "DRYDOCK_TRACE_COMPAT", job.compat);
  SetValue(command.environment, "DRYDOCK_TRACE_RECOMPUTE", job.recompute_layers ? "1" : "");
  SetValue(command.environment, "DRYDOCK_TRACE_SHARD", job.shard_optimizer ? "1" : "");
  SetValue(command.environment, "DRYDOCK_TRACE_PROGRESS", job.progress_file);
  SetValue(command.environment, "DRYDOCK_TRACE_FURTHER", rank == job.rank ? "" : "1");
#ifdef DRYDOCK_TRACE_PRELOAD
  // The recorder is instrumented like us; an interpreter that is not must load the runtime first.
  SetValue(command.environment, "LD_PRELOAD", DRYDOCK_TRACE_PRELOAD);
  SetValue(command.environment, "ASAN_OPTIONS", "detect_leaks=0");
#endif
  return command;
}

/// A loop that waits for a computed value waits for ever, as all of them are zeros: that is our
/// limit.
Error TimedOut(const ScriptJob& job, const StoppedScript& stopped) {
  Error error{.code = ErrorCode::kTimeout,
              .message = "the script did not end within " + std::to_string(job.timeout_s) +
                         " s (--trace_timeout)",
              .hint = "raise --trace_timeout, or look for a loop that waits for a device or a peer",
              .reason = "script:timeout",
              .place = stopped.place};
  if (stopped.read_zeros) {
    error.code = ErrorCode::kUnsupported;
    error.hint =
        "values that are computed are zeros in a dry run, for which a loop may wait for ever: "
        "mindspore.utils.dryrun.mock(value, function) gives others; or raise --trace_timeout";
  }
  return error;
}

std::string RemedyFor(int signal) {
  switch (signal) {
    case SIGKILL:
      return "probably out of memory";
    case SIGSEGV:
    case SIGBUS:
    case SIGABRT:
    case SIGFPE:
    case SIGILL:
      return "PYTHONFAULTHANDLER=1 in front of msrun shows the line that runs";
    default:
      return "";
  }
}

tl::unexpected<Error> EndedBadly(const ChildEnd& end, const ScriptJob& job,
                                 const StoppedScript& stopped) {
  switch (end.kind) {
    case ChildEnd::Kind::kStopped:
      return tl::unexpected(WithPlace(
          StoppedBySignal(end.value, "stopped while the script was running"), stopped.place));
    case ChildEnd::Kind::kTimedOut:
      return tl::unexpected(TimedOut(job, stopped));
    case ChildEnd::Kind::kSignalled:
      return FailScript(ScriptCause::kOther, "script:killed",
                        "the script was ended by signal " + std::to_string(end.value) + " (" +
                            SignalText(end.value) + ")",
                        RemedyFor(end.value));
    case ChildEnd::Kind::kExited:
      break;
  }
  return FailScript(
      ScriptCause::kOther, "script:gone",
      "the script's process ended with status " + std::to_string(end.value) +
          " before its network could be collected",
      "does the script call os._exit(), or is the interpreter older than Python 3.8?");
}

/// One run of the script as one rank.
struct Trace {
  TraceResult result = {};
  std::vector<TracedProgram> programs = {};
};

/// @param settings  what the script had set when it ended
Result<Trace> TraceOnce(const ScriptJob& job, const std::string& python, std::int64_t rank,
                        std::string& settings) {
  const std::string given = ValueOf(job.environment, "TMPDIR");
  const std::string parent = given.empty() ? "/tmp" : given;
  const TemporaryFolder folder(parent);
  if (folder.path().empty()) {
    return Fail(ErrorCode::kIo, "no temporary folder in " + parent + ": " + SystemText(errno),
                "set TMPDIR to a folder that can be written");
  }
  DRYDOCK_TRY(const ChildEnd end, RunChild(CommandFor(job, python, rank, folder.path())));
  if (end.kind == ChildEnd::Kind::kExited &&
      ::access((folder.path() + "/began").c_str(), F_OK) != 0) {
    return FailScript(
        ScriptCause::kNoInterpreter, "script:no-interpreter",
        "'" + python + "' ended with status " + std::to_string(end.value) +
            " and did not run the script: it is not Python 3.8 or newer" +
            (ValueOf(job.environment, "PYTHONHOME").empty() ? ""
                                                            : ", or not at home in PYTHONHOME"),
        "name an interpreter with --python" +
            std::string(ValueOf(job.environment, "PYTHONHOME").empty() ? ""
                                                                       : ", or unset PYTHONHOME"));
  }
  const Result<std::string> text = ReadText(folder.path() + "/result.json", kMaxDocumentBytes);
  if (end.kind != ChildEnd::Kind::kExited || end.value != 0 || !text) {
    const Result<std::string> stopped = ReadText(folder.path() + "/stopped.json", kMaxStoppedBytes);
    return EndedBadly(end, job, stopped ? ReadStopped(*stopped) : StoppedScript{});
  }
  Trace trace;
  settings = SettingsOf(*text);
  DRYDOCK_TRY(trace.result, ReadTraceResult(*text));
  for (const TracedProgramFile& program : trace.result.programs) {
    DRYDOCK_TRY(std::string document,
                ReadText(folder.path() + "/" + program.file, kMaxDocumentBytes));
    trace.programs.push_back(
        {.document = std::move(document), .training = program.training, .layers = program.layers});
  }
  return trace;
}

/// Runs a script as one rank after the other until every rank is covered.
class RankWalk {
 public:
  RankWalk(const ScriptJob& job, std::string python) : job_(job), python_(std::move(python)) {
    waiting_ = strategies::AllRanks(job.world_size);
  }

  Result<TraceOutcome> Run() {
    DRYDOCK_RETURN_IF_ERROR(Play(job_.rank));
    while (!job_.single_rank && !waiting_.ranges.empty() && !AssumedAlike()) {
      if (outcome_.runs.size() >= job_.max_traces) {
        return TooManyWays();
      }
      // The lowest and the highest waiting rank in turn: edges are where scripts differ.
      const bool lowest = outcome_.runs.size() % 2 == 1;
      DRYDOCK_RETURN_IF_ERROR(
          Play(lowest ? waiting_.ranges.front().first : waiting_.ranges.back().last));
    }
    if (!waiting_.ranges.empty()) {
      AssumeAlike();
    }
    return std::move(outcome_);
  }

  [[nodiscard]] const std::string& settings() const { return settings_; }

 private:
  Status Play(std::int64_t rank) {
    Result<Trace> trace = TraceOnce(job_, python_, rank, settings_);
    if (!trace) {
      return tl::unexpected(Explained(std::move(trace).error(), rank));
    }
    if (outcome_.runs.empty()) {
      outcome_.installed_release = trace->result.release;
      outcome_.layers = trace->result.layers;
    }
    AddNew(outcome_.warnings, trace->result.warnings);
    AddNew(outcome_.asks, trace->result.guard_places);
    const RankSet own{.ranges = {{.first = rank, .last = rank}}};
    ScriptRun run{.rank = rank, .ranks = Take(waiting_, Merge(trace->result.covered, own))};
    std::vector<std::size_t> programs;
    for (TracedProgram& program : trace->programs) {
      programs.push_back(IndexOfProgram(std::move(program)));
    }
    const auto training = std::ranges::find_if(
        programs, [this](std::size_t index) { return outcome_.programs[index].training; });
    const std::size_t described = training == programs.end() ? programs.front() : *training;
    run.network = IndexOf(networks_, described);
    TracedRanks& item =
        ClassOf({.programs = std::move(programs), .described = described, .rank = rank});
    item.ranks = Merge(item.ranks, run.ranks);
    outcome_.runs.push_back(std::move(run));
    return {};
  }

  static std::size_t IndexOf(std::vector<std::size_t>& numbers, std::size_t number) {
    const auto found = std::ranges::find(numbers, number);
    const auto index = static_cast<std::size_t>(found - numbers.begin());
    if (found == numbers.end()) {
      numbers.push_back(number);
    }
    return index;
  }

  /// Index of the program among the distinct ones.
  std::size_t IndexOfProgram(TracedProgram program) {
    const auto found =
        std::ranges::find(outcome_.programs, program.document, &TracedProgram::document);
    const auto index = static_cast<std::size_t>(found - outcome_.programs.begin());
    if (found == outcome_.programs.end()) {
      outcome_.programs.push_back(std::move(program));
    }
    return index;
  }

  /// The class with the same programs; it is added if there is none.
  TracedRanks& ClassOf(TracedRanks item) {
    const auto found = std::ranges::find(outcome_.classes, item.programs, &TracedRanks::programs);
    return found == outcome_.classes.end() ? outcome_.classes.emplace_back(std::move(item))
                                           : *found;
  }

  template <typename T>
  static void AddNew(std::vector<T>& all, const std::vector<T>& more) {
    for (const T& item : more) {
      if (std::ranges::find(all, item) == all.end()) {
        all.push_back(item);
      }
    }
  }

  /// An error of a further rank says whose it is.
  [[nodiscard]] Error Explained(Error error, std::int64_t rank) const {
    if (!outcome_.runs.empty() && !StopSignalOf(error)) {
      error.notes.push_back("the script was run as rank " + std::to_string(rank) +
                            ", since it asks for its rank at " + PlacesText(outcome_.asks));
    }
    return error;
  }

  [[nodiscard]] bool AssumedAlike() const {
    return outcome_.classes.size() == 1 && outcome_.runs.size() >= kMaxEqualTraces;
  }

  void AssumeAlike() {
    if (!job_.single_rank) {
      outcome_.warnings.push_back(
          {.text = "the script uses the number of its rank at " + PlacesText(outcome_.asks) +
                   "; it was run for " + std::to_string(outcome_.runs.size()) +
                   " ranks with the same result, the others are assumed alike",
           .kind = TraceWarning::Kind::kLimit});
    }
    RankSet& ranks = outcome_.classes.front().ranks;
    ranks = Merge(ranks, waiting_);
  }

  [[nodiscard]] tl::unexpected<Error> TooManyWays() const {
    return tl::unexpected(
        Error{.code = ErrorCode::kUnsupported,
              .message = "the script records " + std::to_string(outcome_.classes.size()) +
                         " different networks in " + std::to_string(outcome_.runs.size()) +
                         " runs and has not stopped there; it asks for the rank at " +
                         PlacesText(outcome_.asks),
              .hint = "use --sim_rank_id to look at one rank",
              .reason = "script:rank-dependent"});
  }

  const ScriptJob& job_;
  std::string python_;
  RankSet waiting_;
  TraceOutcome outcome_;
  std::vector<std::size_t> networks_;  ///< Programs that are described, in the order of the runs.
  std::string settings_;               ///< Of the last run.
};

}  // namespace

bool MayBeModule(const std::string& script) {
  return !script.empty() && ::access(script.c_str(), F_OK) != 0 &&
         std::ranges::all_of(script,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

tl::expected<TraceOutcome, TraceFailure> TraceScript(const ScriptJob& job) {
  if (job.world_size < 1 || job.rank < 0 || job.rank >= job.world_size) {
    return FailScript(ScriptCause::kOther, "script:rank",
                      "rank " + std::to_string(job.rank) + " of " + std::to_string(job.world_size) +
                          " ranks does not exist");
  }
  if (!job.is_module) {
    DRYDOCK_RETURN_IF_ERROR(CheckScript(job.script));
  }
  DRYDOCK_TRY(const std::string python, FindPython(job));
  RankWalk walk(job, python);
  Result<TraceOutcome> outcome = walk.Run();
  if (!outcome) {
    return tl::unexpected(TraceFailure(std::move(outcome).error(), walk.settings()));
  }
  return *std::move(outcome);
}

Error StoppedBySignal(int number, std::string message) {
  return WithCause(
      FailInput("script:stopped-by-signal-" + std::to_string(number), std::move(message)).value(),
      StopSignal{number});
}

std::optional<int> StopSignalOf(const Error& error) {
  const auto* const stop = std::get_if<StopSignal>(&error.cause);
  return stop == nullptr ? std::nullopt : std::optional(stop->number);
}

}  // namespace drydock::sim
