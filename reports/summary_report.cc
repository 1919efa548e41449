#include "reports/summary_report.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/graph/dtype.h"
#include "strategies/graph/job_config.h"
#include "strategies/operators/op_entry.h"
#include "strategies/program/collectives.h"

namespace drydock::reports {
namespace {

using strategies::JobConfig;
using strategies::LocalProgram;
using strategies::StrategySource;

std::string DatasetText(const strategies::DatasetStrategy& dataset) {
  switch (dataset.kind) {
    case strategies::DatasetStrategy::Kind::kDataParallel:
      return "data_parallel";
    case strategies::DatasetStrategy::Kind::kFullBatch:
      return "full_batch";
    case strategies::DatasetStrategy::Kind::kCuts:
      return StrategyText(dataset.cuts);
  }
  return {};
}

CheckedReport Checked(const RunFacts& facts, const JobConfig& config) {
  CheckedReport report = {.subject = facts.subject,
                          .world_size = config.world_size,
                          .pipeline_stages = config.pipeline_stages,
                          .parallel_mode = std::string(strategies::ParallelModeName(config.mode)),
                          .dataset_strategy = DatasetText(config.dataset),
                          .device_target = config.device_target,
                          .simulation_level = facts.simulation_level,
                          .compat = strategies::CompatText(config.compat),
                          .compat_from = facts.compat_from};
  if (!facts.settings_known) {
    report.parallel_mode.clear();
    report.dataset_strategy.clear();
    report.device_target.clear();
  } else if (config.mode == strategies::ParallelMode::kAutoParallel) {
    report.search_mode = strategies::SearchModeName(config.search_mode);
  }
  return report;
}

bool IsGradient(const strategies::Node& node) {
  return node.entry != nullptr && node.entry->kind == strategies::OpKind::kGradient;
}

std::vector<SourceCountReport> CountSources(const LocalProgram& program) {
  std::vector<SourceCountReport> counts;
  for (const StrategySource source :
       {StrategySource::kUser, StrategySource::kDefault, StrategySource::kPropagated,
        StrategySource::kDataset, StrategySource::kFallback, StrategySource::kNone}) {
    counts.push_back({.source = std::string(StrategySourceName(source))});
  }
  for (std::size_t i = 0; i < program.from->plans.size(); ++i) {
    if (!IsGradient(program.from->traced.nodes[i])) {
      const std::string_view name = StrategySourceName(program.from->plans[i].source);
      ++std::ranges::find(counts, name, &SourceCountReport::source)->operators;
    }
  }
  return counts;
}

std::vector<StrategyReport> ListStrategies(const LocalProgram& program) {
  const std::vector<std::string> names = strategies::FullNames(program.from->traced);
  std::vector<StrategyReport> list;
  for (std::size_t i = 0; i < program.from->plans.size(); ++i) {
    const strategies::NodePlan& plan = program.from->plans[i];
    if (plan.sharding) {
      list.push_back({.name = names[i],
                      .source = std::string(StrategySourceName(plan.source)),
                      .strategy = StrategyText(plan.sharding->strategy),
                      .device_matrix = plan.sharding->device_matrix,
                      .place = PlaceReportOf(program.from->traced, program.from->traced.nodes[i])});
    }
  }
  return list;
}

/// The strategies that the search found, those of one line and operator once.
std::vector<FoundStrategyReport> ListFound(const strategies::TracedPlan& plan) {
  std::vector<FoundStrategyReport> list;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> known;
  for (std::size_t i = 0; i < plan.plans.size(); ++i) {
    const strategies::Node& node = plan.traced.nodes[i];
    if (plan.plans[i].source != StrategySource::kPropagated) {
      continue;
    }
    FoundStrategyReport found = {
        .name = node.op,
        .paste = ".shard(" + StrategyText(plan.plans[i].sharding->strategy) + ")",
        .place = PlaceReportOf(plan.traced, node)};
    const auto [it, is_new] =
        known.try_emplace({ShortPlaceText(found.place), found.name, found.paste}, list.size());
    if (is_new) {
      list.push_back(std::move(found));
    } else {
      ++list[it->second].count;
    }
  }
  return list;
}

std::optional<SearchReport> SearchOf(const strategies::TracedPlan& plan) {
  if (!plan.search) {
    return std::nullopt;
  }
  const strategies::SearchOutcome& search = *plan.search;
  const double above = search.cost - search.lower_bound;
  return SearchReport{.cost = search.cost,
                      .lower_bound = search.lower_bound,
                      .gap = above > 0 ? above / std::max(1.0, search.lower_bound) : 0,
                      .estimated_bytes = static_cast<std::int64_t>(search.bytes),
                      .limit_bytes = static_cast<std::int64_t>(search.limit_bytes),
                      .fits = search.fits,
                      .dynamic_programming_cost = search.dynamic_cost,
                      .recursive_programming_cost = search.recursive_cost,
                      .strategies = ListFound(plan)};
}

std::vector<DiagnosticReport> ListDiagnostics(
    const std::vector<strategies::Diagnostic>& diagnostics) {
  std::vector<DiagnosticReport> list;
  list.reserve(diagnostics.size());
  for (const strategies::Diagnostic& diagnostic : diagnostics) {
    list.push_back({.code = diagnostic.code,
                    .text = diagnostic.text,
                    .count = diagnostic.count,
                    .unsupported = diagnostic.kind == strategies::DiagnosticKind::kLimit,
                    .place = ToPlaceReport(diagnostic.first_place)});
  }
  return list;
}

/// What is said of the described program, of the job, then of the other programs what is new.
std::vector<DiagnosticReport> AllDiagnostics(const sim::DryRunResult& result) {
  const LocalProgram& described = DescribedProgram(result);
  std::vector<DiagnosticReport> list = ListDiagnostics(DiagnosticsOf(described));
  std::ranges::move(ListDiagnostics(result.job.diagnostics), std::back_inserter(list));
  for (const strategies::RankClass& item : result.job.classes) {
    for (DiagnosticReport& more :
         ListDiagnostics(DiagnosticsOf(result.job.programs[item.described]))) {
      if (std::ranges::none_of(list, [&](const DiagnosticReport& known) {
            return known.code == more.code && known.text == more.text;
          })) {
        list.push_back(std::move(more));
      }
    }
  }
  return list;
}

std::vector<ScriptRunReport> ListRuns(const RunFacts& facts, const sim::DryRunResult& result) {
  std::vector<ScriptRunReport> list;
  for (const sim::ScriptRun& run : facts.script_runs) {
    const LocalProgram& program =
        ProgramOf(result.job, RankId{static_cast<std::int32_t>(run.rank)});
    ScriptRunReport report = {.rank = run.rank,
                              .ranks = RankSetText(run.ranks),
                              .network = static_cast<std::int64_t>(run.network),
                              .operators = std::ssize(program.local.nodes)};
    for (const strategies::CollectiveUse& use : strategies::CollectivesOf(program)) {
      ++report.collectives;
      report.sent_bytes = AddSaturated(report.sent_bytes, use.sent_bytes);
    }
    list.push_back(std::move(report));
  }
  return list;
}

/// Says that the script behaves differently on some ranks.
void AddRankDependence(const RunFacts& facts, std::vector<DiagnosticReport>& list) {
  if (facts.script_runs.size() < 2) {
    return;
  }
  std::size_t networks = 1;
  for (const sim::ScriptRun& run : facts.script_runs) {
    networks = std::max(networks, run.network + 1);
  }
  list.push_back({.code = "rank-dependent-script",
                  .text = std::to_string(facts.script_runs.size()) + " runs give " +
                          (networks == 1 ? "one network"
                                         : std::to_string(networks) + " networks, all checked") +
                          "; it asks for its rank at " + facts.rank_asks_text});
}

/// Says that ranks hold tables of different length.
void AddHandCuts(const sim::DryRunResult& result, std::vector<DiagnosticReport>& list) {
  const strategies::TracedPlan& program = *DescribedProgram(result).from;
  for (const strategies::HandCut& cut : program.hand_cuts) {
    const strategies::Node& look_up = program.traced.at(cut.look_up);
    const auto [least, most] = std::ranges::minmax(cut.rows);
    list.push_back({.code = "hand-cut-table",
                    .text = "the ranks hold " + std::to_string(least) + " to " +
                            std::to_string(most) + " rows of '" + cut.parameters.front() +
                            "'; their programs differ in this, all are checked",
                    .place = PlaceReportOf(program.traced, look_up)});
  }
}

/// Elements of all weights, and of those that are trained.
void CountParameters(const LocalProgram& program, SummaryReport& summary) {
  const strategies::Graph& traced = program.from->traced;
  for (const strategies::Parameter& parameter : traced.parameters) {
    if (parameter.role != strategies::ParameterRole::kWeight) {
      continue;
    }
    const std::int64_t count =
        strategies::ElementCount(traced.at(parameter.value).type.shape).value_or(0);
    summary.parameter_count = AddSaturated(summary.parameter_count, count);
    if (parameter.requires_grad) {
      summary.trainable_parameter_count = AddSaturated(summary.trainable_parameter_count, count);
    }
  }
}

std::string RanksText(std::int64_t count) {
  return count == 1 ? "1 rank" : std::to_string(count) + " ranks";
}

void AddVerdict(SummaryReport& summary, const CommunicationReport& communication,
                const std::optional<MemoryReport>& memory) {
  if (!communication.agreement.holds) {
    summary.verdict = "ranks-disagree";
    summary.verdict_text = communication.agreement.first_conflict;
    return;
  }
  if (memory && !memory->fits) {
    const RankClassReport& worst = memory->classes[static_cast<std::size_t>(memory->heaviest)];
    summary.verdict = "memory-exceeded";
    summary.verdict_text = "ranks " + worst.ranks + " need " + BytesText(worst.actual_peak_bytes) +
                           " of the " + BytesText(worst.limit_bytes) + " there are";
    return;
  }
  summary.verdict = "ok";
  summary.verdict_text = "the programs of " + RanksText(summary.ranks_checked) + " are legal";
  if (summary.ranks_checked > 1) {
    summary.verdict_text += " and agree on every collective";
  }
  if (memory) {
    summary.verdict_text += summary.ranks_checked > 1 ? "; they fit" : "; it fits";
    summary.verdict_text += " into device memory";
  }
}

}  // namespace

std::string_view StrategySourceName(StrategySource source) {
  switch (source) {
    case StrategySource::kNone:
      return "none";
    case StrategySource::kUser:
      return "user";
    case StrategySource::kDefault:
      return "default";
    case StrategySource::kPropagated:
      return "propagated";
    case StrategySource::kDataset:
      return "dataset";
    case StrategySource::kFallback:
      return "fallback";
  }
  return "none";
}

SummaryReport BuildSummary(const RunFacts& facts, const sim::DryRunResult& result,
                           const CommunicationReport& communication,
                           const std::optional<MemoryReport>& memory) {
  const LocalProgram& program = DescribedProgram(result);
  SummaryReport summary = {.run = facts.run,
                           .drydock_version = facts.drydock_version,
                           .checked = Checked(facts, program.from->config),
                           .ranks_checked = result.fleet.specialised_ranks,
                           .rank_classes = static_cast<std::int64_t>(result.classes.size()),
                           .fleet = FleetReport{.registered_ranks = result.fleet.registered_ranks,
                                                .specialised_ranks = result.fleet.specialised_ranks,
                                                .messages = result.fleet.messages,
                                                .message_bytes = result.fleet.message_bytes},
                           .operators = CountSources(program),
                           .strategies = ListStrategies(program),
                           .search = SearchOf(*program.from),
                           .redistributions = program.redistribution_count,
                           .agreement = communication.agreement,
                           .communication = communication.total,
                           .communication_by_kind = communication.by_kind,
                           .communication_by_phase = communication.by_phase,
                           .traffic = communication.job,
                           .script_runs = ListRuns(facts, result),
                           .rank_asks = facts.rank_asks,
                           .diagnostics = AllDiagnostics(result),
                           .files = facts.files};
  AddRankDependence(facts, summary.diagnostics);
  AddHandCuts(result, summary.diagnostics);
  CountParameters(program, summary);
  summary.checked.network = program.from->traced.name;
  if (memory) {
    for (const RankClassReport& item : memory->classes) {
      summary.memory.push_back({.ranks = item.ranks,
                                .stage = item.stage,
                                .used_peak_bytes = item.used_peak_bytes,
                                .actual_peak_bytes = item.actual_peak_bytes,
                                .limit_bytes = item.limit_bytes,
                                .head_room_bytes = item.head_room_bytes});
    }
  }
  AddVerdict(summary, communication, memory);
  return summary;
}

SummaryReport BuildRejection(const RunFacts& facts, const JobConfig& config, const Error& error) {
  SummaryReport summary = {.run = facts.run,
                           .drydock_version = facts.drydock_version,
                           .verdict_text = error.message,
                           .checked = Checked(facts, config),
                           .error = ErrorReport{.code = std::string(ErrorCodeName(error.code)),
                                                .reason = error.reason,
                                                .message = error.message,
                                                .hint = error.hint,
                                                .notes = error.notes,
                                                .place = ToPlaceReport(error.place)},
                           .files = facts.files};
  if (error.code == ErrorCode::kInvalidArgument) {
    summary.verdict = "rejected";
  } else {
    summary.verdict = error.code == ErrorCode::kUnsupported ? "unsupported" : "failed";
  }
  return summary;
}

}  // namespace drydock::reports
