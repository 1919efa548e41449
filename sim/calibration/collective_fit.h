#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/calibration/trace_events.h"
#include "sim/timing/hardware_profile.h"

namespace drydock::sim {

/// Latency and share of the bandwidth of a level of the network, as transfers of a run show them.
struct LevelFit {
  std::size_t level = 0;  ///< Of the profile.
  std::int64_t transfers = 0;
  double latency_seconds = 0;
  double efficiency = 1;
  double mean_error = 0;  ///< Of the times of the transfers it was fitted to, as a share.
};

struct CollectiveFit {
  std::vector<LevelFit> levels = {};
  std::int64_t left_out = 0;  ///< Groups over several levels, kinds and sizes that are not known.
};

/// Whether the event is a collective, a message, or a part of one.
[[nodiscard]] bool IsTransfer(const TraceEvent& event);

/// Fits time = launch + steps * latency + bytes / (bandwidth * share) on each level on which a
/// trace has transfers.
[[nodiscard]] CollectiveFit FitCollectives(std::span<const TraceEvent> events,
                                           const HardwareProfile& profile);

/// Takes over what was fitted, with its source.
void ApplyCollectives(const CollectiveFit& fit, const std::string& source,
                      HardwareProfile& profile);

}  // namespace drydock::sim
