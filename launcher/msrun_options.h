#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/environment.h"
#include "launcher/flags.h"
#include "launcher/outer_job.h"
#include "launcher/paddle_job.h"
#include "reports/ir_style.h"
#include "strategies/graph/job_config.h"

namespace drydock::launcher {

/// What --bind_core asks for.
struct CoreBinding {
  bool enabled = false;
  /// CPU ranges ("0-3") per device name ("device0"); empty: chosen automatically.
  std::map<std::string, std::vector<std::string>> ranges_of_device = {};
};

/// Who makes a rank known to the job.
enum class Rendezvous : std::uint8_t {
  kAuto,      ///< By what the script imports.
  kWorker,    ///< Each worker process registers itself, as MindSpore's do.
  kLauncher,  ///< The launchers of all nodes agree before the scripts start.
};

/// Whose environment the ranks get, and so who registers them.
enum class Framework : std::uint8_t {
  kAuto,       ///< By what the script imports; variables of all of them.
  kMindSpore,  ///< Workers register with the scheduler.
  kTorch,      ///< As torchrun starts them.
  kPaddle,     ///< As paddle.distributed.launch starts them.
};

/// Whose habits of output a job follows.
enum class LogLayout : std::uint8_t {
  kMsrun,    ///< worker_<rank>.log.
  kConsole,  ///< No files: ranks write where we do, as under mpirun.
  kPaddle,   ///< workerlog.<local index>, serverlog.<...>, appended; endpoints.log.
  kMpirun,   ///< 1/rank.<rank>/stdout and stderr, as of mpirun --output-filename.
};

/// Values of msrun's flags; names and defaults as in the original. Source: docs/launching.md.
struct MsrunOptions {
  std::int64_t worker_num = 8;
  std::int64_t local_worker_num = 8;
  std::string master_addr = "127.0.0.1";
  std::int64_t master_port = 8118;
  std::int64_t node_rank = -1;
  std::string log_dir = {};
  std::int64_t cluster_time_out_s = 600;
  CoreBinding bind_core = {};
  std::int64_t sim_level = -1;    ///< -1: not a simulation.
  std::int64_t sim_rank_id = -1;  ///< -1: all ranks.
  bool dump_all_ranks = false;    ///< IR dumps of every rank, not of one.
  bool sim_spread = false;        ///< The dry run is played by several hosts, over TCP.
  std::string rank_table_file = {};
  std::string worker_log_name = {};
  std::string tail_worker_log = "-1";

  Rendezvous rendezvous = Rendezvous::kAuto;
  Framework framework = Framework::kAuto;
  LogLayout log_layout = LogLayout::kMsrun;
  bool join = false;
  bool tag_output = false;             ///< Lines on the console begin with their rank.
  bool wait_dns = false;               ///< An unknown --master_addr is looked up again.
  std::int64_t max_restarts = 0;       ///< How often each rank is started again after a failure.
  std::int64_t grace_s = 10;           ///< From SIGTERM to SIGKILL when a job is ended.
  std::int64_t script_port = -1;       ///< MASTER_PORT of the scripts; -1: --master_port + 1.
  std::string tls_config = {};         ///< The scheduler serves TLS by this file; empty: plain TCP.
  std::string tls_password_file = {};  ///< First line: the server's password, second: the client's.
  std::string job_secret = {};         ///< File with what only launchers of this job know.
  std::string mindspore_release = {};  ///< Of the workers; empty: the installed one, as a guess.

  std::optional<PaddleJob> paddle = {};  ///< Of `drydock paddle-launch`.

  bool merge_stderr = true;             ///< kMpirun: stderr into the same file.
  bool ends_with_first_failure = true;  ///< A rank's exit status other than 0 ends the others.
  bool stops_quietly = false;           ///< Whoever sends SIGTERM knows why: no summary.
  bool script_is_paddles = false;       ///< By its imports.
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  bool html = false;               ///< report.html is written.
  bool export_csv = false;         ///< tensors.csv, kernels.csv, collectives.csv.
  bool export_trace = false;       ///< memory_trace.json.
  bool export_chakra = false;      ///< chakra.<rank>.et.
  bool export_dot = false;         ///< graph.dot.
  bool export_graph = false;       ///< traced_graph.json.
  bool sqlite = false;             ///< drydock.db.
  bool sarif = false;              ///< drydock.sarif.
  bool github = false;             ///< Diagnostics as annotations of GitHub Actions.
  bool full_detail = false;        ///< Reports list every tensor and kernel.
  bool strict = false;             ///< What is not handled is an error.
  bool fail_on_memory = false;     ///< Exit 7 if a rank does not fit.
  bool verify = false;             ///< A step is run on numbers, cut and whole.
  bool suggest = true;             ///< If a rank does not fit, changes are tried.
  bool trial = false;              ///< Such a change is being tried: nothing of it is shown.
  bool shard_optimizer = false;    ///< The change: as if the script sharded its optimizer.
  bool recompute_layers = false;   ///< The change: as if it recomputed its layers.
  std::string progress_file = {};  ///< Where the script tells which line runs; empty: nowhere.
  bool worker_num_given = false;
  reports::IrStyle ir_style = reports::IrStyle::kR20;  ///< Look of IR dumps.
  std::int64_t devices_per_node = 0;  ///< 0: --local_worker_num, as the profile says.
  std::string device_memory =
      {};  ///< "58GB": memory of one device; empty: the script's or the default.
  std::optional<strategies::CompatRelease> compat = {};
  std::optional<strategies::RedistributionSearch> redistribution = {};
  std::optional<strategies::SearchMode> search = {};  ///< Instead of the script's.
  std::string hardware = {};           ///< Profile by name or file; empty: by the device target.
  std::string workspaces = {};         ///< Table of drydock calibrate, from level 2 on.
  std::int64_t jitter = -1;            ///< Seed; -1: no jitter.
  std::string compat_from = {};        ///< "--compat", "DRYDOCK_COMPAT"; empty if not given.
  std::string python = {};             ///< Interpreter; empty: `python`, else `python3` from PATH.
  std::int64_t threads = 0;            ///< 0: one per processor.
  std::int64_t trace_timeout_s = 300;  ///< 0: none.

  std::optional<OuterJob> outer = {};         ///< The job of processes of which this one is part.
  std::vector<std::string> flags_given = {};  ///< "name=value" of those that change the result.
  std::string script = {};
  std::vector<std::string> script_args = {};
};

/// Declares msrun's flags on `flags`, writing to `options`, which must outlive the parsing.
void AddMsrunFlags(FlagSet& flags, MsrunOptions& options);

/// Completes the options after parsing: script and arguments from the remaining words, simulation
/// and release from the environment where no flag says so; then checks everything that can be
/// checked without touching the system.
/// @error USAGE, PORT_RANGE  docs/robustness.md
[[nodiscard]] Result<MsrunOptions> FinishMsrunOptions(MsrunOptions options, const FlagSet& flags,
                                                      const Environment& environment);

/// Whether so many ranks can be played; asked before anything is read.
/// @error UNSUPPORTED  more than sim::kMaxFleetWorkers
[[nodiscard]] Status CheckFleetSize(std::int64_t ranks);

}  // namespace drydock::launcher
