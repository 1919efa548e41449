#pragma once

#include <string>

#include "reports/run_report.h"
#include "sim/fleet/dry_run.h"

/// Tables for spreadsheets (RFC 4180, header line, bytes as whole numbers). The first column of
/// each is the id of the run.
namespace drydock::reports {

/// kernels.csv: run, class, ranks, kernel, name, operator, phase, stream, micro_batch,
/// at_launch_bytes, after_bytes, file, line. Lifetimes must have been kept.
[[nodiscard]] std::string KernelsCsv(const RunReport& run, const sim::DryRunResult& result);

}  // namespace drydock::reports
