#include "launcher/run/worker_environment.h"

#include <string_view>

#include "launcher/net/job_secret.h"
#include "launcher/run/network.h"
#include "launcher/run/paddle_environment.h"

namespace drydock::launcher {
namespace {

/// Variables that give a process its place in a job; one of another job must not shine through.
constexpr const char* kPlaceNames[] = {
    "MS_ROLE",    "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_NODE_ID", "RANK_ID",         "RANK",
    "LOCAL_RANK", "GROUP_RANK",    "ROLE_RANK",     "WORLD_SIZE", "LOCAL_WORLD_SIZE"};

/// Among all ranks on this machine.
std::int64_t LocalRank(const MsrunOptions& options, const WorkerSpec& worker) {
  const std::int64_t before =
      options.outer ? options.outer->local_index * options.local_worker_num : 0;
  return before + worker.local_index;
}

std::int64_t LocalRanks(const MsrunOptions& options) {
  return options.local_worker_num * (options.outer ? options.outer->local_size : 1);
}

void SetMindSpore(Environment& variables, const MsrunOptions& options, const WorkerSetting& setting,
                  const WorkerSpec& worker) {
  const std::string ranks = std::to_string(options.worker_num);
  if (setting.join.workers_register) {
    variables["MS_ROLE"] = "MS_WORKER";
    variables["MS_SCHED_HOST"] = setting.host.master_ip;
    variables["MS_SCHED_PORT"] = std::to_string(setting.scheduler_port);
  }
  variables["MS_WORKER_NUM"] = ranks;
  variables["MS_TOPO_TIMEOUT"] = std::to_string(options.cluster_time_out_s);
  variables["MS_NODE_RANK"] = std::to_string(options.node_rank);
  variables["RANK_SIZE"] = ranks;
  variables["DEVICE_ID"] = std::to_string(LocalRank(options, worker));
  if (worker.rank) {
    variables["MS_NODE_ID"] = std::to_string(*worker.rank);
    variables["RANK_ID"] = std::to_string(*worker.rank);
  }
  if (!options.rank_table_file.empty()) {
    variables["RANK_TABLE_FILE"] = options.rank_table_file;
  }
}

/// Index of the node a rank lives on, and the first rank of that node.
struct NodePlace {
  std::int64_t node = 0;
  std::int64_t nodes = 1;
};

NodePlace PlaceOf(const MsrunOptions& options, std::int64_t rank) {
  return {.node = rank / options.local_worker_num, .nodes = NodeCount(options)};
}

void SetTorch(Environment& variables, const MsrunOptions& options, const WorkerSetting& setting,
              std::int64_t rank, std::int64_t local_index) {
  const std::string ranks = std::to_string(options.worker_num);
  const NodePlace place = PlaceOf(options, rank);
  variables["RANK"] = std::to_string(rank);
  variables["WORLD_SIZE"] = ranks;
  variables["LOCAL_RANK"] = std::to_string(local_index);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(LocalRanks(options));
  variables["GROUP_RANK"] = std::to_string(place.node);
  variables["GROUP_WORLD_SIZE"] = std::to_string(place.nodes);
  variables["ROLE_NAME"] = "default";
  variables["ROLE_RANK"] = std::to_string(rank);
  variables["ROLE_WORLD_SIZE"] = ranks;
  variables["MASTER_ADDR"] = setting.script_master_ip;
  variables["MASTER_PORT"] = std::to_string(setting.script_port);
  variables["TORCHELASTIC_RESTART_COUNT"] = std::to_string(setting.restarts);
  variables["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(options.max_restarts);
  variables["TORCHELASTIC_RUN_ID"] = setting.job_mark;
  // There is no store of ours: rank 0 opens one at MASTER_PORT.
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  variables.emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  if (!setting.join.workers_register && options.local_worker_num > 1 && !FollowsMpirun(options)) {
    variables.emplace("OMP_NUM_THREADS", "1");  // as torchrun does
  }
}

std::string Joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    text.append(text.empty() ? "" : separator).append(word);
  }
  return text;
}

void SetPaddle(Environment& variables, const MsrunOptions& options, const WorkerSetting& setting,
               std::int64_t rank, std::int64_t local_index) {
  const std::string ranks = std::to_string(options.worker_num);
  const std::string local = std::to_string(local_index);
  variables["PADDLE_TRAINER_ID"] = std::to_string(rank);
  variables["PADDLE_TRAINERS_NUM"] = ranks;
  variables["PADDLE_RANK_IN_NODE"] = local;
  variables["PADDLE_LOCAL_DEVICE_IDS"] = local;
  variables["PADDLE_GLOBAL_SIZE"] = ranks;
  variables["PADDLE_GLOBAL_RANK"] = std::to_string(rank);
  variables["PADDLE_LOCAL_SIZE"] = std::to_string(LocalRanks(options));
  variables["PADDLE_LOCAL_RANK"] = local;
  variables["PADDLE_NNODES"] = std::to_string(NodeCount(options));
  if (!setting.endpoints.joined.empty()) {
    variables["PADDLE_TRAINER_ENDPOINTS"] = setting.endpoints.joined;
  }
  variables["PADDLE_CURRENT_ENDPOINT"] = setting.endpoints.of_rank[static_cast<std::size_t>(rank)];
}

/// Accelerators as named by the variable that limits them, and Paddle's word for one.
struct DeviceKind {
  std::string_view visible = {};
  std::string_view selected = {};
};
constexpr DeviceKind kDeviceKinds[] = {{"CUDA_VISIBLE_DEVICES", "FLAGS_selected_gpus"},
                                       {"XPU_VISIBLE_DEVICES", "FLAGS_selected_xpus"},
                                       {"ASCEND_RT_VISIBLE_DEVICES", "FLAGS_selected_npus"}};

/// What only Paddle's own launcher sets: devices, and no proxies on the way to other ranks.
void SetPaddleOnly(Environment& variables, const MsrunOptions& options,
                   const WorkerSetting& setting, std::int64_t local_index) {
  bool has_device = false;
  for (const DeviceKind& kind : kDeviceKinds) {
    if (!Variable(variables, kind.visible).value_or("").empty()) {
      has_device = true;
      variables[std::string(kind.selected)] = std::to_string(local_index);
    }
  }
  if (!has_device) {
    variables["PADDLE_DISTRI_BACKEND"] = "gloo";
  }
  if (!IsSingleNode(options)) {
    variables["PADDLE_MASTER"] = HostAndPort(setting.script_master_ip, setting.script_port);
  }
  for (const std::string name : {"http_proxy", "https_proxy"}) {
    if (const auto proxy = Variable(variables, name); proxy) {
      variables[name + "_original"] = *proxy;
      variables.erase(name);
    }
  }
}

/// What scripts ask mpirun for. Not what MPI itself goes by (PMIX_*, OMPI_COMMAND): there is none.
void SetMpirun(Environment& variables, const MsrunOptions& options, std::int64_t rank,
               std::int64_t local_index) {
  const std::string ranks = std::to_string(options.worker_num);
  variables["OMPI_COMM_WORLD_RANK"] = std::to_string(rank);
  variables["OMPI_COMM_WORLD_SIZE"] = ranks;
  variables["OMPI_COMM_WORLD_LOCAL_RANK"] = std::to_string(local_index);
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = std::to_string(options.local_worker_num);
  variables["OMPI_COMM_WORLD_NODE_RANK"] = std::to_string(local_index);
  variables["OMPI_UNIVERSE_SIZE"] = ranks;
}

/// Several ranks are not the one process that MPI started.
void EraseOuterPlace(Environment& variables, const MsrunOptions& options) {
  // One rank of one process of MPI is that process; any other is not.
  if (options.outer && options.local_worker_num == 1) {
    return;
  }
  std::erase_if(variables, [](const auto& variable) {
    return variable.first.starts_with("OMPI_COMM_WORLD_") || variable.first == "OMPI_COMMAND" ||
           variable.first.starts_with("PMIX_");
  });
}

/// Variables of other frameworks for a worker whose rank is known.
void SetOthers(Environment& variables, const MsrunOptions& options, const WorkerSetting& setting,
               const WorkerSpec& worker) {
  if (options.framework != Framework::kPaddle) {
    SetTorch(variables, options, setting, *worker.rank, LocalRank(options, worker));
  }
  const bool paddle =
      options.framework == Framework::kAuto || options.framework == Framework::kPaddle;
  if (paddle && !setting.join.workers_register && !setting.endpoints.of_rank.empty()) {
    SetPaddle(variables, options, setting, *worker.rank, LocalRank(options, worker));
  }
  if (options.framework == Framework::kPaddle ||
      (options.framework == Framework::kAuto && options.script_is_paddles)) {
    SetPaddleOnly(variables, options, setting, LocalRank(options, worker));
    if (options.paddle) {
      SetPaddleDevices(variables, *options.paddle, worker);
    }
  }
}

}  // namespace

Environment WorkerEnvironment(const Environment& inherited, const MsrunOptions& options,
                              const WorkerSetting& setting, const WorkerSpec& worker) {
  Environment variables = inherited;
  for (const char* name : kPlaceNames) {
    variables.erase(name);
  }
  variables.erase("MSRUN_CPU_LIST");
  variables.erase(std::string(kSecretName));  // ranks do not speak as launchers
  EraseOuterPlace(variables, options);
  SetMindSpore(variables, options, setting, worker);
  variables[std::string(kJobMarkName)] = setting.job_mark;
  if (worker.rank && FollowsMpirun(options)) {
    SetMpirun(variables, options, *worker.rank, worker.local_index);
  }
  if (HasPaddleServers(options)) {
    SetPaddleProcess(variables, *options.paddle, worker);
  } else if (worker.rank) {
    SetOthers(variables, options, setting, worker);
  }
  if (!worker.cpus.empty() && options.bind_core.ranges_of_device.empty()) {
    std::vector<std::string> cpus;
    for (const int cpu : worker.cpus) {
      cpus.push_back(std::to_string(cpu));
    }
    variables["MSRUN_CPU_LIST"] = "[" + Joined(cpus, ", ") + "]";
  }
  return variables;
}

std::vector<std::string> Assignments(const Environment& environment) {
  std::vector<std::string> lines;
  lines.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    lines.emplace_back(name).append("=").append(value);
  }
  return lines;
}

std::vector<std::string> StaleVariables(const Environment& inherited, const MsrunOptions& options) {
  std::vector<std::string> stale;
  const auto differs = [&](std::string_view name, const std::string& own) {
    const auto value = Variable(inherited, name);
    const bool is_outer =
        options.outer && (name == options.outer->index_name || name == options.outer->size_name);
    if (value && *value != own && !is_outer) {
      stale.push_back(std::string(name) + "=" + *value);
    }
  };
  differs("MS_ROLE", "MS_WORKER");
  differs("MS_SCHED_HOST", options.master_addr);
  differs("MS_SCHED_PORT", std::to_string(options.master_port));
  differs("MS_WORKER_NUM", std::to_string(options.worker_num));
  differs("RANK_SIZE", std::to_string(options.worker_num));
  differs("MS_NODE_ID", "");
  differs("RANK_ID", "");
  differs("WORLD_SIZE", std::to_string(options.worker_num));
  return stale;
}

}  // namespace drydock::launcher
