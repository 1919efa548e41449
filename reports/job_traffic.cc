// Which bytes leave a node.
//
// In a ring algorithm each member of a group sends all it sends to the member behind it, the last
// one to the first; members stand in the order of their ranks. So the bytes that leave a node are
// those of the members whose follower is on another node. In an exchange of all with all, each
// member sends an equal share to each other member.
//
// Example: 16 ranks, 8 devices a node. Groups {0-7} and {8-15} never leave their node. The group of
// all 16 does at 7 -> 8 and 15 -> 0: two of 16 members send their bytes to the other node. Of
// groups {0, 8}, {1, 9}, ... every member does.
#include "reports/job_traffic.h"

#include "base/checked.h"
#include "strategies/layout/rank_pattern.h"
#include "strategies/operators/op_entry.h"

namespace drydock::reports {
namespace {

using strategies::GroupPattern;
using strategies::RankSet;

/// Distance in ranks from a member to the one behind it in the ring.
std::int64_t StepToNext(const GroupPattern& pattern, std::int64_t position) {
  std::int64_t step = 0;
  for (auto digit = pattern.digits.rbegin(); digit != pattern.digits.rend(); ++digit) {
    const std::int64_t value = strategies::DigitAt(*digit, position);
    if (value + 1 < digit->extent) {
      return step + digit->stride;
    }
    step -= value * digit->stride;
  }
  return step;
}

bool SharesWithAll(const strategies::Node& node) {
  const strategies::CollectiveFacts* facts = strategies::CollectiveOf(node);
  return facts != nullptr && facts->pattern == strategies::CollectivePattern::kAllToAll;
}

}  // namespace

std::int64_t NodeTraffic::Crossing(const GroupPattern& pattern, bool to_all,
                                   const RankSet& ranks) const {
  const std::int64_t stage_devices = strategies::StageDevices(config_);
  std::int64_t crossing = 0;
  for (const strategies::RankRange& range : ranks.ranges) {
    for (std::int64_t rank = range.first; rank <= range.last; ++rank) {
      const strategies::GroupPlace place = strategies::PlaceIn(pattern, rank, stage_devices);
      if (!to_all) {
        const std::int64_t next = rank + StepToNext(pattern, place.position);
        crossing += next / devices_per_node_ != rank / devices_per_node_ ? 1 : 0;
      } else if (strategies::GroupLeader(pattern, place.position) == place.position) {
        std::map<std::int64_t, std::int64_t> on_node;
        for (const std::int64_t member :
             strategies::GroupRanks(pattern, place.position, place.begin)) {
          ++on_node[member / devices_per_node_];
        }
        const std::int64_t size = strategies::GroupSize(pattern);
        for (const auto& [node, count] : on_node) {
          crossing += count * (size - count);
        }
      }
    }
  }
  return crossing;
}

std::int64_t NodeTraffic::InterNodeBytes(const strategies::CollectiveUse& use,
                                         const strategies::Node& node, const RankSet& ranks) {
  const std::int64_t size = strategies::GroupSize(use.group);
  if (use.sent_bytes == 0 || size < 2 || ranks.ranges.empty()) {
    return 0;
  }
  const bool to_all = SharesWithAll(node);
  const auto [found, added] =
      known_.try_emplace({{use.group, to_all}, ranks.ranges.front().first}, 0);
  if (added) {
    found->second = Crossing(use.group, to_all, ranks);
  }
  // Shares of a payload are equal: sent_bytes is a multiple of size - 1, or rounded up.
  return to_all ? ScaledUp(use.sent_bytes / (size - 1), found->second, 1)
                : ScaledUp(use.sent_bytes, found->second, 1);
}

JobTrafficReport BuildJobTraffic(const strategies::JobProgram& job, std::int64_t devices_per_node) {
  JobTrafficReport report = {
      .devices_per_node = devices_per_node,
      .nodes = (job.config.world_size + devices_per_node - 1) / devices_per_node};
  NodeTraffic traffic(job.config, devices_per_node);
  for (const strategies::RankClass& item : job.classes) {
    const strategies::LocalProgram& program = job.programs[item.described];
    const std::int64_t count = strategies::CountRanks(item.ranks);
    for (const strategies::CollectiveUse& use : strategies::CollectivesOf(program)) {
      report.collectives = AddSaturated(report.collectives, count);
      report.sent_bytes = AddSaturated(report.sent_bytes, ScaledUp(use.sent_bytes, count, 1));
      report.inter_node_bytes =
          AddSaturated(report.inter_node_bytes,
                       traffic.InterNodeBytes(use, program.local.at(use.node), item.ranks));
    }
  }
  report.intra_node_bytes = report.sent_bytes - report.inter_node_bytes;
  return report;
}

}  // namespace drydock::reports
