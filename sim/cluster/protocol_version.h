#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace drydock::sim {

/// Releases of MindSpore at which the behaviour of the cluster protocol changed.
/// The wire format itself is the same in all of them. Source: docs/protocol.md.
enum class ProtocolVersion : std::uint8_t {
  kMindSpore20,    ///< 2.0: ranks in order of arrival, ids have no meaning.
  kMindSpore21,    ///< 2.1 - 2.2.11: numeric ids are ranks.
  kMindSpore2214,  ///< 2.2.14: long time-outs.
  kMindSpore230,   ///< 2.3.0 - 2.3.1: refusals with a reason.
  kMindSpore240,   ///< 2.4.0 - 2.4.1: device ids and rank tables.
  kMindSpore2410,  ///< 2.4.10: fast heartbeats for small jobs.
  kMindSpore250,   ///< 2.5.0: duplicate ranks are no longer noticed.
  kMindSpore260,   ///< 2.6.0.
  kMaster,         ///< July 2025 master, 2.7.0.
  kMindSpore271,   ///< 2.7.1 - 2.10: a request to add to a number, other numbers of answers.
};

/// The behaviour of release "2.4.10"; the newest of the table not after it. Nothing for other texts
/// and for releases before 2.0; "master" is July 2025 master.
[[nodiscard]] std::optional<ProtocolVersion> ParseProtocolVersion(std::string_view release);

/// Up to this many workers MindSpore polls every half second.
inline constexpr std::uint32_t kSmallJobWorkers = 128;

/// Length of a pause of nominally `seconds`: as said above kSmallJobWorkers, half a second below.
/// Releases before 2.4.10 (`scaled` false) always pause as said.
[[nodiscard]] Duration ScaleSleep(std::uint32_t seconds, std::uint32_t worker_num,
                                  bool scaled = true);

/// Which registered nodes make a rank count as taken when a new id asks for it.
enum class DuplicateRankCheck : std::uint8_t {
  kNone,        ///< The reference since 2.5: nobody looks.
  kAllIds,      ///< The reference 2.3 - 2.4.10: every node of the role.
  kNumericIds,  ///< Ours: ids that are ranks. Other ids are ranked anew at the end anyway.
};

/// When a request for host names is answered.
enum class HostNameAnswer : std::uint8_t {
  kWhileComplete,  ///< Only while everybody is registered.
  kCached,         ///< Also later, if somebody asked while everybody was registered.
  kOnceReady,      ///< From the moment the topology was complete.
};

/// Numbers of the two answers "there was such a value" and "there was none". A release put a
/// request between host names (9) and the answers, and nothing in a message tells the release of
/// its sender.
enum class MetadataNumbers : std::uint8_t {
  kUntilAdd,  ///< 10 and 11.
  kSinceAdd,  ///< 11 and 12; 10 is a request to add to a number.
};

/// How a scheduler answers about metadata.
enum class MetadataAnswerRule : std::uint8_t {
  kUntilAdd,       ///< As MetadataNumbers::kUntilAdd, always.
  kSinceAdd,       ///< As MetadataNumbers::kSinceAdd, always.
  kLearn,          ///< Finds out which of the two the workers understand; begins with kUntilAdd.
  kLearnSinceAdd,  ///< The same, but begins with kSinceAdd.
};

/// What a scheduler does where releases, or Drydock and the reference, differ.
struct SchedulerRules {
  bool numeric_id_is_rank = true;  ///< An id of digits is the rank; otherwise order of arrival.
  bool refuses_known_id = true;    ///< A registered id is refused unless recovery is on.
  bool checks_rank_range = true;   ///< Ranks beyond the expected number are refused.
  DuplicateRankCheck duplicate_check = DuplicateRankCheck::kNumericIds;
  bool refuses_when_full = true;     ///< Nobody is accepted beyond the expected number.
  bool repeats_lost_reply = true;    ///< A registration whose answer was lost is answered again.
  bool repeats_lost_leave = true;    ///< The same for an unregistration.
  bool checks_texts = true;          ///< Empty ids and over-long texts are refused.
  bool publishes_port_range = true;  ///< Metadata `node_port_range` for workers before 2.4.10.
  HostNameAnswer host_names = HostNameAnswer::kOnceReady;
  bool frees_lost_slots = true;  ///< A node lost during the build makes room for another.
  MetadataAnswerRule metadata_answers = MetadataAnswerRule::kLearn;
  bool watches_connections = true;  ///< A closed heartbeat connection is a reason for a verdict.
  /// Nobody speaks for a member from another address, and launchers' keys have owners (job_keys.h).
  bool protects_members = true;
  friend bool operator==(const SchedulerRules&, const SchedulerRules&) = default;
};

/// Rules of Drydock's scheduler (the defaults of SchedulerRules).
[[nodiscard]] SchedulerRules DrydockRules();

/// Rules of the reference scheduler of a release; unknown roles are refused in all of them.
[[nodiscard]] SchedulerRules ReferenceRules(ProtocolVersion version);

/// What a worker does where releases differ.
struct WorkerRules {
  bool sends_host_ip = true;
  bool sends_device_id = true;
  bool reads_rank_key = true;          ///< Final rank from metadata if the id is no number.
  bool always_reads_rank_key = false;  ///< Also if the id is a number.
  bool reads_port_range = false;       ///< Reads metadata `node_port_range` once ready.
  bool scaled_sleep = true;            ///< Half-second pauses in small jobs.
  std::uint32_t heartbeat_lower_s = 3;
  std::uint32_t heartbeat_upper_s = 5;
  Duration registration_reply_timeout = std::chrono::seconds(15);
  Duration reply_timeout = std::chrono::seconds(15);
  Duration unregistration_reply_timeout = std::chrono::seconds(10);
  Duration topo_timeout = std::chrono::seconds(1800);
  friend bool operator==(const WorkerRules&, const WorkerRules&) = default;
};

/// Rules of the worker of a release, with its default times.
[[nodiscard]] WorkerRules WorkerRulesOf(ProtocolVersion version);

/// Default of MS_NODE_TIMEOUT in the scheduler of a release.
[[nodiscard]] Duration DefaultNodeTimeout(ProtocolVersion version);

}  // namespace drydock::sim
