#include "reports/report_set.h"

#include "reports/report_json.h"
#include "reports/tables_csv.h"
#include "reports/trace_view.h"

namespace drydock::reports {
namespace {

constexpr const char* kSummaryFile = "summary.json";
constexpr const char* kCommunicationFile = "communication.json";
constexpr const char* kMemoryFile = "memory.json";
constexpr const char* kKernelsFile = "kernels.csv";
constexpr const char* kTimelineFile = "timeline.json";
constexpr const char* kProfileFile = "profile.json";

/// The programs of all stages; none where the job has one.
std::vector<OtherProgram> ProgramsOf(const sim::DryRunResult& result) {
  std::vector<OtherProgram> programs;
  if (result.job.config.pipeline_stages > 1) {
    for (const sim::ClassMemory& item : result.classes) {
      programs.push_back({.program = &result.job.programs[item.program],
                          .ranks = strategies::RankSetText(item.ranks)});
    }
  }
  return programs;
}

}  // namespace

ReportSet BuildReports(RunFacts facts, const sim::DryRunResult& result) {
  ReportSet set;
  set.communication = BuildCommunicationReport(
      sim::DescribedProgram(result), result.agreement, result.options.only_rank, ProgramsOf(result),
      {.run = facts.run, .job = &result.job, .devices_per_node = facts.devices_per_node});
  set.memory = BuildMemoryReport(result, {.run = facts.run, .all_tensors = facts.all_tensors});
  set.timeline = BuildTimelineReport(facts.run, result);
  set.trace_view = TraceViewText(facts.run.id, result);
  std::vector<std::string> files = {kSummaryFile, kCommunicationFile};
  if (set.memory) {
    files.emplace_back(kMemoryFile);
  }
  if (set.memory && (facts.all_tensors || facts.profile)) {
    set.profile = BuildProfile(facts.run, result);
    files.emplace_back(kProfileFile);
  }
  if (set.memory && facts.all_tensors) {
    set.kernels_csv = KernelsCsv(facts.run, result);
    files.emplace_back(kKernelsFile);
  }
  if (set.timeline) {
    files.insert(files.end(), {kTimelineFile, kTraceFile});
  }
  facts.files.insert(facts.files.begin(), files.begin(), files.end());
  set.summary = BuildSummary(facts, result, *set.communication, set.memory);
  if (set.timeline) {
    set.summary.time = SummaryOf(*set.timeline);
  }
  return set;
}

ReportSet BuildRejectionReports(RunFacts facts, const strategies::JobConfig& config,
                                const Error& error) {
  facts.files.insert(facts.files.begin(), kSummaryFile);
  return {.summary = BuildRejection(facts, config, error)};
}

std::vector<ReportFile> ReportFiles(const ReportSet& reports) {
  std::vector<ReportFile> files = {{.name = kSummaryFile, .text = ReportJson(reports.summary)}};
  if (reports.communication) {
    files.push_back({.name = kCommunicationFile, .text = ReportJson(*reports.communication)});
  }
  if (reports.memory) {
    files.push_back({.name = kMemoryFile, .text = ReportJson(*reports.memory)});
  }
  if (reports.profile) {
    files.push_back({.name = kProfileFile, .text = ReportJson(*reports.profile)});
  }
  if (!reports.kernels_csv.empty()) {
    files.push_back({.name = kKernelsFile, .text = reports.kernels_csv});
  }
  if (reports.timeline) {
    files.push_back({.name = kTimelineFile, .text = ReportJson(*reports.timeline)});
    files.push_back({.name = kTraceFile, .text = reports.trace_view});
  }
  return files;
}

std::vector<std::string> AllReportNames() {
  return {kSummaryFile,  kCommunicationFile, kMemoryFile,         kProfileFile, kKernelsFile,
          kTimelineFile, kTraceFile,         kPageFile,           kSarifFile,   kDatabaseFile,
          "tensors.csv", "collectives.csv",  "memory_trace.json", "graph.dot",  kSpreadFile};
}

}  // namespace drydock::reports
