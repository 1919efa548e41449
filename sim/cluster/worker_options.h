#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "sim/cluster/protocol_version.h"

namespace drydock::sim {

/// The two connections of a worker, both to the scheduler.
enum class Channel : std::uint8_t {
  kHeartbeat = 0,  ///< Registration, heartbeats, unregistration.
  kBusiness = 1,   ///< Metadata and host names.
};

/// What all workers of a job share. Must outlive them. Times without a value mean "for ever".
struct WorkerOptions {
  std::uint32_t worker_num = 1;
  std::string role = "MS_WORKER";
  std::string scheduler_address = "127.0.0.1:8118";  ///< As configured; goes into every frame.
  WorkerRules rules = {};
  bool recovery = false;            ///< MS_ENABLE_RECOVERY=1: never gives up on the scheduler.
  bool heartbeat_disabled = false;  ///< MS_DISABLE_HEARTBEAT=1: no heartbeats once ready.
  bool rank_table = false;          ///< RANK_TABLE_FILE is set: the final rank is always read.
  std::optional<Duration> topo_timeout = std::chrono::seconds(1800);  ///< From start to ready.
  /// How long a scheduler that does not answer is tried again once the topology is complete,
  /// recovery or not. One whose machine refuses connections is gone. 0: not at all, as MindSpore's
  /// workers.
  Duration patience = {};
  bool checks_worker_num =
      false;  ///< A scheduler that expects another number of members is refused.
  Duration leave_timeout = std::chrono::seconds(60);  ///< For leaving with recovery on.
  friend bool operator==(const WorkerOptions&, const WorkerOptions&) = default;
};

/// Who one worker is.
struct WorkerIdentity {
  std::string node_id = {};  ///< MS_NODE_ID: a rank in digits, or any unique text.
  std::string host_name = {};
  std::string host_ip = {};  ///< Empty: the local address of the heartbeat connection.
  std::uint32_t device_id = 0;
  std::uint64_t jitter_seed = 0;  ///< Decides the random part of pauses.
  friend bool operator==(const WorkerIdentity&, const WorkerIdentity&) = default;
};

}  // namespace drydock::sim
