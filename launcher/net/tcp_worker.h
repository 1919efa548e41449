#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string_view>

#include "launcher/net/event_loop.h"
#include "sim/cluster/worker_core.h"

namespace drydock::launcher {

/// A worker's side of the protocol over two TCP connections. Lives on the loop's thread.
class TcpWorker {
 public:
  /// Hears kReady, kAnswer (with its body), kLeft and kFailed; may ask and write, not destroy.
  using Hear = std::function<void(TcpWorker&, const sim::WorkerAction&, std::string_view body)>;

  /// Where a worker lives; all of it outlives the worker.
  struct Place {
    EventLoop& loop;
    Endpoint scheduler = {};
    const TlsContext* tls = nullptr;  ///< Null: plain TCP.
    std::string proof = {};           ///< Of the job's secret, told first; empty: none.
  };
  TcpWorker(Place place, const sim::WorkerOptions& options, sim::WorkerIdentity identity,
            Hear hear);
  ~TcpWorker();
  TcpWorker(const TcpWorker&) = delete;
  TcpWorker& operator=(const TcpWorker&) = delete;

  /// Begins to join.
  void Start();
  /// See sim::WorkerCore.
  void WriteMetadata(std::string_view name, std::string_view value);
  void Ask(sim::MessageName name, std::string_view subject);
  void Leave();
  [[nodiscard]] const sim::WorkerCore& core() const { return core_; }
  /// Why the last attempt to connect failed: "connection refused: the machine is up, but nobody
  /// listens". Empty once connected. Source: docs/robustness.md R-06
  [[nodiscard]] const std::string& connect_trouble() const { return connect_trouble_; }

 private:
  class Link;

  [[nodiscard]] Link& link(sim::Channel channel) {
    return *links_[static_cast<std::size_t>(channel)];
  }
  void Do();
  void DoOne(const sim::WorkerAction& action);
  void Connect(sim::Channel channel);
  void GiveUpConnecting(TimePoint now);
  void Tick();

  Place place_;
  Duration connect_time_;
  sim::WorkerCore core_;
  Hear hear_;
  sim::WorkerOutput out_;
  bool doing_ = false;
  std::string connect_trouble_;
  std::array<std::unique_ptr<Link>, 2> links_;
  std::unique_ptr<Timer> timer_;
};

/// The frame by which a connection shows that it knows the job's secret. There is no answer.
[[nodiscard]] std::string ProofFrame(const Endpoint& scheduler, std::string_view proof);

}  // namespace drydock::launcher
