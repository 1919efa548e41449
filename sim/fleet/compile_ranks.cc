#include "sim/fleet/compile_ranks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace drydock::sim {
namespace {

using strategies::CompiledProgram;
using strategies::Graph;
using strategies::JobConfig;

/// As for networks that differ because the script asks for its rank (docs/adr/0009).
constexpr std::size_t kMostPrograms = 64;

/// Appends a rank above all that are there.
void AddRank(std::int64_t rank, std::vector<RankRange>& ranges) {
  if (!ranges.empty() && ranges.back().last + 1 == rank) {
    ranges.back().last = rank;
  } else {
    ranges.push_back({.first = rank, .last = rank});
  }
}

using RanksByRows = std::map<std::vector<std::int64_t>, std::vector<RankRange>>;

RanksByRows GroupByRows(const CompiledProgram& program, const std::vector<RankRange>& ranks) {
  RanksByRows groups;
  for (const RankRange& range : ranks) {
    for (std::int64_t rank = range.first; rank <= range.last; ++rank) {
      AddRank(rank, groups[HandCutRows(program, RankId{static_cast<std::int32_t>(rank)})]);
    }
  }
  return groups;
}

}  // namespace

Result<NetworkPrograms> CompileForRanks(Graph traced, const JobConfig& job,
                                        const std::vector<RankRange>& ranks, RankId described) {
  NetworkPrograms result;
  if (!strategies::MayHaveHandCuts(traced)) {
    DRYDOCK_TRY(result.program, strategies::Compile(std::move(traced), job, described));
    return result;
  }
  DRYDOCK_TRY(result.program, strategies::Compile(traced, job, described));
  RanksByRows groups = GroupByRows(result.program, ranks);
  if (groups.size() > kMostPrograms) {
    return Fail(ErrorCode::kUnsupported,
                "tables cut by hand give the ranks parts of " + std::to_string(groups.size()) +
                    " different lengths; up to " + std::to_string(kMostPrograms) + " are handled",
                "cut into fewer parts, or give parts equal lengths");
  }
  groups.erase(HandCutRows(result.program, described));
  for (auto& [rows, members] : groups) {
    const RankId first{static_cast<std::int32_t>(members.front().first)};
    DRYDOCK_TRY(CompiledProgram program, strategies::Compile(traced, job, first));
    result.others.push_back({.program = std::move(program), .ranks = std::move(members)});
  }
  return result;
}

std::vector<RankRange> RemainingRanks(std::int64_t world_size,
                                      const std::vector<std::vector<RankRange>>& taken) {
  std::vector<bool> free(static_cast<std::size_t>(world_size), true);
  for (const std::vector<RankRange>& ranges : taken) {
    for (const RankRange& range : ranges) {
      for (std::int64_t r = range.first; r <= std::min(range.last, world_size - 1); ++r) {
        free[static_cast<std::size_t>(r)] = false;
      }
    }
  }
  std::vector<RankRange> remaining;
  for (std::size_t r = 0; r < free.size(); ++r) {
    if (free[r]) {
      AddRank(static_cast<std::int64_t>(r), remaining);
    }
  }
  return remaining;
}

}  // namespace drydock::sim
