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

#include <sys/stat.h>

#include "sim/tracer/child_process.h"
#include "sim/tracer/trace_result.h"

namespace drydock::sim {
namespace {

constexpr std::string_view kSignalReason = "script:stopped-by-signal-";
constexpr std::int64_t kRanksPerNode = 8;

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
  return FailInput("script:no-interpreter",
                   job.python.empty() ? "neither 'python' nor 'python3' is on the PATH"
                                      : "there is no interpreter '" + job.python + "'",
                   "install Python 3.8 or newer, or name one with --python");
}

Status CheckScript(const std::string& script) {
  if (MayBeModule(script)) {
    return {};
  }
  struct stat facts = {};
  std::string problem;
  if (::stat(script.c_str(), &facts) != 0) {
    problem = std::strerror(errno);
  } else if (S_ISDIR(facts.st_mode)) {
    problem = "is a folder";
  } else if (::access(script.c_str(), R_OK) != 0) {
    problem = std::strerror(errno);
  }
  if (problem.empty()) {
    return {};
  }
  return FailInput("script:unreadable", "script '" + script + "': " + problem,
                   "give the path of a Python script");
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
                       .arguments = {job.python_folder + "/drydock_run.py", folder, job.script},
                       .environment = job.environment,
                       .quiet = rank != job.rank,
                       .timeout_s = job.timeout_s};
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
#ifdef DRYDOCK_TRACE_PRELOAD
  // The recorder is instrumented like us; an interpreter that is not must load the runtime first.
  SetValue(command.environment, "LD_PRELOAD", DRYDOCK_TRACE_PRELOAD);
  SetValue(command.environment, "ASAN_OPTIONS", "detect_leaks=0");
#endif
  return command;
}

tl::unexpected<Error> EndedBadly(const ChildEnd& end, const ScriptJob& job) {
  switch (end.kind) {
    case ChildEnd::Kind::kStopped:
      return tl::unexpected(StoppedBySignal(end.value, "stopped while the script was running"));
    case ChildEnd::Kind::kTimedOut:
      return tl::unexpected(Error{
          .code = ErrorCode::kTimeout,
          .message = "the script did not end within " + std::to_string(job.timeout_s) + " s",
          .hint = "raise --trace_timeout, or look for a loop that waits for a device or a peer",
          .reason = "script:timeout"});
    case ChildEnd::Kind::kSignalled:
      return FailInput("script:killed",
                       "the script was ended by signal " + std::to_string(end.value) + " (" +
                           ::strsignal(end.value) + ")",
                       end.value == SIGKILL ? "probably out of memory" : "");
    case ChildEnd::Kind::kExited:
      break;
  }
  return FailInput("script:gone",
                   "the script's process ended with status " + std::to_string(end.value) +
                       " before its network could be collected",
                   "does the script call os._exit(), or is the interpreter older than Python 3.8?");
}

/// One run of the script as one rank.
struct Trace {
  TraceResult result = {};
  std::vector<TracedProgram> programs = {};
};

Result<Trace> TraceOnce(const ScriptJob& job, const std::string& python, std::int64_t rank) {
  const std::string parent = ValueOf(job.environment, "TMPDIR");
  const TemporaryFolder folder(parent.empty() ? "/tmp" : parent);
  if (folder.path().empty()) {
    return Fail(ErrorCode::kIo, std::string("no temporary folder: ") + std::strerror(errno),
                "set TMPDIR to a folder that can be written");
  }
  DRYDOCK_TRY(const ChildEnd end, RunChild(CommandFor(job, python, rank, folder.path())));
  const Result<std::string> text = ReadText(folder.path() + "/result.json", kMaxDocumentBytes);
  if (end.kind != ChildEnd::Kind::kExited || end.value != 0 || !text) {
    return EndedBadly(end, job);
  }
  Trace trace;
  DRYDOCK_TRY(trace.result, ReadTraceResult(*text));
  for (const TracedProgramFile& program : trace.result.programs) {
    DRYDOCK_TRY(std::string document,
                ReadText(folder.path() + "/" + program.file, kMaxDocumentBytes));
    trace.programs.push_back({.document = std::move(document), .training = program.training});
  }
  return trace;
}

/// Takes the covered ranks out of the waiting spans (ascending, disjoint).
std::vector<RankSpan> Without(const std::vector<RankSpan>& waiting, const RankSpan& covered) {
  std::vector<RankSpan> left;
  for (const RankSpan& span : waiting) {
    if (covered.last < span.first || covered.first > span.last) {
      left.push_back(span);
      continue;
    }
    if (span.first < covered.first) {
      left.push_back({.first = span.first, .last = covered.first - 1});
    }
    if (span.last > covered.last) {
      left.push_back({.first = covered.last + 1, .last = span.last});
    }
  }
  return left;
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) {
    joined += (joined.empty() ? "" : ", ") + text;
  }
  return joined;
}

bool SamePrograms(const Trace& a, const Trace& b) {
  return std::ranges::equal(a.programs, b.programs, {}, &TracedProgram::document,
                            &TracedProgram::document);
}

tl::unexpected<Error> RanksDiffer(const Trace& other, std::int64_t first, std::int64_t second) {
  const std::vector<std::string>& places = other.result.guard_places;
  return tl::unexpected(Error{
      .code = ErrorCode::kUnsupported,
      .message = "the script records different networks for ranks " + std::to_string(first) +
                 " and " + std::to_string(second) + "; it asks for the rank at " + Joined(places),
      .hint = "let the network not depend on the rank, or use --sim_rank_id to look at one rank",
      .reason = "script:rank-dependent"});
}

/// Runs the script for further ranks until every rank is covered or kMaxTraces is reached.
Status TraceOtherRanks(const ScriptJob& job, const std::string& python, Trace& first,
                       TraceOutcome& outcome) {
  std::vector<RankSpan> waiting = {{.first = 0, .last = job.world_size - 1}};
  const auto cover = [&waiting](const Trace& trace) {
    for (const RankSpan& span : trace.result.covered) {
      waiting = Without(waiting, span);
    }
  };
  cover(first);
  while (!waiting.empty() && outcome.traced_ranks.size() < kMaxTraces) {
    // The lowest and the highest waiting rank in turn: edges are where scripts differ.
    const bool lowest = outcome.traced_ranks.size() % 2 == 1;
    const std::int64_t rank = lowest ? waiting.front().first : waiting.back().last;
    DRYDOCK_TRY(const Trace other, TraceOnce(job, python, rank));
    outcome.traced_ranks.push_back(rank);
    if (!SamePrograms(first, other)) {
      return RanksDiffer(other, job.rank, rank);
    }
    cover(other);
    waiting = Without(waiting, {.first = rank, .last = rank});
  }
  if (!waiting.empty()) {
    outcome.warnings.push_back("unsupported: the script uses the number of its rank at " +
                               Joined(first.result.guard_places) + "; it was run for " +
                               std::to_string(outcome.traced_ranks.size()) +
                               " ranks with the same result, the others are assumed alike");
  }
  return {};
}

}  // namespace

bool MayBeModule(const std::string& script) {
  return !script.empty() && ::access(script.c_str(), F_OK) != 0 &&
         std::ranges::all_of(script,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

Result<TraceOutcome> TraceScript(const ScriptJob& job) {
  if (job.world_size < 1 || job.rank < 0 || job.rank >= job.world_size) {
    return FailInput("script:rank", "rank " + std::to_string(job.rank) + " of " +
                                        std::to_string(job.world_size) + " ranks does not exist");
  }
  DRYDOCK_RETURN_IF_ERROR(CheckScript(job.script));
  DRYDOCK_TRY(const std::string python, FindPython(job));
  DRYDOCK_TRY(Trace first, TraceOnce(job, python, job.rank));
  TraceOutcome outcome{.installed_release = first.result.release,
                       .warnings = first.result.warnings,
                       .traced_ranks = {job.rank}};
  if (!job.single_rank) {
    DRYDOCK_RETURN_IF_ERROR(TraceOtherRanks(job, python, first, outcome));
  }
  outcome.programs = std::move(first.programs);
  const auto training = std::ranges::find(outcome.programs, true, &TracedProgram::training);
  if (training != outcome.programs.end()) {
    std::rotate(outcome.programs.begin(), training, training + 1);
  }
  return outcome;
}

Error StoppedBySignal(int number, std::string message) {
  return FailInput(std::string(kSignalReason) + std::to_string(number), std::move(message)).value();
}

std::optional<int> StopSignalOf(const Error& error) {
  if (!error.reason.starts_with(kSignalReason)) {
    return std::nullopt;
  }
  return std::atoi(error.reason.c_str() + kSignalReason.size());
}

}  // namespace drydock::sim
