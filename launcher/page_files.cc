#include "launcher/page_files.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "launcher/exit_code.h"
#include "launcher/files.h"
#include "launcher/run_identity.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kMostReportBytes = std::size_t{1} << 28;
constexpr std::size_t kMostScriptBytes = std::size_t{1} << 22;
constexpr std::int64_t kLinesAround = 3;
constexpr std::size_t kMostExcerpts = 50;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else if (c != '\r') {
      lines.back() += c;
    }
  }
  return lines;
}

/// The lines around each place, of files that can be read.
std::vector<reports::SourceExcerpt> ExcerptsOf(const std::vector<reports::PlaceReport>& places) {
  std::map<std::string, std::vector<std::string>> files;
  std::vector<reports::SourceExcerpt> excerpts;
  for (const reports::PlaceReport& place : places) {
    if (place.line < 1 || excerpts.size() >= kMostExcerpts || place.file.ends_with(".json")) {
      continue;
    }
    const auto [file, added] = files.try_emplace(place.file);
    if (added) {
      if (const auto text = ReadFile(place.file, kMostScriptBytes)) {
        file->second = LinesOf(*text);
      }
    }
    const std::vector<std::string>& lines = file->second;
    if (place.line > std::ssize(lines)) {
      continue;
    }
    const std::int64_t first = std::max<std::int64_t>(1, place.line - kLinesAround);
    const std::int64_t last = std::min<std::int64_t>(std::ssize(lines), place.line + kLinesAround);
    excerpts.push_back({.file = place.file,
                        .first_line = first,
                        .lines = {lines.begin() + static_cast<std::ptrdiff_t>(first - 1),
                                  lines.begin() + static_cast<std::ptrdiff_t>(last)}});
  }
  return excerpts;
}

/// Reports that a page shows; the trace is for other viewers.
bool IsJson(const std::string& name) {
  return name.ends_with(".json") && name != reports::kTraceFile;
}

/// Whether the script is still the one that a summary speaks of.
bool ScriptIsTheSame(const std::string& summary) {
  const auto json = nlohmann::json::parse(summary, nullptr, false);
  if (!json.is_object() || !json.contains("run") || !json["run"].is_object()) {
    return false;
  }
  const auto text = ReadFile(json["run"].value("subject", ""), kMostScriptBytes);
  return text && Sha256Hex(*text) == json["run"].value("subject_sha256", "");
}

}  // namespace

Result<std::string> PageOfRun(const std::vector<reports::ReportFile>& reports) {
  reports::PageRun run;
  for (const reports::ReportFile& file : reports) {
    if (IsJson(file.name)) {
      run.reports.push_back(file.text);
    }
  }
  run.excerpts = ExcerptsOf(reports::PlacesToShow(run.reports.front()));
  return reports::PageHtml({run});
}

Result<reports::PageRun> ReadRun(const std::string& folder) {
  reports::PageRun run = {.name = folder};
  for (const std::string& name : reports::AllReportNames()) {
    if (!IsJson(name)) {
      continue;
    }
    auto text = ReadFile(PathIn(folder, name), kMostReportBytes);
    if (!text || text->find("\"drydock.") == std::string::npos) {
      if (run.reports.empty()) {
        return FailCommand(FailureCode::kNoReports,
                           PathIn(folder, name) + " is not there, or is not a report",
                           "give the folder of a dry run: msrun --sim_level=1 --log_dir=DIR ...");
      }
      continue;
    }
    run.reports.push_back(*std::move(text));
  }
  if (ScriptIsTheSame(run.reports.front())) {
    run.excerpts = ExcerptsOf(reports::PlacesToShow(run.reports.front()));
  }
  return run;
}

}  // namespace drydock::launcher
