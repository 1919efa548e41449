// Where msrun is started by something that starts many: each system gives its processes variables,
// and a reader per system makes an OuterJob of them. Example: under `mpirun -n 2 msrun net.py` the
// second msrun finds OMPI_COMM_WORLD_RANK=1 and OMPI_COMM_WORLD_SIZE=2; it is node 1 of 2 with one
// rank, and the scheduler is that of node 0.
#include "launcher/outer_job.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "launcher/exit_code.h"
#include "launcher/flags.h"
#include "launcher/msrun_options.h"
#include "launcher/run/worker_environment.h"

namespace drydock::launcher {
namespace {

constexpr std::int64_t kMostProcesses = std::int64_t{1} << 24U;
constexpr std::string_view kLocalAddress = "127.0.0.1";

std::string Assigned(const std::string& name, std::int64_t value) {
  return name + "=" + std::to_string(value);
}

std::string FlagText(std::string_view name, std::int64_t value) {
  return "--" + std::string(name) + "=" + std::to_string(value);
}

/// A number in a variable, `otherwise` where it is not set.
Result<std::int64_t> Number(const Environment& environment, const std::string& name,
                            std::int64_t otherwise) {
  const auto text = Variable(environment, name);
  if (!text) {
    return otherwise;
  }
  const auto number = ReadIntWord(*text);
  if (!number || *number < 0 || *number > kMostProcesses) {
    return FailUsage(name + "='" + *text + "' is not a number of processes",
                     "unset it, or let the launcher that sets it start msrun");
  }
  return *number;
}

/// Size, and places within it.
Status CheckPlace(const OuterJob& job) {
  if (job.is_complete() && job.index >= job.size) {
    return FailUsage(
        Assigned(job.index_name, job.index) + " is not below " + Assigned(job.size_name, job.size),
        "unset both, or let " + job.system + " start msrun");
  }
  return {};
}

/// First address in "1271922688.0;tcp://192.0.2.2,10.0.0.1:35651;tcp6://[fd00::2]:43359".
std::string FirstAddressOf(std::string_view uri) {
  constexpr std::string_view kScheme = "tcp://";
  const std::size_t at = uri.find(kScheme);
  if (at == std::string_view::npos) {
    return {};
  }
  uri.remove_prefix(at + kScheme.size());
  return std::string(uri.substr(0, uri.find_first_of(",:;")));
}

Result<std::optional<OuterJob>> ReadOpenMpi(const Environment& environment) {
  OuterJob job{.system = "Open MPI",
               .index_name = "OMPI_COMM_WORLD_RANK",
               .size_name = "OMPI_COMM_WORLD_SIZE"};
  if (!Variable(environment, job.index_name) || !Variable(environment, job.size_name)) {
    return std::nullopt;
  }
  DRYDOCK_TRY(job.index, Number(environment, job.index_name, 0));
  DRYDOCK_TRY(job.size, Number(environment, job.size_name, 0));
  DRYDOCK_TRY(job.local_index, Number(environment, "OMPI_COMM_WORLD_LOCAL_RANK", 0));
  DRYDOCK_TRY(job.local_size, Number(environment, "OMPI_COMM_WORLD_LOCAL_SIZE", 1));
  DRYDOCK_TRY(const std::int64_t pmix_rank, Number(environment, "PMIX_RANK", job.index));
  if (pmix_rank != job.index) {
    return FailUsage(
        Assigned("PMIX_RANK", pmix_rank) + " contradicts " + Assigned(job.index_name, job.index),
        "unset the one that is of another job");
  }
  // Where mpirun runs; rank 0 does, too, unless the hosts leave that machine out.
  job.master = job.is_on_one_machine()
                   ? std::string(kLocalAddress)
                   : FirstAddressOf(Variable(environment, "OMPI_MCA_orte_hnp_uri").value_or(""));
  return job;
}

/// Entry of a node in "2(x3),1": its number of tasks.
std::int64_t TasksOf(std::string_view list, std::int64_t node) {
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    const std::size_t open = entry.find("(x");
    const std::int64_t tasks = ReadIntWord(entry.substr(0, open)).value_or(1);
    const std::int64_t nodes =
        open == std::string_view::npos
            ? 1
            : ReadIntWord(entry.substr(open + 2, entry.size() - open - 3)).value_or(1);
    if (node < nodes) {
      return tasks;
    }
    node -= nodes;
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
  }
  return 1;
}

Result<std::optional<OuterJob>> ReadSlurm(const Environment& environment) {
  // Steps of batch scripts and interactive shells have numbers from here on.
  constexpr std::int64_t kFirstSpecialStep = 0xfffffff0;
  OuterJob job{
      .system = "Slurm", .index_name = "SLURM_PROCID", .size_name = "SLURM_STEP_NUM_TASKS"};
  const auto step = Variable(environment, "SLURM_STEP_ID");
  if (!step || ReadIntWord(*step).value_or(kFirstSpecialStep) >= kFirstSpecialStep ||
      !Variable(environment, job.index_name) || !Variable(environment, job.size_name)) {
    return std::nullopt;
  }
  DRYDOCK_TRY(job.index, Number(environment, job.index_name, 0));
  DRYDOCK_TRY(job.size, Number(environment, job.size_name, 0));
  DRYDOCK_TRY(job.local_index, Number(environment, "SLURM_LOCALID", 0));
  DRYDOCK_TRY(const std::int64_t node, Number(environment, "SLURM_NODEID", 0));
  job.local_size = TasksOf(Variable(environment, "SLURM_STEP_TASKS_PER_NODE").value_or("1"), node);
  // The devices of a node belong to its only task.
  if (job.local_size == 1) {
    job.ranks_each_name = "SLURM_GPUS_ON_NODE";
    DRYDOCK_TRY(job.ranks_each, Number(environment, job.ranks_each_name, 0));
  }
  job.master = job.is_on_one_machine()
                   ? std::string(kLocalAddress)
                   : FirstHostOf(Variable(environment, "SLURM_STEP_NODELIST").value_or(""));
  return job;
}

/// PyTorchJob gives torchrun's flags as PET_*, older ones RANK and WORLD_SIZE of the pods.
Result<std::optional<OuterJob>> ReadPyTorchJob(const Environment& environment) {
  OuterJob job{.system = "PyTorchJob"};
  const bool has_flags = Variable(environment, "PET_NODE_RANK").has_value();
  job.index_name = has_flags ? "PET_NODE_RANK" : "RANK";
  job.size_name = has_flags ? "PET_NNODES" : "WORLD_SIZE";
  const std::string address = has_flags ? "PET_MASTER_ADDR" : "MASTER_ADDR";
  if (!Variable(environment, "KUBERNETES_SERVICE_HOST") || !Variable(environment, job.index_name) ||
      !Variable(environment, job.size_name) || !Variable(environment, address)) {
    return std::nullopt;
  }
  DRYDOCK_TRY(job.index, Number(environment, job.index_name, 0));
  DRYDOCK_TRY(job.size, Number(environment, job.size_name, 0));
  if (has_flags && ReadIntWord(Variable(environment, "PET_NPROC_PER_NODE").value_or("auto"))) {
    job.ranks_each_name = "PET_NPROC_PER_NODE";
    DRYDOCK_TRY(job.ranks_each, Number(environment, job.ranks_each_name, 0));
  }
  job.master = *Variable(environment, address);
  if (job.master == "localhost") {  // so in the pod of rank 0, which the others know by its name
    job.master = Variable(environment, "HOSTNAME").value_or("");
  }
  return job;
}

/// First of "job-worker-0.job,job-worker-1.job".
std::string FirstOf(const std::string& list) {
  return list.substr(0, list.find(','));
}

/// Volcano numbers the pods of each task and lists their hosts: VC_WORKER_HOSTS, VC_WORKER_NUM.
Result<std::optional<OuterJob>> ReadVolcano(const Environment& environment) {
  OuterJob job{.system = "Volcano", .index_name = "VC_TASK_INDEX"};
  std::vector<std::string> tasks;
  for (const auto& [name, value] : environment) {
    if (name.starts_with("VC_") && name.ends_with("_HOSTS")) {
      tasks.push_back(name.substr(0, name.size() - std::string_view("_HOSTS").size()));
    }
  }
  // With several kinds of tasks the index says nothing of the job.
  if (!Variable(environment, job.index_name) || tasks.size() != 1) {
    return std::nullopt;
  }
  job.size_name = tasks.front() + "_NUM";
  DRYDOCK_TRY(job.index, Number(environment, job.index_name, 0));
  DRYDOCK_TRY(job.size, Number(environment, job.size_name, 0));
  job.master = FirstOf(*Variable(environment, tasks.front() + "_HOSTS"));
  return job;
}

/// An Indexed Job says which pod this is, not how many there are.
Result<std::optional<OuterJob>> ReadIndexedJob(const Environment& environment) {
  OuterJob job{.system = "Kubernetes", .index_name = "JOB_COMPLETION_INDEX"};
  if (!Variable(environment, job.index_name)) {
    return std::nullopt;
  }
  DRYDOCK_TRY(job.index, Number(environment, job.index_name, 0));
  return job;
}

using Reader = Result<std::optional<OuterJob>> (*)(const Environment&);
/// In this order: mpirun may run in a step of Slurm, and both in pods.
constexpr std::array<Reader, 5> kReaders = {ReadOpenMpi, ReadSlurm, ReadPyTorchJob, ReadVolcano,
                                            ReadIndexedJob};

/// What "[01-04,07]" begins with: "01".
std::string_view FirstInBrackets(std::string_view list) {
  return list.substr(0, list.find_first_of("-,]"));
}

/// The outer job, also one of a single process.
Result<std::optional<OuterJob>> ReadOuterJob(const Environment& environment) {
  if (Variable(environment, kJobMarkName)) {
    return std::nullopt;  // a rank of ours that starts a job of its own
  }
  for (const Reader read : kReaders) {
    DRYDOCK_TRY(std::optional<OuterJob> job, read(environment));
    if (job) {
      DRYDOCK_RETURN_IF_ERROR(CheckPlace(*job));
      return job;
    }
  }
  return std::nullopt;
}

/// `srun --pty bash`: what is typed there is no part of the job.
bool IsShell(const OuterJob& job, const Environment& environment) {
  return job.size == 1 && Variable(environment, "SLURM_PTY_PORT").has_value();
}

/// `srun -n 1 msrun net.py`: one node. Where each node has such a job, flags say which one it is.
void TakeOnlyProcess(MsrunOptions& options, const FlagSet& flags, const OuterJob& job) {
  constexpr std::array<std::string_view, 4> kPlaces = {"worker_num", "local_worker_num",
                                                       "node_rank", "master_addr"};
  const bool says_place =
      std::ranges::any_of(kPlaces, [&](std::string_view name) { return flags.Given(name); });
  if (job.ranks_each > 0 && !says_place) {
    options.worker_num = job.ranks_each;
    options.local_worker_num = job.ranks_each;
    options.worker_num_given = true;
  }
}

Status TakeNodeRank(MsrunOptions& options, const FlagSet& flags, const OuterJob& job) {
  if (flags.Given("node_rank") && options.node_rank != job.index && options.node_rank >= 0) {
    return FailUsage("argument --node_rank=" + std::to_string(options.node_rank) + " contradicts " +
                         Assigned(job.index_name, job.index) + " of " + job.system,
                     "leave the flag out");
  }
  options.node_rank = job.index;
  return {};
}

/// What is left of the two numbers of ranks and the number of processes follows from the others.
Status TakeRanks(MsrunOptions& options, const FlagSet& flags, const OuterJob& job) {
  const bool all_given = flags.Given("worker_num");
  const bool local_given = flags.Given("local_worker_num");
  if (local_given || !all_given) {
    const std::int64_t own = job.ranks_each > 0 ? job.ranks_each : 1;
    const std::int64_t local = local_given ? options.local_worker_num : own;
    if (local <= 0 || local > kMostProcesses) {
      return {};  // is refused as such
    }
    const std::int64_t all = local * job.size;
    if (all_given && options.worker_num != all) {
      return FailUsage("arguments " + FlagText("worker_num", options.worker_num) + " and " +
                           FlagText("local_worker_num", local) + " contradict " +
                           Assigned(job.size_name, job.size) + " of " + job.system + ": " +
                           std::to_string(job.size) + " launchers of " + std::to_string(local) +
                           " ranks start " + std::to_string(all),
                       "leave one of the flags out");
    }
    options.local_worker_num = local;
    options.worker_num = all;
    options.worker_num_given = true;
    return {};
  }
  if (options.worker_num % job.size != 0) {
    return FailUsage("argument " + FlagText("worker_num", options.worker_num) + " contradicts " +
                         Assigned(job.size_name, job.size) + " of " + job.system +
                         ": launchers start equally many ranks",
                     "give a multiple of " + std::to_string(job.size));
  }
  options.local_worker_num = options.worker_num / job.size;
  return {};
}

}  // namespace

std::string FirstHostOf(std::string_view nodelist) {
  std::string host;
  while (!nodelist.empty() && nodelist.front() != ',') {
    if (nodelist.front() == '[') {
      host += FirstInBrackets(nodelist.substr(1));
      const std::size_t end = nodelist.find(']');
      nodelist.remove_prefix(end == std::string_view::npos ? nodelist.size() : end + 1);
    } else {
      host += nodelist.front();
      nodelist.remove_prefix(1);
    }
  }
  return host;
}

Result<std::optional<OuterJob>> FindOuterJob(const Environment& environment) {
  DRYDOCK_TRY(std::optional<OuterJob> job, ReadOuterJob(environment));
  return job && job->size == 1 ? std::nullopt : std::move(job);
}

Status TakeOuterJob(MsrunOptions& options, const FlagSet& flags, const Environment& environment) {
  DRYDOCK_TRY(std::optional<OuterJob> found, ReadOuterJob(environment));
  if (!found || IsShell(*found, environment)) {
    return {};
  }
  if (!flags.Given("join")) {
    options.join = true;
  }
  if (found->size == 1) {
    TakeOnlyProcess(options, flags, *found);
    return {};
  }
  options.outer = std::move(found);
  const OuterJob& job = *options.outer;
  if (!job.is_complete()) {
    // Flags say how many nodes there are; a job of one node may run in any pod.
    return options.local_worker_num < options.worker_num ? TakeNodeRank(options, flags, job)
                                                         : Status();
  }
  if (options.sim_level < 0 || !flags.Given("worker_num")) {
    DRYDOCK_RETURN_IF_ERROR(TakeNodeRank(options, flags, job));
    DRYDOCK_RETURN_IF_ERROR(TakeRanks(options, flags, job));
  } else if (options.sim_spread) {
    DRYDOCK_RETURN_IF_ERROR(TakeNodeRank(options, flags, job));
  }
  if (!flags.Given("master_addr")) {
    if (job.master.empty() && (options.sim_level < 0 || options.sim_spread)) {
      return FailUsage(job.system + " does not say on which machine process 0 runs",
                       "give its address with --master_addr");
    }
    options.master_addr = job.master.empty() ? options.master_addr : job.master;
  }
  return {};
}

}  // namespace drydock::launcher
