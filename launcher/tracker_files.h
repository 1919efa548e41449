#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "launcher/environment.h"
#include "sim/fleet/dry_run.h"

namespace drydock::launcher {

/// Folder that MS_ALLOC_CONF wants the files of the memory tracker in: `memory_tracker_path:DIR`,
/// or `reports` for `memory_tracker:True` alone; nullopt if it asks for none. Source:
/// mindspore/ccsrc/memory/mem_pool/mem_pool_util.cc (GeneratePath)
[[nodiscard]] std::optional<std::string> TrackerFolder(const Environment& environment,
                                                       const std::string& reports);

/// Writes what MindSpore's own dry run leaves of a rank - the one that the reports describe - for a
/// tracker that was asked for, in `rank_<r>/`: memory_block.csv and task.csv,
/// execute_order/execute_order.csv and comm_execute_order.csv. A job of one rank has no folder
/// `rank_0`.
/// @error LOG_DIR, REPORT_WRITE, and what sim::ProfileMemory returns
[[nodiscard]] Status WriteTrackerFiles(const sim::DryRunResult& result, const std::string& folder);

/// memory_block.csv and task.csv of every class of ranks, in `rank_<r>/` of its first rank: what
/// level 2 leaves.
/// @error as WriteTrackerFiles
[[nodiscard]] Status WriteMemoryFiles(const sim::DryRunResult& result, const std::string& folder);

}  // namespace drydock::launcher
