#include "launcher/run/cluster.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string_view>
#include <utility>

#include <sys/wait.h>

#include "base/descriptor.h"
#include "launcher/files.h"
#include "launcher/install_paths.h"
#include "launcher/net/agent.h"
#include "launcher/net/failure_line.h"
#include "launcher/net/job_secret.h"
#include "launcher/net/scheduler_server.h"
#include "launcher/run/spawn.h"
#include "launcher/run/worker_environment.h"
#include "launcher/scheduler_job.h"

namespace drydock::launcher {
namespace {

using EventKind = sim::SchedulerEventKind;

constexpr std::string_view kSameNumber = "give all nodes the same --worker_num";

/// Our environment with what the flags say about the job.
Environment SchedulerEnvironment(const MsrunOptions& options, const Environment& environment,
                                 const CheckedJob& job) {
  Environment variables = environment;
  variables.erase("MS_SERVER_NUM");
  variables.erase("MS_NODE_ID");
  variables["MS_ROLE"] = "MS_SCHED";
  variables["MS_WORKER_NUM"] = std::to_string(options.worker_num);
  variables["MS_SCHED_HOST"] = job.host.master_ip;
  variables["MS_SCHED_PORT"] = std::to_string(options.master_port);
  variables["MS_TOPO_TIMEOUT"] = std::to_string(options.cluster_time_out_s);
  if (!options.rank_table_file.empty()) {
    variables["RANK_TABLE_FILE"] = options.rank_table_file;
  }
  return variables;
}

Result<std::unique_ptr<SchedulerServer>> StartServer(const MsrunOptions& options,
                                                     const Environment& environment,
                                                     const CheckedJob& job) {
  DRYDOCK_TRY(SchedulerServerOptions server,
              SchedulerJobOf(SchedulerEnvironment(options, environment, job), {}));
  server.tls = job.tls;
  server.job.rules.metadata_answers = job.metadata_answers;
  server.job.members_are_launchers = !job.join.workers_register;
  server.job.proof = ProofOf(job.secret);
  server.log_path = HasLogs(options) ? PathIn(options.log_dir, "scheduler.log") : "";
  return SchedulerServer::Start(std::move(server));
}

std::optional<Duration> FormingTime(const MsrunOptions& options) {
  return options.cluster_time_out_s < 0
             ? std::nullopt
             : std::optional<Duration>(std::chrono::seconds(options.cluster_time_out_s));
}

/// How long an agent bears that the scheduler does not answer: as long as that bears it of the
/// agent.
Result<Duration> PatienceOf(const Environment& environment) {
  constexpr Duration kLeast = std::chrono::seconds(10);  // answers may wait for 3 s
  DRYDOCK_TRY(const SchedulerServerOptions server, SchedulerJobOf(environment, {}));
  return std::max(kLeast, server.job.node_timeout.value_or(std::chrono::hours(1)));
}

Result<std::unique_ptr<Agent>> StartAgent(const MsrunOptions& options,
                                          const Environment& environment, const CheckedJob& job,
                                          std::int64_t script_port) {
  AgentOptions agent{.scheduler = {.address = job.host.master_ip,
                                   .port = static_cast<std::uint16_t>(options.master_port)},
                     .tls = job.tls,
                     .master_port = static_cast<std::uint16_t>(script_port)};
  agent.proof = ProofOf(job.secret);
  agent.note = job.note;
  agent.job.worker_num = static_cast<std::uint32_t>(options.worker_num);
  agent.job.checks_worker_num = true;
  DRYDOCK_TRY(agent.job.patience, PatienceOf(environment));
  agent.job.rules.reply_timeout = std::min(agent.job.rules.reply_timeout, agent.job.patience / 3);
  agent.job.topo_timeout = FormingTime(options);
  for (const WorkerSpec& worker : job.workers) {
    // Without a rank the id only has to be unique; it decides the order within a node.
    std::string number = std::to_string(worker.local_index);
    number.insert(0, 6 - std::min<std::size_t>(6, number.size()), '0');
    agent.members.push_back({.node_id = worker.rank ? std::to_string(*worker.rank)
                                                    : job.host.host_name + "-" +
                                                          std::to_string(::getpid()) + "-" + number,
                             .host_name = job.host.host_name,
                             .device_id = static_cast<std::uint32_t>(worker.local_index)});
  }
  return Agent::Start(std::move(agent));
}

/// "rank 3 on gpu2 (10.0.0.2) is lost: ...": who looks for the cause needs the machine.
Error LostError(const sim::SchedulerEvent& event) {
  std::string place = event.host_name.empty() ? "" : " on " + OneLine(event.host_name);
  place += event.host_ip.empty() ? "" : " (" + event.host_ip + ")";
  return FailCommand(FailureCode::kRankLost,
                     "rank " + std::to_string(event.rank) + place + " is lost: " + event.detail,
                     "look at that machine, and at the log of the rank there")
      .value();
}

/// What `drydock scheduler` says first, a line but for its warnings ("drydock scheduler: warning:
/// text"), whose texts go to `warnings`; all that is there if it ends before.
std::string FirstAnswer(int from, std::vector<std::string>& warnings) {
  constexpr std::string_view kWarning = ": warning: ";
  std::string text;
  std::array<char, 512> block = {};
  for (;;) {
    const std::size_t end = text.find('\n');
    if (end != std::string::npos) {
      const std::size_t warning = text.find(kWarning);
      if (warning >= end) {
        return text;
      }
      warnings.push_back(text.substr(warning + kWarning.size(), end - warning - kWarning.size()));
      text.erase(0, end + 1);
      continue;
    }
    const ssize_t count = ::read(from, block.data(), block.size());
    if (count <= 0) {
      return text;
    }
    text.append(block.data(), static_cast<std::size_t>(count));
  }
}

/// The error that `drydock scheduler` printed: "drydock scheduler: error[CODE]: text".
tl::unexpected<Error> FailedScheduler(const std::string& text) {
  const std::size_t open = text.find("error[");
  const std::size_t close = text.find("]: ");
  const auto code = open == std::string::npos || close == std::string::npos
                        ? std::nullopt
                        : CodeNamed(text.substr(open + 6, close - open - 6));
  if (!code) {
    return FailCommand(FailureCode::kSchedulerDied, "the scheduler ended at once: " + text);
  }
  return FailCommand(*code, text.substr(close + 3, text.find('\n', close) - close - 3));
}

/// What it means for the job that our own registration failed.
Error JoinError(Error error) {
  struct Meaning {
    MemberCause cause = MemberCause::kProtocol;
    FailureCode code = FailureCode::kInternal;
    std::string_view hint = {};
  };
  constexpr std::array<Meaning, 6> kMeanings = {{
      {MemberCause::kUnreachable, FailureCode::kMasterUnreachable,
       "start msrun on the node of --master_addr, and check --master_port and firewalls"},
      {MemberCause::kBuildTimeout, FailureCode::kBuildTimeout,
       "start the other nodes, check --master_addr and --master_port, or wait longer with "
       "--cluster_time_out"},
      {MemberCause::kOtherNumber, FailureCode::kUsage, kSameNumber},
      {MemberCause::kRefused, FailureCode::kExtraWorker,
       "check --worker_num and --node_rank of all nodes"},
      {MemberCause::kSchedulerGone, FailureCode::kSchedulerDied,
       "look at the node of --master_addr"},
      {MemberCause::kNodeLost, FailureCode::kRankLost, "look at the logs of the other nodes"},
  }};
  for (const Meaning& meaning : kMeanings) {
    if (IsCausedBy(error, meaning.cause)) {
      return FailCommand(meaning.code, error.message, std::string(meaning.hint)).value();
    }
  }
  return error;
}

Error BuildTimeError(const sim::SchedulerEvent& event) {
  return FailCommand(FailureCode::kBuildTimeout, sim::EventText(event),
                     "start the missing ranks, or wait longer with --cluster_time_out")
      .value();
}

}  // namespace

struct Cluster::Impl {
  std::unique_ptr<SchedulerServer> server = {};
  std::unique_ptr<Agent> agent = {};
  std::unique_ptr<FailureLine> line = {};  ///< To the other nodes, where there are no agents.
  JoinRule join = {};
  bool single_node = true;
  bool recovery = false;
  bool formed = false;
  bool any_registered = false;
  bool over = false;    ///< Everybody has left, or it failed.
  bool failed = false;  ///< We told the others, or heard, that the job failed.
  bool agent_left = false;
  FormingState forming = {};

  void TakeServerEvents(std::vector<ClusterNews>& news);
  void TakeAgentEvents(std::vector<ClusterNews>& news);
  void TakeLine(std::vector<ClusterNews>& news);
  void TakeEvent(const sim::SchedulerEvent& event, std::vector<ClusterNews>& news);
};

void Cluster::Impl::TakeEvent(const sim::SchedulerEvent& event, std::vector<ClusterNews>& news) {
  // With agents the news of registrations come from them.
  switch (event.kind) {
    case EventKind::kRegistered:
    case EventKind::kRegistrationRepeated:
    case EventKind::kRecovered:
      any_registered = true;
      if (!agent) {
        news.push_back({.kind = ClusterNews::Kind::kRegistered, .id = event.node_id});
      }
      break;
    case EventKind::kTopologyReady:
      formed = true;
      if (!agent) {
        news.push_back({.kind = ClusterNews::Kind::kFormed});
      }
      break;
    case EventKind::kRefused:
    case EventKind::kRefusedKnownId:
      news.push_back(
          {.kind = ClusterNews::Kind::kRefused,
           .error = FailCommand(FailureCode::kExtraWorker, sim::EventText(event)).value()});
      break;
    case EventKind::kNodeLost:
      // While the job forms the place is free for another; with recovery the member may come back.
      if (formed && !recovery) {
        news.push_back({.kind = ClusterNews::Kind::kFailed, .error = LostError(event)});
      }
      break;
    case EventKind::kBuildTimedOut:
      over = true;
      if (any_registered || !join.may_not_register || agent) {
        news.push_back({.kind = ClusterNews::Kind::kFailed, .error = BuildTimeError(event)});
      }
      break;
    case EventKind::kFinished:
      over = true;
      break;
    default:
      break;
  }
}

void Cluster::Impl::TakeServerEvents(std::vector<ClusterNews>& news) {
  const std::vector<sim::SchedulerEvent> events = server->TakeEvents();
  for (const sim::SchedulerEvent& event : events) {
    TakeEvent(event, news);
  }
  if (formed && events.empty()) {
    return;
  }
  const SchedulerStatus status = server->Look();
  forming = {
      .present = status.present, .expected = status.expected, .missing = status.missing_ranks};
  if (status.failure && !over) {
    over = true;
    news.push_back({.kind = ClusterNews::Kind::kFailed, .error = status.failure});
  }
}

void Cluster::Impl::TakeAgentEvents(std::vector<ClusterNews>& news) {
  for (AgentEvent& event : agent->TakeEvents()) {
    switch (event.kind) {
      case AgentEvent::Kind::kReady:
        formed = true;
        news.push_back({.kind = ClusterNews::Kind::kFormed});
        break;
      case AgentEvent::Kind::kJobFailed:
      case AgentEvent::Kind::kFailed:
        failed = true;
        news.push_back(
            {.kind = ClusterNews::Kind::kFailed, .error = JoinError(*std::move(event.error))});
        break;
      case AgentEvent::Kind::kLeft:
        agent_left = true;
        break;
    }
  }
}

void Cluster::Impl::TakeLine(std::vector<ClusterNews>& news) {
  for (const HeardFailure& heard : line->Take()) {
    failed = true;
    news.push_back(heard.is_contradiction
                       ? ClusterNews{.kind = ClusterNews::Kind::kContradicts,
                                     .error = FailCommand(FailureCode::kUsage, heard.text,
                                                          std::string(kSameNumber))
                                                  .value()}
                       : ClusterNews{.kind = ClusterNews::Kind::kFailed,
                                     .error = FailCommand(FailureCode::kRankFailed, heard.text,
                                                          "look at the log on its node")
                                                  .value()});
  }
}

Cluster::Cluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Cluster::~Cluster() = default;

Result<std::unique_ptr<Cluster>> Cluster::Start(const MsrunOptions& options,
                                                const Environment& environment,
                                                const CheckedJob& job, std::int64_t script_port) {
  auto impl = std::make_unique<Impl>();
  impl->join = job.join;
  impl->single_node = IsSingleNode(options);
  impl->recovery = Variable(environment, "MS_ENABLE_RECOVERY") == "1";
  const bool agrees = !job.join.workers_register && (!impl->single_node || job.joins_later);
  const bool serves = job.host.is_master && (agrees || (job.join.workers_register && options.join));
  if (serves) {
    DRYDOCK_TRY(impl->server, StartServer(options, environment, job));
    impl->forming.expected = options.worker_num;
  }
  if (agrees && !job.joins_later) {
    DRYDOCK_TRY(impl->agent, StartAgent(options, SchedulerEnvironment(options, environment, job),
                                        job, script_port));
  }
  // With recovery a node that failed may come back: its failure is not the job's.
  const bool has_line =
      options.join && job.join.workers_register && !impl->single_node && !impl->recovery;
  if (has_line || job.joins_later) {
    const auto port = static_cast<std::uint16_t>(options.master_port);
    DRYDOCK_TRY(impl->line,
                FailureLine::Start({.scheduler = {.address = job.host.master_ip, .port = port},
                                    .tls = job.tls,
                                    .proof = ProofOf(job.secret),
                                    .worker_num = options.worker_num}));
  }
  return std::unique_ptr<Cluster>(new Cluster(std::move(impl)));
}

Status Cluster::Join(const MsrunOptions& options, const Environment& environment,
                     const CheckedJob& job) {
  DRYDOCK_TRY(impl_->agent,
              StartAgent(options, SchedulerEnvironment(options, environment, job), job, 0));
  return {};
}

std::vector<int> Cluster::fds() const {
  std::vector<int> fds;
  if (impl_->server) {
    fds.push_back(impl_->server->event_fd());
  }
  if (impl_->agent) {
    fds.push_back(impl_->agent->event_fd());
  }
  if (impl_->line) {
    fds.push_back(impl_->line->event_fd());
  }
  return fds;
}

std::vector<ClusterNews> Cluster::Take() {
  std::vector<ClusterNews> news;
  if (impl_->server) {
    impl_->TakeServerEvents(news);
  }
  if (impl_->agent) {
    impl_->TakeAgentEvents(news);
  }
  if (impl_->line) {
    impl_->TakeLine(news);
  }
  return news;
}

std::optional<FormingState> Cluster::Forming() const {
  // A script of which nobody knows whether it registers is not waited for.
  const bool waits = impl_->server && !impl_->formed &&
                     (impl_->agent || impl_->any_registered || !impl_->join.may_not_register);
  return waits ? std::optional(impl_->forming) : std::nullopt;
}

bool Cluster::waits_for_others() const {
  return impl_->agent && !impl_->server && !impl_->formed && !impl_->failed;
}

std::optional<std::int64_t> Cluster::port() const {
  return impl_->server ? std::optional<std::int64_t>(impl_->server->endpoint().port) : std::nullopt;
}

bool Cluster::agrees() const {
  return impl_->agent != nullptr;
}

bool Cluster::sees_registrations() const {
  return impl_->server && !impl_->agent;
}

Agreement Cluster::Agreed() const {
  const AgentJob job = impl_->agent->Job();
  Agreement agreement{.own_ranks = {job.own_ranks.begin(), job.own_ranks.end()},
                      .master_ip = job.master.address,
                      .master_port = job.master.port};
  for (const AgentRank& rank : job.ranks) {
    agreement.rank_ips.push_back(rank.address);
    agreement.rank_hosts.push_back(rank.host_name);
    agreement.rank_notes.push_back(rank.note);
  }
  return agreement;
}

void Cluster::TellFailure(const std::vector<std::string>& ids, const std::string& what) {
  impl_->failed = true;
  if (impl_->agent) {
    impl_->agent->ReportFailure(what);
  }
  if (impl_->line) {
    impl_->line->Tell(what);
  }
  if (impl_->server && !impl_->agent) {
    for (const std::string& id : ids) {
      impl_->server->DeclareLost(id);
    }
  }
}

void Cluster::Leave() {
  if (impl_->agent) {
    impl_->agent->Leave();
  }
}

void Cluster::Abandon() {
  impl_->agent.reset();
}

bool Cluster::finished() const {
  if (impl_->failed && impl_->single_node) {
    return true;
  }
  const bool served = !impl_->server || impl_->over ||
                      (impl_->join.may_not_register && !impl_->agent && !impl_->any_registered);
  if (!impl_->failed) {
    return served && (!impl_->agent || impl_->agent_left);
  }
  if (impl_->agent) {
    return false;
  }
  if (served) {
    return !impl_->line || impl_->line->settled();
  }
  const SchedulerStatus status = impl_->server->Look();
  const std::size_t own = impl_->line && impl_->line->connected() ? 1 : 0;
  return status.connections <= own || status.state == sim::SchedulerState::kAborted;
}

Result<DetachedScheduler> StartDetachedScheduler(const MsrunOptions& options,
                                                 const Environment& environment,
                                                 const CheckedJob& job) {
  DRYDOCK_TRY(const std::string program, DrydockPath());
  std::array<int, 2> ends = {-1, -1};
  DRYDOCK_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const Descriptor answer(ends[0]);
  Descriptor output(ends[1]);
  std::array<int, 2> rank_ends = {-1, -1};
  DRYDOCK_CHECK(::pipe2(rank_ends.data(), O_CLOEXEC) == 0);
  const Descriptor numbers(rank_ends[0]);
  auto ranks = std::make_shared<Descriptor>(rank_ends[1]);
  const std::string folder = options.log_dir.empty() ? "." : options.log_dir;
  std::vector<std::string> words = {"drydock", "scheduler", "--follow_ranks",
                                    "--log_dir=" + folder};
  for (const auto& [flag, value] : {std::pair("--tls_config=", options.tls_config),
                                    std::pair("--tls_password_file=", options.tls_password_file),
                                    std::pair("--job_secret=", options.job_secret),
                                    std::pair("--mindspore_release=", options.mindspore_release)}) {
    if (!value.empty()) {
      words.push_back(flag + value);
    }
  }
  DRYDOCK_TRY(const pid_t pid,
              Spawn({.program = program,
                     .arguments = words,
                     .environment = Assignments(SchedulerEnvironment(options, environment, job)),
                     .input = numbers.get(),
                     .output = output.get(),
                     .dies_with_us = false}));
  (void)output.Close();
  std::vector<std::string> warnings;
  const std::string text = FirstAnswer(answer.get(), warnings);
  if (text.starts_with("listening")) {  // listening at 127.0.0.1:8118
    const std::string port = text.substr(text.rfind(':') + 1);
    return DetachedScheduler{.pid = pid,
                             .port = ReadIntWord(port.substr(0, port.find('\n'))).value_or(0),
                             .ranks = std::move(ranks),
                             .warnings = std::move(warnings)};
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return FailedScheduler(text);
}

}  // namespace drydock::launcher
