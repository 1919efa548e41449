#include "launcher/run/accelerators.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

#include "launcher/flags.h"
#include "launcher/run/core_binding.h"

namespace drydock::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAcceleratorClass = "0x1200";
constexpr std::string_view kDisplayClass = "0x03";
constexpr std::string_view kNvidia = "0x10de";

/// First line of a file of the kernel; empty if there is none.
std::string LineOf(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Entries of a folder in the order of their names.
std::vector<fs::path> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    entries.push_back(it->path());
  }
  std::ranges::sort(entries);
  return entries;
}

bool IsAccelerator(const fs::path& device) {
  const std::string kind = LineOf(device / "class");
  return kind.starts_with(kAcceleratorClass) ||
         (kind.starts_with(kDisplayClass) && LineOf(device / "vendor") == kNvidia);
}

/// Takes up to `count` processors from the front of a pool.
void Take(std::vector<int>& pool, std::size_t count, std::vector<int>& share) {
  const auto end = pool.begin() + static_cast<std::ptrdiff_t>(std::min(count, pool.size()));
  share.insert(share.end(), pool.begin(), end);
  pool.erase(pool.begin(), end);
}

}  // namespace

std::optional<std::vector<int>> CpusOfList(const std::string& list) {
  std::vector<int> cpus;
  std::size_t begin = 0;
  while (begin < list.size()) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    const auto range = CpusOfRange(list.substr(begin, comma - begin));
    if (!range) {
      return std::nullopt;
    }
    cpus.insert(cpus.end(), range->begin(), range->end());
    begin = comma + 1;
  }
  return cpus;
}

MachineNuma ReadMachineNuma(const std::string& sysfs) {
  MachineNuma machine;
  for (const fs::path& device : EntriesOf(fs::path(sysfs) / "bus/pci/devices")) {
    if (IsAccelerator(device)) {
      machine.node_of_device.push_back(
          static_cast<int>(ReadIntWord(LineOf(device / "numa_node")).value_or(-1)));
    }
  }
  for (const fs::path& entry : EntriesOf(fs::path(sysfs) / "devices/system/node")) {
    const std::string name = entry.filename().string();
    const auto number =
        name.starts_with("node") ? ReadIntWord(name.substr(4)) : Result<std::int64_t>(-1);
    const auto cpus = CpusOfList(LineOf(entry / "cpulist"));
    if (number && *number >= 0 && cpus) {
      machine.cpus_of_node[static_cast<int>(*number)] = *cpus;
    }
  }
  return machine;
}

std::vector<std::vector<int>> DeviceShares(const MachineNuma& machine,
                                           const std::vector<int>& cpus) {
  const std::size_t devices = machine.node_of_device.size();
  const std::size_t size = devices == 0 ? 0 : cpus.size() / devices;
  if (size == 0) {
    return {};
  }
  const std::set<int> used(machine.node_of_device.begin(), machine.node_of_device.end());
  const bool known = !used.contains(-1);
  // Processors by the node they are taken from; -1: nodes without accelerators, or all.
  std::map<int, std::vector<int>> pools;
  for (const int cpu : cpus) {
    int node = -1;
    for (const auto& [number, members] : machine.cpus_of_node) {
      if (known && used.contains(number) && std::ranges::find(members, cpu) != members.end()) {
        node = number;
      }
    }
    pools[node].push_back(cpu);
  }
  std::vector<std::vector<int>> shares(devices);
  for (std::size_t i = 0; i < devices; ++i) {
    Take(pools[machine.node_of_device[i]], size, shares[i]);
    Take(pools[-1], size - shares[i].size(), shares[i]);
  }
  return shares;
}

}  // namespace drydock::launcher
