#pragma once

#include <string>

#include "base/result.h"
#include "launcher/msrun_options.h"
#include "sim/timing/time_line.h"

namespace drydock::launcher {

/// What --hardware, --devices_per_node and --jitter ask for; without the first a profile by the
/// script's device target.
/// @error USAGE     as LoadHardware
/// @error HARDWARE  what is wrong in the profile
[[nodiscard]] Result<sim::TimeOptions> TimeOptionsOf(const MsrunOptions& options,
                                                     const std::string& device_target);

}  // namespace drydock::launcher
