#pragma once

#include <string>

#include "reports/report_set.h"

namespace drydock::reports {

/// SQL statements that make the database of a run: tables run, classes, parts, layers, tensors,
/// kernels, collectives, strategies, diagnostics, and views over them (docs/reports.md). Tensors
/// and kernels are those of the profile.
[[nodiscard]] std::string DatabaseSql(const ReportSet& set);

}  // namespace drydock::reports
