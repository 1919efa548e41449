#include "reports/group_report.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "reports/place.h"
#include "strategies/graph/job_config.h"
#include "strategies/layout/group_name.h"
#include "strategies/layout/rank_pattern.h"
#include "strategies/program/rank_set.h"

namespace drydock::reports {
namespace {

using strategies::GroupPattern;
using DeviceMatrix = std::vector<std::int64_t>;

/// Device matrices with more axes are not searched for combinations of axes.
constexpr std::size_t kMaxSearchedAxes = 8;

/// How many operators have each device matrix, axes of size 1 left out.
std::map<DeviceMatrix, std::int64_t> DeviceMatrices(const strategies::LocalProgram& program) {
  std::map<DeviceMatrix, std::int64_t> counts;
  for (const strategies::NodePlan& plan : program.from->plans) {
    if (plan.sharding) {
      DeviceMatrix matrix = plan.sharding->device_matrix;
      std::erase(matrix, 1);
      ++counts[matrix];
    }
  }
  return counts;
}

/// Axes of `matrix` whose digits make up `pattern`, if there are such.
std::optional<std::vector<std::int64_t>> MatchingAxes(const DeviceMatrix& matrix,
                                                      const GroupPattern& pattern) {
  if (matrix.size() > kMaxSearchedAxes) {
    return std::nullopt;
  }
  for (std::uint32_t subset = 1; subset < (std::uint32_t{1} << matrix.size()); ++subset) {
    std::vector<std::int64_t> axes;
    std::vector<strategies::RankDigit> digits;
    for (std::size_t axis = 0; axis < matrix.size(); ++axis) {
      if ((subset >> axis & 1U) != 0) {
        axes.push_back(static_cast<std::int64_t>(axis));
        digits.push_back(strategies::AxisDigit(matrix, axis));
      }
    }
    if (strategies::MakeGroupPattern(digits) == pattern) {
      return axes;
    }
  }
  return std::nullopt;
}

NamedGroupReport NameGroup(const strategies::LocalProgram& program, const GroupPattern& pattern,
                           strategies::GroupPlace place) {
  const std::vector<std::int64_t> ranks =
      strategies::GroupRanks(pattern, place.position, place.begin);
  return {.name = strategies::GroupName(ranks, program.from->config.world_size,
                                        strategies::BackendName(program.from->config)),
          .ranks = strategies::SteppedRanksText(ranks)};
}

std::string StrideText(const GroupPattern& pattern) {
  std::vector<std::int64_t> strides;
  for (const strategies::RankDigit& digit : pattern.digits) {
    strides.push_back(digit.stride);
  }
  return (strides.size() == 1 ? "stride " : "strides ") + JoinText(strides, ", ");
}

}  // namespace

std::string AxisText(const strategies::LocalProgram& program, const GroupPattern& pattern) {
  const strategies::JobConfig& config = program.from->config;
  if (pattern.of_job) {
    return strategies::GroupSize(pattern) == config.world_size ? "all ranks" : "stages";
  }
  if (strategies::GroupSize(pattern) == strategies::StageDevices(config)) {
    return config.pipeline_stages > 1 ? "all ranks of the stage" : "all ranks";
  }
  std::string best;
  std::int64_t best_count = 0;
  for (const auto& [matrix, count] : DeviceMatrices(program)) {
    const auto axes = MatchingAxes(matrix, pattern);
    if (axes && count > best_count) {
      best_count = count;
      best = (axes->size() == 1 ? "axis " : "axes ") + JoinText(*axes, " and ") + " of " +
             TupleText(matrix);
    }
  }
  return best.empty() ? StrideText(pattern) : best;
}

GroupPatternReport DescribeGroups(const strategies::LocalProgram& program,
                                  const GroupPattern& pattern, std::int64_t id) {
  const std::int64_t stage_devices = strategies::StageDevices(program.from->config);
  const std::int64_t stages = program.from->config.pipeline_stages;
  const std::int64_t world_size = program.from->config.world_size;
  GroupPatternReport report = {.id = id,
                               .axis = AxisText(program, pattern),
                               .of_job = pattern.of_job,
                               .size = strategies::GroupSize(pattern)};
  for (const strategies::RankDigit& digit : pattern.digits) {
    report.digits.push_back({.stride = digit.stride, .extent = digit.extent});
  }
  report.count = pattern.of_job ? world_size / report.size : stage_devices / report.size * stages;
  report.all_listed = program.from->config.world_size <= kMaxListedRanks;
  const std::int64_t wanted = report.all_listed ? report.count : kExampleGroups;
  for (std::int64_t rank = 0; rank < world_size; ++rank) {
    if (static_cast<std::int64_t>(report.groups.size()) >= wanted) {
      break;
    }
    const strategies::GroupPlace place = strategies::PlaceIn(pattern, rank, stage_devices);
    if (strategies::GroupLeader(pattern, place.position) == place.position) {
      report.groups.push_back(NameGroup(program, pattern, place));
    }
  }
  return report;
}

RankMembershipReport DescribeMembership(const strategies::LocalProgram& program,
                                        const std::vector<GroupPattern>& patterns, RankId rank) {
  const std::int64_t stage_devices = strategies::StageDevices(program.from->config);
  const std::int64_t stage = ToInt(rank) / stage_devices;
  RankMembershipReport report = {.rank = ToInt(rank), .stage = stage};
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const strategies::GroupPlace place =
        strategies::PlaceIn(patterns[i], ToInt(rank), stage_devices);
    NamedGroupReport named = NameGroup(program, patterns[i], place);
    report.groups.push_back(
        {.group = static_cast<std::int64_t>(i),
         .name = std::move(named.name),
         .ranks = std::move(named.ranks),
         .index_in_group = strategies::IndexInGroup(patterns[i], place.position)});
  }
  return report;
}

}  // namespace drydock::reports
