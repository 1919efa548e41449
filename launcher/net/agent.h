#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/net/event_loop.h"
#include "sim/cluster/worker_options.h"

namespace drydock::launcher {

/// What a node's agent needs to join a job for its local ranks.
struct AgentOptions {
  Endpoint scheduler = {};
  std::optional<TlsFiles> tls = {};
  sim::WorkerOptions job = {};  ///< `scheduler_address` is replaced by `scheduler`.
  std::vector<sim::WorkerIdentity> members = {};  ///< One per local rank.
  std::string note = {};   ///< What all nodes are to know of this one; stands at its first rank.
  std::string proof = {};  ///< Of the job's secret; empty: none.
  std::uint16_t master_port = 0;  ///< What the node of rank 0 tells as MASTER_PORT; 0: a free one.
};

/// One rank of the job, as every node knows it.
struct AgentRank {
  std::uint32_t rank = 0;
  std::string node_id = {};
  std::string host_name = {};
  std::string address = {};  ///< Local address of the socket that reached the scheduler.
  std::string note = {};     ///< Of its node, at the first rank of the node; else empty.
  friend bool operator==(const AgentRank&, const AgentRank&) = default;
};

/// What all nodes agree on before any script starts.
struct AgentJob {
  std::vector<AgentRank> ranks = {};          ///< All of the job, by rank.
  std::vector<std::uint32_t> own_ranks = {};  ///< Of `members`, in their order.
  Endpoint master = {};                       ///< Node of rank 0 and the port for its own use.
  friend bool operator==(const AgentJob&, const AgentJob&) = default;
};

/// Something an agent tells its launcher.
struct AgentEvent {
  enum class Kind : std::uint8_t {
    kReady,      ///< Everybody is there; Job() is complete.
    kJobFailed,  ///< A rank of another node failed; `error` is what its launcher said.
    kFailed,     ///< The job cannot be joined or the scheduler is gone; `error` says why, and has a
                 ///< MemberCause.
    kLeft,       ///< After Leave: the scheduler knows that the local ranks are done.
  };
  Kind kind = Kind::kReady;
  std::optional<Error> error = {};
};

/// Registers for the local ranks of a node whose scripts do not speak the protocol, on a thread of
/// its own: joins, agrees on ranks and addresses with the agents of the other nodes, keeps the
/// heartbeats, tells and hears of failed ranks.
///
/// Agents speak to each other through the scheduler's metadata only, so MindSpore's own scheduler
/// serves them as well. All functions may be called from any thread.
class Agent {
 public:
  /// Begins to join. @error TLS_MATERIAL, USAGE (no members, address is no literal)
  [[nodiscard]] static Result<std::unique_ptr<Agent>> Start(AgentOptions options);
  /// Stops.
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Readable (poll) while TakeEvents has something to give. Owned by the agent.
  [[nodiscard]] int event_fd() const;
  /// What happened since the last call, oldest first.
  [[nodiscard]] std::vector<AgentEvent> TakeEvents();
  /// The job; empty before kReady.
  [[nodiscard]] AgentJob Job() const;
  /// A local rank failed: every other node hears of it within a second. The first report counts.
  void ReportFailure(const std::string& what);
  /// The local ranks are done: unregisters them all, kLeft follows.
  void Leave();
  /// Closes all connections without leaving, ends the thread. More than once is fine.
  void Stop();

 private:
  class Impl;
  explicit Agent(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace drydock::launcher
