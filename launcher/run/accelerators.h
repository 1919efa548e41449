#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace drydock::launcher {

/// Where the accelerators and processors of a machine are.
struct MachineNuma {
  /// NUMA node of each accelerator, by device number; -1 where the machine does not tell.
  std::vector<int> node_of_device = {};
  std::map<int, std::vector<int>> cpus_of_node = {};
  friend bool operator==(const MachineNuma&, const MachineNuma&) = default;
};

/// Reads a machine's accelerators from sysfs: PCI devices of class "processing accelerator", and
/// NVIDIA's display controllers, numbered in the order of their PCI addresses.
/// @param sysfs  "/sys"; what cannot be read is left out
[[nodiscard]] MachineNuma ReadMachineNuma(const std::string& sysfs);

/// Processors of each accelerator: `cpus` / devices of them, taken from its NUMA node in order, and
/// where that node has too few, from nodes without accelerators. Without any NUMA node slices of
/// `cpus` by device number. Empty if there are no accelerators, or more than processors. Source:
/// docs/launching.md
/// @param cpus  processors that may be used, in the order they are dealt out
[[nodiscard]] std::vector<std::vector<int>> DeviceShares(const MachineNuma& machine,
                                                         const std::vector<int>& cpus);

/// Numbers of a list of the kernel like "0-3,8"; nothing if it is none.
[[nodiscard]] std::optional<std::vector<int>> CpusOfList(const std::string& list);

}  // namespace drydock::launcher
