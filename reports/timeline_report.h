#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/run_report.h"
#include "reports/timeline_parts.h"
#include "sim/fleet/dry_run.h"

namespace drydock::reports {

/// How long a step takes: schema `drydock.timeline/1`.
struct TimelineReport : StepFigures {
  std::string schema = "drydock.timeline/1";
  RunReport run = {};
  HardwareReport hardware = {};
  std::optional<std::int64_t> samples = {};
  std::optional<std::int64_t> tokens = {};
  double jitter = 0;
  std::int64_t seed = 0;
  std::int64_t events = 0;
  std::vector<LevelTimeReport> levels = {};
  std::vector<ClassTimeReport> classes = {};
  std::vector<TransferTimeReport> transfers = {};
  std::vector<OperatorTimeReport> operators = {};
  std::vector<ScopeTimeReport> scopes = {};
  std::int64_t scopes_left_out = 0;
  std::vector<PathPartReport> critical_path = {};
  double path_left_out_seconds = 0;
  std::vector<std::string> not_modelled = {};

  static constexpr std::string_view kTypeName = "TimelineReport";
  static constexpr std::string_view kMeaning = "How long a step takes, and why.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("schema", &TimelineReport::schema, "Format of this document.", {"drydock.timeline/1"});
    field("run", &TimelineReport::run, "Which run this belongs to.");
    field("hardware", &TimelineReport::hardware, "For which device and network.");
    StepFields<TimelineReport>(field);
    field("samples", &TimelineReport::samples,
          "Samples of a step: first dimension of the first input of the data set, all ranks.");
    field("tokens", &TimelineReport::tokens,
          "Tokens of a step, if that input is integers of two dimensions.");
    field("jitter", &TimelineReport::jitter,
          "Share by which kernels are late by chance, on average; 0 = none.");
    field("seed", &TimelineReport::seed, "Seed of that chance.");
    field("events", &TimelineReport::events, "Beginnings and ends that were simulated.");
    field("levels", &TimelineReport::levels, "Bytes on each level of the network.");
    field("classes", &TimelineReport::classes, "Ranks by what they run.");
    field("transfers", &TimelineReport::transfers, "Longest first.");
    field("operators", &TimelineReport::operators, "Longest first.");
    field("scopes", &TimelineReport::scopes, "Longest first, at most 1,000.");
    field("scopes_left_out", &TimelineReport::scopes_left_out,
          "Shorter scopes that are not listed.");
    field("critical_path", &TimelineReport::critical_path, "Longest first, at most 200 lines.");
    field("path_left_out_seconds", &TimelineReport::path_left_out_seconds,
          "What stands on the longest chain besides.");
    field("not_modelled", &TimelineReport::not_modelled, "What the times leave out.");
  }
};

/// Nothing below simulation level 3.
[[nodiscard]] std::optional<TimelineReport> BuildTimelineReport(const RunReport& run,
                                                                const sim::DryRunResult& result);

/// What the summary says of it.
[[nodiscard]] TimeSummaryReport SummaryOf(const TimelineReport& report);

/// "1.20 s", "35.00 ms", "7.5 us".
[[nodiscard]] std::string SecondsText(double seconds);

/// Four lines for a terminal.
[[nodiscard]] std::vector<std::string> TimeLines(const TimeSummaryReport& time);

}  // namespace drydock::reports
