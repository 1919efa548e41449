// `drydock mpirun`: mpirun's flags, output and log folders for ranks that msrun starts. On this
// machine no MPI is needed, since MindSpore's ranks find each other through the scheduler of msrun,
// and those of other frameworks through MASTER_ADDR; for other machines the installed Open MPI
// takes the command line over.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>

#include "launcher/commands.h"
#include "launcher/files.h"
#include "launcher/mpirun_hosts.h"
#include "launcher/mpirun_words.h"
#include "launcher/msrun_options.h"
#include "launcher/open_mpi.h"
#include "launcher/run/network.h"
#include "launcher/run/run_job.h"
#include "launcher/run/worker_environment.h"
#include "launcher/simulate.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kMaxHostfileBytes = std::size_t{16} << 20U;
constexpr std::string_view kAbort = "orte_abort_on_non_zero_status";

/// What only mpirun's flags say.
struct MpirunRequest {
  std::int64_t ranks = 0;
  std::string hosts = {};
  std::string hostfile = {};
  std::string output_folder = {};
  std::string bind_to = {};
  std::string working_folder = {};
  bool merges_errors = false;
  bool aborts = true;
  bool oversubscribes = false;
  std::vector<std::string> variables = {};  ///< "NAME" or "NAME=value".
  std::vector<std::string> without_effect = {};
  bool runs_as_root = true;  ///< Always allowed.
};

/// `--mca orte_abort_on_non_zero_status 0`, as "name=value".
Status TakeParameter(MpirunRequest& request, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  if (name == kAbort) {
    DRYDOCK_TRY(request.aborts, ReadBoolWord(word.substr(std::min(name.size() + 1, word.size()))));
  } else {
    request.without_effect.push_back("-mca " + std::string(name));
  }
  return {};
}

/// @error kInvalidArgument
Status TakeBinding(MpirunRequest& request, std::string_view word) {
  const std::string_view kind = word.substr(0, word.find(':'));
  for (const std::string_view known :
       {"none", "core", "hwthread", "socket", "numa", "l1cache", "l2cache", "l3cache", "board"}) {
    if (kind == known) {
      request.bind_to = std::string(kind);
      return {};
    }
  }
  return Fail(ErrorCode::kInvalidArgument,
              "invalid choice: '" + std::string(word) + "' (choose from none, core)");
}

/// Accepted, and said to be without effect where we start the ranks.
void AddIgnored(FlagSet& flags, MpirunRequest& request, const std::string& name,
                const std::string& value) {
  flags.Add({.name = name, .value = value, .help = "for Open MPI on several hosts", .rare = true},
            [&request, name](std::string_view /*word*/) -> Status {
              request.without_effect.push_back("--" + name);
              return {};
            });
}

void AddMpirunFlags(FlagSet& flags, MpirunRequest& request) {
  flags.AddInt({"np", "N", "ranks; also -n N (slots of the hosts, else processors)"},
               &request.ranks);
  flags.AddText({"host", "H:8,H:8", "machines and their slots; also -H"}, &request.hosts);
  flags.AddText({"hostfile", "FILE", "the same as lines 'name slots=8'"}, &request.hostfile);
  flags.AddText(
      {"output_filename", "DIR", "copies of all output in DIR/1/rank.<rank>/stdout, stderr"},
      &request.output_folder);
  flags.AddSwitch({"merge_stderr_to_stdout", "", "stderr of ranks goes where their stdout goes"},
                  &request.merges_errors);
  flags.Add({"mca", "NAME V", "orte_abort_on_non_zero_status 0: a rank's exit does not end others"},
            [&request](std::string_view word) { return TakeParameter(request, word); });
  flags.Add({"bind_to", "none|core", "core: processors are shared out among the ranks (none)"},
            [&request](std::string_view word) { return TakeBinding(request, word); });
  flags.Add({"x", "NAME[=V]", "a variable for the ranks"}, [&request](std::string_view word) {
    request.variables.emplace_back(word);
    return Status();
  });
  flags.AddSwitch({"oversubscribe", "", "more ranks than slots"}, &request.oversubscribes);
  flags.AddText({"wdir", "DIR", "folder that the ranks run in"}, &request.working_folder);
  flags.AddSwitch({"allow_run_as_root", "", "accepted: it always is"}, &request.runs_as_root);
  for (const auto& [name, value] :
       {std::pair("map_by", "KIND"), std::pair("rank_by", "KIND"), std::pair("npernode", "N"),
        std::pair("prefix", "DIR"), std::pair("report_bindings", ""), std::pair("display_map", ""),
        std::pair("nooversubscribe", ""), std::pair("timestamp_output", "")}) {
    AddIgnored(flags, request, name, value);
  }
}

bool IsThisMachine(const std::string& ip, const std::vector<std::string>& own) {
  return IsLoopback(ip) || std::ranges::find(own, ip) != own.end();
}

/// Two names of this machine in a file would count its slots twice; in a list, they are meant to.
Status CheckOnce(const std::string& first, const HostSlots& host, bool from_file) {
  return !from_file || first.empty() ? Status()
                                     : FailUsage("argument --hostfile: '" + first + "' and '" +
                                                     host.name + "' are both this machine",
                                                 "name each machine once, with all its slots");
}

/// The first host that is another machine; empty if there is none. @error RESOLVE  unknown name
Result<std::string> OtherMachine(const std::vector<HostSlots>& hosts, bool from_file) {
  const std::vector<std::string> own = OwnAddresses();
  std::string this_machine;
  for (const HostSlots& host : hosts) {
    if (host.name == "localhost" || host.name == HostName()) {
      DRYDOCK_RETURN_IF_ERROR(CheckOnce(this_machine, host, from_file));
      this_machine = host.name;
      continue;
    }
    const auto addresses = ResolveHost(host.name);
    if (!addresses) {
      return FailCommand(FailureCode::kResolve, "host " + addresses.error().message,
                         "check the names of --host or --hostfile");
    }
    if (std::ranges::none_of(*addresses,
                             [&own](const std::string& ip) { return IsThisMachine(ip, own); })) {
      return host.name;
    }
    DRYDOCK_RETURN_IF_ERROR(CheckOnce(this_machine, host, from_file));
    this_machine = host.name;
  }
  return std::string();
}

/// @error USAGE  more ranks than the hosts take
Status TakeRanks(MpirunRequest& request, const std::vector<HostSlots>& hosts, bool given) {
  std::int64_t slots = 0;
  std::int64_t most = 0;
  bool bounded = !hosts.empty();
  for (const HostSlots& host : hosts) {
    slots += host.slots;
    most += host.max_slots.value_or(0);
    bounded = bounded && host.max_slots.has_value();
  }
  if (!given) {
    const auto processors = static_cast<std::int64_t>(std::thread::hardware_concurrency());
    request.ranks = slots > 0 ? slots : std::max<std::int64_t>(1, processors);
  }
  if (request.ranks <= 0) {
    return FailUsage("argument -n: must be greater than 0, but it is " +
                     std::to_string(request.ranks));
  }
  const std::int64_t limit = request.oversubscribes ? (bounded ? most : 0) : slots;
  if (limit > 0 && request.ranks > limit) {
    return FailUsage("argument -n: " + std::to_string(request.ranks) +
                         " ranks, but the hosts have " + std::to_string(limit) +
                         (limit == most ? " slots at most" : " slots"),
                     request.oversubscribes || (bounded && request.ranks > most)
                         ? "name more hosts, or raise their max_slots"
                         : "give the hosts more slots, or add --oversubscribe");
  }
  return {};
}

/// Our environment with what -x says. @error USAGE  a name without a value that we do not have
/// either
Result<Environment> WithVariables(const MpirunRequest& request, const Context& context) {
  Environment environment = context.environment;
  for (const std::string& word : request.variables) {
    const std::size_t equals = word.find('=');
    if (equals == 0) {
      return FailUsage("argument -x: '" + word + "' has no name");
    }
    if (equals != std::string::npos) {
      environment[word.substr(0, equals)] = word.substr(equals + 1);
    } else if (!environment.contains(word)) {
      context.log.Warning("argument -x: " + word + " is not set here");
    }
  }
  return environment;
}

class MpirunCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "mpirun"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "start or dry-run a job by mpirun's flags, on this machine without MPI";
  }
  [[nodiscard]] std::string Usage() const override { return "-n N [flags] program [args ...]"; }
  void AddFlags(FlagSet& flags) override {
    AddMpirunFlags(flags, request_);
    AddMsrunFlags(flags, options_);
  }
  [[nodiscard]] Result<std::vector<std::string>> Translate(std::span<const std::string> words,
                                                           const FlagSet& flags) override {
    words_.assign(words.begin(), words.end());
    return TranslateMpirunWords(words, flags);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    DRYDOCK_RETURN_IF_ERROR(CheckWords(flags));
    DRYDOCK_TRY(const std::vector<HostSlots> hosts, Hosts(flags));
    DRYDOCK_RETURN_IF_ERROR(TakeRanks(request_, hosts, flags.Given("np")));
    options_.worker_num = request_.ranks;
    options_.local_worker_num = request_.ranks;
    DRYDOCK_TRY(Environment environment, WithVariables(request_, context));
    const bool dry = flags.Given("sim_level") || Variable(environment, "MS_SIMULATION_LEVEL");
    if (!dry) {
      DRYDOCK_TRY(const std::string reason, WhyOpenMpi(hosts, request_.hosts.empty(), environment));
      if (!reason.empty()) {
        return tl::unexpected(BecomeOpenMpi(words_, context, reason));
      }
    }
    TakeHabits(dry);
    DRYDOCK_TRY(MsrunOptions options, FinishOptions(flags, environment));
    DRYDOCK_RETURN_IF_ERROR(EnterFolder(options));
    const Context inner{.program = context.program,
                        .environment = std::move(environment),
                        .out = context.out,
                        .log = context.log,
                        .stop = context.stop};
    auto status = dry ? DryRun(options, inner) : RealRun(options, inner);
    if (!status && !request_.output_folder.empty()) {
      return tl::unexpected(WithFolderFlag(std::move(status.error()), "--output-filename"));
    }
    return status;
  }

 private:
  [[nodiscard]] Status CheckWords(const FlagSet& flags) const {
    if (std::ranges::find(flags.rest(), ":") != flags.rest().end()) {
      return FailCommand(FailureCode::kUnsupported, "several programs in one job (':')",
                         "call Open MPI's own mpirun");
    }
    if (flags.rest().empty()) {
      return FailUsage("the following arguments are required: task_script",
                       "drydock mpirun -n 8 python net.py");
    }
    for (const std::string_view name : {"worker_num", "local_worker_num", "node_rank"}) {
      if (flags.Given(name)) {
        return FailUsage("argument --" + std::string(name) + ": mpirun has no such flag",
                         "give the number of ranks with -n");
      }
    }
    return {};
  }

  [[nodiscard]] Result<std::vector<HostSlots>> Hosts(const FlagSet& flags) const {
    if (flags.Given("host") || !request_.hosts.empty()) {
      return ParseHostList(request_.hosts);
    }
    if (request_.hostfile.empty()) {
      return std::vector<HostSlots>();
    }
    const auto text = ReadFile(request_.hostfile, kMaxHostfileBytes);
    if (!text) {
      return FailUsage("argument --hostfile: " + text.error().message, "name a file of hosts");
    }
    return ParseHostfile(*text, request_.hostfile);
  }

  /// Why the job is not one of this machine; empty if it is.
  [[nodiscard]] static Result<std::string> WhyOpenMpi(const std::vector<HostSlots>& hosts,
                                                      bool from_file,
                                                      const Environment& environment) {
    DRYDOCK_TRY(const std::string other, OtherMachine(hosts, from_file));
    if (!other.empty()) {
      return "host '" + other + "' is another machine";
    }
    const auto nodes = Variable(environment, "SLURM_JOB_NUM_NODES");
    return hosts.empty() && nodes && ReadIntWord(*nodes).value_or(1) > 1
               ? "Slurm gave this job " + *nodes + " machines"
               : std::string();
  }

  /// What mpirun does where msrun would do otherwise.
  void TakeHabits(bool dry) {
    options_.join = true;
    options_.master_port = dry || options_.master_port != 8118 ? options_.master_port : 0;
    options_.log_layout = request_.output_folder.empty() ? LogLayout::kConsole : LogLayout::kMpirun;
    options_.log_dir = request_.output_folder.empty() ? options_.log_dir : request_.output_folder;
    options_.merge_stderr = request_.merges_errors;
    options_.ends_with_first_failure = request_.aborts;
    options_.bind_core.enabled = request_.bind_to == "core" || request_.bind_to == "hwthread";
  }

  [[nodiscard]] Result<MsrunOptions> FinishOptions(const FlagSet& flags,
                                                   Environment environment) const {
    // The job is ours, whatever started us.
    environment[std::string(kJobMarkName)] = "mpirun";
    DRYDOCK_TRY(MsrunOptions options, FinishMsrunOptions(options_, flags, environment));
    options.worker_num_given = true;
    return options;
  }

  /// Ranks run in --wdir; the folder of logs is meant from here.
  [[nodiscard]] Status EnterFolder(MsrunOptions& options) const {
    if (request_.working_folder.empty()) {
      return {};
    }
    if (!options.log_dir.empty() && options.log_dir.front() != '/') {
      options.log_dir = PathIn(std::filesystem::current_path().string(), options.log_dir);
    }
    if (::chdir(request_.working_folder.c_str()) != 0) {
      return FailUsage("argument --wdir: " + request_.working_folder + ": " +
                       std::error_code(errno, std::generic_category()).message());
    }
    return {};
  }

  [[nodiscard]] Result<ExitCode> DryRun(MsrunOptions& options, const Context& context) const {
    // `python net.py`: the script is what is dry-run.
    const bool names_python = options.script == "python" || options.script == "python3";
    if (names_python && !options.script_args.empty()) {
      options.python = options.python.empty() ? options.script : options.python;
      options.script = options.script_args.front();
      options.script_args.erase(options.script_args.begin());
    }
    return Simulate(options, context);
  }

  [[nodiscard]] Result<ExitCode> RealRun(const MsrunOptions& options,
                                         const Context& context) const {
    for (const std::string& flag : request_.without_effect) {
      context.log.Warning(flag + " has no effect on one machine");
    }
    if (!request_.bind_to.empty() && request_.bind_to != "none" && !options.bind_core.enabled) {
      context.log.Warning("--bind_to " + request_.bind_to +
                          " has no effect on one machine; core and none have");
    }
    return RunJob(options, context);
  }

  MpirunRequest request_ = {};
  MsrunOptions options_ = {};
  std::vector<std::string> words_ = {};
};

}  // namespace

std::unique_ptr<Command> MakeMpirunCommand() {
  return std::make_unique<MpirunCommand>();
}

}  // namespace drydock::launcher
