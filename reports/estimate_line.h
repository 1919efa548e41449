#pragma once

#include <string>

#include "sim/planning/request.h"
#include "sim/timing/hardware_profile.h"

namespace drydock::reports {

/// The answer of the closed forms to a request, as one line of JSON without its end:
/// {"parameters": ..., "stages": [{"stage": 0, "peak_bytes": ..., ...}], "step_seconds": ..., ...}.
///
/// @param hardware  null: memory only
[[nodiscard]] std::string EstimateLine(const sim::PlanRequest& request,
                                       const sim::HardwareProfile* hardware);

}  // namespace drydock::reports
