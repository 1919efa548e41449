#include "launcher/run/job_spec.h"

#include <algorithm>
#include <array>

#include "launcher/files.h"

namespace drydock::launcher {
namespace {

constexpr std::array<std::string_view, 4> kMindSporePackages = {"mindspore", "mindformers",
                                                                "mindnlp", "msadapter"};
constexpr std::array<std::string_view, 7> kOtherPackages = {
    "torch", "paddle", "jax", "tensorflow", "deepspeed", "horovod", "oneflow"};

constexpr std::string_view kWordEnd = " \t.,;\r";

/// The package that an import line names first; empty for other lines.
std::string_view ImportedPackage(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos) {
    return {};
  }
  line.remove_prefix(start);
  for (const std::string_view word : {"import ", "from "}) {
    if (line.starts_with(word)) {
      line.remove_prefix(word.size());
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      return line.substr(0, line.find_first_of(kWordEnd));
    }
  }
  return {};
}

std::string Replaced(std::string text, std::string_view what, const std::string& with) {
  std::size_t at = 0;
  while ((at = text.find(what, at)) != std::string::npos) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
  return text;
}

}  // namespace

ScriptKind ScriptKindOf(std::string_view text) {
  ScriptKind kind = ScriptKind::kUnknown;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view package = ImportedPackage(text.substr(0, end));
    if (std::ranges::find(kMindSporePackages, package) != kMindSporePackages.end()) {
      return ScriptKind::kMindSpore;
    }
    if (std::ranges::find(kOtherPackages, package) != kOtherPackages.end()) {
      const bool is_paddle = package == "paddle" && kind != ScriptKind::kOther;
      kind = is_paddle ? ScriptKind::kPaddle : ScriptKind::kOther;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return kind;
}

JoinRule JoinRuleFor(const MsrunOptions& options, ScriptKind kind) {
  if (options.framework != Framework::kAuto) {
    kind = options.framework == Framework::kMindSpore ? ScriptKind::kMindSpore : ScriptKind::kOther;
  }
  switch (options.rendezvous) {
    case Rendezvous::kWorker:
      return {.workers_register = true, .may_not_register = false};
    case Rendezvous::kLauncher:
      return {.workers_register = false, .may_not_register = true};
    case Rendezvous::kAuto:
      break;
  }
  return {.workers_register = kind != ScriptKind::kOther && kind != ScriptKind::kPaddle,
          .may_not_register = kind != ScriptKind::kMindSpore};
}

bool IsSingleNode(const MsrunOptions& options) {
  return options.local_worker_num == options.worker_num;
}

std::int64_t NodeCount(const MsrunOptions& options) {
  return 1 + (options.worker_num - 1) / options.local_worker_num;
}

std::vector<std::optional<std::int64_t>> RanksOf(const MsrunOptions& options) {
  std::vector<std::optional<std::int64_t>> ranks;
  for (std::int64_t i = 0; i < options.local_worker_num; ++i) {
    if (IsSingleNode(options)) {
      ranks.emplace_back(i);
    } else if (options.node_rank >= 0) {
      ranks.emplace_back(options.node_rank * options.local_worker_num + i);
    } else {
      ranks.emplace_back(std::nullopt);
    }
  }
  return ranks;
}

bool FollowsMpirun(const MsrunOptions& options) {
  return options.log_layout == LogLayout::kConsole || options.log_layout == LogLayout::kMpirun;
}

bool HasPaddleServers(const MsrunOptions& options) {
  return options.paddle && !options.paddle->own.empty();
}

bool HasLogs(const MsrunOptions& options) {
  return options.log_layout != LogLayout::kConsole;
}

namespace {

/// "1/rank.07": as many digits as the last rank has. Source: man mpirun, --output-filename
std::string MpirunFolder(const MsrunOptions& options, std::int64_t rank) {
  std::string number = std::to_string(rank);
  const std::size_t width = std::to_string(options.worker_num - 1).size();
  number.insert(0, width - std::min(width, number.size()), '0');
  return PathIn(options.log_dir, "1/rank." + number);
}

}  // namespace

std::string WorkerLogPath(const MsrunOptions& options, const HostFacts& host,
                          const WorkerSpec& worker) {
  if (!HasLogs(options)) {
    return {};
  }
  if (HasPaddleServers(options)) {
    return PathIn(options.log_dir,
                  PaddleLogName(options.paddle->own[static_cast<std::size_t>(worker.local_index)]));
  }
  if (options.log_layout == LogLayout::kPaddle) {
    return PathIn(options.log_dir, "workerlog." + std::to_string(worker.local_index));
  }
  if (options.log_layout == LogLayout::kMpirun) {
    return PathIn(MpirunFolder(options, worker.rank.value_or(worker.local_index)), "stdout");
  }
  std::string stem = options.worker_log_name.empty() ? "worker" : options.worker_log_name;
  stem = Replaced(std::move(stem), "{ip}", host.local_ip);
  stem = Replaced(std::move(stem), "{hostname}", host.host_name);
  if (host.shares_logs && !worker.rank && options.worker_log_name.empty()) {
    stem += "_" + host.host_name;
  }
  const std::int64_t number = worker.rank.value_or(worker.local_index);
  return PathIn(options.log_dir, stem + "_" + std::to_string(number) + ".log");
}

std::string RestartLogPath(const std::string& log_path, std::int64_t restart) {
  constexpr std::string_view kSuffix = ".log";
  if (!log_path.ends_with(kSuffix)) {
    return log_path.empty() ? "" : log_path + ".r" + std::to_string(restart);
  }
  const std::string number = ".r" + std::to_string(restart);
  return log_path.substr(0, log_path.size() - kSuffix.size()) + number + std::string(kSuffix);
}

std::vector<WorkerSpec> WorkersOf(const MsrunOptions& options, const HostFacts& host) {
  std::vector<WorkerSpec> workers;
  for (const std::optional<std::int64_t>& rank : RanksOf(options)) {
    WorkerSpec worker{.local_index = static_cast<std::int64_t>(workers.size()), .rank = rank};
    worker.log_path = WorkerLogPath(options, host, worker);
    if (options.log_layout == LogLayout::kMpirun && !options.merge_stderr) {
      worker.error_log_path =
          PathIn(MpirunFolder(options, rank.value_or(worker.local_index)), "stderr");
    }
    workers.push_back(std::move(worker));
  }
  return workers;
}

bool IsTailed(const MsrunOptions& options, const WorkerSpec& worker) {
  const std::int64_t number = worker.rank.value_or(worker.local_index);
  std::string_view rest = options.tail_worker_log;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::int64_t shown = ReadIntWord(rest.substr(0, comma)).value_or(-2);
    if (shown == -1 || shown == number) {
      return true;
    }
    if (comma == std::string_view::npos) {
      return false;
    }
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace drydock::launcher
