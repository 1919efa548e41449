#pragma once

#include <string>

#include "reports/communication_report.h"
#include "reports/run_report.h"
#include "sim/fleet/dry_run.h"

/// Tables for spreadsheets (RFC 4180, header line, bytes as whole numbers). The first column of
/// each is the id of the run.
namespace drydock::reports {

/// kernels.csv: run, class, ranks, kernel, name, operator, phase, stream, micro_batch,
/// at_launch_bytes, after_bytes, file, line. Lifetimes must have been kept.
[[nodiscard]] std::string KernelsCsv(const RunReport& run, const sim::DryRunResult& result);

/// tensors.csv: every tensor of the step of every class, as TensorReport. Lifetimes must have been
/// kept.
[[nodiscard]] std::string TensorsCsv(const RunReport& run, const sim::DryRunResult& result);

/// collectives.csv: every collective of communication.json. The class is told by its ranks.
[[nodiscard]] std::string CollectivesCsv(const RunReport& run,
                                         const CommunicationReport& communication);

}  // namespace drydock::reports
