#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/msrun_options.h"
#include "launcher/run/job_spec.h"

namespace drydock::launcher {

/// Processors that this process may use, cores of one NUMA node together and the hardware threads
/// of a core side by side, as hwloc sees the machine.
/// @error kIo  the machine cannot be read
[[nodiscard]] Result<std::vector<int>> UsableCpus();

/// Shares of `count` workers: the first q, the next q, ..., the last one the remainder too, where
/// q = cpus / count; empty if there are fewer processors than workers. Source: docs/launching.md
[[nodiscard]] std::vector<std::vector<int>> EqualShares(const std::vector<int>& cpus,
                                                        std::int64_t count);

/// Numbers of "0-3"; nothing if the first is greater than the last.
[[nodiscard]] std::optional<std::vector<int>> CpusOfRange(const std::string& range);

/// Gives each worker its processors: those listed for the device it uses (device i of
/// ASCEND_RT_VISIBLE_DEVICES in ascending order, else its local index), else those of that device's
/// NUMA node, else equal shares. Source: docs/launching.md
/// @param cpus             as UsableCpus
/// @param device_shares    as DeviceShares; empty: equal shares
/// @param visible_devices  value of ASCEND_RT_VISIBLE_DEVICES; empty: none
/// @param warnings         workers that stay unbound, and why
/// @error USAGE  a listed processor that we may not use
[[nodiscard]] Status BindWorkers(const CoreBinding& binding, const std::vector<int>& cpus,
                                 const std::vector<std::vector<int>>& device_shares,
                                 const std::string& visible_devices,
                                 std::vector<WorkerSpec>& workers,
                                 std::vector<std::string>& warnings);

}  // namespace drydock::launcher
