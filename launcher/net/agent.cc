#include "launcher/net/agent.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "launcher/exit_code.h"
#include "launcher/net/agent_table.h"
#include "launcher/net/event_queue.h"
#include "launcher/net/loop_thread.h"
#include "launcher/net/tcp_worker.h"
#include "sim/cluster/messages/metadata.h"

namespace drydock::launcher {
namespace {

/// Pause before a value that is not there yet is asked for again.
constexpr Duration kAskPause = std::chrono::milliseconds(100);
/// How often an agent asks whether a rank of another node failed.
constexpr Duration kFailurePause = std::chrono::milliseconds(500);

}  // namespace

/// Agreement: every agent writes where its ranks are; the agent of rank 0 collects all of that and
/// writes the whole job under one key, which everybody reads. So N ranks on M nodes cost N + M
/// reads. One agent asks one question at a time, through one of its workers.
class Agent::Impl {
 public:
  explicit Impl(AgentOptions options) : options_(std::move(options)) {}

  Status Start() {
    if (options_.members.empty() || !IsIpLiteral(options_.scheduler.address)) {
      return FailCommand(FailureCode::kUsage,
                         "an agent needs local ranks and the scheduler's IP address");
    }
    if (options_.tls) {
      DRYDOCK_TRY(tls_, TlsContext::Load(*options_.tls, TlsSide::kClient));
      WipePasswords(*options_.tls);
    }
    options_.job.scheduler_address = EndpointText(options_.scheduler);
    ask_timer_ = loop_.MakeTimer([this] { Ask(); });
    for (const sim::WorkerIdentity& member : options_.members) {
      workers_.push_back(std::make_unique<TcpWorker>(
          TcpWorker::Place{.loop = loop_,
                           .scheduler = options_.scheduler,
                           .tls = tls_.get(),
                           .proof = options_.proof},
          options_.job, member,
          [this](TcpWorker& worker, const sim::WorkerAction& action, std::string_view body) {
            Hear(worker, action, body);
          }));
    }
    loop_.Post([this] {
      for (const auto& worker : workers_) {
        worker->Start();
      }
    });
    thread_.Start(loop_);
    return {};
  }

  void Stop() {
    if (thread_.running()) {
      loop_.Post([this] {
        workers_.clear();
        ask_timer_.reset();
        loop_.Stop();
      });
      thread_.Join();
    }
  }

  void Leave() {
    loop_.Post([this] {
      ask_timer_->Set(kNever);
      phase_ = Phase::kLeaving;
      for (const auto& worker : workers_) {
        worker->Leave();
      }
    });
  }

  void ReportFailure(std::string what) {
    loop_.Post([this, text = std::move(what)] {
      if (std::exchange(failure_told_, true) || phase_ != Phase::kRunning) {
        return;
      }
      asker_->WriteMetadata(kAgentFailureKey, text);
    });
  }

  [[nodiscard]] AgentJob Job() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return job_;
  }
  [[nodiscard]] EventQueue<AgentEvent>& events() { return events_; }

 private:
  enum class Phase : std::uint8_t {
    kJoining,     ///< Local ranks are missing.
    kCollecting,  ///< This node has rank 0 and asks where the others are.
    kReading,     ///< Waits for the agent of rank 0.
    kRunning,     ///< The job is known; asks whether somebody failed.
    kLeaving,
    kOver,
  };

  void Hear(TcpWorker& worker, const sim::WorkerAction& action, std::string_view body) {
    using Kind = sim::WorkerAction::Kind;
    switch (action.kind) {
      case Kind::kReady:
        return phase_ == Phase::kJoining && ++ready_ == workers_.size() ? TellRanks() : void();
      case Kind::kAnswer:
        return OnAnswer(action.found, body);
      case Kind::kLeft:
        return ++left_ == workers_.size() ? Finish({.kind = AgentEvent::Kind::kLeft}) : void();
      case Kind::kFailed:
        // While leaving, a worker that cannot unregister any more has left all the same.
        if (phase_ == Phase::kLeaving) {
          return ++left_ == workers_.size() ? Finish({.kind = AgentEvent::Kind::kLeft}) : void();
        }
        return Finish({.kind = AgentEvent::Kind::kFailed, .error = FailureOf(worker)});
      default:
        return;
    }
  }

  /// Why a worker gave up; if it never reached the scheduler, what the attempts met with.
  static Error FailureOf(const TcpWorker& worker) {
    Error error = *worker.core().failure();
    if (IsCausedBy(error, MemberCause::kBuildTimeout) && !worker.connect_trouble().empty()) {
      error.reason = "Agent:unreachable";
      error.cause = MemberCause::kUnreachable;
      error.message += "; " + worker.connect_trouble();
    }
    return error;
  }

  void TellRanks() {
    asker_ = workers_.front().get();
    phase_ = Phase::kReading;
    for (const auto& worker : workers_) {
      const sim::WorkerIdentity& self = worker->core().identity();
      const std::uint32_t rank = worker->core().rank();
      found_.own_ranks.push_back(rank);
      worker->WriteMetadata(
          AgentRankKey(rank),
          EncodeAgentRank({.rank = rank,
                           .node_id = self.node_id,
                           .host_name = self.host_name,
                           .address = self.host_ip,
                           .note = worker == workers_.front() ? options_.note : std::string()}));
      if (rank == 0) {
        asker_ = worker.get();
        phase_ = Phase::kCollecting;
      }
    }
    Ask();
  }

  void Ask() {
    using sim::MessageName;
    switch (phase_) {
      case Phase::kCollecting:
        return asker_->Ask(MessageName::kReadMetadata,
                           AgentRankKey(static_cast<std::uint32_t>(found_.ranks.size())));
      case Phase::kReading:
        return asker_->Ask(MessageName::kReadMetadata, kAgentJobKey);
      case Phase::kRunning:
        return asker_->Ask(MessageName::kReadMetadata, kAgentFailureKey);
      default:
        return;
    }
  }

  void OnAnswer(bool found, std::string_view body) {
    const auto message = sim::DecodeMetadata(body);
    const std::string_view value = found && message ? message->value : std::string_view();
    if (value.empty()) {
      const Duration pause = phase_ == Phase::kRunning ? kFailurePause : kAskPause;
      return ask_timer_->Set(loop_.Now() + pause);
    }
    switch (phase_) {
      case Phase::kCollecting:
        return OnRank(DecodeAgentRank(value));
      case Phase::kReading:
        return OnJob(DecodeAgentJob(value, options_.job.worker_num));
      case Phase::kRunning:
        return OnFailure(value);
      default:
        return;
    }
  }

  void OnRank(Result<AgentRank> rank) {
    if (!rank) {
      return Finish({.kind = AgentEvent::Kind::kFailed, .error = rank.error()});
    }
    rank->rank = static_cast<std::uint32_t>(found_.ranks.size());
    found_.ranks.push_back(*std::move(rank));
    if (found_.ranks.size() < options_.job.worker_num) {
      return Ask();
    }
    found_.master = {.address = found_.ranks.front().address, .port = MasterPort()};
    asker_->WriteMetadata(kAgentJobKey, EncodeAgentJob(found_));
    BeginRunning();
  }

  void OnJob(Result<AgentJob> job) {
    if (!job) {
      return Finish({.kind = AgentEvent::Kind::kFailed, .error = job.error()});
    }
    job->own_ranks = std::move(found_.own_ranks);
    found_ = *std::move(job);
    BeginRunning();
  }

  void BeginRunning() {
    phase_ = Phase::kRunning;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job_ = found_;
    }
    events_.Add({.kind = AgentEvent::Kind::kReady});
    ask_timer_->Set(loop_.Now() + kFailurePause);
  }

  /// The port asked for, or one that is free now.
  std::uint16_t MasterPort() {
    if (options_.master_port != 0) {
      return options_.master_port;
    }
    const auto probe = loop_.Listen({.address = found_.ranks.front().address, .port = 0}, nullptr,
                                    [](std::unique_ptr<TcpStream> /*stream*/) { return nullptr; });
    return probe ? (*probe)->port() : 0;
  }

  void OnFailure(std::string_view what) {
    if (!std::exchange(failure_told_, true)) {
      events_.Add({.kind = AgentEvent::Kind::kJobFailed,
                   .error = FailCommand(FailureCode::kRankFailed, OneLine(what)).value()});
    }
  }

  void Finish(AgentEvent event) {
    if (std::exchange(phase_, Phase::kOver) != Phase::kOver) {
      ask_timer_->Set(kNever);
      events_.Add(std::move(event));
    }
  }

  AgentOptions options_;
  std::unique_ptr<TlsContext> tls_;
  EventLoop loop_;
  EventQueue<AgentEvent> events_;
  std::unique_ptr<Timer> ask_timer_;
  std::vector<std::unique_ptr<TcpWorker>> workers_;
  TcpWorker* asker_ = nullptr;  ///< The worker that asks for the whole node.
  Phase phase_ = Phase::kJoining;
  std::size_t ready_ = 0;
  std::size_t left_ = 0;
  bool failure_told_ = false;
  AgentJob found_;
  std::mutex mutex_;
  AgentJob job_;  ///< Complete, for other threads.
  LoopThread thread_;
};

Agent::Agent(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Agent::~Agent() {
  Stop();
}

Result<std::unique_ptr<Agent>> Agent::Start(AgentOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  DRYDOCK_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Agent>(new Agent(std::move(impl)));
}

int Agent::event_fd() const {
  return impl_->events().fd();
}
std::vector<AgentEvent> Agent::TakeEvents() {
  return impl_->events().Take();
}
AgentJob Agent::Job() const {
  return impl_->Job();
}
void Agent::ReportFailure(const std::string& what) {
  impl_->ReportFailure(what);
}
void Agent::Leave() {
  impl_->Leave();
}
void Agent::Stop() {
  impl_->Stop();
}

}  // namespace drydock::launcher
