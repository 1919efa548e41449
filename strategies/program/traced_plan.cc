#include "strategies/program/traced_plan.h"

namespace drydock::strategies {

std::size_t PartOf(const HandCut& cut, const JobConfig& config, RankId rank) {
  return static_cast<std::size_t>(ValueAt(cut.part, ToInt(rank) % StageDevices(config)));
}

std::vector<std::int64_t> HandCutRows(const TracedPlan& plan, RankId rank) {
  std::vector<std::int64_t> rows;
  for (const HandCut& cut : plan.hand_cuts) {
    rows.push_back(cut.rows[PartOf(cut, plan.config, rank)]);
  }
  return rows;
}

}  // namespace drydock::strategies
