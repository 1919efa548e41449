#include "strategies/program/job_program.h"

#include <algorithm>

#include "base/result.h"

namespace drydock::strategies {

JobProgram JobOf(LocalProgram program) {
  JobProgram job{.config = program.from->config};
  job.classes.push_back({.ranks = AllRanks(job.config.world_size), .runs = {0}});
  job.programs.push_back(std::move(program));
  return job;
}

const RankClass& ClassOf(const JobProgram& job, RankId rank) {
  const auto found = std::ranges::find_if(
      job.classes, [rank](const RankClass& item) { return Contains(item.ranks, ToInt(rank)); });
  DRYDOCK_CHECK(found != job.classes.end());
  return *found;
}

const LocalProgram& ProgramOf(const JobProgram& job, RankId rank) {
  return job.programs[ClassOf(job, rank).described];
}

std::vector<std::int32_t> ClassOfEachRank(const JobProgram& job) {
  std::vector<std::int32_t> index(static_cast<std::size_t>(job.config.world_size), 0);
  for (std::size_t i = 0; i < job.classes.size(); ++i) {
    for (const RankRange& range : job.classes[i].ranks.ranges) {
      std::fill(index.begin() + range.first, index.begin() + range.last + 1,
                static_cast<std::int32_t>(i));
    }
  }
  return index;
}

}  // namespace drydock::strategies
