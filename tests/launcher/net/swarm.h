#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launcher/net/tcp_worker.h"
#include "tests/launcher/net/wait_for.h"

namespace drydock::launcher {

/// Workers 0 .. count - 1 of a job, played on the calling thread.
class Swarm {
 public:
  Swarm(const Endpoint& scheduler, std::uint32_t count, const TlsContext* tls = nullptr)
      : options_{.worker_num = count, .scheduler_address = EndpointText(scheduler)},
        give_up_(loop_.MakeTimer([this] { loop_.Stop(); })) {
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      workers_.push_back(std::make_unique<TcpWorker>(
          TcpWorker::Place{.loop = loop_, .scheduler = scheduler, .tls = tls}, options_,
          sim::WorkerIdentity{.node_id = std::to_string(rank), .host_name = "host"},
          [this](TcpWorker& worker, const sim::WorkerAction& action, std::string_view /*body*/) {
            Hear(worker, action);
          }));
    }
  }
  /// Joins, waits for everybody, leaves. How many knew their rank and left.
  std::size_t Run(Duration limit = kPatience) {
    give_up_->Set(loop_.Now() + limit);
    for (const auto& worker : workers_) {
      worker->Start();
    }
    loop_.Run();
    return left_;
  }
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  void Hear(const TcpWorker& worker, const sim::WorkerAction& action) {
    if (action.kind == sim::WorkerAction::Kind::kReady && ++ready_ == workers_.size()) {
      for (const auto& each : workers_) {
        each->Leave();
      }
    }
    if (action.kind == sim::WorkerAction::Kind::kFailed) {
      failure_ = worker.core().failure()->message;
    }
    if (action.kind == sim::WorkerAction::Kind::kLeft && ++left_ == workers_.size()) {
      loop_.Stop();
    }
  }

  EventLoop loop_;
  sim::WorkerOptions options_;
  std::unique_ptr<Timer> give_up_;
  std::vector<std::unique_ptr<TcpWorker>> workers_;
  std::size_t ready_ = 0;
  std::size_t left_ = 0;
  std::string failure_;
};

}  // namespace drydock::launcher
