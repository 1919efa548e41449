#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/calibration/collective_fit.h"
#include "sim/timing/hardware_profile.h"

namespace drydock::sim {

/// Kernels of a profiler's trace of which sizes are known, as shares of what a profile's device
/// could do.
struct TraceFit {
  std::array<EfficiencyCurve, kEfficiencyKindCount> efficiency = {};  ///< Without points: not seen.
  std::array<std::int64_t, kEfficiencyKindCount> kernels = {};
  std::int64_t without_shapes = 0;  ///< Kernels of which nothing is known but their time.
  std::int64_t unknown = 0;         ///< Operators whose work is not known.
  CollectiveFit collectives = {};
};

/// Fits efficiency curves to a trace of a real run: MindSpore's trace_view.json, or that of
/// PyTorch's profiler (record_shapes=True).
///
/// @error kInvalidArgument  no trace, cut off, or nothing in it whose sizes are known
[[nodiscard]] Result<TraceFit> FitTrace(std::string_view text, std::string_view file,
                                        const HardwareProfile& profile);

}  // namespace drydock::sim
