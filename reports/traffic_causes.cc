// Why something is sent, in few lines.
//
// A step of a large job issues thousands of collectives on a rank, and other ones in each pipeline
// stage, for a handful of reasons: the partial sums of one line of the script, the gradients of
// another. Those with the same operator, reason, phase, line and groups are one cause. Reports list
// causes of every program, however many collectives there are.
//
// Example: 96 layers with two sums each, written in one line, are one cause of 192 AllReduces.
#include "reports/traffic_causes.h"

#include <array>
#include <utility>

#include "base/checked.h"
#include "reports/communication_report.h"

namespace drydock::reports {
namespace {

/// Adds up causes that differ only in the stacks that lead to their line.
void Merge(std::vector<CauseReport>& causes) {
  using Text = std::array<std::string, 4>;
  using Numbers = std::array<std::int64_t, 3>;
  std::map<std::pair<Text, Numbers>, std::size_t> known;
  std::vector<CauseReport> merged;
  for (CauseReport& cause : causes) {
    const auto [found, added] = known.try_emplace(
        {Text{cause.kind, cause.reason, cause.phase, cause.place ? cause.place->file : ""},
         Numbers{cause.group, cause.distance.value_or(0), cause.place ? cause.place->line : -1}},
        merged.size());
    if (added) {
      merged.push_back(std::move(cause));
      continue;
    }
    CauseReport& sum = merged[found->second];
    sum.count += cause.count;
    sum.sent_bytes = AddSaturated(sum.sent_bytes, cause.sent_bytes);
    sum.inter_node_bytes = AddSaturated(sum.inter_node_bytes, cause.inter_node_bytes);
  }
  causes = std::move(merged);
}

}  // namespace

CauseReport CauseFinder::Begin(const strategies::CollectiveUse& use, const strategies::Node& node,
                               const Key& key) const {
  CauseReport cause = {.kind = std::string(strategies::ShownName(node)),
                       .reason = std::string(CommReasonName(node.reason)),
                       .phase = std::string(PhaseName(node.phase)),
                       .why = node.reason_text,
                       .group = key.group,
                       .group_size = strategies::GroupSize(use.group),
                       .exchange = std::string(ExchangeName(node)),
                       .rank_count = strategies::CountRanks(ranks_),
                       .place = PlaceReportOf(program_.local, node)};
  if (key.distance != 0) {
    cause.distance = key.distance;
  }
  if (!cause.place && node.origin != strategies::kNoNode) {
    const strategies::Graph& traced = program_.from->traced;
    cause.place = PlaceReportOf(traced, traced.at(node.origin));
  }
  return cause;
}

void CauseFinder::Add(const strategies::CollectiveUse& use, std::int64_t group) {
  const strategies::Node& node = program_.local.at(use.node);
  const Key key = {.op = node.op,
                   .reason = node.reason,
                   .phase = node.phase,
                   .group = group,
                   .distance = MessageDistance(node),
                   .place = node.place,
                   .traced_place = node.place < 0 && node.origin != strategies::kNoNode
                                       ? program_.from->traced.at(node.origin).place
                                       : -1};
  const auto [found, added] = slots_.try_emplace(key, causes_.size());
  if (added) {
    causes_.push_back(Begin(use, node, key));
  }
  CauseReport& cause = causes_[found->second];
  ++cause.count;
  cause.sent_bytes = AddSaturated(cause.sent_bytes, use.sent_bytes);
  cause.inter_node_bytes =
      AddSaturated(cause.inter_node_bytes, traffic_.InterNodeBytes(use, node, ranks_));
}

std::vector<CauseReport> CauseFinder::Take(const std::optional<std::string>& ranks_text) && {
  Merge(causes_);
  for (CauseReport& cause : causes_) {
    cause.ranks = ranks_text;
  }
  return std::move(causes_);
}

}  // namespace drydock::reports
