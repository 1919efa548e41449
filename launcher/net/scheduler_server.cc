#include "launcher/net/scheduler_server.h"

#include <algorithm>
#include <csignal>
#include <future>
#include <thread>
#include <utility>

#include <sys/resource.h>

#include "launcher/exit_code.h"
#include "launcher/net/event_queue.h"
#include "launcher/net/loop_thread.h"
#include "launcher/net/recovery_file.h"
#include "launcher/net/scheduler_log.h"
#include "launcher/net/scheduler_shell.h"

namespace drydock::launcher {
namespace {

/// Refusals are dropped when so many events wait: strangers can cause any number of them.
constexpr std::size_t kWaitingRefusals = 1024;
constexpr std::size_t kNamedMissingRanks = 8;
/// Descriptors for everything but connections.
constexpr std::uint64_t kOtherDescriptors = 64;

bool MayBeDropped(sim::SchedulerEventKind kind) {
  return kind == sim::SchedulerEventKind::kRefused ||
         kind == sim::SchedulerEventKind::kRefusedKnownId ||
         kind == sim::SchedulerEventKind::kRegistrationRepeated;
}

/// Raises the soft limit as far as needed and allowed, and fits the limits to it.
/// Source: docs/robustness.md R-62.
Status FitDescriptors(std::uint32_t members, ShellLimits& limits,
                      std::vector<std::string>& warnings) {
  rlimit files = {};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) {
    return {};
  }
  const std::uint64_t wanted = limits.connections + kOtherDescriptors;
  const std::uint64_t needed = 2 * std::uint64_t{members} + kOtherDescriptors;
  if (files.rlim_cur < wanted && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = std::min<rlim_t>(wanted, files.rlim_max);
    (void)::setrlimit(RLIMIT_NOFILE, &files);
  }
  if (files.rlim_cur < needed) {
    return FailCommand(FailureCode::kNofile,
                       "need " + std::to_string(needed) + " have " +
                           std::to_string(files.rlim_cur) + " descriptors",
                       "raise the hard limit of open files (ulimit -Hn)");
  }
  if (files.rlim_cur < wanted) {
    limits.connections = files.rlim_cur - kOtherDescriptors;
    warnings.push_back("only " + std::to_string(limits.connections) +
                       " connections are possible with this limit of open files; MindSpore's "
                       "workers may need more than two each");
  }
  return {};
}

}  // namespace

class SchedulerServer::Impl {
 public:
  explicit Impl(SchedulerServerOptions options) : options_(std::move(options)) {}

  Status Start() {
    const std::uint32_t members = options_.job.worker_num + options_.job.server_num.value_or(0);
    ShellLimits limits = LimitsFor(members);
    DRYDOCK_RETURN_IF_ERROR(FitDescriptors(members, limits, warnings_));
    DRYDOCK_RETURN_IF_ERROR(LoadTls());
    DRYDOCK_TRY(const sim::SchedulerSnapshot snapshot, LoadState());
    DRYDOCK_TRY(listener_,
                loop_.Listen(options_.bind, tls_.get(), [this](std::unique_ptr<TcpStream> stream) {
                  return shell_->Accept(std::move(stream));
                }));
    endpoint_ = {.address = options_.bind.address, .port = listener_->port()};
    options_.job.address = EndpointText(endpoint_);
    auto core = sim::SchedulerCore::Create(options_.job, loop_.Now(), snapshot);
    if (!core && snapshot.nodes.empty()) {
      return FailCommand(FailureCode::kUsage, core.error().message, core.error().hint);
    }
    if (!core) {
      return FailCommand(FailureCode::kRecoveryState,
                         recovery_->path() + ": " + core.error().message, core.error().hint);
    }
    if (recovery_) {
      DRYDOCK_RETURN_IF_ERROR(recovery_->Store(core->Snapshot()));
    }
    DRYDOCK_TRY(SchedulerLog log, SchedulerLog::Open(options_.log_path));
    log_ = std::make_unique<SchedulerLog>(std::move(log));
    for (const std::string& warning : warnings_) {
      log_->Add(sim::EventLevel::kWarning, warning);
    }
    shell_ = std::make_unique<SchedulerShell>(
        *std::move(core), limits,
        SchedulerShell::Parts{.loop = loop_,
                              .log = *log_,
                              .recovery = recovery_.get(),
                              .on_event = [this](const sim::SchedulerEvent& event) { Tell(event); },
                              .on_over = [this] { events_.Wake(); },
                              .on_failure = [this](Error error) { Fail(std::move(error)); }});
    thread_.Start(loop_);
    return {};
  }

  void Stop() {
    if (thread_.running()) {
      loop_.Post([this] {
        last_status_ = LookNow();
        listener_.reset();
        shell_->Close();
        loop_.Stop();
      });
      thread_.Join();
      ForgetFinishedJob();
    }
  }

  [[nodiscard]] SchedulerStatus Look() {
    if (!thread_.running()) {
      return last_status_;
    }
    std::promise<SchedulerStatus> answer;
    loop_.Post([this, &answer] { answer.set_value(LookNow()); });
    return answer.get_future().get();
  }

  void DeclareLost(std::string node_id) {
    loop_.Post([this, id = std::move(node_id)] { shell_->DeclareLost(id); });
  }

  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  [[nodiscard]] EventQueue<sim::SchedulerEvent>& events() { return events_; }

 private:
  Status LoadTls() {
    if (options_.tls) {
      DRYDOCK_TRY(tls_, TlsContext::Load(*options_.tls, TlsSide::kServer));
      warnings_.insert(warnings_.end(), tls_->warnings().begin(), tls_->warnings().end());
      WipePasswords(*options_.tls);
    }
    return {};
  }

  Result<sim::SchedulerSnapshot> LoadState() {
    if (!options_.job.recovery) {
      return sim::SchedulerSnapshot{};
    }
    if (options_.recovery_folder.empty()) {
      return FailCommand(FailureCode::kRecoveryState,
                         "recovery is on, but there is no folder for its state",
                         "name one with MS_RECOVERY_PATH");
    }
    recovery_ = std::make_unique<RecoveryFile>(options_.recovery_folder);
    return recovery_->Load();
  }

  /// The next job that uses the folder begins anew. If this fails, the next scheduler finds a
  /// finished job and ends at once, which is what a scheduler killed just now would do.
  void ForgetFinishedJob() const {
    if (recovery_ && last_status_.state == sim::SchedulerState::kFinished) {
      (void)recovery_->Store({});
    }
  }

  void Tell(const sim::SchedulerEvent& event) {
    events_.Add(event, MayBeDropped(event.kind) ? kWaitingRefusals : static_cast<std::size_t>(-1));
  }

  void Fail(Error error) {
    failure_ = std::move(error);
    listener_.reset();
    events_.Wake();
  }

  [[nodiscard]] SchedulerStatus LookNow() const {
    const sim::Membership& members = shell_->core().membership();
    return {.state = shell_->core().state(),
            .present = members.present(),
            .expected = members.total(),
            .lost = members.abnormal(),
            .missing_ranks = members.MissingRanks(sim::Role::kWorker, kNamedMissingRanks),
            .connections = shell_->connections(),
            .failure = failure_};
  }

  SchedulerServerOptions options_;
  Endpoint endpoint_;
  std::vector<std::string> warnings_;
  std::unique_ptr<TlsContext> tls_;
  EventLoop loop_;
  EventQueue<sim::SchedulerEvent> events_;
  std::unique_ptr<RecoveryFile> recovery_;
  std::unique_ptr<SchedulerLog> log_;
  std::optional<Error> failure_;
  std::unique_ptr<SchedulerShell> shell_;
  std::unique_ptr<Listener> listener_;
  SchedulerStatus last_status_;
  LoopThread thread_;
};

SchedulerServer::SchedulerServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SchedulerServer::~SchedulerServer() {
  Stop();
}

Result<std::unique_ptr<SchedulerServer>> SchedulerServer::Start(SchedulerServerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  DRYDOCK_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<SchedulerServer>(new SchedulerServer(std::move(impl)));
}

const Endpoint& SchedulerServer::endpoint() const {
  return impl_->endpoint();
}
const std::vector<std::string>& SchedulerServer::warnings() const {
  return impl_->warnings();
}
int SchedulerServer::event_fd() const {
  return impl_->events().fd();
}
std::vector<sim::SchedulerEvent> SchedulerServer::TakeEvents() {
  return impl_->events().Take();
}
SchedulerStatus SchedulerServer::Look() const {
  return impl_->Look();
}
void SchedulerServer::DeclareLost(std::string_view node_id) {
  impl_->DeclareLost(std::string(node_id));
}
void SchedulerServer::Stop() {
  impl_->Stop();
}

}  // namespace drydock::launcher
