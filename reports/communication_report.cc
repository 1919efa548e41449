#include "reports/communication_report.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/checked.h"
#include "strategies/graph/attr.h"
#include "strategies/graph/dtype.h"
#include "strategies/operators/op_entry.h"

namespace drydock::reports {
namespace {

using strategies::CollectiveUse;
using strategies::GroupPattern;
using strategies::LocalProgram;
using strategies::Node;

/// Patterns in order of first use.
std::vector<GroupPattern> PatternsOf(const std::vector<CollectiveUse>& uses) {
  std::vector<GroupPattern> patterns;
  std::map<GroupPattern, bool> seen;
  for (const CollectiveUse& use : uses) {
    if (seen.emplace(use.group, true).second) {
      patterns.push_back(use.group);
    }
  }
  return patterns;
}

void AddTo(CommunicationTotal& total, const CollectiveReport& collective) {
  ++total.count;
  total.payload_bytes = AddSaturated(total.payload_bytes, collective.payload_bytes);
  total.sent_bytes = AddSaturated(total.sent_bytes, collective.sent_bytes);
}

/// Totals per key, by key.
template <typename KeyOf>
std::vector<CommunicationTotal> TotalsBy(const std::vector<CollectiveReport>& collectives,
                                         const KeyOf& key_of) {
  std::map<std::string, CommunicationTotal> totals;
  for (const CollectiveReport& collective : collectives) {
    AddTo(totals[key_of(collective)], collective);
  }
  std::vector<CommunicationTotal> list;
  for (auto& [key, total] : totals) {
    total.key = key;
    list.push_back(total);
  }
  return list;
}

/// The reduction of a collective, from its attribute; empty for those without one.
std::string ReduceText(const Node& node) {
  return strategies::TextAttr(node.attrs, "op", {}).value_or(std::string());
}

/// The ranks of which this program is told.
strategies::RankSet RanksOf(const strategies::JobProgram& job, const LocalProgram& program) {
  strategies::RankSet ranks;
  for (const strategies::RankClass& item : job.classes) {
    if (&job.programs[item.described] == &program) {
      ranks = strategies::Merge(ranks, item.ranks);
    }
  }
  return ranks;
}

class Describer {
 public:
  Describer(const LocalProgram& program, const CommunicationContext& context)
      : program_(program),
        ranks_(context.job == nullptr ? strategies::RankSet{} : RanksOf(*context.job, program)),
        traffic_(program.from->config, context.devices_per_node),
        local_names_(strategies::FullNames(program.local)),
        traced_names_(strategies::FullNames(program.from->traced)) {}

  [[nodiscard]] CollectiveReport Describe(const CollectiveUse& use) {
    const Node& node = program_.local.at(use.node);
    CollectiveReport report = {.kind = std::string(strategies::ShownName(node)),
                               .name = local_names_[ToIndex(use.node)],
                               .group_size = strategies::GroupSize(use.group),
                               .exchange = std::string(ExchangeName(node)),
                               .reduce = ReduceText(node),
                               .payload_bytes = use.payload_bytes,
                               .sent_bytes = use.sent_bytes,
                               .least_sent_bytes = use.least_sent_bytes,
                               .inter_node_bytes = traffic_.InterNodeBytes(use, node, ranks_),
                               .phase = std::string(PhaseName(node.phase)),
                               .reason = std::string(CommReasonName(node.reason)),
                               .why = node.reason_text,
                               .place = PlaceReportOf(program_.local, node)};
    if (!node.inputs.empty() && node.inputs.front() != strategies::kNoValue) {
      report.tensor = strategies::TypeText(program_.local.at(node.inputs.front()).type);
    }
    if (const std::int64_t distance = MessageDistance(node); distance != 0) {
      report.distance = distance;
    }
    if (node.origin != strategies::kNoNode) {
      report.operator_name = traced_names_[ToIndex(node.origin)];
      if (!report.place) {
        report.place = PlaceReportOf(program_.from->traced, program_.from->traced.at(node.origin));
      }
    }
    return report;
  }

 private:
  const LocalProgram& program_;
  strategies::RankSet ranks_;
  NodeTraffic traffic_;
  std::vector<std::string> local_names_;
  std::vector<std::string> traced_names_;
};

void AddTotals(CommunicationReport& report) {
  report.total.key = "all";
  for (const CollectiveReport& collective : report.collectives) {
    AddTo(report.total, collective);
  }
  report.by_kind = TotalsBy(report.collectives, [](const auto& item) { return item.kind; });
  for (const auto phase :
       {strategies::Phase::kForward, strategies::Phase::kBackward, strategies::Phase::kOptimizer}) {
    report.by_phase.push_back({.key = std::string(PhaseName(phase))});
  }
  for (const GroupPatternReport& pattern : report.group_patterns) {
    report.by_axis.push_back({.key = pattern.axis});
  }
  for (const CollectiveReport& collective : report.collectives) {
    const auto phase =
        std::ranges::find(report.by_phase, collective.phase, &CommunicationTotal::key);
    AddTo(*phase, collective);
    AddTo(report.by_axis[static_cast<std::size_t>(collective.group)], collective);
  }
}

/// More collectives than this of all stages together are too many to read.
constexpr std::size_t kMostListed = 4096;

void AddOthers(CommunicationReport& report, const LocalProgram& own,
               const std::vector<OtherProgram>& others, const CommunicationContext& context,
               std::map<GroupPattern, std::int64_t>& ids, KnownUses& known) {
  for (const OtherProgram& other : others) {
    if (other.program == &own) {
      for (CollectiveReport& collective : report.collectives) {
        collective.ranks = other.ranks;
      }
    }
  }
  for (const OtherProgram& other : others) {
    const std::vector<CollectiveUse>& uses = known.Of(*other.program);
    if (other.program == &own || report.collectives.size() + uses.size() > kMostListed) {
      continue;
    }
    Describer describer(*other.program, context);
    std::int64_t index = 0;
    for (const CollectiveUse& use : uses) {
      const auto [id, added] = ids.emplace(use.group, std::ssize(report.group_patterns));
      if (added) {
        report.group_patterns.push_back(DescribeGroups(*other.program, use.group, id->second));
      }
      CollectiveReport collective = describer.Describe(use);
      collective.index = index++;
      collective.group = id->second;
      collective.ranks = other.ranks;
      report.collectives.push_back(std::move(collective));
    }
  }
}

/// The causes of all programs of the job, this one's first.
void AddCauses(CommunicationReport& report, const LocalProgram& own,
               const std::vector<OtherProgram>& others, const CommunicationContext& context,
               std::map<GroupPattern, std::int64_t>& ids, KnownUses& known) {
  std::vector<OtherProgram> programs = others;
  if (programs.empty()) {
    programs.push_back({.program = &own});
  }
  for (const OtherProgram& item : programs) {
    CauseFinder finder(*item.program,
                       context.job == nullptr ? strategies::AllRanks(report.world_size)
                                              : RanksOf(*context.job, *item.program),
                       context.devices_per_node);
    for (const CollectiveUse& use : known.Of(*item.program)) {
      const auto [id, added] = ids.emplace(use.group, std::ssize(report.group_patterns));
      if (added) {
        report.group_patterns.push_back(DescribeGroups(*item.program, use.group, id->second));
      }
      finder.Add(use, id->second);
    }
    std::ranges::move(
        std::move(finder).Take(others.empty() ? std::nullopt : std::optional(item.ranks)),
        std::back_inserter(report.causes));
  }
}

}  // namespace

std::string_view ExchangeName(const Node& node) {
  const strategies::CollectiveFacts* facts = strategies::CollectiveOf(node);
  if (facts == nullptr) {
    return "ring";
  }
  switch (facts->pattern) {
    case strategies::CollectivePattern::kAllToAll:
      return "all";
    case strategies::CollectivePattern::kMessage:
      return "message";
    case strategies::CollectivePattern::kNeighbours:
      return "neighbours";
    default:
      return "ring";
  }
}

std::string_view CommReasonName(strategies::CommReason reason) {
  switch (reason) {
    case strategies::CommReason::kNone:
      return "none";
    case strategies::CommReason::kUser:
      return "user";
    case strategies::CommReason::kPartialSum:
      return "partial-sum";
    case strategies::CommReason::kRedistribution:
      return "redistribution";
    case strategies::CommReason::kParameterGradient:
      return "parameter-gradient";
    case strategies::CommReason::kBackwardOfForward:
      return "backward-of-forward";
    case strategies::CommReason::kStageBorder:
      return "stage-border";
    case strategies::CommReason::kDataParallelReducer:
      return "data-parallel-reducer";
    case strategies::CommReason::kOptimizerShard:
      return "optimizer-shard";
  }
  return "none";
}

std::string_view PhaseName(strategies::Phase phase) {
  switch (phase) {
    case strategies::Phase::kForward:
      return "forward";
    case strategies::Phase::kBackward:
      return "backward";
    case strategies::Phase::kOptimizer:
      return "optimizer";
  }
  return "forward";
}

CommunicationReport BuildCommunicationReport(const LocalProgram& program,
                                             const strategies::Agreement& agreement,
                                             std::optional<RankId> rank,
                                             const std::vector<OtherProgram>& others,
                                             const CommunicationContext& context) {
  KnownUses known;
  const std::vector<CollectiveUse>& uses = known.Of(program);
  const std::vector<GroupPattern> patterns = PatternsOf(uses);
  CommunicationReport report = {.run = context.run,
                                .world_size = program.from->config.world_size,
                                .pipeline_stages = program.from->config.pipeline_stages,
                                .agreement = {.holds = agreement.holds,
                                              .groups_checked = agreement.groups_checked,
                                              .collectives_checked = agreement.collectives_checked,
                                              .first_conflict = agreement.first_conflict}};
  std::map<GroupPattern, std::int64_t> ids;
  for (const GroupPattern& pattern : patterns) {
    const auto id = static_cast<std::int64_t>(ids.size());
    ids.emplace(pattern, id);
    report.group_patterns.push_back(DescribeGroups(program, pattern, id));
  }
  Describer describer(program, context);
  for (const CollectiveUse& use : uses) {
    CollectiveReport collective = describer.Describe(use);
    collective.index = static_cast<std::int64_t>(report.collectives.size());
    collective.group = ids.at(use.group);
    report.collectives.push_back(std::move(collective));
  }
  AddTotals(report);
  if (context.job != nullptr) {
    report.job = BuildJobTraffic(*context.job, context.devices_per_node, known);
  }
  AddOthers(report, program, others, context, ids, known);
  AddCauses(report, program, others, context, ids, known);
  if (rank) {
    report.rank = DescribeMembership(program, patterns, *rank);
  }
  return report;
}

}  // namespace drydock::reports
