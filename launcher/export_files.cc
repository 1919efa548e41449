// What a dry run writes besides its JSON reports: which names the flags ask for, the files
// themselves, and the removal of execution traces that an earlier run left, whose names depend on
// its classes of ranks.

#include "launcher/export_files.h"

#include <filesystem>

#include "reports/chakra.h"
#include "reports/exports.h"
#include "reports/sarif.h"
#include "reports/tables_csv.h"

namespace drydock::launcher {

std::vector<std::string> ExportNames(const MsrunOptions& options, bool finished) {
  std::vector<std::string> names;
  const auto add = [&names](bool wanted, const char* name) {
    if (wanted) {
      names.emplace_back(name);
    }
  };
  const bool memory = finished && options.sim_level > 0;
  add(options.export_csv && memory, "tensors.csv");
  add(options.export_csv && finished, "collectives.csv");
  add(options.export_trace && memory, "memory_trace.json");
  add(options.export_dot && finished, "graph.dot");
  add(options.export_graph && finished, kTracedGraphFile);
  add(options.export_chakra && finished, "chakra.*.et");
  add(options.export_chakra && finished, "chakra_groups.json");
  add(options.sarif, reports::kSarifFile);
  add(options.sqlite && finished, reports::kDatabaseFile);
  add(options.html, reports::kPageFile);
  return names;
}

std::vector<reports::ReportFile> ExportFiles(const MsrunOptions& options,
                                             const reports::ReportSet& set,
                                             const sim::DryRunResult* result) {
  std::vector<reports::ReportFile> files;
  if (result != nullptr && options.export_csv) {
    if (set.memory) {
      files.push_back(
          {.name = "tensors.csv", .text = reports::TensorsCsv(set.summary.run, *result)});
    }
    files.push_back({.name = "collectives.csv",
                     .text = reports::CollectivesCsv(set.summary.run, *set.communication)});
  }
  if (options.export_trace && set.profile) {
    files.push_back({.name = "memory_trace.json", .text = reports::MemoryTraceText(*set.profile)});
  }
  if (options.export_dot && result != nullptr) {
    files.push_back({.name = "graph.dot",
                     .text = reports::GraphDot(set.summary.run, sim::DescribedProgram(*result))});
  }
  if (options.export_chakra && result != nullptr) {
    for (reports::TraceFile& file : reports::ChakraTraces(*result)) {
      files.push_back({.name = std::move(file.name), .text = std::move(file.bytes)});
    }
  }
  if (options.sarif) {
    files.push_back(
        {.name = reports::kSarifFile, .text = reports::SarifText(set.summary, CurrentFolder())});
  }
  return files;
}

bool IsTraceName(std::string_view name) {
  constexpr std::string_view kBegin = "chakra.";
  constexpr std::string_view kEnd = ".et";
  if (name == "chakra_groups.json") {
    return true;
  }
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd) ||
      name.size() <= kBegin.size() + kEnd.size()) {
    return false;
  }
  const std::string_view rank =
      name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  return rank.find_first_not_of("0123456789") == std::string_view::npos;
}

void RemoveTraces(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> old;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder.empty() ? "." : folder, error)) {
    if (IsTraceName(entry.path().filename().string()) && entry.is_regular_file(error)) {
      old.push_back(entry.path());
    }
  }
  for (const std::filesystem::path& path : old) {
    std::filesystem::remove(path, error);
  }
}

std::string CurrentFolder() {
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  return folder.empty() ? folder : folder + "/";
}

}  // namespace drydock::launcher
