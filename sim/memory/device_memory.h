#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/memory/alignment.h"

namespace drydock::sim {

/// Memory of one device as MindSpore sees it at start-up, bytes.
struct DeviceMemory {
  std::int64_t total_bytes = 64 * kGiB;       ///< Whole device.
  std::int64_t ms_used_bytes = 61430 * kMiB;  ///< What MindSpore may use.
  friend bool operator==(const DeviceMemory&, const DeviceMemory&) = default;
};

/// Size a simulated device has in MindSpore, bytes.
inline constexpr std::int64_t kSimulatedDeviceBytes = 64 * kGiB;

/// Size written by users: "58GB" or "0.5GB" (GB means GiB), as in `max_device_memory` and
/// `set_memory(...)`. The number is kept in single precision, as MindSpore keeps it.
///
/// @param option  name of the option, for the message
/// @error kInvalidArgument  not a positive number followed by GB, or more than 1 PiB
[[nodiscard]] Result<std::int64_t> ParseGigabytes(std::string_view text, std::string_view option);

/// Device of a dry run: 64 GiB, of which 61430 MiB may be used, or exactly the user's limit.
///
/// @param limit_bytes  `max_device_memory` or `set_memory(max_size)`; absent, not positive or 1024
/// GiB
///                     (the default of `set_memory`) means no limit. The device grows to a larger
///                     one.
/// Source: mindspore ccsrc/plugin/res_manager/ascend/mem_manager
[[nodiscard]] DeviceMemory SimulatedDevice(std::optional<std::int64_t> limit_bytes);

/// The same of a job's `max_device_memory`, empty if it has none.
/// @error as ParseGigabytes
[[nodiscard]] Result<DeviceMemory> DeviceOfSetting(std::string_view max_device_memory);

/// Memory the collective library takes outside the pool, bytes: groups * buffer size * copies.
///
/// @param group_count   communicators this rank belongs to
/// @param buffer_bytes  `HCCL_BUFFSIZE`, 200 MiB by default
/// @param copies        buffers per communicator; MindSpore's documents say 1
/// @error kInvalidArgument  the product does not fit 64 bits
/// Source: mindspore ccsrc/plugin/res_manager/ascend/mem_manager
[[nodiscard]] Result<std::int64_t> CollectiveLibraryBytes(std::int64_t group_count,
                                                          std::int64_t buffer_bytes = 200 * kMiB,
                                                          std::int64_t copies = 1);

/// What the report at the end of a run states.
struct PeakReport {
  DeviceMemory device = {};
  std::int64_t used_peak_bytes = 0;
  std::int64_t actual_peak_bytes = 0;
  std::int64_t reserved_bytes = 0;  ///< Sum of block sizes; printed by the graph-sink executor.
  bool task_sink = false;           ///< Graph-sink executor (O2) instead of kernel by kernel.
  std::string base_address = "0";   ///< Text of the pointer; meaningless in a dry run.
};

/// Lines of MindSpore's memory report, word for word, sizes in whole MiB (truncated).
///
/// Source: mindspore ccsrc/plugin/res_manager/ascend/mem_manager
[[nodiscard]] std::vector<std::string> PeakReportLines(const PeakReport& report);

}  // namespace drydock::sim
