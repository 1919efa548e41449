#include "launcher/msrun_options.h"

#include <algorithm>
#include <array>

#include "launcher/exit_code.h"
#include "launcher/spread_place.h"
#include "sim/fleet/registration.h"
#include "sim/memory/device_memory.h"
#include "strategies/document/json_reader.h"

namespace drydock::launcher {
namespace {

using strategies::JsonKind;
using strategies::JsonReader;
using strategies::JsonView;

tl::unexpected<Error> WrongBinding() {
  return Fail(ErrorCode::kInvalidArgument,
              "must be True, False or JSON like {\"device0\":[\"0-3\"]}");
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "0-3"
bool IsRange(std::string_view text) {
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && IsDigits(text.substr(0, dash)) &&
         IsDigits(text.substr(dash + 1));
}

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// Source: docs/launching.md, --bind_core.
Result<CoreBinding> ReadBinding(std::string_view word) {
  if (EqualIgnoringCase(word, "true") || EqualIgnoringCase(word, "false")) {
    return CoreBinding{.enabled = EqualIgnoringCase(word, "true")};
  }
  const auto json = JsonReader::Parse(word, "--bind_core");
  if (!json || json->root().kind() != JsonKind::kObject) {
    return WrongBinding();
  }
  CoreBinding binding{.enabled = true};
  for (const auto& [name, ranges] : json->root().Members()) {
    const std::string_view device = name.AsText();
    if (!device.starts_with("device") || !IsDigits(device.substr(6)) ||
        ranges.kind() != JsonKind::kArray) {
      return WrongBinding();
    }
    std::vector<std::string>& list = binding.ranges_of_device[std::string(device)];
    for (const JsonView range : ranges.Elements()) {
      if (range.kind() != JsonKind::kString || !IsRange(range.AsText())) {
        return WrongBinding();
      }
      list.emplace_back(range.AsText());
    }
  }
  return binding.ranges_of_device.empty() ? Result<CoreBinding>(WrongBinding()) : binding;
}

Result<std::int64_t> ReadSimLevel(std::string_view word) {
  DRYDOCK_TRY(const std::int64_t level, ReadIntWord(word));
  if (level < 0 || level > 3) {
    return Fail(ErrorCode::kInvalidArgument,
                "invalid choice: " + std::string(word) + " (choose from 0, 1, 2, 3)");
  }
  return level;
}

template <typename T>
struct Choice {
  std::string_view word = {};
  T value = {};
};
constexpr std::array<Choice<Rendezvous>, 3> kRendezvousWords = {{
    {"auto", Rendezvous::kAuto},
    {"worker", Rendezvous::kWorker},
    {"launcher", Rendezvous::kLauncher},
}};
constexpr std::array<Choice<Framework>, 4> kFrameworkWords = {{
    {"auto", Framework::kAuto},
    {"mindspore", Framework::kMindSpore},
    {"torch", Framework::kTorch},
    {"paddle", Framework::kPaddle},
}};

constexpr std::array<Choice<bool>, 2> kDetailWords = {{{"summary", false}, {"full", true}}};

constexpr std::array<Choice<bool>, 1> kAnnotationWords = {{{"github", true}}};
constexpr std::array<Choice<bool MsrunOptions::*>, 5> kExportWords = {{
    {"csv", &MsrunOptions::export_csv},
    {"trace", &MsrunOptions::export_trace},
    {"dot", &MsrunOptions::export_dot},
    {"chakra", &MsrunOptions::export_chakra},
    {"graph", &MsrunOptions::export_graph},
}};

/// Flags that say where or how results are made and shown, not what is checked.
constexpr auto kShowingFlags = std::to_array<std::string_view>({"annotations",
                                                                "cluster_time_out",
                                                                "detail",
                                                                "export",
                                                                "html",
                                                                "job_secret",
                                                                "json",
                                                                "log_dir",
                                                                "master_addr",
                                                                "master_port",
                                                                "node_rank",
                                                                "output",
                                                                "quiet",
                                                                "sarif",
                                                                "sim_spread",
                                                                "sqlite",
                                                                "threads",
                                                                "tls_config",
                                                                "tls_password_file",
                                                                "trace_timeout",
                                                                "verbose",
                                                                "wait_dns"});

template <typename T, std::size_t kCount>
Result<T> ReadChoice(const std::array<Choice<T>, kCount>& choices, std::string_view word) {
  std::string words;
  for (const Choice<T>& choice : choices) {
    if (choice.word == word) {
      return choice.value;
    }
    words.append(words.empty() ? "" : ", ").append(choice.word);
  }
  return Fail(ErrorCode::kInvalidArgument,
              "invalid choice: '" + std::string(word) + "' (choose from " + words + ")");
}

/// "csv,dot"
Status ReadExports(std::string_view words, MsrunOptions& options) {
  while (true) {
    const std::size_t comma = words.find(',');
    DRYDOCK_TRY(bool MsrunOptions::*const wanted, ReadChoice(kExportWords, words.substr(0, comma)));
    options.*wanted = true;
    if (comma == std::string_view::npos) {
      return {};
    }
    words.remove_prefix(comma + 1);
  }
}

FlagSpec Original(std::string name, std::string value, std::string help) {
  return {.name = std::move(name),
          .value = std::move(value),
          .help = std::move(help),
          .origin = FlagOrigin::kMsrun};
}

FlagSpec Rare(std::string name, std::string value, std::string help) {
  return {
      .name = std::move(name), .value = std::move(value), .help = std::move(help), .rare = true};
}

void AddOriginalFlags(FlagSet& flags, MsrunOptions& o) {
  flags.AddInt(Original("worker_num", "N", "ranks of the whole job (8)"), &o.worker_num);
  flags.AddInt(Original("local_worker_num", "N", "ranks on this node (8)"), &o.local_worker_num);
  flags.AddText(Original("master_addr", "ADDR", "scheduler's address (127.0.0.1)"), &o.master_addr);
  flags.AddInt(Original("master_port", "PORT", "scheduler's port (8118)"), &o.master_port);
  flags.AddInt(Original("node_rank", "N", "index of this node (-1: chosen by the scheduler)"),
               &o.node_rank);
  flags.AddText(Original("log_dir", "DIR", "logs and reports (current folder)"), &o.log_dir);
  flags.Add(Original("join", "True|False", "wait for the job (False)"),
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY(o.join, ReadBoolWord(word));
              return {};
            });
  flags.AddInt(
      Original("cluster_time_out", "S", "seconds to form the cluster (600; < 0: no limit)"),
      &o.cluster_time_out_s);
  flags.Add(Original("bind_core", "V", "True, False or JSON {\"device0\":[\"0-3\"]} (False)"),
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY(o.bind_core, ReadBinding(word));
              return {};
            });
  flags.Add(Original("sim_level", "0..3",
                     "dry run: 0 compile, 1 and memory, 2 and workspaces, 3 and time"),
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY(o.sim_level, ReadSimLevel(word));
              return {};
            });
  flags.AddInt(Original("sim_rank_id", "R", "write out rank R in full (-1: classes of ranks)"),
               &o.sim_rank_id);
  flags.AddText(Original("rank_table_file", "FILE", "exported as RANK_TABLE_FILE"),
                &o.rank_table_file);
  flags.AddText(
      Original("worker_log_name", "STEM", "worker log name; {ip}, {hostname} are filled in"),
      &o.worker_log_name);
  flags.AddText(
      Original("tail_worker_log", "R,R", "ranks shown on the console with --join (-1: all)"),
      &o.tail_worker_log);
}

/// Flags of a real start.
void AddStartFlags(FlagSet& flags, MsrunOptions& o) {
  flags.Add({"rendezvous", "HOW", "who registers the ranks: auto, worker or launcher (auto)"},
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY(o.rendezvous, ReadChoice(kRendezvousWords, word));
              return {};
            });
  flags.Add({"framework", "NAME", "variables of ranks: auto, mindspore, torch, paddle (auto)"},
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY(o.framework, ReadChoice(kFrameworkWords, word));
              return {};
            });
  flags.AddInt({"max_restarts", "N", "times a failed rank is started again (0)"}, &o.max_restarts);
  flags.AddInt(Rare("script_port", "PORT", "MASTER_PORT of the scripts (--master_port + 1)"),
               &o.script_port);
  flags.AddInt({"grace", "S", "seconds ranks get to end by themselves (10)"}, &o.grace_s);
  flags.AddSwitch({"tag_output", "", "begin lines on the console with their rank"}, &o.tag_output);
  flags.AddSwitch(Rare("wait_dns", "", "look --master_addr up again until it is known, as in pods"),
                  &o.wait_dns);
  flags.AddText(Rare("tls_config", "FILE", "serve TLS, by MindSpore's configuration file"),
                &o.tls_config);
  flags.AddText(Rare("tls_password_file", "FILE",
                     "first line: password of the server certificate; second: of the client's"),
                &o.tls_password_file);
  flags.AddText(
      {.name = "job_secret",
       .value = "FILE",
       .help = "first line: what only launchers of this job know (or DRYDOCK_JOB_SECRET has)",
       .rare = true,
       .has_variable = false},
      &o.job_secret);
  flags.AddText(Rare("mindspore_release", "X.Y.Z",
                     "release of the workers (the installed one, then what they prove to be)"),
                &o.mindspore_release);
}

/// What is written besides the summary.
void AddReportFlags(FlagSet& flags, MsrunOptions& o) {
  flags.AddSwitch(Rare("sqlite", "", "write drydock.db: tables and views for SQL"), &o.sqlite);
  flags.AddSwitch(Rare("sarif", "", "write drydock.sarif: diagnostics for code scanners"),
                  &o.sarif);
  flags.Add(Rare("annotations", "github", "print diagnostics as GitHub Actions shows them"),
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY(o.github, ReadChoice(kAnnotationWords, word));
              return {};
            });
  flags.Add(Rare("export", "csv,trace,dot,chakra,graph",
                 "tables, memory counters, layers, execution traces, graph document"),
            [&o](std::string_view words) -> Status { return ReadExports(words, o); });
  flags.AddSwitch({"html", "", "write report.html: one page that shows the job"}, &o.html);
  flags.Add(Rare("detail", "summary|full", "full: reports list every tensor and kernel (summary)"),
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY(o.full_detail, ReadChoice(kDetailWords, word));
              return {};
            });
  flags.AddInt(Rare("devices_per_node", "N",
                    "for traffic between nodes (--local_worker_num) and times (profile)"),
               &o.devices_per_node);
}

void AddOwnFlags(FlagSet& flags, MsrunOptions& o) {
  flags.AddText({"output", "DIR", "the same as --log_dir"}, &o.log_dir);
  flags.AddSwitch({"json", "", "print the summary as JSON"}, &o.json);
  flags.AddSwitch({"quiet", "", "print errors only"}, &o.quiet);
  flags.AddSwitch({"verbose", "", "print what is being done, and MindSpore's own memory lines"},
                  &o.verbose);
  flags.AddSwitch({"strict", "", "operators or features that are not handled are errors (exit 8)"},
                  &o.strict);
  flags.AddText({"hardware", "NAME|FILE", "device and network of --sim_level=3 (by device target)"},
                &o.hardware);
  flags.AddText(Rare("workspaces", "FILE", "from --sim_level=2 on: table of drydock calibrate"),
                &o.workspaces);
  flags.AddInt(Rare("jitter", "SEED", "at --sim_level=3 kernels are late by chance (no)"),
               &o.jitter);
  flags.Add({"device_memory", "58GB", "memory of one device (the script's, else 64 GiB)"},
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY([[maybe_unused]] const std::int64_t bytes,
                          sim::ParseGigabytes(word, "device_memory"));
              o.device_memory = std::string(word);
              return {};
            });
  flags.AddSwitch({"fail_on_memory", "", "exit 7 if a rank does not fit into --device_memory"},
                  &o.fail_on_memory);
  flags.AddSwitch(Rare("verify", "", "run a step of a small job on numbers, cut and whole"),
                  &o.verify);
  flags.AddSwitch(Rare("sim_spread", "", "dry run by all hosts of the job, over TCP"),
                  &o.sim_spread);
  flags.AddSwitch(Rare("suggest", "", "if a rank does not fit: try what would (True)"), &o.suggest);
  flags.Add({"compat", "RELEASE", "MindSpore release, 2.0 to 2.10 (default: the installed one)"},
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY(o.compat, strategies::ParseCompat(word));
              return {};
            });
  flags.Add(Rare("redistribution", "reference|optimal",
                 "operators between layouts: MindSpore's (--compat), or fewest bytes"),
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY(o.redistribution, strategies::ParseRedistributionSearch(word));
              return {};
            });
  flags.Add({"search", "MODE", "cuts for what shard() leaves open: optimal, or a search_mode"},
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY(o.search, strategies::ParseSearchMode(word));
              return {};
            });
  flags.Add({"ir_style", "r2.0|2025", "look of the IR dumps that save_graphs asks for (r2.0)"},
            [&o](std::string_view word) -> Status {
              DRYDOCK_TRY(o.ir_style, reports::ParseIrStyle(word));
              return {};
            });
  flags.AddSwitch(Rare("dump_all_ranks", "", "IR dumps of every rank, asked for or not (False)"),
                  &o.dump_all_ranks);
  flags.AddText({"python", "FILE", "interpreter that runs the script (python, else python3)"},
                &o.python);
  flags.AddInt({"threads", "N", "threads (0: one per processor)"}, &o.threads);
  flags.AddInt(Rare("trace_timeout", "S", "seconds the script may run (300; 0: no limit)"),
               &o.trace_timeout_s);
}

/// Simulation asked for by MindSpore's variable instead of a flag. Source: docs/launching.md.
Status TakeSimulationVariables(MsrunOptions& options, const Environment& environment) {
  const auto level = Variable(environment, "MS_SIMULATION_LEVEL");
  if (options.sim_level >= 0 || !level) {
    return {};
  }
  const auto read_level = ReadSimLevel(*level);
  if (!read_level) {
    return FailUsage("MS_SIMULATION_LEVEL: " + read_level.error().message,
                     "unset MS_SIMULATION_LEVEL, or give --sim_level");
  }
  options.sim_level = *read_level;
  if (const auto rank = Variable(environment, "RANK_ID"); rank && options.sim_rank_id < 0) {
    options.sim_rank_id = ReadIntWord(*rank).value_or(-1);
  }
  const auto size = Variable(environment, "RANK_SIZE");
  if (size && !options.worker_num_given) {
    options.worker_num = ReadIntWord(*size).value_or(options.worker_num);
    options.worker_num_given = true;
  }
  return {};
}

/// Ranks to show; `worker_num` bounds them where it is known that the job has no more.
Status CheckTail(const std::string& list, std::optional<std::int64_t> worker_num) {
  std::string_view rest = list;
  while (true) {
    const std::size_t comma = rest.find(',');
    const auto shown = ReadIntWord(rest.substr(0, comma));
    if (!shown) {
      return FailUsage("argument --tail_worker_log: invalid value: '" + list + "'",
                       "give ranks separated by commas, for instance 0,3");
    }
    if (worker_num && (*shown < -1 || *shown >= *worker_num)) {
      return FailUsage(
          "argument --tail_worker_log: rank " + std::to_string(*shown) + " is not in the job",
          "ranks are 0 to " + std::to_string(*worker_num - 1) + "; -1 stands for all");
    }
    if (comma == std::string_view::npos) {
      return {};
    }
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

Status CheckFleetSize(std::int64_t ranks) {
  if (ranks > sim::kMaxFleetWorkers) {
    return FailCommand(FailureCode::kUnsupported,
                       "a job of " + std::to_string(ranks) + " ranks: at most " +
                           std::to_string(sim::kMaxFleetWorkers) + " ranks can be simulated",
                       "use fewer ranks");
  }
  return {};
}

namespace {

Status CheckRanks(const MsrunOptions& o) {
  if (o.worker_num <= 0) {
    return FailUsage("argument --worker_num: must be greater than 0, but it is " +
                     std::to_string(o.worker_num));
  }
  if (o.worker_num > 2147483647) {
    return FailUsage("argument --worker_num: at most 2147483647 ranks are possible");
  }
  if (o.sim_level >= 0) {
    DRYDOCK_RETURN_IF_ERROR(CheckFleetSize(o.worker_num));
  }
  return {};
}

/// Which ranks are looked at, and how their devices stand.
Status CheckPlaces(const MsrunOptions& o) {
  if (o.sim_rank_id < -1 || o.sim_rank_id >= o.worker_num) {
    return FailUsage(
        "argument --sim_rank_id: rank " + std::to_string(o.sim_rank_id) + " is not in the job",
        "ranks are 0 to " + std::to_string(o.worker_num - 1));
  }
  if (o.dump_all_ranks && o.sim_rank_id >= 0) {
    return FailUsage("argument --dump_all_ranks: --sim_rank_id=" + std::to_string(o.sim_rank_id) +
                         " plays one rank only",
                     "leave --sim_rank_id out, or give -1");
  }
  if (o.devices_per_node < 0 || (o.sim_level >= 0 && o.local_worker_num < 1)) {
    return FailUsage("argument --devices_per_node: a node has at least one device",
                     "give --devices_per_node or --local_worker_num");
  }
  if (o.devices_per_node > 1'000'000) {
    return FailUsage("argument --devices_per_node: must be from 1 to 1000000");
  }
  return {};
}

Status CheckCounts(const MsrunOptions& o) {
  DRYDOCK_RETURN_IF_ERROR(CheckRanks(o));
  DRYDOCK_RETURN_IF_ERROR(CheckPlaces(o));
  const bool timed = !o.hardware.empty() || o.jitter >= 0;
  if (timed && o.sim_level >= 0 && o.sim_level < 3) {
    return FailUsage("arguments --hardware, --jitter: only --sim_level=3 has times",
                     "use --sim_level=3");
  }
  if (!o.workspaces.empty() && o.sim_level >= 0 && o.sim_level < 2) {
    return FailUsage("argument --workspaces: only counted from --sim_level=2 on",
                     "use --sim_level=2");
  }
  if (o.jitter < -1) {
    return FailUsage("argument --jitter: a seed is a number from 0 on");
  }
  if (o.threads < 0 || o.threads > 4096) {
    return FailUsage("argument --threads: must be from 0 to 4096");
  }
  if (o.trace_timeout_s < 0 || o.trace_timeout_s > 1'000'000'000) {
    return FailUsage("argument --trace_timeout: must be from 0 to 1000000000 seconds");
  }
  return {};
}

/// Other nodes than the first cannot find the scheduler at an address of their own.
Status CheckMasterOfOthers(const MsrunOptions& o) {
  if (o.node_rank > 0 && o.local_worker_num < o.worker_num && !o.outer &&
      (o.master_addr == "localhost" || o.master_addr.starts_with("127.") ||
       o.master_addr == "::1")) {
    return FailUsage("argument --master_addr: " + o.master_addr + " is this machine, and node " +
                         std::to_string(o.node_rank) +
                         " is to find the scheduler on that of node 0",
                     "give the address of node 0 on all nodes");
  }
  return {};
}

/// Combinations that only a real start minds.
Status CheckRealStart(const MsrunOptions& o, const FlagSet& flags) {
  if (o.script.ends_with(".json")) {
    return FailUsage("'" + o.script + "' is no script: a graph document has no ranks to start",
                     "add --sim_level=1 for a dry run of it");
  }
  for (const std::string_view name :
       {"sim_rank_id",    "detail",      "devices_per_node", "html",           "sqlite",
        "sarif",          "annotations", "export",           "fail_on_memory", "strict",
        "redistribution", "search",      "trace_timeout",    "hardware",       "jitter",
        "workspaces",     "sim_spread",  "dump_all_ranks",   "verify",         "device_memory",
        "suggest",        "ir_style"}) {
    if (flags.Given(name)) {
      return FailUsage("argument --" + std::string(name) + ": applies to dry runs only",
                       "add --sim_level=1");
    }
  }
  if (o.local_worker_num <= 0 || o.local_worker_num > o.worker_num) {
    return FailUsage("argument --local_worker_num: must be from 1 to --worker_num=" +
                         std::to_string(o.worker_num) + ", but it is " +
                         std::to_string(o.local_worker_num),
                     "give both numbers");
  }
  if (o.grace_s < 0 || o.grace_s > 3600) {
    return FailUsage("argument --grace: must be from 0 to 3600 seconds");
  }
  if (o.max_restarts < 0 || o.max_restarts > 1000) {
    return FailUsage("argument --max_restarts: must be from 0 to 1000");
  }
  if (o.max_restarts > 0 && !o.join) {
    return FailUsage(
        "argument --max_restarts: without --join=True msrun exits after starting the ranks",
        "add --join=True");
  }
  if (o.script_port != -1 && (o.script_port < 1024 || o.script_port > 65535)) {
    return FailCommand(
        FailureCode::kPortRange,
        "argument --script_port: " + std::to_string(o.script_port) + " is not from 1024 to 65535");
  }
  if (o.node_rank < -1) {
    return FailUsage("argument --node_rank: must be -1 or a node's index, but it is " +
                     std::to_string(o.node_rank));
  }
  // Divided instead of multiplied, so that nothing overflows.
  if (o.local_worker_num < o.worker_num && o.node_rank > (o.worker_num - 1) / o.local_worker_num) {
    return FailUsage("argument --node_rank: node " + std::to_string(o.node_rank) + " with " +
                     std::to_string(o.local_worker_num) +
                     " ranks is beyond --worker_num=" + std::to_string(o.worker_num));
  }
  const bool is_on_one_machine = o.paddle && o.paddle->is_on_one_machine;
  return is_on_one_machine ? Status() : CheckMasterOfOthers(o);
}

}  // namespace

void AddMsrunFlags(FlagSet& flags, MsrunOptions& options) {
  AddOriginalFlags(flags, options);
  AddStartFlags(flags, options);
  AddReportFlags(flags, options);
  AddOwnFlags(flags, options);
}

Result<MsrunOptions> FinishMsrunOptions(MsrunOptions options, const FlagSet& flags,
                                        const Environment& environment) {
  options.worker_num_given = flags.Given("worker_num");
  options.flags_given = flags.GivenWords();
  std::erase_if(options.flags_given, [](const std::string& word) {
    return std::ranges::find(kShowingFlags, std::string_view(word).substr(0, word.find('='))) !=
           kShowingFlags.end();
  });
  if (flags.rest().empty()) {
    return FailUsage("the following arguments are required: task_script",
                     "msrun --sim_level=1 --worker_num=8 net.py");
  }
  options.script = flags.rest().front();
  options.script_args.assign(flags.rest().begin() + 1, flags.rest().end());
  DRYDOCK_RETURN_IF_ERROR(TakeSimulationVariables(options, environment));
  DRYDOCK_RETURN_IF_ERROR(TakeOuterJob(options, flags, environment));
  options.compat_from = flags.PlaceOf("compat");
  DRYDOCK_RETURN_IF_ERROR(CheckCounts(options));
  DRYDOCK_RETURN_IF_ERROR(CheckTail(options.tail_worker_log, options.sim_level < 0
                                                                 ? std::optional(options.worker_num)
                                                                 : std::nullopt));
  if (options.script.ends_with(".json") && !options.script_args.empty()) {
    return FailUsage("'" + options.script_args.front() + "' stands behind " + options.script +
                         ", a graph document, which takes no arguments",
                     "flags of msrun stand in front of it");
  }
  if (options.sim_level < 0) {
    DRYDOCK_RETURN_IF_ERROR(CheckRealStart(options, flags));
  } else if (options.sim_spread) {
    DRYDOCK_TRY([[maybe_unused]] const SpreadPlace place, SpreadPlaceOf(options));
    DRYDOCK_RETURN_IF_ERROR(CheckMasterOfOthers(options));
  }
  // A single node can do with any port: 0 lets the system choose.
  const bool any_port = options.master_port == 0 && options.sim_level < 0 &&
                        options.local_worker_num == options.worker_num;
  if (!any_port && (options.master_port < 1024 || options.master_port > 65535)) {
    return FailCommand(FailureCode::kPortRange,
                       "argument --master_port: " + std::to_string(options.master_port) +
                           " is not from 1024 to 65535");
  }
  return options;
}

}  // namespace drydock::launcher
