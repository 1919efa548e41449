#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/cluster/protocol_version.h"

namespace drydock::sim {

/// A real client before 2.4.10 can lose the first answer on a connection if it comes at once; a TCP
/// shell holds the first reply of every accepted connection back by this much. Source:
/// docs/protocol.md.
inline constexpr Duration kFirstReplyDelay = std::chrono::milliseconds(2);

/// How long a scheduler over TCP keeps the answer to a heartbeat while the topology is not
/// complete. In large jobs workers ask every 3 to 5 s only: whoever is waiting for an answer hears
/// at once. Far below every release's time-out of answers. Source: docs/protocol.md, answers that
/// wait.
inline constexpr Duration kHeartbeatHold = std::chrono::seconds(3);

/// Ranks of the devices of each host, as RANK_TABLE_FILE lists them: pod_ip -> rank of device 0, 1,
/// ...
using RankTable = std::map<std::string, std::vector<std::uint32_t>>;

/// Upper bounds on what a hostile member can make the scheduler store.
struct SchedulerLimits {
  std::size_t metadata_entries = std::size_t{1} << 22U;
  std::size_t metadata_bytes = std::size_t{256} << 20U;  ///< Names and values written by workers.
  friend bool operator==(const SchedulerLimits&, const SchedulerLimits&) = default;
};

/// A job, as its scheduler is told. Times without a value mean "for ever".
struct SchedulerOptions {
  std::uint32_t worker_num = 1;                  ///< Expected MS_WORKER members.
  std::optional<std::uint32_t> server_num = {};  ///< Expected servers; nothing: no such role.
  std::string address = "127.0.0.1:8118";        ///< Own host:port, as replies carry it.
  SchedulerRules rules = {};
  bool recovery = false;  ///< MS_ENABLE_RECOVERY=1: known ids come back, losses are not fatal.
  bool heartbeat_disabled = false;  ///< MS_DISABLE_HEARTBEAT=1: no verdicts from silence.
  std::optional<Duration> node_timeout = std::chrono::seconds(30);     ///< MS_NODE_TIMEOUT.
  std::optional<Duration> build_timeout = std::chrono::seconds(1800);  ///< MS_TOPO_TIMEOUT.
  /// Heartbeats that come before the topology is complete are answered when it is, at most this
  /// much later. 0: at once.
  Duration heartbeat_hold = {};
  std::optional<RankTable> rank_table = {};
  /// Members are launchers of ours: they reconnect at once, so that a closed connection soon means
  /// loss.
  bool members_are_launchers = false;
  /// What a connection must have written under kProofKey before it may do what only launchers do;
  /// with `members_are_launchers` anything at all. Empty: nothing is asked for.
  std::string proof = {};
  SchedulerLimits limits = {};
  bool records_events = true;  ///< Off for big simulated fleets.
  friend bool operator==(const SchedulerOptions&, const SchedulerOptions&) = default;
};

/// How long a member that is expected to reconnect at once may be silent after its heartbeat
/// connection closed before it counts as lost. MindSpore's workers pause before they reconnect, and
/// their first attempt may fail: they have the whole node_timeout, unless nothing depends on the
/// verdict.
[[nodiscard]] inline Duration ConnectionGrace(std::uint32_t worker_num) {
  return std::chrono::seconds(worker_num <= kSmallJobWorkers ? 5 : 12);
}

/// How long heartbeats are still answered after a loss, so that every worker hears of it once.
[[nodiscard]] inline Duration AbnormalReportTime(std::uint32_t worker_num) {
  return std::chrono::seconds(worker_num <= kSmallJobWorkers ? 5 : 6);
}

}  // namespace drydock::sim
