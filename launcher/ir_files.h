#pragma once

#include <string>

#include "base/result.h"
#include "launcher/msrun_options.h"
#include "sim/fleet/dry_run.h"
#include "strategies/graph/job_config.h"

namespace drydock::launcher {

/// Where the IR dumps of a run go, as the summary names them: "./saved_graph/rank_0/*.ir", of all
/// ranks "./saved_graph/rank_*/*.ir"; empty where nobody asked for dumps.
[[nodiscard]] std::string IrDumpFiles(const sim::DryRunResult& result, const MsrunOptions& options);

/// Writes them: of the rank that is told, with --dump_all_ranks of each rank of the job.
[[nodiscard]] Status WriteIrDumps(const sim::DryRunResult& result, const MsrunOptions& options);

/// Takes away the dumps that an earlier run left where those of this one would be.
void RemoveIrDumps(const strategies::JobConfig& config, const MsrunOptions& options);

}  // namespace drydock::launcher
