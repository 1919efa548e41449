#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "reports/page.h"
#include "reports/report_set.h"

namespace drydock::launcher {

/// The page of a run that was just made; `reports` are its JSON files.
[[nodiscard]] Result<std::string> PageOfRun(const std::vector<reports::ReportFile>& reports);

/// What a page shows of the reports in a folder.
/// @error NO_REPORTS  there is no summary.json of ours
[[nodiscard]] Result<reports::PageRun> ReadRun(const std::string& folder);

}  // namespace drydock::launcher
