#include "launcher/time_options.h"

#include <utility>

#include "launcher/hardware_file.h"

namespace drydock::launcher {
namespace {

/// Share by which kernels are late on average with --jitter.
constexpr double kJitter = 0.05;

std::string DefaultFor(const std::string& device_target) {
  if (device_target == "GPU") {
    return "A100-80";
  }
  return device_target == "CPU" ? "cpu-test" : "910B";
}

}  // namespace

Result<sim::TimeOptions> TimeOptionsOf(const MsrunOptions& options,
                                       const std::string& device_target) {
  sim::TimeOptions time;
  DRYDOCK_TRY(time.hardware,
              LoadHardware(options.hardware.empty() ? DefaultFor(device_target) : options.hardware,
                           options.devices_per_node));
  if (options.jitter >= 0) {
    time.jitter = kJitter;
    time.seed = static_cast<std::uint64_t>(options.jitter);
  }
  return time;
}

}  // namespace drydock::launcher
