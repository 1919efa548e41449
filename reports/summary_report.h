#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "reports/communication_report.h"
#include "reports/fit_trial.h"
#include "reports/memory_report.h"
#include "reports/summary_parts.h"
#include "reports/timeline_parts.h"
#include "sim/tracer/trace_result.h"
#include "strategies/program/local_program.h"

namespace drydock::reports {

/// The answer of a dry run on one page: schema `drydock.summary/1`.
struct SummaryReport {
  std::string schema = "drydock.summary/1";
  RunReport run = {};
  std::string drydock_version = {};
  bool complete = true;
  std::string verdict = {};
  std::string verdict_text = {};
  CheckedReport checked = {};
  std::optional<ErrorReport> error = {};
  std::vector<FitTrialReport> trials = {};
  std::int64_t ranks_checked = 0;
  std::int64_t rank_classes = 0;
  std::optional<FleetReport> fleet = {};
  std::int64_t parameter_count = 0;
  std::int64_t trainable_parameter_count = 0;
  std::vector<SourceCountReport> operators = {};
  std::vector<StrategyReport> strategies = {};
  std::optional<SearchReport> search = {};
  std::int64_t redistributions = 0;
  std::optional<AgreementReport> agreement = {};
  std::optional<CommunicationTotal> communication = {};
  std::vector<CommunicationTotal> communication_by_kind = {};
  std::vector<CommunicationTotal> communication_by_phase = {};
  std::optional<JobTrafficReport> traffic = {};
  std::vector<ClassPeakReport> memory = {};
  std::optional<TimeSummaryReport> time = {};
  std::vector<ScriptRunReport> script_runs = {};
  std::vector<std::string> rank_asks = {};
  std::vector<DiagnosticReport> diagnostics = {};
  std::vector<std::string> files = {};

  static constexpr std::string_view kTypeName = "SummaryReport";
  static constexpr std::string_view kMeaning = "The answer of a dry run on one page.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("schema", &SummaryReport::schema, "Format of this document.", {"drydock.summary/1"});
    field("run", &SummaryReport::run, "Which run this belongs to.");
    field("drydock_version", &SummaryReport::drydock_version, "Version that wrote this.");
    field("complete", &SummaryReport::complete, "False if the run was stopped before its end.");
    field("verdict", &SummaryReport::verdict,
          "`ok`: every rank's program is legal, the ranks agree and fit into memory; otherwise the "
          "first of these that fails.",
          {"ok", "rejected", "unsupported", "failed", "ranks-disagree", "memory-exceeded"});
    field("verdict_text", &SummaryReport::verdict_text, "The verdict in a sentence.");
    field("checked", &SummaryReport::checked, "What was checked.");
    field("error", &SummaryReport::error, "Why there is no result, if there is none.");
    field("trials", &SummaryReport::trials,
          "If memory is exceeded: what was tried to make the job fit.");
    field("ranks_checked", &SummaryReport::ranks_checked, "Ranks whose program was checked.");
    field("rank_classes", &SummaryReport::rank_classes, "Classes of ranks with equal memory.");
    field("fleet", &SummaryReport::fleet, "What the virtual ranks did.");
    field("parameter_count", &SummaryReport::parameter_count,
          "Elements of the weights of the whole network, each counted once however many ranks hold "
          "it.");
    field("trainable_parameter_count", &SummaryReport::trainable_parameter_count,
          "Of these, those that get a gradient.");
    field("operators", &SummaryReport::operators, "Who decided the strategies.");
    field("strategies", &SummaryReport::strategies, "The strategy of every operator that has one.");
    field("search", &SummaryReport::search, "What --search=optimal found; null without it.");
    field("redistributions", &SummaryReport::redistributions,
          "Places where a producer's layout had to be turned into a consumer's.");
    field("agreement", &SummaryReport::agreement, "Whether the ranks agree on every collective.");
    field("communication", &SummaryReport::communication,
          "What one rank sends in one step; see communication.json.");
    field("communication_by_kind", &SummaryReport::communication_by_kind, "The same per operator.");
    field("communication_by_phase", &SummaryReport::communication_by_phase, "The same per phase.");
    field("traffic", &SummaryReport::traffic, "What all ranks together send in one step.");
    field("memory", &SummaryReport::memory, "Peak per class of ranks; see memory.json.");
    field("time", &SummaryReport::time, "How long a step takes; see timeline.json.");
    field("script_runs", &SummaryReport::script_runs,
          "How often the script was run, as which ranks, and what it computes there; empty for a "
          "graph file.");
    field("rank_asks", &SummaryReport::rank_asks,
          "Lines where the script's path depends on its rank, `file:line`.");
    field("diagnostics", &SummaryReport::diagnostics, "What else to know.");
    field("files", &SummaryReport::files,
          "Files written, relative to the output folder; IR dumps relative to the current one.");
  }
};

/// What a summary says that is known only to whoever runs the dry run.
struct RunFacts {
  RunReport run = {};
  std::int64_t devices_per_node = 8;
  bool all_tensors = false;  ///< memory.json lists every tensor.
  bool profile = false;      ///< Memory over the step is told.
  std::string drydock_version = {};
  std::string subject = {};      ///< Script or graph file as given.
  std::string compat_from = {};  ///< "--compat", "installed mindspore 2.7.0", "default".
  std::int64_t simulation_level = 0;
  std::vector<std::string> files = {};  ///< Written, relative to the output folder.
  std::vector<sim::ScriptRun> script_runs = {};
  std::vector<std::string> rank_asks = {};
  std::string rank_asks_text = {};  ///< The same as part of a sentence.
  bool settings_known = true;       ///< False: nobody knows the modes of the job.
};

/// Summary of a program that compiled, from the dry run and its other reports.
[[nodiscard]] SummaryReport BuildSummary(const RunFacts& facts, const sim::DryRunResult& result,
                                         const CommunicationReport& communication,
                                         const std::optional<MemoryReport>& memory);

/// Summary of a program that was rejected, with what is known about the job.
[[nodiscard]] SummaryReport BuildRejection(const RunFacts& facts,
                                           const strategies::JobConfig& config, const Error& error);

/// "user", "default", ...: who decided a strategy, as reports spell it.
[[nodiscard]] std::string_view StrategySourceName(strategies::StrategySource source);

}  // namespace drydock::reports
