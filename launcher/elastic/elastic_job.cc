// The shell around ElasticNode: one thread that looks into etcd twice a second (elastic_store.h)
// and runs each round as `drydock paddle-launch --ips=... --host=...` in a process of its own,
// which does everything that a job of fixed size needs.

#include "launcher/elastic/elastic_job.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>

#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "launcher/elastic/elastic_store.h"
#include "launcher/files.h"
#include "launcher/paddle_job.h"
#include "launcher/run/network.h"
#include "launcher/run/signal_pipe.h"
#include "launcher/run/spawn.h"
#include "launcher/run/supervisor.h"
#include "launcher/run/worker_environment.h"
#include "sim/tracer/run_script.h"

namespace drydock::launcher {
namespace {

using Json = nlohmann::json;
using Kind = ElasticOrder::Kind;

constexpr std::int64_t kRounds = 64;  ///< Ports before one is used again.
constexpr std::size_t kMostStatusBytes = std::size_t{8} << 20U;
/// Statuses by which a rank of Paddle asks to be started again (elastic/manager.py).
constexpr std::int64_t kRestartStatus = 101;
constexpr std::int64_t kRelaunchStatus = 102;
constexpr std::int64_t kPaddlePort = 6170;

Result<std::int64_t> SecondsOf(const Environment& environment, const char* name,
                               std::int64_t otherwise) {
  const auto text = Variable(environment, name);
  const auto value = text ? ReadIntWord(*text) : Result<std::int64_t>(otherwise);
  if (!value || *value < 0 || *value > 86400) {
    return FailCommand(FailureCode::kUsage,
                       std::string(name) + "='" + *text + "' is not a number of seconds");
  }
  return *value;
}

class ElasticJob {
 public:
  ElasticJob(const ElasticRequest& request, const Context& context)
      : request_(request), context_(context), store_(request, context) {}

  Result<ExitCode> Run() {
    DRYDOCK_RETURN_IF_ERROR(Prepare());
    DRYDOCK_RETURN_IF_ERROR(store_.Enter(rules_, ttl_s_));
    ElasticNode node(rules_);
    SignalPipe signals;
    TimePoint look_at = MonotonicNow();
    while (!finish_) {
      const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::max(Duration(0), look_at - MonotonicNow()));
      pollfd watched = {.fd = signals.fd(), .events = POLLIN, .revents = 0};
      (void)::poll(&watched, 1, static_cast<int>(pause.count()));
      for (const int number : signals.Take()) {
        if (number == SIGCHLD) {
          Reap(node);
        } else if (number != SIGTSTP && number != SIGCONT) {
          return Leave(number, signals);
        }
      }
      if (!finish_ && MonotonicNow() >= look_at) {
        look_at = MonotonicNow() + kStorePause;
        Look(node);
      }
    }
    return Verdict();
  }

 private:
  /// What the environment and the flags say. @error USAGE
  Status Prepare() {
    if (request_.job_id.empty() || request_.np.empty()) {
      return FailCommand(FailureCode::kUsage, "--elastic_server needs --job_id and --np",
                         "give --job_id=NAME and --np=N or --np=MIN:MAX");
    }
    if (request_.job_id.find('/') != std::string::npos) {
      return FailCommand(FailureCode::kUsage,
                         "argument --job_id: '" + request_.job_id + "' holds a slash");
    }
    DRYDOCK_TRY(const EtcdAccess access, EtcdAccessOf(request_.server, context_.environment));
    DRYDOCK_RETURN_IF_ERROR(store_.Open(access));
    DRYDOCK_TRY(const NodeRange range, ReadNodeRange(request_.np));
    rules_.min_nodes = range.least;
    rules_.max_nodes = range.most;
    rules_.max_restarts = request_.max_restarts;
    DRYDOCK_TRY(ttl_s_, SecondsOf(context_.environment, "PADDLE_ELASTIC_TTL", 60));
    ttl_s_ = std::max<std::int64_t>(2, ttl_s_);
    DRYDOCK_TRY(const std::int64_t settle,
                SecondsOf(context_.environment, "PADDLE_ELASTIC_TIMEOUT", 120));
    rules_.lease_time = std::chrono::seconds(ttl_s_);
    rules_.settle_time = std::chrono::seconds(settle);
    if (request_.scale != 0 && range.least != range.most) {
      return FailCommand(
          FailureCode::kUsage,
          "argument --scale: the job has a range of nodes (--np=" + request_.np + ") already",
          "start or stop a node instead");
    }
    const auto addresses = ResolveHost(access.host);
    if (!addresses) {
      return FailCommand(FailureCode::kResolve,
                         "argument --elastic_server: " + addresses.error().message,
                         "check the name of the machine that etcd runs on");
    }
    const std::string host =
        request_.host.empty() ? SourceAddressTo(addresses->front()) : request_.host;
    const auto port = Variable(context_.environment, "FLAGS_START_PORT");
    rules_.host =
        host + ":" + std::to_string(port ? ReadIntWord(*port).value_or(kPaddlePort) : kPaddlePort);
    return {};
  }

  /// One look at the store, and what follows.
  void Look(ElasticNode& node) {
    const TimePoint now = MonotonicNow();
    const auto view = store_.Refreshed();
    Obey(node, view ? node.OnView(*view, now) : node.OnLost(view.error().message, now));
  }

  void Obey(ElasticNode& node, const std::vector<ElasticOrder>& orders) {
    for (const ElasticOrder& order : orders) {
      switch (order.kind) {
        case Kind::kSay:
          Say(order.text);
          break;
        case Kind::kStart:
          Start(node, order.plan);
          break;
        case Kind::kStop:
          SignalRound(SIGTERM);
          break;
        case Kind::kPublish:
          store_.Publish(order.plan);
          break;
        case Kind::kTellFailure:
          store_.TellFailure(order.plan.round, (order.status != 0 ? "restart " : "") + rules_.host +
                                                   ": " + order.text);
          break;
        case Kind::kTellOver:
          store_.TellOver(order.text);
          break;
        case Kind::kFinish:
          finish_ = order;
          break;
      }
    }
  }

  /// The launcher of a job of fixed size.
  void Start(ElasticNode& node, const ElasticPlan& plan) {
    std::vector<std::string> words = {"drydock", "paddle-launch"};
    words.insert(words.end(), request_.flags.begin(), request_.flags.end());
    std::string ips;
    for (const std::string& host : plan.hosts) {
      ips += (ips.empty() ? "" : ",") + HostOf(host);
    }
    words.push_back("--ips=" + ips);
    words.push_back("--host=" + HostOf(rules_.host));
    words.push_back("--master_port=" +
                    std::to_string(request_.scheduler_port + (plan.round - 1) % kRounds));
    words.push_back("--round_of_elastic_job=" + std::to_string(plan.round));
    words.insert(words.end(), request_.script_words.begin(), request_.script_words.end());
    Environment environment = context_.environment;
    std::erase_if(environment, [](const auto& variable) {
      return variable.first.starts_with("PADDLE_ELASTIC_") || variable.first == "POD_IP" ||
             variable.first == "PADDLE_TRAINERS";
    });
    environment["PADDLE_TRAINERS"] = ips;
    environment["DRYDOCK_ELASTIC_ROUND"] = std::to_string(plan.round);
    RunPreHook(environment);
    const auto pid = Spawn({.program = "/proc/self/exe",
                            .arguments = std::move(words),
                            .environment = Assignments(environment)});
    if (pid) {
      round_ = *pid;
    } else {
      Obey(node, node.OnEnded({.status = StatusOf(pid.error()), .text = pid.error().message},
                              MonotonicNow()));
    }
  }

  void RunPreHook(const Environment& environment) {
    if (request_.pre_hook.empty()) {
      return;
    }
    const auto pid = Spawn({.program = "/bin/sh",
                            .arguments = {"sh", "-c", request_.pre_hook},
                            .environment = Assignments(environment)});
    int status = 0;
    if (!pid || ::waitpid(*pid, &status, 0) < 0 || status != 0) {
      context_.log.Warning("--elastic_pre_hook failed: " + request_.pre_hook);
    }
  }

  void SignalRound(int number) const {
    if (round_ > 0) {
      ::kill(round_, number);
    }
  }

  void Reap(ElasticNode& node) {
    int status = 0;
    if (round_ <= 0 || ::waitpid(round_, &status, WNOHANG) != round_) {
      return;
    }
    round_ = 0;
    ElasticEnd end = EndOfRound(status);
    if (end.status == 0 && node.is_running()) {
      store_.TellComplete();
    }
    Obey(node, node.OnEnded(end, MonotonicNow()));
  }

  /// With what the round's status file says of its ranks.
  [[nodiscard]] ElasticEnd EndOfRound(int status) const {
    ElasticEnd end{.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
    if (end.status == 0) {
      return end;
    }
    end.text = "its launcher ended with status " + std::to_string(end.status) +
               ", and its own message says why";
    const auto text = ReadFile(PathIn(request_.log_dir, "msrun_status.json"), kMostStatusBytes);
    const Json facts = text ? Json::parse(*text, nullptr, false) : Json();
    if (!facts.is_object()) {
      return end;
    }
    if (const auto message = facts.find("message");
        message != facts.end() && message->is_string()) {
      end.text = message->get<std::string>();
    }
    for (const Json& rank : facts.value("ranks", Json::array())) {
      const Json number = rank.is_object() ? rank.value("status", Json()) : Json();
      end.asks_for_restart =
          end.asks_for_restart || number == Json(kRestartStatus) || number == Json(kRelaunchStatus);
    }
    return end;
  }

  /// A signal to this node: the others form without it.
  Result<ExitCode> Leave(int number, SignalPipe& signals) {
    store_.Withdraw();
    int sent = SIGTERM;
    while (round_ > 0) {
      SignalRound(sent);
      pollfd watched = {.fd = signals.fd(), .events = POLLIN, .revents = 0};
      (void)::poll(&watched, 1, -1);
      sent = 0;  // a second signal of people goes on to the ranks
      for (const int next : signals.Take()) {
        sent = next == SIGCHLD ? sent : next;
      }
      int status = 0;
      if (::waitpid(round_, &status, WNOHANG) == round_) {
        round_ = 0;
      }
    }
    store_.CleanUp();
    return tl::unexpected(
        sim::StoppedBySignal(number, "stopped by signal " + std::string(::sigabbrev_np(number)) +
                                         "; this node left '" + request_.job_id + "'"));
  }

  Result<ExitCode> Verdict() {
    store_.CleanUp();
    if (finish_->status == 0) {
      if (!finish_->text.empty()) {
        Say(finish_->text);
      }
      return ExitCode::kOk;
    }
    switch (finish_->status) {
      case static_cast<int>(ExitCode::kNotFormed):
        return FailCommand(FailureCode::kEtcdUnreachable, finish_->text, "look at etcd's log");
      case static_cast<int>(ExitCode::kUsage):
      case static_cast<int>(ExitCode::kPreflight):
      case static_cast<int>(ExitCode::kUnsupported):
        return static_cast<ExitCode>(finish_->status);  // the round's launcher has said why
      default:
        return FailCommand(
            FailureCode::kRankFailed, finish_->text,
            "its output is on its node in " + PathIn(request_.log_dir, "workerlog.*"));
    }
  }

  void Say(const std::string& text) const { SayOfJob(context_, request_.job_id, text); }

  const ElasticRequest& request_;
  const Context& context_;
  ElasticStore store_;
  ElasticRules rules_ = {};
  std::int64_t ttl_s_ = 60;
  pid_t round_ = 0;  ///< Launcher of the running round.
  std::optional<ElasticOrder> finish_ = {};
};

}  // namespace

Result<ExitCode> RunElasticJob(const ElasticRequest& request, const Context& context) {
  return ElasticJob(request, context).Run();
}

}  // namespace drydock::launcher
