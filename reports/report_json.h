#pragma once

#include <string>

#include "reports/communication_report.h"
#include "reports/memory_report.h"
#include "reports/profile_report.h"
#include "reports/spread_report.h"
#include "reports/summary_report.h"
#include "reports/timeline_report.h"

namespace drydock::reports {

/// JSON text of a report as written to its file: two-space indentation, fields in the order of the
/// table, final newline. Equal reports give equal bytes.
[[nodiscard]] std::string ReportJson(const CommunicationReport& report);
[[nodiscard]] std::string ReportJson(const MemoryReport& report);
[[nodiscard]] std::string ReportJson(const SummaryReport& report);
[[nodiscard]] std::string ReportJson(const TimelineReport& report);
[[nodiscard]] std::string ReportJson(const ProfileReport& report);
[[nodiscard]] std::string ReportJson(const SpreadReport& report);

}  // namespace drydock::reports
