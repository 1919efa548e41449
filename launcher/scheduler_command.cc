#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/text.h"
#include "launcher/commands.h"
#include "launcher/files.h"
#include "launcher/mindspore_release.h"
#include "launcher/net/job_secret.h"
#include "launcher/net/rank_ends.h"
#include "launcher/net/scheduler_log.h"
#include "launcher/net/scheduler_server.h"
#include "launcher/scheduler_job.h"

namespace drydock::launcher {
namespace {

/// How long a finished scheduler still answers members whose last answer was lost.
constexpr std::chrono::milliseconds kLinger(1000);
constexpr std::chrono::milliseconds kLingerStep(20);

using State = sim::SchedulerState;

bool IsOver(State state) {
  return state == State::kFinished || state == State::kAborted || state == State::kBuildFailed;
}

void WaitFor(int fd, std::chrono::milliseconds time) {
  pollfd readable = {.fd = fd, .events = POLLIN, .revents = 0};
  (void)::poll(&readable, 1, static_cast<int>(time.count()));
}

/// A flag whose variable is MindSpore's. A scheduler that msrun starts sees msrun's variables, too.
FlagSpec OfCluster(std::string name, std::string value, std::string help) {
  return {.name = std::move(name),
          .value = std::move(value),
          .help = std::move(help),
          .has_variable = false};
}

/// `drydock scheduler`: the scheduler of a cluster whose workers are started by hand.
class SchedulerCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "scheduler"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "serve a job whose workers are started by hand (MS_SCHED_HOST, MS_WORKER_NUM, ...)";
  }
  void AddFlags(FlagSet& flags) override {
    flags.AddText(OfCluster("host", "IP", "address to listen at (MS_SCHED_HOST)"), &host_);
    flags.AddInt(OfCluster("port", "PORT", "port to listen at (MS_SCHED_PORT); 0: a free one"),
                 &port_);
    flags.AddInt(OfCluster("worker_num", "N", "expected workers (MS_WORKER_NUM)"), &worker_num_);
    flags.AddText({"log_dir", "DIR", "write scheduler.log there instead of to stderr"}, &log_dir_);
    flags.AddText({"tls_config", "FILE", "serve TLS, by MindSpore's configuration file"},
                  &tls_config_);
    flags.AddText({"tls_password_file", "FILE", "first line: password of the server certificate"},
                  &password_file_);
    flags.AddText({.name = "job_secret",
                   .value = "FILE",
                   .help = "first line: what only launchers of this job know",
                   .has_variable = false},
                  &secret_file_);
    flags.AddSwitch({.name = "follow_ranks",
                     .help = "end when the processes have whose numbers stdin has",
                     .rare = true},
                    &follows_ranks_);
    flags.AddText({"mindspore_release", "X.Y.Z",
                   "release of the workers (the installed one, then what they prove to be)"},
                  &release_);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (!flags.rest().empty()) {
      return FailCommand(FailureCode::kUsage, "unrecognized argument: " + flags.rest().front());
    }
    DRYDOCK_TRY(SchedulerServerOptions options, Options(flags, context.environment));
    if (options.tls) {
      for (const std::string& warning : OpenSecrets(*options.tls, password_file_)) {
        context.log.Warning(warning);
      }
    }
    const bool prints_log = log_dir_.empty();
    options.log_path = prints_log ? std::string(kStandardError) : PathIn(log_dir_, "scheduler.log");
    if (!prints_log) {
      DRYDOCK_RETURN_IF_ERROR(PrepareFolder(log_dir_));
    }
    DRYDOCK_TRY(const auto server, SchedulerServer::Start(std::move(options)));
    context.out << "listening at " << EndpointText(server->endpoint()) << std::endl;
    RankEnds ranks(follows_ranks_ ? STDIN_FILENO : -1);
    DRYDOCK_TRY(const State state, Serve(*server, ranks));
    return Verdict(state, *server);
  }

 private:
  [[nodiscard]] Result<SchedulerServerOptions> Options(const FlagSet& flags,
                                                       const Environment& environment) const {
    Environment variables = environment;
    if (const auto role = Variable(environment, "MS_ROLE"); role && *role != "MS_SCHED") {
      return FailCommand(FailureCode::kUsage, "MS_ROLE is '" + *role + "', this is the scheduler",
                         "set it to MS_SCHED or unset it");
    }
    if (!host_.empty()) {
      variables["MS_SCHED_HOST"] = host_;
    }
    if (flags.Given("port")) {
      variables["MS_SCHED_PORT"] = std::to_string(port_);
    }
    if (flags.Given("worker_num")) {
      variables["MS_WORKER_NUM"] = std::to_string(worker_num_);
    }
    for (const char* name : {"MS_SCHED_HOST", "MS_SCHED_PORT", "MS_WORKER_NUM"}) {
      if (!Variable(variables, name)) {
        return FailCommand(FailureCode::kUsage, std::string(name) + " is not set",
                           "set it, or use the flag of that meaning (--help)");
      }
    }
    DRYDOCK_TRY(SchedulerServerOptions options, SchedulerJobOf(variables, {}));
    DRYDOCK_TRY(options.job.rules.metadata_answers,
                MetadataAnswersFor(release_, FindMindSpore({}, environment)));
    DRYDOCK_TRY(options.tls, ReadTlsFiles(tls_config_, password_file_));
    DRYDOCK_TRY(const std::string secret, ReadJobSecret(secret_file_, environment));
    options.job.proof = ProofOf(secret);
    return options;
  }

  /// Until the job is over and everybody had time to hear of it.
  [[nodiscard]] static Result<State> Serve(SchedulerServer& server, RankEnds& ranks) {
    SchedulerStatus status = server.Look();
    bool is_left = false;  // all ranks have ended, and what they said last had time to arrive
    while (!IsOver(status.state) && !status.failure) {
      if (is_left) {
        return FailCommand(FailureCode::kRankLost, "all ranks have ended without leaving the job",
                           "look at their logs");
      }
      is_left = ranks.all_ended() && ranks.known() >= status.expected;
      std::vector<pollfd> watched = ranks.Watched();
      watched.push_back({.fd = server.event_fd(), .events = POLLIN, .revents = 0});
      const auto time = is_left ? kLinger : std::chrono::milliseconds(std::chrono::hours(1));
      (void)::poll(watched.data(), watched.size(), static_cast<int>(time.count()));
      watched.pop_back();
      ranks.Take(watched);
      (void)server.TakeEvents();
      status = server.Look();
    }
    if (status.failure) {
      return tl::unexpected(*status.failure);
    }
    for (auto waited = kLingerStep;
         status.state == State::kFinished && waited < kLinger && server.Look().connections > 0;
         waited += kLingerStep) {
      WaitFor(-1, kLingerStep);
    }
    server.Stop();
    return status.state;
  }

  [[nodiscard]] static Result<ExitCode> Verdict(State state, SchedulerServer& server) {
    if (state == State::kFinished) {
      return ExitCode::kOk;
    }
    const SchedulerStatus status = server.Look();
    if (state == State::kBuildFailed) {
      const std::vector<std::int64_t> missing(status.missing_ranks.begin(),
                                              status.missing_ranks.end());
      return FailCommand(FailureCode::kBuildTimeout,
                         std::to_string(status.present) + " of " + std::to_string(status.expected) +
                             " members registered in time, missing ranks begin with " +
                             RangeText(missing),
                         "start the missing workers, or wait longer with MS_TOPO_TIMEOUT");
    }
    // Those that came back while the others were being told are not counted any more.
    return FailCommand(FailureCode::kRankLost,
                       status.lost == 0 ? "a member was lost, and the others were told to end"
                                        : std::to_string(status.lost) + " members were lost",
                       "see the log for their node ids");
  }

  std::string host_ = {};
  std::int64_t port_ = 0;
  std::int64_t worker_num_ = 0;
  std::string log_dir_ = {};
  std::string tls_config_ = {};
  std::string password_file_ = {};
  std::string release_ = {};
  std::string secret_file_ = {};
  bool follows_ranks_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSchedulerCommand() {
  return std::make_unique<SchedulerCommand>();
}

}  // namespace drydock::launcher
