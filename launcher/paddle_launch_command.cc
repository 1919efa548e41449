// `drydock paddle-launch`: the flags, logs and environment of paddle.distributed.launch for
// processes that msrun starts and watches. Collective jobs: one rank per device, `--ips` in the
// same order on all nodes; launchers agree over the scheduler at the first address, as for other
// frameworks. Jobs with parameter servers: the processes whose endpoints have an address of this
// machine; trainers decide when the job is over.
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "launcher/commands.h"
#include "launcher/elastic/elastic_job.h"
#include "launcher/msrun_options.h"
#include "launcher/paddle_job.h"
#include "launcher/run/network.h"
#include "launcher/run/run_job.h"
#include "launcher/run/worker_environment.h"

namespace drydock::launcher {
namespace {

/// Values of the flags.
struct PaddleRequest {
  std::string run_mode = {};
  std::string devices = {};
  std::string ips = {};
  std::string master = {};
  std::string nodes = "1";
  std::int64_t node_rank = -1;
  std::int64_t ranks_per_node = 0;
  std::string servers = {};
  std::string trainers = {};
  std::string heter_trainers = {};
  std::int64_t server_num = 0;
  std::int64_t trainer_num = 0;
  std::int64_t heter_trainer_num = 0;
  std::int64_t http_port = 0;
  std::string host = {};
  ElasticRequest elastic = {};
  std::string force = {};
  std::int64_t round = 0;
  std::string ignored = {};

  /// Any word of parameter servers makes it a job with them, as Paddle's launcher has it.
  [[nodiscard]] bool has_servers() const {
    return !servers.empty() || !trainers.empty() || !heter_trainers.empty() || server_num > 0 ||
           trainer_num > 0 || heter_trainer_num > 0 || run_mode == "ps" || run_mode == "ps-heter";
  }
};

void AddJobFlags(FlagSet& flags, PaddleRequest& r, MsrunOptions& o) {
  flags.AddText({"log_dir", "DIR", "workerlog.N, serverlog.N, endpoints.log (log)"}, &o.log_dir);
  flags.AddText({"run_mode", "MODE", "collective, ps or ps-heter (by the other flags)"},
                &r.run_mode);
  for (const char* const name : {"gpus", "devices", "npus", "xpus"}) {
    flags.AddText({name, "0,1", "devices of this node, a rank each"}, &r.devices);
  }
  flags.AddInt({"nproc_per_node", "N", "ranks of this node (one per device)"}, &r.ranks_per_node);
  flags.AddText({"ips", "IP,IP", "all nodes, in the same order everywhere"}, &r.ips);
  flags.AddText({"master", "IP:PORT", "first node, instead of --ips"}, &r.master);
  flags.AddText({"nnodes", "N", "number of nodes, with --master (1)"}, &r.nodes);
  flags.AddInt({"rank", "N", "index of this node, with --master (-1: by address)"}, &r.node_rank);
}

void AddServerFlags(FlagSet& flags, PaddleRequest& r) {
  flags.AddText({"servers", "IP:PORT,...", "parameter servers"}, &r.servers);
  for (const char* const name : {"workers", "trainers"}) {
    flags.AddText({name, "IP[:PORT],...", "trainers"}, &r.trainers);
  }
  flags.AddText({"heter_workers", "IP:PORT,...", "trainers of another kind of machine"},
                &r.heter_trainers);
  flags.AddInt({"server_num", "N", "parameter servers, all on this node"}, &r.server_num);
  for (const char* const name : {"worker_num", "trainer_num"}) {
    flags.AddInt({name, "N", "trainers, all on this node"}, &r.trainer_num);
  }
  flags.AddInt({"heter_worker_num", "N", "trainers of another kind, all on this node"},
               &r.heter_trainer_num);
  for (const char* const name : {"http_port", "gloo_port"}) {
    flags.AddInt({name, "PORT", "of gloo's rendezvous (a free one)"}, &r.http_port);
  }
}

void AddOtherFlags(FlagSet& flags, PaddleRequest& r, MsrunOptions& o) {
  flags.AddText({.name = "log_level", .value = "L", .help = "without effect", .rare = true},
                &r.ignored);
  flags.AddInt({.name = "round_of_elastic_job", .value = "N", .help = "by our own", .rare = true},
               &r.round);
  flags.AddText({"host", "IP", "address of this node (POD_IP)"}, &r.host);
  flags.AddInt({"master_port", "PORT", "scheduler's port, on several nodes (8118)"},
               &o.master_port);
  flags.AddInt({"grace", "S", "seconds ranks get to end by themselves (10)"}, &o.grace_s);
  flags.AddText({"python", "FILE", "interpreter that runs the script (python, else python3)"},
                &o.python);
  flags.AddSwitch({"quiet", "", "print errors only"}, &o.quiet);
}

void AddElasticFlags(FlagSet& flags, ElasticRequest& e, std::string& force) {
  flags.AddText({"elastic_server", "IP:PORT", "etcd, for jobs whose nodes come and go"}, &e.server);
  flags.AddText({"job_id", "ID", "name of such a job"}, &e.job_id);
  flags.AddText({"np", "MIN[:MAX]", "its number of nodes"}, &e.np);
  flags.AddInt({"scale", "N", "so many more nodes than --np (negative: fewer)"}, &e.scale);
  flags.AddText({"force", "true", "--np holds, whatever the job has"}, &force);
  flags.AddInt({"max_restart", "N", "rounds that may fail by themselves (3)"}, &e.max_restarts);
  flags.AddText({"elastic_pre_hook", "COMMAND", "shell command before each round"}, &e.pre_hook);
}

/// Addresses of this node: --host or POD_IP says one of several machines behind one list.
std::vector<std::string> OwnAddressesOf(const PaddleRequest& request,
                                        const Environment& environment) {
  const std::string given =
      request.host.empty() ? Variable(environment, "POD_IP").value_or("") : request.host;
  std::vector<std::string> own = given.empty() ? OwnAddresses() : std::vector<std::string>{given};
  own.emplace_back("127.0.0.1");
  return own;
}

bool HasAccelerator() {
  return std::ranges::any_of(std::to_array({"/dev/nvidiactl", "/dev/davinci_manager", "/dev/xpu0"}),
                             [](const char* path) { return ::access(path, F_OK) == 0; });
}

/// Visible devices by the environment; empty: not limited.
std::vector<std::string> VisibleDevices(const Environment& environment) {
  for (const char* const name :
       {"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "XPU_VISIBLE_DEVICES"}) {
    if (const auto list = Variable(environment, name)) {
      return SplitList(*list);
    }
  }
  return {};
}

/// Devices of --gpus as Paddle numbers them: by their place among the visible ones.
/// @error USAGE  one is given twice, is not a number or is not visible
Status TakeDevices(const PaddleRequest& request, const Environment& environment, PaddleJob& job) {
  const std::vector<std::string> visible = VisibleDevices(environment);
  const std::vector<std::string> given = SplitList(request.devices);
  std::set<std::string> seen;
  for (const std::string& device : given) {
    if (!ReadIntWord(device) || !seen.insert(device).second) {
      return FailUsage("argument --gpus: '" + request.devices + "' is not a list of devices",
                       "write --gpus=0,1");
    }
    const auto at = std::ranges::find(visible, device);
    if (!visible.empty() && at == visible.end()) {
      return FailUsage("argument --gpus: device " + device + " is not among the visible ones",
                       "choose among those of CUDA_VISIBLE_DEVICES");
    }
    job.devices.push_back(visible.empty() ? device : std::to_string(at - visible.begin()));
  }
  if (job.devices.empty()) {
    for (std::size_t i = 0; i < visible.size(); ++i) {
      job.devices.push_back(std::to_string(i));
    }
  }
  return {};
}

/// Free ports of this machine, all different.
std::vector<std::string> FreeEndpoints(std::int64_t count) {
  std::set<std::string> endpoints;
  for (int tries = 0; static_cast<std::int64_t>(endpoints.size()) < count && tries < 10'000;
       ++tries) {
    endpoints.insert("127.0.0.1:" + std::to_string(AnyFreePort("127.0.0.1")));
  }
  return {endpoints.begin(), endpoints.end()};
}

class PaddleLaunchCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "paddle-launch"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "start a job of Paddle by the flags of paddle.distributed.launch";
  }
  [[nodiscard]] std::string Usage() const override {
    return "[flags] training_script [training_script_args ...]";
  }
  void AddFlags(FlagSet& flags) override {
    options_.log_dir = "log";
    AddJobFlags(flags, request_, options_);
    AddServerFlags(flags, request_);
    AddElasticFlags(flags, request_.elastic, request_.force);
    AddOtherFlags(flags, request_, options_);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (flags.Given("log_level")) {
      context.log.Warning("--log_level has no effect here");
    }
    if (flags.rest().empty()) {
      return FailUsage("the following arguments are required: training_script",
                       "drydock paddle-launch --nproc_per_node=2 train.py");
    }
    DRYDOCK_RETURN_IF_ERROR(CheckNumbersGiven(flags));
    DRYDOCK_RETURN_IF_ERROR(CheckMode());
    DRYDOCK_RETURN_IF_ERROR(TakeElastic(flags, context.environment));
    if (!request_.elastic.server.empty()) {
      return RunElasticJob(request_.elastic, context);
    }
    Environment environment = context.environment;
    environment["PYTHONUNBUFFERED"] = "1";  // as `python -u`
    PaddleJob job{.on_cpu = !HasAccelerator()};
    DRYDOCK_RETURN_IF_ERROR(request_.has_servers() ? TakeServers(environment, job)
                                                   : TakeCollective(environment, job));
    options_.paddle = std::move(job);
    options_.join = true;
    options_.framework = Framework::kPaddle;
    options_.log_layout = LogLayout::kPaddle;
    options_.stops_quietly = request_.round > 0;
    // The job is ours, whatever started us.
    Environment facts = environment;
    facts[std::string(kJobMarkName)] = "paddle";
    facts.erase("MS_SIMULATION_LEVEL");
    DRYDOCK_TRY(const MsrunOptions options, FinishMsrunOptions(options_, flags, facts));
    return RunJob(options, {.program = context.program,
                            .environment = std::move(environment),
                            .out = context.out,
                            .log = context.log,
                            .stop = context.stop});
  }

 private:
  /// Paddle's launcher is elastic where server, job and number are all given, by flags or
  /// variables. @error USAGE  some are, or a mode that cannot be elastic
  [[nodiscard]] Status TakeElastic(const FlagSet& flags, const Environment& environment) {
    ElasticRequest& elastic = request_.elastic;
    const bool is_asked = !elastic.server.empty();
    const auto fill = [&environment](const char* name, std::string& value) {
      value = value.empty() ? Variable(environment, name).value_or("") : value;
    };
    if (request_.round > 0) {
      elastic.server.clear();
      return {};
    }
    fill("PADDLE_ELASTIC_SERVER", elastic.server);
    if (const auto service = Variable(environment, "PADDLE_ELASTIC_ETCD_SERVICE_HOST");
        service && elastic.server.empty()) {
      elastic.server = *service + ":" +
                       Variable(environment, "PADDLE_ELASTIC_ETCD_SERVICE_PORT").value_or("2379");
    }
    fill("PADDLE_ELASTIC_JOB_ID", elastic.job_id);
    fill("PADDLE_ELASTIC_NP", elastic.np);
    if (!is_asked && (elastic.job_id.empty() || elastic.np.empty())) {
      elastic.server.clear();
    }
    if (elastic.server.empty()) {
      return is_asked || (!flags.Given("np") && !flags.Given("scale") && !flags.Given("force"))
                 ? Status()
                 : FailUsage("--np, --scale and --force belong to jobs whose nodes come and go",
                             "give --elastic_server=<etcd> and --job_id, too");
    }
    if (request_.has_servers() || !request_.ips.empty() || !request_.master.empty()) {
      return FailUsage("--elastic_server finds the nodes by itself, for collective jobs",
                       "leave --ips, --master, --servers and --server_num out");
    }
    return CompleteElastic(flags, environment);
  }

  [[nodiscard]] Status CompleteElastic(const FlagSet& flags, const Environment& environment) {
    ElasticRequest& elastic = request_.elastic;
    const std::string force = request_.force.empty()
                                  ? Variable(environment, "PADDLE_ELASTIC_FORCE").value_or("")
                                  : request_.force;
    const auto is_forced = ReadBoolWord(force.empty() ? "false" : force);
    if (!is_forced) {
      return FailUsage("argument --force: " + is_forced.error().message);
    }
    elastic.force = *is_forced;
    if (const auto scale = Variable(environment, "PADDLE_ELASTIC_SCALE");
        scale && !flags.Given("scale")) {
      elastic.scale = ReadIntWord(*scale).value_or(0);
    }
    elastic.host =
        request_.host.empty() ? Variable(environment, "POD_IP").value_or("") : request_.host;
    elastic.log_dir = options_.log_dir;
    elastic.scheduler_port = options_.master_port;
    elastic.script_words = flags.rest();
    for (const std::string& word : flags.rest()) {
      elastic.script += (elastic.script.empty() ? "" : " ") + word;
    }
    constexpr auto kOwn = std::to_array<std::string_view>(
        {"elastic_server", "job_id", "np", "scale", "force", "max_restart", "elastic_pre_hook",
         "host", "master_port", "log_level"});
    for (const std::string& word : flags.GivenWords()) {
      if (std::ranges::find(kOwn, std::string_view(word).substr(0, word.find('='))) == kOwn.end()) {
        elastic.flags.push_back("--" + word);
      }
    }
    return {};
  }

  /// @error USAGE  counts that are none
  [[nodiscard]] Status CheckNumbersGiven(const FlagSet& flags) const {
    if (flags.Given("nproc_per_node") && request_.ranks_per_node <= 0) {
      return FailUsage("argument --nproc_per_node: must be greater than 0, but it is " +
                       std::to_string(request_.ranks_per_node));
    }
    for (const auto& [name, count] : {std::pair("server_num", request_.server_num),
                                      std::pair("worker_num", request_.trainer_num),
                                      std::pair("heter_worker_num", request_.heter_trainer_num)}) {
      constexpr std::int64_t kMost = std::int64_t{1} << 20U;
      if (count < 0 || count > kMost) {
        return FailUsage("argument --" + std::string(name) + ": " + std::to_string(count) +
                         " is not a number of processes");
      }
    }
    return {};
  }

  /// @error USAGE  unknown, or flags of two modes
  [[nodiscard]] Status CheckMode() const {
    for (const std::string_view known : {"", "collective", "ps", "ps-heter"}) {
      if (request_.run_mode == known) {
        const bool mixes =
            request_.has_servers() && (!request_.ips.empty() || request_.run_mode == "collective");
        return mixes
                   ? Status(FailUsage("flags of collective jobs and of parameter servers together",
                                      "give --ips, or --servers and --workers"))
                   : Status();
      }
    }
    return FailUsage("argument --run_mode: invalid choice: '" + request_.run_mode +
                     "' (choose from collective, ps, ps-heter)");
  }

  [[nodiscard]] Status TakeCollective(const Environment& environment, PaddleJob& job) {
    DRYDOCK_RETURN_IF_ERROR(TakeDevices(request_, environment, job));
    const auto devices = static_cast<std::int64_t>(job.devices.size());
    std::int64_t ranks = request_.ranks_per_node > 0 ? request_.ranks_per_node : devices;
    ranks = std::max<std::int64_t>(1, ranks);
    if (devices > 0 && devices != ranks) {
      return FailUsage("argument --nproc_per_node: " + std::to_string(ranks) + " ranks on " +
                           std::to_string(devices) + " devices",
                       "give as many devices as ranks");
    }
    DRYDOCK_TRY(const std::int64_t nodes, TakeNodes(environment, job));
    options_.local_worker_num = ranks;
    options_.worker_num = ranks * nodes;
    const std::int64_t first =
        options_.node_rank >= 0 && nodes > 1 ? options_.node_rank * ranks : 0;
    options_.tail_worker_log = std::to_string(first);
    options_.master_port = nodes == 1 ? 0 : options_.master_port;
    return {};
  }

  /// Number of nodes, and which one this is.
  [[nodiscard]] Result<std::int64_t> TakeNodes(const Environment& environment, PaddleJob& job) {
    // PADDLE_TRAINERS is what PaddleCloud gives instead of --ips.
    const std::string list =
        request_.ips.empty() ? Variable(environment, "PADDLE_TRAINERS").value_or("") : request_.ips;
    if (const std::vector<std::string> ips = SplitList(list); ips.size() > 1) {
      job.is_on_one_machine = std::ranges::all_of(ips, IsLoopback);
      return TakeAddresses(ips, environment);
    }
    if (request_.master.starts_with("etcd://")) {
      return FailCommand(FailureCode::kUnsupported, "a master in etcd",
                         "give one as --master=IP:PORT");
    }
    const auto nodes = ReadIntWord(request_.nodes);
    if (!nodes || *nodes < 1) {
      return FailUsage("argument --nnodes: '" + request_.nodes + "' is not a number of nodes",
                       request_.nodes.find(':') == std::string::npos
                           ? "give a whole number from 1 on"
                           : "ranges of nodes are not handled");
    }
    if (request_.node_rank < -1 || request_.node_rank >= *nodes) {
      return FailUsage("argument --rank=" + std::to_string(request_.node_rank) + ": the job has " +
                           std::to_string(*nodes) + " nodes",
                       "number them from 0 on, or leave it out");
    }
    if (*nodes > 1 && request_.master.empty()) {
      return FailUsage("argument --nnodes: several nodes need --master or --ips",
                       "give --master=<address of the first node>:<port> on all nodes");
    }
    options_.node_rank = *nodes > 1 ? request_.node_rank : -1;
    if (*nodes > 1) {
      options_.master_addr = HostOf(request_.master);
      options_.master_port = PortOf(request_.master);
      if (options_.master_addr.empty() || options_.master_port < 1024 ||
          options_.master_port > 65535) {
        return FailUsage("argument --master: '" + request_.master +
                             "' is not an address with a port from 1024 to 65535",
                         "write --master=192.0.2.1:8118");
      }
    }
    return *nodes;
  }

  [[nodiscard]] Result<std::int64_t> TakeAddresses(const std::vector<std::string>& ips,
                                                   const Environment& environment) {
    const std::vector<std::string> own = OwnAddressesOf(request_, environment);
    const auto at = std::ranges::find_if(
        ips, [&own](const std::string& ip) { return std::ranges::find(own, ip) != own.end(); });
    if (std::set<std::string>(ips.begin(), ips.end()).size() != ips.size()) {
      return FailUsage("argument --ips: an address is given twice in '" + request_.ips + "'");
    }
    if (at == ips.end()) {
      return FailUsage(
          "argument --ips: none of '" + request_.ips + "' is an address of this machine",
          "check the list, or give this node's address with --host");
    }
    options_.node_rank = at - ips.begin();
    options_.master_addr = ips.front();
    return static_cast<std::int64_t>(ips.size());
  }

  [[nodiscard]] Status TakeServers(const Environment& environment, PaddleJob& job) {
    std::vector<std::string> own = OwnAddressesOf(request_, environment);
    const bool emulated = request_.servers.empty();
    if (emulated) {
      TakeLocal(job);
      own = {"127.0.0.1"};
    } else {
      TakeLists(job);
    }
    if (job.servers.empty() || job.trainers.empty()) {
      return FailUsage("a job with parameter servers needs servers and trainers",
                       "give --servers and --workers, or --server_num and --worker_num");
    }
    DRYDOCK_RETURN_IF_ERROR(CheckNumbers(job));
    DRYDOCK_RETURN_IF_ERROR(TakeOwnProcesses(job, own));
    job.http_port = request_.http_port > 0 ? request_.http_port : AnyFreePort("127.0.0.1");
    options_.worker_num = options_.local_worker_num = static_cast<std::int64_t>(job.own.size());
    options_.master_port = 0;
    options_.ends_with_first_failure = false;
    const auto first = std::ranges::find(job.own, PaddleRole::kTrainer, &PaddleProcess::role);
    options_.tail_worker_log = std::to_string(first == job.own.end() ? 0 : first - job.own.begin());
    return {};
  }

  void TakeLocal(PaddleJob& job) const {
    const std::vector<std::string> all =
        FreeEndpoints(request_.server_num + request_.trainer_num + request_.heter_trainer_num);
    const auto servers = all.begin() + std::min<std::int64_t>(request_.server_num, std::ssize(all));
    const auto trainers =
        servers + std::min<std::int64_t>(request_.trainer_num, all.end() - servers);
    job.servers.assign(all.begin(), servers);
    job.trainers.assign(servers, trainers);
    job.heter_trainers.assign(trainers, all.end());
  }

  void TakeLists(PaddleJob& job) const {
    constexpr std::int64_t kFirstPort = 6170;
    job.servers = SplitList(request_.servers);
    job.trainers = SplitList(request_.trainers);
    job.heter_trainers = SplitList(request_.heter_trainers);
    std::int64_t port = kFirstPort + static_cast<std::int64_t>(job.servers.size());
    for (std::string& trainer : job.trainers) {
      if (PortOf(trainer) == 0) {
        trainer += ":" + std::to_string(port);
      }
      ++port;
    }
  }

  /// Numbers that are given with lists must be theirs.
  [[nodiscard]] Status CheckNumbers(const PaddleJob& job) const {
    const auto check = [](std::string_view name, std::int64_t number,
                          std::size_t listed) -> Status {
      if (number > 0 && number != static_cast<std::int64_t>(listed)) {
        return FailUsage("argument --" + std::string(name) + "=" + std::to_string(number) +
                             " contradicts a list of " + std::to_string(listed),
                         "leave the number out");
      }
      return {};
    };
    DRYDOCK_RETURN_IF_ERROR(check("server_num", request_.server_num, job.servers.size()));
    DRYDOCK_RETURN_IF_ERROR(check("worker_num", request_.trainer_num, job.trainers.size()));
    return check("heter_worker_num", request_.heter_trainer_num, job.heter_trainers.size());
  }

  PaddleRequest request_ = {};
  MsrunOptions options_ = {};
};

}  // namespace

std::unique_ptr<Command> MakePaddleLaunchCommand() {
  return std::make_unique<PaddleLaunchCommand>();
}

}  // namespace drydock::launcher
