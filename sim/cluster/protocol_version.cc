#include "sim/cluster/protocol_version.h"

#include <array>
#include <charconv>

namespace drydock::sim {
namespace {

using std::chrono::seconds;

struct Release {
  std::array<int, 3> number = {};
  ProtocolVersion version = ProtocolVersion::kMaster;
};

constexpr std::array<Release, 10> kReleases = {{
    {{2, 0, 0}, ProtocolVersion::kMindSpore20},
    {{2, 1, 0}, ProtocolVersion::kMindSpore21},
    {{2, 2, 14}, ProtocolVersion::kMindSpore2214},
    {{2, 3, 0}, ProtocolVersion::kMindSpore230},
    {{2, 4, 0}, ProtocolVersion::kMindSpore240},
    {{2, 4, 10}, ProtocolVersion::kMindSpore2410},
    {{2, 5, 0}, ProtocolVersion::kMindSpore250},
    {{2, 6, 0}, ProtocolVersion::kMindSpore260},
    {{2, 7, 0}, ProtocolVersion::kMaster},
    {{2, 7, 1}, ProtocolVersion::kMindSpore271},
}};

std::optional<std::array<int, 3>> ParseNumbers(std::string_view text) {
  std::array<int, 3> number = {};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < number.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, number[i]);
    if (error != std::errc() || number[i] < 0) {
      return std::nullopt;
    }
    at = next;
    if (at == end) {
      return number;
    }
    if (*at++ != '.') {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProtocolVersion> ParseProtocolVersion(std::string_view release) {
  if (release == "master") {
    return ProtocolVersion::kMaster;
  }
  const auto number = ParseNumbers(release);
  std::optional<ProtocolVersion> found;
  for (const Release& candidate : kReleases) {
    if (number && candidate.number <= *number) {
      found = candidate.version;
    }
  }
  return found;
}

Duration ScaleSleep(std::uint32_t seconds_count, std::uint32_t worker_num, bool scaled) {
  if (scaled && worker_num <= kSmallJobWorkers) {
    return std::chrono::milliseconds(500);
  }
  return seconds(seconds_count);
}

SchedulerRules DrydockRules() {
  return {};
}

SchedulerRules ReferenceRules(ProtocolVersion version) {
  SchedulerRules rules;
  rules.numeric_id_is_rank = version >= ProtocolVersion::kMindSpore21;
  rules.refuses_known_id = version >= ProtocolVersion::kMindSpore230;
  rules.checks_rank_range = version >= ProtocolVersion::kMindSpore230;
  const bool looks_for_duplicates =
      version >= ProtocolVersion::kMindSpore230 && version <= ProtocolVersion::kMindSpore2410;
  rules.duplicate_check =
      looks_for_duplicates ? DuplicateRankCheck::kAllIds : DuplicateRankCheck::kNone;
  rules.refuses_when_full = false;
  rules.repeats_lost_reply = false;
  rules.repeats_lost_leave = false;
  rules.checks_texts = false;
  rules.publishes_port_range = version < ProtocolVersion::kMindSpore2410;
  rules.host_names = version < ProtocolVersion::kMindSpore2410 ? HostNameAnswer::kWhileComplete
                                                               : HostNameAnswer::kCached;
  rules.metadata_answers = version >= ProtocolVersion::kMindSpore271
                               ? MetadataAnswerRule::kSinceAdd
                               : MetadataAnswerRule::kUntilAdd;
  rules.frees_lost_slots = false;
  rules.watches_connections = false;
  rules.protects_members = false;
  return rules;
}

WorkerRules WorkerRulesOf(ProtocolVersion version) {
  const auto before = [version](ProtocolVersion limit) { return version < limit; };
  WorkerRules rules;
  rules.sends_host_ip = !before(ProtocolVersion::kMindSpore21);
  rules.sends_device_id = !before(ProtocolVersion::kMindSpore240);
  rules.reads_rank_key = !before(ProtocolVersion::kMindSpore21);
  rules.always_reads_rank_key = rules.reads_rank_key && before(ProtocolVersion::kMindSpore2410);
  rules.reads_port_range = before(ProtocolVersion::kMindSpore2410);
  rules.scaled_sleep = !before(ProtocolVersion::kMindSpore2410);
  if (before(ProtocolVersion::kMindSpore230)) {
    rules.heartbeat_upper_s = 3;
  }
  if (before(ProtocolVersion::kMindSpore2214)) {
    rules.registration_reply_timeout = seconds(30);
    rules.reply_timeout = seconds(10);
    rules.unregistration_reply_timeout = seconds(6);
    rules.topo_timeout = seconds(600);
  } else if (before(ProtocolVersion::kMindSpore230)) {
    rules.registration_reply_timeout = seconds(600);
    rules.reply_timeout = seconds(600);
    rules.unregistration_reply_timeout = seconds(600);
  } else if (before(ProtocolVersion::kMindSpore2410)) {
    rules.registration_reply_timeout = seconds(10);
    rules.reply_timeout = seconds(300);
  }
  return rules;
}

Duration DefaultNodeTimeout(ProtocolVersion version) {
  switch (version) {
    case ProtocolVersion::kMindSpore2214:
      return seconds(600);
    case ProtocolVersion::kMindSpore230:
      return seconds(300);
    case ProtocolVersion::kMindSpore240:
      return seconds(15);
    default:
      return seconds(30);
  }
}

}  // namespace drydock::sim
