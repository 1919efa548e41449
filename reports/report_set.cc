#include "reports/report_set.h"

#include "reports/report_json.h"

namespace drydock::reports {
namespace {

constexpr const char* kSummaryFile = "summary.json";
constexpr const char* kCommunicationFile = "communication.json";
constexpr const char* kMemoryFile = "memory.json";

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
  set.communication = BuildCommunicationReport(sim::DescribedProgram(result), result.agreement,
                                               result.options.only_rank, ProgramsOf(result));
  set.memory = BuildMemoryReport(result);
  std::vector<std::string> files = {kSummaryFile, kCommunicationFile};
  if (set.memory) {
    files.emplace_back(kMemoryFile);
  }
  facts.files.insert(facts.files.begin(), files.begin(), files.end());
  set.summary = BuildSummary(facts, result, *set.communication, set.memory);
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
  return files;
}

std::vector<std::string> AbsentReports(const ReportSet& reports) {
  std::vector<std::string> names;
  if (!reports.communication) {
    names.emplace_back(kCommunicationFile);
  }
  if (!reports.memory) {
    names.emplace_back(kMemoryFile);
  }
  return names;
}

}  // namespace drydock::reports
