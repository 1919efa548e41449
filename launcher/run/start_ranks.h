#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include <sys/types.h>

#include "base/result.h"
#include "launcher/command.h"
#include "launcher/msrun_options.h"
#include "launcher/run/preflight.h"
#include "launcher/run/worker_environment.h"

namespace drydock::launcher {

/// Starts the local ranks in order, each with its log, environment and processors, and tells where
/// their output goes. On a failure those already running are left to the caller.
/// @param started  called with index and process id of each
/// @error LOG_DIR, NPROC, NO_INTERPRETER
[[nodiscard]] Status StartRanks(const MsrunOptions& options, const Context& context,
                                const CheckedJob& job, const WorkerSetting& setting,
                                const std::function<void(std::size_t, pid_t)>& started);

/// Starts a worker once more, with `worker.log_path` as its log and `setting.restarts` told to it.
/// @error as StartRanks
[[nodiscard]] Result<pid_t> StartRankAgain(const MsrunOptions& options, const Context& context,
                                           const CheckedJob& job, const WorkerSetting& setting,
                                           const WorkerSpec& worker);

}  // namespace drydock::launcher
