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
#include "strategies/operators/known_ops.h"
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

/// Ordered pairs of members that are on different nodes.
std::int64_t PairsAcross(const std::vector<std::int64_t>& members, std::int64_t devices_per_node) {
  std::map<std::int64_t, std::int64_t> on_node;
  for (const std::int64_t member : members) {
    ++on_node[member / devices_per_node];
  }
  std::int64_t pairs = 0;
  for (const auto& [node, count] : on_node) {
    pairs += count * (std::ssize(members) - count);
  }
  return pairs;
}

bool SharesWithAll(const strategies::Node& node) {
  const strategies::CollectiveFacts* facts = strategies::CollectiveOf(node);
  return facts != nullptr && facts->pattern == strategies::CollectivePattern::kAllToAll;
}

}  // namespace

std::int64_t MessageDistance(const strategies::Node& node) {
  return strategies::PointToPointOf(node) == strategies::PointToPoint::kSends
             ? strategies::IntAttr(node.attrs, strategies::kRankDistance, 0).value_or(0)
             : 0;
}

std::int64_t NodeTraffic::Crossing(const Exchange& exchange, const RankSet& ranks) const {
  const std::int64_t stage_devices = strategies::StageDevices(config_);
  std::int64_t crossing = 0;
  for (const strategies::RankRange& range : ranks.ranges) {
    for (std::int64_t rank = range.first; rank <= range.last; ++rank) {
      const strategies::GroupPlace place =
          strategies::PlaceIn(exchange.pattern, rank, stage_devices);
      if (!exchange.to_all) {
        const std::int64_t step = exchange.distance != 0
                                      ? exchange.distance
                                      : StepToNext(exchange.pattern, place.position);
        crossing += (rank + step) / devices_per_node_ != rank / devices_per_node_ ? 1 : 0;
      } else if (strategies::GroupLeader(exchange.pattern, place.position) == place.position) {
        crossing +=
            PairsAcross(strategies::GroupRanks(exchange.pattern, place.position, place.begin),
                        devices_per_node_);
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
  const Exchange exchange = {.pattern = use.group,
                             .to_all = SharesWithAll(node),
                             .distance = MessageDistance(node),
                             .first_rank = ranks.ranges.front().first};
  const auto [found, added] = known_.try_emplace(exchange, 0);
  if (added) {
    found->second = Crossing(exchange, ranks);
  }
  // Shares of a payload are equal: sent_bytes is a multiple of size - 1, or rounded up.
  return ScaledUp(exchange.to_all ? use.sent_bytes / (size - 1) : use.sent_bytes, found->second, 1);
}

JobTrafficReport BuildJobTraffic(const strategies::JobProgram& job, std::int64_t devices_per_node,
                                 KnownUses& uses) {
  JobTrafficReport report = {
      .devices_per_node = devices_per_node,
      .nodes = (job.config.world_size + devices_per_node - 1) / devices_per_node};
  NodeTraffic traffic(job.config, devices_per_node);
  for (const strategies::RankClass& item : job.classes) {
    const strategies::LocalProgram& program = job.programs[item.described];
    const std::int64_t count = strategies::CountRanks(item.ranks);
    for (const strategies::CollectiveUse& use : uses.Of(program)) {
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
