#pragma once

#include <optional>

#include "base/result.h"
#include "launcher/command.h"
#include "launcher/load_job.h"
#include "launcher/msrun_options.h"
#include "strategies/program/job_program.h"

namespace drydock::launcher {

/// The network that --verify runs, uncut; nothing if nobody asked. Taken before the job is
/// compiled.
[[nodiscard]] std::optional<strategies::TracedNetwork> NetworkToVerify(const MsrunOptions& options,
                                                                       const LoadedJob& job);

/// --verify: the job computes what one device computes, and says so. What cannot be run is a
/// warning.
/// @error VERIFY  the first number that differs
/// @error kUnsupported  with --strict: it cannot be run
[[nodiscard]] Status Verify(const std::optional<strategies::TracedNetwork>& network,
                            const strategies::JobProgram& job, const MsrunOptions& options,
                            const Context& context);

}  // namespace drydock::launcher
