// What a dry run that many hosts play is made of, without the network: who plays which ranks, and
// whether all of them play the same job. Every host compiles the whole job, since its cost grows
// with the graph and not with the ranks; so each can say what it found, and that all found the same
// is itself a result: a host with an older copy of a module is seen before the real job is started.
#include "launcher/spread_place.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "launcher/exit_code.h"
#include "launcher/msrun_options.h"
#include "launcher/run/job_spec.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kShownValueBytes = 100;

/// Takes the first line off a text.
std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// "result: 3fab" -> "result" and "3fab", fit to be shown.
std::pair<std::string, std::string> Parted(std::string_view line) {
  constexpr std::string_view kEnd = ": ";
  const std::size_t end = std::min(line.find(kEnd), line.size());
  const std::string_view value = line.substr(std::min(end + kEnd.size(), line.size()));
  return {OneLine(line.substr(0, end), kShownValueBytes),
          value.empty() ? "none" : OneLine(value, kShownValueBytes)};
}

std::string Named(std::size_t host, const SpreadHost& facts) {
  return "host " + std::to_string(host) + " (" + facts.name + ")";
}

/// Why hosts that say the same of all else come to other results.
constexpr std::string_view kResult = "result";
constexpr const char* kOtherResult =
    "script, flags and releases are equal: look at the modules that the script imports, its data "
    "and the environment on both hosts";

}  // namespace

SpreadPlace ShareOf(std::int64_t host, std::int64_t hosts, std::int64_t ranks) {
  const std::int64_t each = ranks / hosts;
  const std::int64_t more = ranks % hosts;
  return {.hosts = hosts,
          .host = host,
          .first_rank = host * each + std::min(host, more),
          .rank_count = each + (host < more ? 1 : 0)};
}

std::int64_t HostOfRank(std::int64_t rank, std::int64_t hosts, std::int64_t ranks) {
  const std::int64_t each = ranks / hosts;
  const std::int64_t more = ranks % hosts;
  const std::int64_t in_larger = more * (each + 1);
  return rank < in_larger ? rank / (each + 1) : more + (rank - in_larger) / each;
}

Result<SpreadPlace> SpreadPlaceOf(const MsrunOptions& options) {
  std::int64_t hosts = NodeCount(options);
  std::int64_t host = hosts == 1 ? 0 : options.node_rank;
  if (options.outer && options.outer->is_complete()) {
    hosts = options.outer->size;
    host = options.outer->index;
  }
  if (hosts > options.worker_num) {
    return FailCommand(FailureCode::kUsage,
                       "argument --sim_spread: " + std::to_string(hosts) + " hosts play " +
                           std::to_string(options.worker_num) + " ranks: some would have none",
                       "start fewer hosts, or give --worker_num");
  }
  if (host < 0) {
    return FailCommand(FailureCode::kUsage,
                       "argument --sim_spread: which of the " + std::to_string(hosts) +
                           " hosts (--worker_num / --local_worker_num) this is has to be known",
                       "give --node_rank=0 to " + std::to_string(hosts - 1) +
                           ", or start msrun by mpirun or srun");
  }
  if (host >= hosts) {
    return FailCommand(FailureCode::kUsage,
                       "argument --node_rank: host " + std::to_string(host) + " is beyond the " +
                           std::to_string(hosts) +
                           " hosts that --worker_num and --local_worker_num make");
  }
  return ShareOf(host, hosts, options.worker_num);
}

std::string SpreadNote(const SpreadFacts& facts) {
  std::string note;
  for (const auto& [name, value] : facts) {
    note.append(name).append(": ");
    std::ranges::replace_copy(value, std::back_inserter(note), '\n', ' ');
    note.push_back('\n');
  }
  return note;
}

Status CompareHosts(const std::vector<SpreadHost>& hosts) {
  for (std::size_t i = 1; i < hosts.size(); ++i) {
    std::string_view first = hosts.front().note;
    std::string_view other = hosts[i].note;
    while (!first.empty() || !other.empty()) {
      const std::string_view line = TakeLine(first);
      const std::string_view other_line = TakeLine(other);
      if (line == other_line) {
        continue;
      }
      const auto [name, expected] = Parted(line);
      const auto [other_name, found] = Parted(other_line);
      const std::string what = name == other_name ? name : "what they tell of their run";
      return FailCommand(
          FailureCode::kHostsDiffer,
          fmt::format("{} and {} differ in the {}: {} there, {} here", Named(i, hosts[i]),
                      Named(0, hosts.front()), what, found, expected),
          what == kResult ? kOtherResult : "");
    }
  }
  return {};
}

}  // namespace drydock::launcher
