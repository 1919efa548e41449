#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drydock::sim {

/// What a scheduler did, for logs and reports.
enum class SchedulerEventKind : std::uint8_t {
  kRegistered,            ///< A new member.
  kRegistrationRepeated,  ///< The answer to a registration was lost and given again.
  kRecovered,             ///< A known member came back.
  kRefused,               ///< A registration was refused: extra, rank taken, unknown role.
  kRefusedKnownId,        ///< A registration was refused since another process holds its id.
  kRankAssigned,          ///< A member got another rank when the topology was completed.
  kRankTableUnusable,     ///< The rank table does not fit the members; ranks by address instead.
  kTopologyReady,         ///< Everybody is registered, ranks are final.
  kNodeLost,              ///< A member fell silent.
  kNodeReturned,          ///< A lost member is heard of again.
  kNodeLeft,              ///< A member unregistered.
  kLossReported,          ///< Members are lost and the job ends: how many.
  kFinished,              ///< Everybody has left.
  kBuildTimedOut,         ///< Members are missing and the time is over.
  kHostNameShared,        ///< Members at several addresses have the same host name.
  kMessageIgnored,  ///< A message nobody can answer: unknown name, broken body, refused write.
};

/// One entry of a scheduler's history. Members without a meaning for the kind stay empty.
struct SchedulerEvent {
  SchedulerEventKind kind = SchedulerEventKind::kMessageIgnored;
  std::string node_id = {};
  std::string role = {};
  std::string host_name = {};
  std::string host_ip = {};
  std::uint32_t device_id = 0;
  std::uint32_t rank = 0;
  std::uint32_t old_rank = 0;
  std::uint32_t present = 0;   ///< Members at that time; lost members for kLossReported.
  std::uint32_t expected = 0;  ///< Expected members.
  std::string detail = {};     ///< Reason of a refusal, first missing ranks, ...
  friend bool operator==(const SchedulerEvent&, const SchedulerEvent&) = default;
};

/// How loud an event is.
enum class EventLevel : std::uint8_t { kInfo, kWarning, kError };

/// Level at which the reference logs such an event.
[[nodiscard]] EventLevel LevelOf(SchedulerEventKind kind);

/// One line for scheduler.log, with the words users and MindSpore's own tools grep for.
/// Source: docs/protocol.md.
[[nodiscard]] std::string EventText(const SchedulerEvent& event);

}  // namespace drydock::sim
