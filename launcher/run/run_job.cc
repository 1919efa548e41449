#include "launcher/run/run_job.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "base/text.h"
#include "launcher/files.h"
#include "launcher/run/cluster.h"
#include "launcher/run/guard.h"
#include "launcher/run/job_summary.h"
#include "launcher/run/network.h"
#include "launcher/run/oom_count.h"
#include "launcher/run/preflight.h"
#include "launcher/run/signal_pipe.h"
#include "launcher/run/start_ranks.h"
#include "launcher/run/supervisor.h"
#include "sim/tracer/run_script.h"

namespace drydock::launcher {
namespace {

constexpr std::string_view kStatusFile = "msrun_status";
constexpr const char* kDiedText =
    "{\"schema\": \"drydock.launch/1\", \"state\": \"launcher-died\"}\n";
constexpr std::string_view kPidsFile = "msrun";
/// Less free space than this is a full disk.
constexpr std::int64_t kFullDiskBytes = std::int64_t{64} << 10U;
/// The end of a log that the summary is taken from.
constexpr std::int64_t kLogEndBytes = std::int64_t{64} << 10U;

/// A value that no other job has.
std::string NewJobMark() {
  std::array<unsigned char, 16> bytes = {};
  if (::getrandom(bytes.data(), bytes.size(), 0) < 0) {
    bytes[0] = static_cast<unsigned char>(::getpid());
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

/// A file of this launcher in the log folder, which others of an outer job may share: "msrun.pids"
/// of the first, "msrun.2.pids" of the third.
std::string OwnFile(const MsrunOptions& options, std::string_view stem, std::string_view ending) {
  const std::int64_t index = options.outer ? options.outer->index : 0;
  return std::string(stem) + (index > 0 ? "." + std::to_string(index) : "") + std::string(ending);
}

std::string StatusFile(const MsrunOptions& options) {
  return OwnFile(options, kStatusFile, ".json");
}

/// Empty where there are no logs.
std::string StatusPath(const MsrunOptions& options) {
  return HasLogs(options) ? PathIn(options.log_dir, StatusFile(options)) : "";
}

std::vector<RankRecord> RecordsOf(const MsrunOptions& options, const CheckedJob& job) {
  std::vector<RankRecord> records;
  for (const WorkerSpec& worker : job.workers) {
    const std::string number = std::to_string(worker.rank.value_or(worker.local_index));
    const bool has_role = HasPaddleServers(options);
    const PaddleProcess process =
        has_role ? options.paddle->own[static_cast<std::size_t>(worker.local_index)]
                 : PaddleProcess();
    records.push_back(
        {.name = has_role      ? PaddleName(process)
                 : worker.rank ? "rank " + number
                               : "worker " + number + " of this node",
         .log_path = worker.error_log_path.empty() ? worker.log_path : worker.error_log_path,
         .serves = has_role && process.role != PaddleRole::kTrainer,
         .cluster_id = worker.rank && job.join.workers_register ? number : ""});
  }
  return records;
}

/// Port for rank 0 of the script: asked for, or the one behind the scheduler's, or any other if
/// that one is taken and the others hear of it, on this node or because the launchers agree.
/// Source: docs/launching.md
Result<std::int64_t> ScriptPort(const MsrunOptions& options, const CheckedJob& job) {
  std::int64_t port = options.script_port;
  if (port < 0 && options.master_port > 0) {
    port = options.master_port < 65535 ? options.master_port + 1 : options.master_port - 1;
  }
  if (port > 0 &&
      (job.join.workers_register || !job.host.is_master || PortIsFree(job.host.master_ip, port))) {
    return port;
  }
  if (options.script_port < 0 && (IsSingleNode(options) || !job.join.workers_register)) {
    return AnyFreePort(job.host.master_ip);
  }
  return FailCommand(FailureCode::kPortInUse,
                     HostAndPort(job.host.master_ip, port) + ", MASTER_PORT of the script",
                     "give another one with --script_port");
}

WorkerSetting SettingOf(const MsrunOptions& options, const CheckedJob& job,
                        std::int64_t script_port, const Environment& environment) {
  WorkerSetting setting{.join = job.join,
                        .host = job.host,
                        .scheduler_port = options.master_port,
                        .script_port = script_port,
                        .script_master_ip = job.host.master_ip,
                        .job_mark = NewJobMark()};
  if (IsSingleNode(options)) {
    const auto ranks = static_cast<std::size_t>(options.worker_num);
    setting.endpoints = options.paddle && !Variable(environment, "FLAGS_START_PORT")
                            ? FreeEndpointsAt(job.host.master_ip, options.worker_num)
                            : EndpointsOf(std::vector(ranks, job.host.master_ip), environment);
  }
  return setting;
}

/// Ranks and addresses as the launchers of all nodes agreed on them.
void TakeAgreement(const MsrunOptions& options, const Cluster& cluster,
                   const Environment& environment, CheckedJob& job, WorkerSetting& setting) {
  const Agreement agreed = cluster.Agreed();
  for (std::size_t i = 0; i < agreed.own_ranks.size(); ++i) {
    job.workers[i].rank = agreed.own_ranks[i];
    // Known now, so logs are numbered by it: folders may be shared by all nodes.
    job.workers[i].log_path =
        HasLogs(options) ? WorkerLogPath(options, job.host, job.workers[i]) : "";
  }
  setting.endpoints = EndpointsOf(agreed.rank_ips, environment);
  setting.script_master_ip = agreed.master_ip;
  setting.script_port = agreed.master_port;
}

/// End of a log file, at most kLogEndBytes.
std::string LogEnd(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::int64_t size = file ? static_cast<std::int64_t>(file.tellg()) : 0;
  const std::int64_t start = std::max<std::int64_t>(0, size - kLogEndBytes);
  std::string text(static_cast<std::size_t>(size - start), '\0');
  file.seekg(start);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

void WriteStatus(const MsrunOptions& options, const Context& context, const JobWatch& watch) {
  const Error& cause = *watch.cause();
  const Status written =
      WriteFiles(options.log_dir, {{.path = StatusFile(options),
                                    .text = JobStatusJson(watch, CodeOf(cause), StatusOf(cause))}});
  if (!written) {
    context.log.Warning(written.error().message);
  }
}

/// A job whose processes exist.
struct Job {
  const MsrunOptions& options;
  const Context& context;
  CheckedJob& checked;
  WorkerSetting& setting;
  SignalPipe& signals;
  Cluster& cluster;
  std::optional<std::int64_t> oom_kills = {};  ///< Of our control group before the start.
};

/// A full disk fails ranks in many ways, and few of them say so. Source: docs/robustness.md R-49
void WarnOfFullDisk(const Job& job) {
  struct statvfs space = {};
  const std::string folder = job.options.log_dir.empty() ? "." : job.options.log_dir;
  if (::statvfs(folder.c_str(), &space) != 0 || space.f_blocks == 0) {
    return;
  }
  const auto free_bytes = static_cast<std::int64_t>(space.f_bavail * space.f_frsize);
  const bool is_out_of_files = space.f_files > 0 && space.f_favail == 0;
  if (free_bytes < kFullDiskBytes || is_out_of_files) {
    job.context.log.Warning("the disk of the log folder '" + folder + "' is full (" +
                            (is_out_of_files ? "no more files" : BytesText(free_bytes) + " free") +
                            "), which may be why the rank failed");
  }
}

/// What happened to the job besides its ranks. Source: docs/robustness.md
void WarnOfSurroundings(const Job& job, const JobWatch& watch) {
  if (HasLogs(job.options) && watch.first_failed()) {
    WarnOfFullDisk(job);
  }
  const std::string& log = job.checked.workers.front().log_path;
  if (HasLogs(job.options) && watch.ranks().front().pid != 0 && ::access(log.c_str(), F_OK) != 0) {
    job.context.log.Warning("'" + log +
                            "' was removed while the job ran; what ranks wrote since is "
                            "lost (LOG_DIR)");
  }
  const auto kills = OwnOomKills();
  if (kills && job.oom_kills && *kills > *job.oom_kills) {
    job.context.log.Warning("the kernel killed " + std::to_string(*kills - *job.oom_kills) +
                            " processes of this control group for lack of memory");
  }
}

/// Ranks that failed by themselves, for Paddle's message.
std::vector<std::int64_t> FailedRanks(const Job& job, const JobWatch& watch) {
  std::vector<std::int64_t> failed;
  for (std::size_t i = 0; i < watch.ranks().size(); ++i) {
    const RankEnd end = watch.ranks()[i].end;
    if (end == RankEnd::kFailed || end == RankEnd::kSignalled) {
      failed.push_back(job.checked.workers[i].rank.value_or(static_cast<std::int64_t>(i)));
    }
  }
  return failed;
}

Result<ExitCode> Report(const Job& job, const JobWatch& watch, TimePoint start) {
  std::vector<std::string> lines;
  if (watch.first_failed()) {
    lines = LastLines(LogEnd(watch.ranks()[*watch.first_failed()].log_path), kSummaryLines);
  }
  const bool is_told_to = job.options.stops_quietly && watch.cause() &&
                          sim::StopSignalOf(*watch.cause()).value_or(0) == SIGTERM;
  const bool speaks = !is_told_to && (watch.cause() || job.options.log_layout == LogLayout::kMsrun);
  if (!job.options.quiet && speaks) {
    std::cerr << JobSummary(watch, lines, MonotonicNow() - start);
  }
  if (!watch.cause()) {
    return ExitCode::kOk;
  }
  if (const auto failed = FailedRanks(job, watch); job.options.log_layout == LogLayout::kPaddle &&
                                                   !HasPaddleServers(job.options) &&
                                                   !failed.empty()) {
    std::cerr << AbortText(job.options.worker_num, failed) << "\n";
  }
  if (HasLogs(job.options)) {
    WriteStatus(job.options, job.context, watch);
  }
  return tl::unexpected(*watch.cause());
}

/// What lines of a worker begin with on the console.
std::string TagOf(const MsrunOptions& options, const WorkerSpec& worker) {
  const std::int64_t number = worker.rank.value_or(worker.local_index);
  return options.tag_output ? "[" + std::to_string(number) + "] " : "";
}

/// How much of each log is there already, where logs grow from job to job.
std::vector<std::int64_t> OldBytes(const MsrunOptions& options, const CheckedJob& job) {
  std::vector<std::int64_t> bytes;
  for (const WorkerSpec& worker : job.workers) {
    std::error_code error;
    const auto size = std::filesystem::file_size(worker.log_path, error);
    bytes.push_back(
        options.log_layout == LogLayout::kPaddle && !error ? static_cast<std::int64_t>(size) : 0);
  }
  return bytes;
}

/// endpoints.log of a collective job of Paddle.
void WriteEndpoints(const Job& job) {
  if (job.options.log_layout != LogLayout::kPaddle || HasPaddleServers(job.options)) {
    return;
  }
  const Status written =
      WriteFiles(job.options.log_dir, {{.path = "endpoints.log",
                                        .text = EndpointsText(job.setting.endpoints.of_rank),
                                        .ours = true}});
  if (!written) {
    job.context.log.Warning(written.error().message);
  }
}

/// Shows what ranks write: stdout on ours, and stderr on ours where it has logs of its own.
/// @param old_bytes  of each worker's log, written before this job
void FollowLogs(const MsrunOptions& options, const CheckedJob& job,
                const std::vector<std::int64_t>& old_bytes, Supervisor& supervisor) {
  if (!HasLogs(options)) {
    return;
  }
  auto output = std::make_unique<LogTail>(STDOUT_FILENO);
  auto errors = std::make_unique<LogTail>(STDERR_FILENO);
  for (const WorkerSpec& worker : job.workers) {
    if (IsTailed(options, worker)) {
      output->Add(worker.log_path, TagOf(options, worker),
                  old_bytes[static_cast<std::size_t>(worker.local_index)]);
      errors->Add(worker.error_log_path, TagOf(options, worker));
    }
  }
  supervisor.Follow(std::move(output));
  if (options.log_layout == LogLayout::kMpirun && !options.merge_stderr) {
    supervisor.Follow(std::move(errors));
  }
}

/// How a rank of this job is started again. Source: docs/robustness.md R-24
RestartRank RestarterOf(const Job& job, Supervisor& supervisor) {
  return [&job, &supervisor](std::size_t index, std::int64_t restart) -> Result<RestartedRank> {
    WorkerSpec worker = job.checked.workers[index];
    worker.log_path = RestartLogPath(worker.log_path, restart);
    WorkerSetting setting = job.setting;
    setting.restarts = restart;
    DRYDOCK_TRY(const pid_t pid,
                StartRankAgain(job.options, job.context, job.checked, setting, worker));
    if (IsTailed(job.options, worker)) {
      supervisor.FollowToo(worker.log_path, TagOf(job.options, worker));
    }
    return RestartedRank{.pid = pid, .log_path = worker.log_path};
  };
}

/// Starts the ranks and stays until all is over.
Result<ExitCode> RunJoined(const Job& job) {
  const TimePoint start = MonotonicNow();
  if (const std::string path = StatusPath(job.options); !path.empty()) {
    ::unlink(path.c_str());
  }
  JobWatch watch({.grace = std::chrono::seconds(job.options.grace_s),
                  .sees_registrations = job.cluster.sees_registrations(),
                  .may_not_register = job.checked.join.may_not_register,
                  .max_restarts = job.options.max_restarts,
                  .ends_with_first_failure = job.options.ends_with_first_failure,
                  .bears_signals = HasPaddleServers(job.options),
                  .host_name = job.checked.host.host_name},
                 RecordsOf(job.options, job.checked));
  Supervisor supervisor(job.options, job.context, job.signals, job.cluster, watch);
  supervisor.RestartBy(RestarterOf(job, supervisor));
  const std::vector<std::int64_t> old_bytes = OldBytes(job.options, job.checked);
  WriteEndpoints(job);
  const Status started =
      StartRanks(job.options, job.context, job.checked, job.setting,
                 [&supervisor](std::size_t index, pid_t pid) { supervisor.Started(index, pid); });
  if (!started) {
    watch.OnCause(started.error(), MonotonicNow());
  } else {
    FollowLogs(job.options, job.checked, old_bytes, supervisor);
  }
  supervisor.WatchRanks();
  supervisor.WindUp();
  const int leftovers = supervisor.EndLeftovers();
  if (leftovers > 0) {
    job.context.log.Warning(std::to_string(leftovers) +
                            " processes that ranks left behind were ended (LEFTOVER)");
  }
  WarnOfSurroundings(job, watch);
  return Report(job, watch, start);
}

/// "start time" of a process, field 22 of its stat: with the number it names the process for good.
std::string StartTimeOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  std::size_t at = line.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) {
    at = line.find(' ', at + 1);
  }
  return at == std::string::npos ? "0" : line.substr(at + 1, line.find(' ', at + 1) - at - 1);
}

/// Starts the ranks and leaves them alone. Source: docs/robustness.md R-58
Result<ExitCode> RunDetached(const Job& job, const std::optional<DetachedScheduler>& scheduler) {
  std::vector<pid_t> pids;
  const Status started =
      StartRanks(job.options, job.context, job.checked, job.setting,
                 [&pids](std::size_t /*index*/, pid_t pid) { pids.push_back(pid); });
  if (!started) {
    for (const pid_t pid : pids) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    if (scheduler) {
      ::kill(scheduler->pid, SIGKILL);
      ::waitpid(scheduler->pid, nullptr, 0);
    }
    return tl::unexpected(started.error());
  }
  std::string text = "# role pid start-time log\n";
  if (scheduler) {
    text += "scheduler " + std::to_string(scheduler->pid) + " " + StartTimeOf(scheduler->pid) +
            " " + PathIn(job.options.log_dir, "scheduler.log") + "\n";
  }
  std::string numbers;
  for (const pid_t pid : pids) {
    numbers += std::to_string(pid) + "\n";
  }
  if (scheduler && ::write(scheduler->ranks->get(), numbers.data(), numbers.size()) < 0) {
    job.context.log.Warning("the scheduler does not know its ranks and waits for them in vain");
  }
  for (std::size_t i = 0; i < pids.size(); ++i) {
    text += "worker " + std::to_string(pids[i]) + " " + StartTimeOf(pids[i]) + " " +
            job.checked.workers[i].log_path + "\n";
  }
  const Status written =
      WriteFiles(job.options.log_dir,
                 {{.path = OwnFile(job.options, kPidsFile, ".pids"), .text = text, .ours = true}});
  if (!written) {
    job.context.log.Warning(written.error().message);
  }
  job.cluster.Leave();
  return ExitCode::kOk;
}

/// Waits until the launchers of all nodes know each other.
Status Agree(const Job& job) {
  JobWatch nobody({}, {});
  Supervisor waiting(job.options, job.context, job.signals, job.cluster, nobody);
  DRYDOCK_RETURN_IF_ERROR(waiting.WaitForAgreement());
  TakeAgreement(job.options, job.cluster, job.context.environment, job.checked, job.setting);
  return {};
}

}  // namespace

Result<ExitCode> RunJob(const MsrunOptions& given, const Context& context) {
  pid_t guard = 0;
  if (given.join) {
    DRYDOCK_TRY(guard, EnterGuarded(context, {.path = StatusPath(given), .text = kDiedText}));
  }
  return RunGuardedJob(given, context, guard);
}

Result<ExitCode> RunGuardedJob(const MsrunOptions& given, const Context& context, pid_t guard) {
  DRYDOCK_TRY(CheckedJob checked, CheckJob(given, context));
  MsrunOptions options = given;  // one budget: what the name took is gone for the cluster
  options.script_is_paddles = checked.command.kind == ScriptKind::kPaddle;
  if (options.cluster_time_out_s >= 0) {
    options.cluster_time_out_s =
        std::max<std::int64_t>(0, options.cluster_time_out_s - checked.host.waited_s);
  }
  DRYDOCK_TRY(const std::int64_t script_port, ScriptPort(options, checked));
  WorkerSetting setting = SettingOf(options, checked, script_port, context.environment);
  std::optional<DetachedScheduler> scheduler;
  if (!options.join && checked.host.is_master && checked.join.workers_register) {
    DRYDOCK_TRY(scheduler, StartDetachedScheduler(options, context.environment, checked));
    setting.scheduler_port = scheduler->port;
    for (const std::string& warning : scheduler->warnings) {
      context.log.Warning(warning);
    }
  }
  SignalPipe signals(guard);
  DRYDOCK_TRY(const std::unique_ptr<Cluster> cluster,
              Cluster::Start(options, context.environment, checked, script_port));
  if (checked.tls) {
    WipePasswords(*checked.tls);
  }
  setting.scheduler_port = cluster->port().value_or(setting.scheduler_port);
  const Job job{.options = options,
                .context = context,
                .checked = checked,
                .setting = setting,
                .signals = signals,
                .cluster = *cluster,
                .oom_kills = OwnOomKills()};
  if (cluster->agrees()) {
    DRYDOCK_RETURN_IF_ERROR(Agree(job));
  }
  return options.join ? RunJoined(job) : RunDetached(job, scheduler);
}

}  // namespace drydock::launcher
