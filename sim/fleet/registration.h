#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/executor.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "sim/cluster/messages/heartbeat.h"
#include "sim/cluster/protocol_version.h"

namespace drydock::sim {

/// Largest fleet that is simulated.
inline constexpr std::uint32_t kMaxFleetWorkers = 1U << 24U;

/// A job of virtual ranks.
struct FleetOptions {
  std::uint32_t worker_num = 1;
  std::uint32_t ranks_per_host = 8;
  bool numeric_ids =
      true;  ///< Ids are ranks, as msrun gives them; otherwise texts, ranked by address.
  ProtocolVersion version = ProtocolVersion::kMaster;  ///< Behaviour of the virtual workers.
  std::uint64_t seed = 0;                              ///< Decides the random part of pauses.
  /// Called once for every rank, from any thread, after it learned its final rank and before it
  /// leaves. May write only what belongs to that rank.
  std::function<void(RankId)> on_ready = {};
};

/// When the job's state, as the scheduler sees it, changed. Simulated time since the start.
struct TopologyChange {
  TopologyState state = TopologyState::kInitialising;
  Duration time = {};
  friend bool operator==(const TopologyChange&, const TopologyChange&) = default;
};

/// What happened in a registration run. The same for every number of threads.
struct FleetStatistics {
  std::uint32_t ranks = 0;  ///< Ranks that registered, became ready and left.
  std::uint32_t hosts = 0;  ///< Virtual hosts they are spread over.
  std::uint64_t frames_to_scheduler = 0;
  std::uint64_t frames_to_workers = 0;
  std::uint64_t bytes_to_scheduler = 0;
  std::uint64_t bytes_to_workers = 0;
  std::size_t peak_frame_bytes = 0;  ///< Most bytes that were under way at once.
  Duration simulated_time = {};      ///< From the start until the last rank has left.
  std::vector<TopologyChange> topology = {};
  friend bool operator==(const FleetStatistics&, const FleetStatistics&) = default;
};

/// Plays a whole job's registration: one scheduler and `worker_num` workers exchange real frames in
/// process; every rank registers, waits for the topology, is reported ready and leaves.
///
/// Workers run in parallel, the scheduler is serial; time is simulated and messages take none. Cost
/// grows linearly with the ranks.
/// @error kInvalidArgument  no workers, or more than kMaxFleetWorkers, or no rank per host
[[nodiscard]] Result<FleetStatistics> RegisterFleet(const Executor& executor,
                                                    const FleetOptions& options);

}  // namespace drydock::sim
