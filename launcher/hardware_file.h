#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/timing/hardware_profile.h"

namespace drydock::launcher {

/// The hardware profile of a name ("910b": one that comes with the program, whatever the case) or
/// of a file
/// ("my.json").
/// @param devices_per_node  of the cluster in question; 0: as the profile says
/// @error USAGE  no profile of that name; which there are
/// @error HARDWARE  what is wrong in the file
[[nodiscard]] Result<sim::HardwareProfile> LoadHardware(const std::string& name_or_file,
                                                        std::int64_t devices_per_node = 0);

/// Names of the profiles that come with the program, sorted.
[[nodiscard]] std::vector<std::string> HardwareNames();

}  // namespace drydock::launcher
