#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/communication_report.h"
#include "reports/memory_report.h"
#include "reports/profile_report.h"
#include "reports/summary_report.h"
#include "reports/timeline_report.h"
#include "sim/fleet/dry_run.h"

namespace drydock::reports {

/// The reports of one dry run.
struct ReportSet {
  SummaryReport summary = {};
  std::optional<CommunicationReport> communication = {};  ///< Absent if the program was rejected.
  std::optional<MemoryReport> memory = {};                ///< Absent at level 0 as well.
  std::optional<ProfileReport> profile = {};              ///< With the page, or at full detail.
  std::string kernels_csv = {};  ///< Every kernel of every class; empty if it is not asked for.
  std::optional<TimelineReport> timeline = {};  ///< At level 3 only.
  std::string trace_view = {};                  ///< The same; see TraceViewText.
};

/// A file to be written, relative to the output folder.
struct ReportFile {
  std::string name = {};
  std::string text = {};
};

/// All reports of a finished dry run. `facts.files` are further files of the caller's (IR dumps);
/// the summary lists those of ReportFiles before them.
[[nodiscard]] ReportSet BuildReports(RunFacts facts, const sim::DryRunResult& result);

/// The one report there is about a rejected program.
[[nodiscard]] ReportSet BuildRejectionReports(RunFacts facts, const strategies::JobConfig& config,
                                              const Error& error);

/// The page that shows a run.
inline constexpr const char* kPageFile = "report.html";
/// Hosts and times of a dry run of many hosts. It stands beside the other reports, which are those
/// of one host, to the byte; so none of them lists it.
inline constexpr const char* kSpreadFile = "spread.json";
inline constexpr const char* kSarifFile = "drydock.sarif";
inline constexpr const char* kDatabaseFile = "drydock.db";
/// The step in Chrome's trace format.
inline constexpr const char* kTraceFile = "trace_view.json";

/// Names that reports of a run can have.
[[nodiscard]] std::vector<std::string> AllReportNames();

/// The reports that there are of "summary.json", "communication.json", "memory.json",
/// "timeline.json" and "trace_view.json", and the caller's further ones.
[[nodiscard]] std::vector<ReportFile> ReportFiles(const ReportSet& reports);

}  // namespace drydock::reports
