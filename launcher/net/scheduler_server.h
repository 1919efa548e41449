#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/net/event_loop.h"
#include "sim/cluster/scheduler_core.h"
#include "sim/cluster/scheduler_events.h"
#include "sim/cluster/scheduler_options.h"

namespace drydock::launcher {

/// How a scheduler is served over TCP.
struct SchedulerServerOptions {
  sim::SchedulerOptions job = {};    ///< `address` is replaced by `bind` with its actual port.
  Endpoint bind = {"127.0.0.1", 0};  ///< Port 0: the system chooses one.
  std::optional<TlsFiles> tls = {};
  std::string recovery_folder = {};  ///< MS_RECOVERY_PATH; needed if `job.recovery`.
  std::string log_path = {};         ///< scheduler.log, replaced if there; empty: none.
};

/// Where a served job stands.
struct SchedulerStatus {
  sim::SchedulerState state = sim::SchedulerState::kBuilding;
  std::uint32_t present = 0;  ///< Registered members.
  std::uint32_t expected = 0;
  std::uint32_t lost = 0;                         ///< Members that are silent.
  std::vector<std::uint32_t> missing_ranks = {};  ///< Workers, at most 8.
  std::size_t connections = 0;                    ///< Open now.
  std::optional<Error> failure = {};              ///< Why the server ended by itself.
};

/// The scheduler of a job behind a TCP port, on a thread of its own: the state machine of
/// sim/cluster, its connections, limits against strangers, the recovery file and scheduler.log.
///
/// All functions may be called from any thread. Example:
///   DRYDOCK_TRY(auto server, SchedulerServer::Start({.job = {.worker_num = 2}}));
///   poll(server->event_fd()) ... for (auto& event : server->TakeEvents()) ...
class SchedulerServer {
 public:
  /// Listens before it returns.
  /// @error PORT_IN_USE, RESOLVE, TLS_MATERIAL, RECOVERY_STATE, RECOVERY_WRITE, LOG_DIR, NOFILE,
  ///        USAGE
  [[nodiscard]] static Result<std::unique_ptr<SchedulerServer>> Start(
      SchedulerServerOptions options);
  /// Stops.
  ~SchedulerServer();
  SchedulerServer(const SchedulerServer&) = delete;
  SchedulerServer& operator=(const SchedulerServer&) = delete;

  /// Where workers find it, with the actual port.
  [[nodiscard]] const Endpoint& endpoint() const;
  /// Warnings found while starting: certificates that expire soon, few descriptors.
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  /// Readable (poll) while TakeEvents has something to give, and when the job or the server came to
  /// its end (Look tells). Owned by the server.
  [[nodiscard]] int event_fd() const;
  /// What happened since the last call, oldest first: kRegistered (present of expected), kRefused,
  /// kTopologyReady, kNodeLost, kNodeLeft, kFinished, kBuildTimedOut, ... Refusals are dropped when
  /// nobody takes them for long; the others are not.
  [[nodiscard]] std::vector<sim::SchedulerEvent> TakeEvents();
  /// A fresh look at the job.
  [[nodiscard]] SchedulerStatus Look() const;
  /// A child process that carried this id ended without leaving: the others are told at once.
  void DeclareLost(std::string_view node_id);
  /// Closes the port and all connections, ends the thread. More than once is fine.
  void Stop();

 private:
  class Impl;
  explicit SchedulerServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace drydock::launcher
