#include "launcher/run/preflight.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/text.h"
#include "launcher/exit_code.h"
#include "launcher/files.h"
#include "launcher/flags.h"
#include "launcher/log_file.h"
#include "launcher/mindspore_release.h"
#include "launcher/net/job_secret.h"
#include "launcher/run/accelerators.h"
#include "launcher/run/core_binding.h"
#include "launcher/run/job_summary.h"
#include "launcher/run/network.h"
#include "launcher/run/worker_environment.h"
#include "launcher/scheduler_job.h"

namespace drydock::launcher {
namespace {

constexpr std::int64_t kLowDiskBytes = std::int64_t{16} << 20U;
/// Descriptors beside those of ranks and connections.
constexpr std::int64_t kOwnDescriptors = 64;
constexpr std::int64_t kDescriptorsPerRank = 4;
constexpr std::chrono::seconds kResolvePause{1};
constexpr const char* kLockStem = ".msrun.";

std::string SystemText(int number) {
  return std::error_code(number, std::generic_category()).message();
}

tl::unexpected<Error> FailLog(const std::string& path, const std::string& reason) {
  return FailCommand(FailureCode::kLogDir, path + ": " + reason,
                     "choose another folder with --log_dir");
}

Status CheckLogs(const MsrunOptions& options, const CheckedJob& job, const Context& context) {
  if (!HasLogs(options)) {
    return {};
  }
  for (const WorkerSpec& worker : job.workers) {
    const std::size_t slash = worker.log_path.rfind('/');
    const std::size_t own = options.log_dir.empty() ? 0 : options.log_dir.size() + 1;
    if (slash != std::string::npos && slash > own) {
      DRYDOCK_RETURN_IF_ERROR(PrepareFolder(worker.log_path.substr(0, slash)));
    }
    DRYDOCK_RETURN_IF_ERROR(CheckLogFile(worker.log_path));
    if (!worker.error_log_path.empty()) {
      DRYDOCK_RETURN_IF_ERROR(CheckLogFile(worker.error_log_path));
    }
  }
  if (job.host.is_master) {
    DRYDOCK_RETURN_IF_ERROR(CheckLogFile(PathIn(options.log_dir, "scheduler.log")));
  }
  struct statvfs space = {};
  if (::statvfs(options.log_dir.empty() ? "." : options.log_dir.c_str(), &space) == 0) {
    const auto free = static_cast<std::int64_t>(space.f_bavail * space.f_frsize);
    if (free < kLowDiskBytes) {
      context.log.Warning("only " + BytesText(free) + " are free in the log folder");
    }
  }
  return {};
}

struct ResolvedName {
  std::vector<std::string> addresses = {};
  std::int64_t waited_s = 0;  ///< Whole seconds that it took.
};

/// Names are tried again only where they are known to appear late, within the time that the cluster
/// has to form. Source: docs/robustness.md R-03
Result<ResolvedName> ResolvePatiently(const MsrunOptions& options, const Context& context) {
  const bool patient = options.wait_dns ||
                       Variable(context.environment, "KUBERNETES_SERVICE_HOST") ||
                       Variable(context.environment, "POD_IP");
  const std::int64_t limit_s = options.cluster_time_out_s;
  const auto start = std::chrono::steady_clock::now();
  Duration notice_after = kFirstNotice;
  while (true) {
    auto addresses = ResolveHost(options.master_addr);
    const auto waited = std::chrono::steady_clock::now() - start;
    const auto waited_s = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
    if (addresses) {
      return ResolvedName{.addresses = *std::move(addresses), .waited_s = waited_s};
    }
    if (!patient || (limit_s >= 0 && waited_s >= limit_s)) {
      return tl::unexpected(std::move(addresses).error());
    }
    const std::string text = WithTimeLeft("waiting for the name " + addresses.error().message,
                                          limit_s < 0 ? -1 : limit_s - waited_s);
    if (waited >= notice_after) {
      context.log.Warning(text);
      notice_after += kNoticePause;
    } else {
      context.log.Debug(text);
    }
    std::this_thread::sleep_for(kResolvePause);  // a stop signal ends the process meanwhile
  }
}

/// Source: docs/robustness.md R-05
Status CheckLoopbackName(const MsrunOptions& options, const std::string& ip,
                         const std::vector<std::string>& own) {
  const bool is_alone =
      IsSingleNode(options) || (options.outer && options.outer->is_on_one_machine());
  if (is_alone || !IsLoopback(ip) || options.master_addr == ip ||
      options.master_addr == "localhost") {
    return {};
  }
  const auto candidate =
      std::ranges::find_if(own, [](const std::string& address) { return !IsLoopback(address); });
  return FailCommand(
      FailureCode::kLoopbackMaster,
      "'" + options.master_addr + "' resolves to " + ip + ", which other nodes cannot reach",
      candidate == own.end() ? "give an address of this machine with --master_addr"
                             : "--master_addr=" + *candidate);
}

/// Several processes of one job on this machine may own the master's address: the first is the
/// master.
Status TakeOuterMaster(const MsrunOptions& options, HostFacts& host) {
  if (options.paddle && options.paddle->is_on_one_machine) {
    host.is_master = options.node_rank <= 0;
    return {};
  }
  if (!options.outer || !options.outer->is_complete()) {
    return {};
  }
  const bool is_first = options.outer->index == 0;
  if (is_first && !host.is_master) {
    return FailCommand(FailureCode::kUsage,
                       options.outer->system + " runs process 0 on this machine (" + HostName() +
                           "), but " + options.master_addr + " (" + host.master_ip +
                           ") is another one's address",
                       "give this machine's address with --master_addr");
  }
  host.is_master = is_first;
  return {};
}

/// More processes than this machine has numbers for, or than we may have, are not begun with.
Status CheckProcessRoom(const MsrunOptions& options) {
  std::int64_t room = 0;
  std::ifstream("/proc/sys/kernel/pid_max") >> room;
  struct rlimit limit = {};
  if (::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &limit) == 0 &&
      limit.rlim_max != RLIM_INFINITY) {
    room = std::min(room, static_cast<std::int64_t>(limit.rlim_max));
  }
  if (room <= 0 || options.local_worker_num <= room) {
    return {};
  }
  return FailCommand(FailureCode::kNproc,
                     std::to_string(options.local_worker_num) +
                         " ranks on this node, which has room for " + std::to_string(room) +
                         " processes",
                     "start fewer ranks per node (--local_worker_num)");
}

/// Descriptors that a start of the job's ranks takes.
std::int64_t DescriptorsOf(const MsrunOptions& options, const CheckedJob& job) {
  const bool schedules =
      job.host.is_master && (job.join.workers_register || !IsSingleNode(options));
  return kOwnDescriptors + kDescriptorsPerRank * options.local_worker_num +
         (schedules ? 2 * options.worker_num : 0);
}

Status BindJob(const MsrunOptions& options, const Context& context, CheckedJob& job) {
  if (!options.bind_core.enabled) {
    return {};
  }
  const auto cpus = UsableCpus();
  if (!cpus) {
    context.log.Warning("no worker is bound: " + cpus.error().message);
    return {};
  }
  std::vector<std::string> warnings;
  DRYDOCK_RETURN_IF_ERROR(
      BindWorkers(options.bind_core, *cpus, DeviceShares(ReadMachineNuma("/sys"), *cpus),
                  Variable(context.environment, "ASCEND_RT_VISIBLE_DEVICES").value_or(""),
                  job.workers, warnings));
  for (const std::string& warning : warnings) {
    context.log.Warning(warning);
  }
  return {};
}

/// A real start that was probably meant as a dry run, or can only fail.
void WarnOfWrongStart(const MsrunOptions& options, const TaskCommand& command,
                      const Context& context) {
  const auto is_level = [](const std::string& word) {
    return word.starts_with("--sim_level") || word.starts_with("--sim-level");
  };
  const auto level = std::ranges::find_if(options.script_args, is_level);
  if (level != options.script_args.end()) {
    context.log.Warning("'" + *level +
                        "' stands behind the script and is handed to it: the job is started; for a "
                        "dry run put it in front of the script");
  } else if (command.kind == ScriptKind::kMindSpore &&
             LacksMindSpore(command.program,
                            std::filesystem::path(options.script).parent_path().string(),
                            context.environment)) {
    context.log.Warning("MindSpore is not installed for " + command.program +
                        ", so the ranks will fail; a dry run (--sim_level=1) needs none");
  }
}

void WarnOfOddities(const MsrunOptions& options, ScriptKind kind, const Context& context) {
  if (options.rendezvous == Rendezvous::kLauncher && kind == ScriptKind::kMindSpore) {
    context.log.Warning(
        "MindSpore's init() finds no scheduler with --rendezvous=launcher; use worker or auto");
  }
  for (const std::string& variable : StaleVariables(context.environment, options)) {
    context.log.Warning(variable + " is set in the environment; the flags win");
  }
  if (IsSingleNode(options) && options.node_rank > 0) {
    context.log.Warning("--node_rank is ignored: all ranks are on this node");
  }
  if (!IsSingleNode(options) && options.node_rank < 0) {
    context.log.Warning(
        "ranks are given out when all have registered, since --node_rank is not given; log files "
        "are numbered by local index");
  }
  if (!options.rank_table_file.empty()) {
    context.log.Warning("RANK_TABLE_FILE=" + options.rank_table_file + " is exported");
  }
}

/// Ranks read it where they are. Source: docs/robustness.md G2
Status CheckRankTable(const MsrunOptions& options, const JoinRule& join) {
  if (!options.rank_table_file.empty() && join.workers_register) {
    DRYDOCK_TRY([[maybe_unused]] const sim::RankTable table,
                ReadRankTable(options.rank_table_file, "argument --rank_table_file"));
  }
  if (!options.rank_table_file.empty() && ::access(options.rank_table_file.c_str(), R_OK) != 0) {
    return FailCommand(FailureCode::kUsage, "argument --rank_table_file: " +
                                                options.rank_table_file + ": " + SystemText(errno));
  }
  return {};
}

/// A scheduler without recovery refuses a worker that registers once more.
Status CheckRestarts(const MsrunOptions& options, const JoinRule& join,
                     const Environment& environment) {
  const bool registers = join.workers_register && !join.may_not_register;
  if (options.max_restarts > 0 && registers && Variable(environment, "MS_ENABLE_RECOVERY") != "1") {
    return FailCommand(FailureCode::kUsage,
                       "argument --max_restarts: MindSpore's workers cannot come back to a job "
                       "without recovery",
                       "set MS_ENABLE_RECOVERY=1 and MS_RECOVERY_PATH");
  }
  return {};
}

/// One lock per machine and node of the job: nodes may share the folder.
std::string LockPath(const MsrunOptions& options, const HostFacts& host) {
  return PathIn(options.log_dir,
                kLockStem + host.host_name + "." + std::to_string(options.node_rank) + ".lock");
}

/// Where ranks are not known before they register, launchers of two machines would give their logs
/// the same names. Each makes its lock before it looks, so of two at least one sees the other.
void FindOthersInFolder(const MsrunOptions& options, const Context& context, CheckedJob& job) {
  if (IsSingleNode(options) || options.node_rank >= 0 || !job.join.workers_register ||
      options.log_layout != LogLayout::kMsrun) {
    return;
  }
  const std::string own = kLockStem + job.host.host_name + ".";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(
           options.log_dir.empty() ? "." : options.log_dir, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kLockStem) && name.ends_with(".lock") && !name.starts_with(own)) {
      job.host.shares_logs = true;
      context.log.Warning("another machine's msrun writes to this log folder (" + name +
                          "): logs here are worker_" + job.host.host_name + "_<local index>.log");
      return;
    }
  }
}

/// What the scheduler has to know of the workers, and both sides of TLS.
Status ReadSchedulerFacts(const MsrunOptions& options, const Context& context, CheckedJob& job) {
  const bool asks = options.mindspore_release.empty() && job.join.workers_register;
  DRYDOCK_TRY(job.metadata_answers,
              MetadataAnswersFor(
                  options.mindspore_release,
                  asks ? FindMindSpore({job.command.program}, context.environment) : std::nullopt));
  DRYDOCK_TRY(job.tls, ReadTlsFiles(options.tls_config, options.tls_password_file));
  if (job.tls) {
    for (const std::string& warning : OpenSecrets(*job.tls, options.tls_password_file)) {
      context.log.Warning(warning);
    }
  }
  return {};
}

/// Who started the holder of a lock stands in its file: of the two processes of a job that is the
/// one that the caller knows (launcher/run/guard.cc).
void NoteHolder(int fd) {
  const std::string text = std::to_string(::getppid()) + "\n";
  if (::ftruncate(fd, 0) == 0) {
    (void)!::pwrite(fd, text.data(), text.size(), 0);
  }
}

/// True if the process that started the holder is gone: so the holder is about to end, as after
/// `kill -9` of a launcher that is started again at once.
bool HolderEnds(int fd) {
  std::array<char, 24> block = {};
  const ssize_t count = ::pread(fd, block.data(), block.size(), 0);
  const std::string text(block.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  const Result<std::int64_t> parent = ReadIntWord(text.substr(0, text.find('\n')));
  if (!parent || *parent <= 1) {
    return false;
  }
  std::ifstream file("/proc/" + std::to_string(*parent) + "/stat");  // "17 (msrun) S ..."
  std::string line;
  return !std::getline(file, line) || line.find(") Z ") != std::string::npos;
}

}  // namespace

Result<HostFacts> FindHost(const MsrunOptions& options, const Context& context,
                           bool workers_register) {
  DRYDOCK_TRY(const ResolvedName resolved, ResolvePatiently(options, context));
  const std::vector<std::string>& candidates = resolved.addresses;
  const std::vector<std::string> own = OwnAddresses();
  const auto is_local = [&own](const std::string& ip) {
    return IsLoopback(ip) || std::ranges::find(own, ip) != own.end();
  };
  const auto local = std::ranges::find_if(candidates, is_local);
  HostFacts host{.host_name = HostName(),
                 .master_ip = local == candidates.end() ? candidates.front() : *local,
                 .is_master = local != candidates.end(),
                 .waited_s = resolved.waited_s};
  for (const std::string& candidate : candidates) {
    context.log.Debug("'" + options.master_addr + "' is " + candidate);
  }
  DRYDOCK_RETURN_IF_ERROR(TakeOuterMaster(options, host));
  if (!IsOfOneMachine(host.master_ip)) {
    return FailCommand(FailureCode::kResolve,
                       "'" + options.master_addr + "' is not an address of one machine",
                       "give the address that the other nodes reach this one by");
  }
  if (IsIpv6(host.master_ip) && workers_register) {
    return FailCommand(FailureCode::kIpv6Unsupported,
                       "'" + options.master_addr +
                           "' is an IPv6 address, which MindSpore's workers "
                           "cannot be told of",
                       "give an IPv4 address or a name of one; scripts that do not register need "
                       "--rendezvous=launcher");
  }
  if (host.is_master) {
    DRYDOCK_RETURN_IF_ERROR(CheckLoopbackName(options, host.master_ip, own));
  } else if (workers_register && IsSingleNode(options)) {
    context.log.Warning("no scheduler is started: " + host.master_ip + " is another machine's");
  }
  host.local_ip = SourceAddressTo(host.master_ip);
  if (host.local_ip.empty()) {
    return FailCommand(FailureCode::kMasterUnreachable,
                       "there is no route to " + options.master_addr + " (" + host.master_ip + ")",
                       "check --master_addr and the network");
  }
  return host;
}

Result<long> RaiseFileLimit(std::int64_t needed) {
  struct rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto before = static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, 1U << 30U));
  if (before >= needed) {
    return static_cast<long>(before);
  }
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < static_cast<rlim_t>(needed)) {
    return FailCommand(
        FailureCode::kNofile,
        "open files: need " + std::to_string(needed) + " have " + std::to_string(limit.rlim_max),
        "raise the hard limit (ulimit -Hn), or start fewer ranks per node");
  }
  limit.rlim_cur = static_cast<rlim_t>(needed);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<long>(before);
}

Result<std::unique_ptr<FolderLock>> FolderLock::Take(const std::string& path) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (;;) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
      return FailLog(path, SystemText(errno));
    }
    std::unique_ptr<FolderLock> lock(new FolderLock(path, fd));
    // Not every file system can lock; then there is nothing to protect with.
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      lock->path_.clear();
      if (!HolderEnds(fd) || std::chrono::steady_clock::now() > until) {
        return FailCommand(FailureCode::kLogDir,
                           path + " is held by another msrun that is still running",
                           "wait for it, or give each job a folder of its own with --log_dir");
      }
      std::this_thread::sleep_for(kPause);
      continue;
    }
    struct stat facts = {};
    if (::fstat(fd, &facts) == 0 && facts.st_nlink == 0) {
      lock->path_.clear();  // Its last holder has removed it meanwhile.
      continue;
    }
    NoteHolder(fd);
    return lock;
  }
}

FolderLock::~FolderLock() {
  if (!path_.empty()) {
    ::unlink(path_.c_str());
  }
}

Result<CheckedJob> CheckJob(const MsrunOptions& options, const Context& context) {
  CheckedJob job;
  DRYDOCK_RETURN_IF_ERROR(CheckProcessRoom(options));
  DRYDOCK_TRY(job.command, TaskCommandOf(options, context.environment));
  job.join = JoinRuleFor(options, job.command.kind);
  DRYDOCK_RETURN_IF_ERROR(CheckRestarts(options, job.join, context.environment));
  DRYDOCK_RETURN_IF_ERROR(CheckRankTable(options, job.join));
  DRYDOCK_RETURN_IF_ERROR(ReadSchedulerFacts(options, context, job));
  DRYDOCK_TRY(job.secret, ReadJobSecret(options.job_secret, context.environment));
  WarnOfWrongStart(options, job.command, context);
  WarnOfOddities(options, job.command.kind, context);
  if (HasLogs(options)) {
    DRYDOCK_RETURN_IF_ERROR(PrepareFolder(options.log_dir));
  }
  DRYDOCK_TRY(job.host, FindHost(options, context, job.join.workers_register));
  if (HasLogs(options)) {
    DRYDOCK_TRY(job.lock, FolderLock::Take(LockPath(options, job.host)));
    FindOthersInFolder(options, context, job);
  }
  job.workers = WorkersOf(options, job.host);
  DRYDOCK_RETURN_IF_ERROR(CheckLogs(options, job, context));
  DRYDOCK_TRY(job.child_file_limit, RaiseFileLimit(DescriptorsOf(options, job)));
  DRYDOCK_RETURN_IF_ERROR(BindJob(options, context, job));
  return job;
}

}  // namespace drydock::launcher
