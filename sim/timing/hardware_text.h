#pragma once

#include <string>

#include "sim/timing/hardware_profile.h"

namespace drydock::sim {

/// The profile as a file that ParseHardwareProfile reads back to the same value.
[[nodiscard]] std::string HardwareProfileText(const HardwareProfile& profile);

}  // namespace drydock::sim
