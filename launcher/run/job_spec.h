#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/msrun_options.h"

namespace drydock::launcher {

/// What the first lines of a script tell about it.
enum class ScriptKind : std::uint8_t {
  kMindSpore,  ///< Imports MindSpore or a package built on it.
  kOther,      ///< Imports another framework of distributed training and not MindSpore.
  kPaddle,     ///< The same, and that is PaddlePaddle alone.
  kUnknown,    ///< Neither: a program, a shell script, a script that imports its own modules.
};

/// Kind of a Python script by its import lines.
[[nodiscard]] ScriptKind ScriptKindOf(std::string_view text);

/// Who registers a rank, for a script of some kind.
struct JoinRule {
  bool workers_register = true;  ///< Each worker process registers itself with the scheduler.
  /// It was not asked for: ranks that never register are no failure if none does.
  bool may_not_register = false;
};

/// Source: design of --rendezvous: what is asked for wins; else only scripts of other frameworks
/// are started by the launchers' agreement. --framework says what kind a script is.
[[nodiscard]] JoinRule JoinRuleFor(const MsrunOptions& options, ScriptKind kind);

/// This machine as seen from the job.
struct HostFacts {
  std::string host_name = {};
  std::string master_ip = {};  ///< `--master_addr`, resolved.
  std::string local_ip = {};   ///< Source address of packets to the master.
  bool is_master = true;       ///< The scheduler belongs on this machine.
  std::int64_t waited_s = 0;   ///< Whole seconds that the name took to resolve.
  bool shares_logs = false;    ///< Another machine's launcher writes to the same log folder.
};

/// One worker process before it is started.
struct WorkerSpec {
  std::int64_t local_index = 0;
  std::optional<std::int64_t> rank = {};  ///< Also its node id; nothing: the scheduler decides.
  std::string log_path = {};              ///< Empty: it writes where we do.
  std::string error_log_path = {};        ///< Of stderr; empty: as `log_path`.
  std::vector<int> cpus = {};             ///< Processors it may use; empty: all.
  std::string bound_ranges = {};          ///< The same for people: "0-3,8".
};

/// Ranks of the local workers, where the flags decide them.
///
/// All on one node: rank = local index. With --node_rank: node_rank * local_worker_num + index.
/// Otherwise nothing. Source: docs/launching.md
[[nodiscard]] std::vector<std::optional<std::int64_t>> RanksOf(const MsrunOptions& options);

/// True if this launcher starts all ranks of the job.
[[nodiscard]] bool IsSingleNode(const MsrunOptions& options);

/// Number of machines, if all start as many ranks as this one (rounded up).
[[nodiscard]] std::int64_t NodeCount(const MsrunOptions& options);

/// Whether the job was started by mpirun's flags.
[[nodiscard]] bool FollowsMpirun(const MsrunOptions& options);

/// Whether the job is one of Paddle with parameter servers.
[[nodiscard]] bool HasPaddleServers(const MsrunOptions& options);

/// Whether ranks write to files.
[[nodiscard]] bool HasLogs(const MsrunOptions& options);

/// "worker_3.log" in the log folder. The stem is --worker_log_name with {ip} and {hostname} filled
/// in; the number is the rank, or the local index where the rank is not known, there behind
/// the host's name if other machines write to the same folder. Source: docs/launching.md
[[nodiscard]] std::string WorkerLogPath(const MsrunOptions& options, const HostFacts& host,
                                        const WorkerSpec& worker);

/// Log of a worker that is started again for the `restart`-th time: "worker_3.r1.log" beside
/// "worker_3.log". Source: docs/robustness.md R-24
[[nodiscard]] std::string RestartLogPath(const std::string& log_path, std::int64_t restart);

/// The local workers with their ranks and log files.
[[nodiscard]] std::vector<WorkerSpec> WorkersOf(const MsrunOptions& options, const HostFacts& host);

/// True if the log of this worker is shown on the console: "-1" shows all, else the list holds its
/// rank, or its local index where the rank is not known. Source: docs/launching.md
[[nodiscard]] bool IsTailed(const MsrunOptions& options, const WorkerSpec& worker);

}  // namespace drydock::launcher
