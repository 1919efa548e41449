// The shell around ElasticNode: one thread that asks etcd twice a second, refreshes this node's
// lease, and runs each round as `drydock paddle-launch --ips=... --host=...` in a process of its
// own, which does everything that a job of fixed size needs.
//
// Keys below /paddle/<job>: those of Paddle's elastic launcher (the key itself "0" or "1" when
// complete, nodes/<tag> with a lease, np, endpoints), and ours: job (what the nodes run), plan,
// failed/<round>, over.

#include "launcher/elastic/elastic_job.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>
#include <sys/random.h>
#include <sys/wait.h>

#include "launcher/elastic/etcd_client.h"
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

constexpr std::chrono::milliseconds kPollPause{500};
constexpr std::chrono::seconds kFirstPatience{6};  ///< With an etcd that does not answer at all.
constexpr std::int64_t kRounds = 64;               ///< Ports before one is used again.
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
    return FailCommand("USAGE", std::string(name) + "='" + *text + "' is not a number of seconds");
  }
  return *value;
}

std::string RandomTag() {
  std::string tag(6, 'a');
  if (::getrandom(tag.data(), tag.size(), 0) < 0) {
    return tag;
  }
  for (char& letter : tag) {
    letter = static_cast<char>('a' + static_cast<unsigned char>(letter) % 26);
  }
  return tag;
}

std::string Short(std::string_view text) {
  return OneLine(text, 120);
}

class ElasticJob {
 public:
  ElasticJob(const ElasticRequest& request, const Context& context)
      : request_(request),
        context_(context),
        etcd_(request.server),
        base_("/paddle/" + request.job_id) {}

  Result<ExitCode> Run() {
    DRYDOCK_RETURN_IF_ERROR(Prepare());
    DRYDOCK_RETURN_IF_ERROR(Enter());
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
        look_at = MonotonicNow() + kPollPause;
        Look(node);
      }
    }
    return Verdict();
  }

 private:
  /// What the environment and the flags say. @error USAGE
  Status Prepare() {
    if (request_.job_id.empty() || request_.np.empty()) {
      return FailCommand("USAGE", "--elastic_server needs --job_id and --np",
                         "give --job_id=NAME and --np=N or --np=MIN:MAX");
    }
    if (request_.job_id.find('/') != std::string::npos) {
      return FailCommand("USAGE", "argument --job_id: '" + request_.job_id + "' holds a slash");
    }
    if (PortOf(request_.server) < 1 || PortOf(request_.server) > 65535 ||
        HostOf(request_.server).empty()) {
      return FailCommand(
          "USAGE",
          "argument --elastic_server: '" + request_.server + "' is not an address with a port",
          "write --elastic_server=127.0.0.1:2379");
    }
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
          "USAGE",
          "argument --scale: the job has a range of nodes (--np=" + request_.np + ") already",
          "start or stop a node instead");
    }
    DRYDOCK_TRY(const auto addresses, ResolveHost(HostOf(request_.server)));
    const std::string host =
        request_.host.empty() ? SourceAddressTo(addresses.front()) : request_.host;
    const auto port = Variable(context_.environment, "FLAGS_START_PORT");
    rules_.host =
        host + ":" + std::to_string(port ? ReadIntWord(*port).value_or(kPaddlePort) : kPaddlePort);
    return {};
  }

  /// Registers, if the job is ours to take part in. @error ETCD_UNREACHABLE, USAGE
  Status Enter() {
    DRYDOCK_TRY(std::vector<EtcdEntry> entries, FirstTree());
    const bool has_nodes = std::ranges::any_of(entries, [this](const EtcdEntry& entry) {
      return entry.key.starts_with(base_ + "/nodes/");
    });
    if (!has_nodes && !entries.empty()) {
      Say("the id '" + request_.job_id + "' was used by a job without nodes: it begins anew");
      DRYDOCK_RETURN_IF_ERROR(etcd_.DeleteTree(base_));
      entries.clear();
    }
    const std::string own = Json({{"np", request_.np}, {"script", request_.script}})
                                .dump(-1, ' ', false, Json::error_handler_t::replace);
    DRYDOCK_RETURN_IF_ERROR(CheckJob(entries, own));
    DRYDOCK_RETURN_IF_ERROR(CheckNumber(entries));
    DRYDOCK_RETURN_IF_ERROR(ReplaceDeadSelf(entries));
    if (entries.empty()) {
      DRYDOCK_RETURN_IF_ERROR(etcd_.Put(base_, "0"));
    }
    DRYDOCK_RETURN_IF_ERROR(etcd_.Put(base_ + "/job", own));
    own_key_ = base_ + "/nodes/" + RandomTag() +
               std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
    return Register();
  }

  /// etcd may come up beside us.
  Result<std::vector<EtcdEntry>> FirstTree() {
    const TimePoint until = MonotonicNow() + kFirstPatience;
    while (true) {
      auto entries = etcd_.Tree(base_);
      if (entries || MonotonicNow() > until) {
        return entries;
      }
      std::this_thread::sleep_for(kPollPause);  // a stop signal ends the process meanwhile
    }
  }

  /// Two jobs with one id are none. @error USAGE
  [[nodiscard]] Status CheckJob(const std::vector<EtcdEntry>& entries,
                                const std::string& own) const {
    const std::string key = base_ + "/job";
    for (const EtcdEntry& entry : entries) {
      if (entry.key == base_ && entry.value == "1") {
        return FailCommand(
            "USAGE",
            "the job '" + request_.job_id + "' has just ended, and its nodes are still leaving",
            "wait for them, or give another --job_id");
      }
      if (entry.key == key && !SameJob(entry.value, own)) {
        return FailCommand("USAGE",
                           "the job '" + request_.job_id + "' runs something else: " +
                               Short(entry.value) + ", here: " + Short(own),
                           "give another --job_id, or the same script and --np on all nodes");
      }
    }
    return {};
  }

  /// The number of nodes may differ where --scale or --force says so.
  [[nodiscard]] bool SameJob(const std::string& theirs, const std::string& own) const {
    const Json a = Json::parse(theirs, nullptr, false);
    const Json b = Json::parse(own, nullptr, false);
    const bool may_change = request_.scale != 0 || request_.force;
    return a.is_object() && a.value("script", Json()) == b.value("script", Json()) &&
           (may_change || a.value("np", Json()) == b.value("np", Json()));
  }

  /// --scale and --force change the number of nodes of a job of fixed size. @error USAGE
  Status CheckNumber(const std::vector<EtcdEntry>& entries) {
    if (rules_.min_nodes != rules_.max_nodes) {
      return {};
    }
    const std::int64_t wanted = rules_.max_nodes + request_.scale;
    const auto known = std::ranges::find(entries, base_ + "/np", &EtcdEntry::key);
    const std::int64_t before = known == entries.end() ? 0 : ReadIntWord(known->value).value_or(0);
    const bool is_allowed = before == 0 || request_.force || before == wanted ||
                            (request_.scale != 0 && before == rules_.max_nodes);
    if (wanted < 1 || !is_allowed) {
      return FailCommand("USAGE",
                         "--np=" + request_.np + " and --scale=" + std::to_string(request_.scale) +
                             " make " + std::to_string(wanted) + " nodes, the job has " +
                             std::to_string(before),
                         "give --np as the job has it, or --force=true");
    }
    rules_.min_nodes = rules_.max_nodes = wanted;
    return before == wanted ? Status() : etcd_.Put(base_ + "/np", std::to_string(wanted));
  }

  /// A node that died and is started again finds its own old key: one whose lease nobody refreshes
  /// goes at once. @error USAGE  a live node has this address
  Status ReplaceDeadSelf(const std::vector<EtcdEntry>& entries) {
    for (const EtcdEntry& entry : entries) {
      if (!entry.key.starts_with(base_ + "/nodes/") || entry.value != rules_.host) {
        continue;
      }
      DRYDOCK_TRY(std::int64_t left, etcd_.SecondsLeft(entry.lease));
      // It is refreshed each third of its time: a living node's never falls to this.
      const std::int64_t dead = ttl_s_ - ttl_s_ / 3 - std::max<std::int64_t>(3, ttl_s_ / 10);
      const TimePoint until = MonotonicNow() + std::chrono::seconds(ttl_s_ + 3);
      bool is_alive = false;
      while (left > dead && left >= 0 && !is_alive) {
        std::this_thread::sleep_for(kPollPause);
        DRYDOCK_TRY(const std::int64_t now, etcd_.SecondsLeft(entry.lease));
        is_alive = now > left || (now >= 0 && MonotonicNow() > until);
        left = now;
      }
      if (is_alive) {
        return FailCommand("USAGE",
                           "the job '" + request_.job_id + "' has a node " + rules_.host +
                               " already, and it lives",
                           "give each node an address of its own with --host");
      }
      if (left >= 0) {
        DRYDOCK_RETURN_IF_ERROR(etcd_.Revoke(entry.lease));
      }
    }
    return {};
  }

  Status Register() {
    DRYDOCK_TRY(lease_, etcd_.GrantLease(ttl_s_));
    refresh_at_ = MonotonicNow() + std::chrono::seconds(ttl_s_) / 3;
    return etcd_.Put(own_key_, rules_.host, lease_);
  }

  /// One look at the store, and what follows.
  void Look(ElasticNode& node) {
    const TimePoint now = MonotonicNow();
    const auto view = Refreshed();
    Obey(node, view ? node.OnView(*view, now) : node.OnLost(view.error().message, now));
  }

  Result<ElasticView> Refreshed() {
    if (MonotonicNow() >= refresh_at_) {
      DRYDOCK_TRY(const bool is_alive, etcd_.KeepAlive(lease_));
      refresh_at_ = MonotonicNow() + std::chrono::seconds(ttl_s_) / 3;
      if (!is_alive) {
        DRYDOCK_RETURN_IF_ERROR(Register());
      }
    }
    DRYDOCK_TRY(const std::vector<EtcdEntry> entries, etcd_.Tree(base_));
    ElasticView view = ViewOf(entries);
    const auto is_own = [this](const EtcdEntry& entry) { return entry.key == own_key_; };
    if (std::ranges::none_of(entries, is_own)) {
      DRYDOCK_RETURN_IF_ERROR(Register());  // etcd lost it: it came back without its data
      view.members.push_back({.host = rules_.host, .created = INT64_MAX});
    }
    return view;
  }

  ElasticView ViewOf(const std::vector<EtcdEntry>& entries) {
    ElasticView view;
    plan_modified_ = 0;
    for (const EtcdEntry& entry : entries) {
      const std::string name = entry.key.substr(std::min(entry.key.size(), base_.size() + 1));
      if (name.starts_with("nodes/")) {
        view.members.push_back({.host = entry.value, .created = entry.created});
      } else if (name == "plan") {
        view.plan = DecodePlan(entry.value);
        plan_modified_ = entry.modified;
      } else if (name == "over") {
        view.over = OneLine(entry.value);
      } else if (name == "np" && rules_.min_nodes == rules_.max_nodes) {
        view.np = ReadIntWord(entry.value).value_or(rules_.max_nodes);
      } else if (name.starts_with("failed/")) {
        const std::int64_t round = ReadIntWord(name.substr(7)).value_or(0);
        if (round > view.failed_round) {
          view.failed_round = round;
          view.asks_for_restart = entry.value.starts_with("restart ");
          view.failure = OneLine(entry.value.substr(view.asks_for_restart ? 8 : 0));
        }
      } else if (name.empty()) {
        view.is_complete = entry.value == "1";
      }
    }
    return view;
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
          Publish(order.plan);
          break;
        case Kind::kTellFailure:
          (void)etcd_.PutIf(base_ + "/failed/" + std::to_string(order.plan.round),
                            (order.status != 0 ? "restart " : "") + rules_.host + ": " + order.text,
                            0);
          break;
        case Kind::kTellOver:
          (void)etcd_.PutIf(base_ + "/over", order.text, 0);
          break;
        case Kind::kFinish:
          finish_ = order;
          break;
      }
    }
  }

  void Publish(const ElasticPlan& plan) {
    const auto written = etcd_.PutIf(base_ + "/plan", EncodePlan(plan), plan_modified_);
    if (written && *written) {
      std::string endpoints;
      std::string ips;
      for (const std::string& host : plan.hosts) {
        endpoints += (endpoints.empty() ? "" : ",") + host;
        ips += (ips.empty() ? "" : ",") + HostOf(host);
      }
      (void)etcd_.Put(base_ + "/endpoints", endpoints + "|" + ips);
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
      (void)etcd_.Put(base_, "1");
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
    (void)etcd_.Delete(own_key_);
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
    CleanUp();
    return tl::unexpected(
        sim::StoppedBySignal(number, "stopped by signal " + std::string(::sigabbrev_np(number)) +
                                         "; this node left '" + request_.job_id + "'"));
  }

  /// This node's key goes, and with the last one everything.
  void CleanUp() {
    (void)etcd_.Revoke(lease_);
    (void)etcd_.Delete(own_key_);
    const auto rest = etcd_.Tree(base_ + "/nodes");
    if (rest && rest->empty()) {
      (void)etcd_.DeleteTree(base_);
    }
  }

  Result<ExitCode> Verdict() {
    CleanUp();
    if (finish_->status == 0) {
      if (!finish_->text.empty()) {
        Say(finish_->text);
      }
      return ExitCode::kOk;
    }
    switch (finish_->status) {
      case static_cast<int>(ExitCode::kNotFormed):
        return FailCommand("ETCD_UNREACHABLE", finish_->text, "look at etcd's log");
      case static_cast<int>(ExitCode::kUsage):
      case static_cast<int>(ExitCode::kPreflight):
      case static_cast<int>(ExitCode::kUnsupported):
        return static_cast<ExitCode>(finish_->status);  // the round's launcher has said why
      default:
        return FailCommand(
            "RANK_FAILED", finish_->text,
            "its output is on its node in " + PathIn(request_.log_dir, "workerlog.*"));
    }
  }

  void Say(const std::string& text) const {
    std::cerr << context_.program << ": [" << PrintableText(request_.job_id) << "] "
              << PrintableText(text) << "\n"
              << std::flush;
  }

  const ElasticRequest& request_;
  const Context& context_;
  EtcdClient etcd_;
  std::string base_;
  ElasticRules rules_ = {};
  std::int64_t ttl_s_ = 60;
  std::string own_key_ = {};
  std::int64_t lease_ = 0;
  TimePoint refresh_at_ = {};
  std::int64_t plan_modified_ = 0;
  pid_t round_ = 0;  ///< Launcher of the running round.
  std::optional<ElasticOrder> finish_ = {};
};

}  // namespace

std::string EncodePlan(const ElasticPlan& plan) {
  return Json({{"round", plan.round}, {"restarts", plan.restarts}, {"hosts", plan.hosts}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ElasticPlan> DecodePlan(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("hosts") || !json["hosts"].is_array()) {
    return std::nullopt;
  }
  const auto number = [&json](const char* name) {
    const auto it = json.find(name);
    return it != json.end() && it->is_number_unsigned() &&
                   it->get<std::uint64_t>() < (std::uint64_t{1} << 40U)
               ? it->get<std::int64_t>()
               : 0;
  };
  ElasticPlan plan{.round = number("round"), .restarts = number("restarts")};
  for (const Json& host : json["hosts"]) {
    if (!host.is_string()) {
      return std::nullopt;
    }
    plan.hosts.push_back(host.get<std::string>());
  }
  return plan.round > 0 && !plan.hosts.empty() ? std::optional(std::move(plan)) : std::nullopt;
}

Result<ExitCode> RunElasticJob(const ElasticRequest& request, const Context& context) {
  return ElasticJob(request, context).Run();
}

}  // namespace drydock::launcher
