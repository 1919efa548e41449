#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/msrun_options.h"
#include "reports/report_set.h"
#include "sim/fleet/dry_run.h"

namespace drydock::launcher {

/// The network as the script gave it, a graph document. No run takes it away: the next one may read
/// it.
inline constexpr const char* kTracedGraphFile = "traced_graph.json";

/// Names of what the flags ask for besides the JSON reports. Of a program that was rejected
/// (`finished` false) only what speaks of its error.
[[nodiscard]] std::vector<std::string> ExportNames(const MsrunOptions& options, bool finished);

/// Those files, without page and database. `result` is null if the program was rejected.
[[nodiscard]] std::vector<reports::ReportFile> ExportFiles(const MsrunOptions& options,
                                                           const reports::ReportSet& set,
                                                           const sim::DryRunResult* result);

/// True for names of execution traces, which no one else gives to a file.
[[nodiscard]] bool IsTraceName(std::string_view name);

/// Removes the execution traces of an earlier run.
void RemoveTraces(const std::string& folder);

/// The current folder with a final slash, which files in reports are told relative to.
[[nodiscard]] std::string CurrentFolder();

}  // namespace drydock::launcher
