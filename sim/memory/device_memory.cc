#include "sim/memory/device_memory.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/checked.h"

namespace drydock::sim {
namespace {

constexpr std::int64_t kHugePageBytes = 2 * kMiB;
constexpr std::int64_t kExtraReservedBytes = 10 * kMiB;
constexpr std::int64_t kMaxLimitGib = std::int64_t{1} << 20;
constexpr std::int64_t kUnlimitedBytes = 1024 * kGiB;
constexpr std::size_t kMaxSizeText = 32;

std::string MebibytesText(std::int64_t bytes) {
  return std::to_string(bytes / kMiB) + "M";
}

tl::unexpected<Error> BadSize(std::string_view text, std::string_view option) {
  return FailInput("Memory:bad-size",
                   "'" + std::string(text.substr(0, kMaxSizeText)) + "' is not a size for '" +
                       std::string(option) + "'",
                   "write a number of GB, for instance \"58GB\"");
}

}  // namespace

Result<std::int64_t> ParseGigabytes(std::string_view text, std::string_view option) {
  constexpr std::string_view kUnit = "GB";
  if (text.size() > kMaxSizeText || !text.ends_with(kUnit)) {
    return BadSize(text, option);
  }
  const std::string_view number = text.substr(0, text.size() - kUnit.size());
  if (number.empty() || number.front() < '0' || number.front() > '9') {
    return BadSize(text, option);
  }
  float gib = 0.0F;
  const auto [end, code] =
      std::from_chars(number.data(), number.data() + number.size(), gib, std::chars_format::fixed);
  if (code != std::errc{} || end != number.data() + number.size() || !(gib > 0.0F) ||
      gib > static_cast<float>(kMaxLimitGib)) {
    return BadSize(text, option);
  }
  const auto bytes = static_cast<std::int64_t>(gib * static_cast<float>(kGiB));
  if (bytes == 0) {
    return BadSize(text, option);
  }
  return bytes;
}

DeviceMemory SimulatedDevice(std::optional<std::int64_t> limit_bytes) {
  if (limit_bytes && *limit_bytes > 0 && *limit_bytes != kUnlimitedBytes) {
    return DeviceMemory{.total_bytes = std::max(kSimulatedDeviceBytes, *limit_bytes),
                        .ms_used_bytes = *limit_bytes};
  }
  const std::int64_t share = kSimulatedDeviceBytes / 16 * 15;  // 0.9375
  return DeviceMemory{
      .total_bytes = kSimulatedDeviceBytes,
      .ms_used_bytes = share / kHugePageBytes * kHugePageBytes - kExtraReservedBytes};
}

Result<DeviceMemory> DeviceOfSetting(std::string_view max_device_memory) {
  if (max_device_memory.empty()) {
    return SimulatedDevice(std::nullopt);
  }
  DRYDOCK_TRY(const std::int64_t limit_bytes,
              ParseGigabytes(max_device_memory, "max_device_memory"));
  return SimulatedDevice(limit_bytes);
}

Result<std::int64_t> CollectiveLibraryBytes(std::int64_t group_count, std::int64_t buffer_bytes,
                                            std::int64_t copies) {
  DRYDOCK_TRY(const std::int64_t per_group, MulChecked(buffer_bytes, copies));
  return MulChecked(group_count, per_group);
}

std::vector<std::string> PeakReportLines(const PeakReport& report) {
  std::vector<std::string> lines = {
      "Device MOC memory size: " + MebibytesText(report.device.total_bytes),
      "MindSpore Used memory size: " + MebibytesText(report.device.ms_used_bytes),
      "MindSpore memory base address: " + report.base_address,
  };
  if (report.task_sink) {
    lines.push_back("Total Static Memory size: " + MebibytesText(report.reserved_bytes));
    lines.push_back("Total Dynamic memory size: " + MebibytesText(0));
    lines.push_back("Dynamic memory size of this graph: " + MebibytesText(0));
  } else {
    lines.push_back("Used peak memory usage (without fragments): " +
                    MebibytesText(report.used_peak_bytes));
    lines.push_back("Actual peak memory usage (with fragments): " +
                    MebibytesText(report.actual_peak_bytes));
  }
  return lines;
}

}  // namespace drydock::sim
