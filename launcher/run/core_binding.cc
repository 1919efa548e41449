#include "launcher/run/core_binding.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

/// More processors than any machine has: a range beyond is a typing error.
constexpr int kMaxCpu = CPU_SETSIZE - 1;

std::string RangesOf(std::vector<int> cpus) {
  std::ranges::sort(cpus);
  const std::vector<std::int64_t> numbers(cpus.begin(), cpus.end());
  return RangeText(numbers);
}

/// Devices in ascending order, as "0,2,5" lists them.
std::vector<std::int64_t> VisibleDevices(std::string_view list) {
  std::vector<std::int64_t> devices;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (const auto device = ReadIntWord(list.substr(0, comma)); device) {
      devices.push_back(*device);
    }
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  std::ranges::sort(devices);
  return devices;
}

/// All processors listed for a device, in the order of the list.
Result<std::vector<int>> ListedCpus(const std::string& device,
                                    const std::vector<std::string>& ranges,
                                    const std::vector<int>& usable) {
  std::vector<int> cpus;
  for (const std::string& range : ranges) {
    const auto part = CpusOfRange(range);
    if (!part) {
      std::string problem = "argument --bind_core: '";
      problem.append(range).append("' of ").append(device).append(" is not a range of processors");
      return FailCommand(FailureCode::kUsage, std::move(problem));
    }
    for (const int cpu : *part) {
      if (std::ranges::find(usable, cpu) == usable.end()) {
        return FailCommand(FailureCode::kUsage,
                           "argument --bind_core: processor " + std::to_string(cpu) + " of " +
                               device + " is not there, or not allowed for this process",
                           "processors that can be used: " + RangesOf(usable));
      }
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

/// Number of the device that a worker uses.
std::int64_t DeviceOf(const WorkerSpec& worker, const std::vector<std::int64_t>& visible) {
  const auto index = static_cast<std::size_t>(worker.local_index);
  return index < visible.size() ? visible[index] : worker.local_index;
}

void BindToDevices(const std::vector<std::vector<int>>& device_shares,
                   const std::string& visible_devices, std::vector<WorkerSpec>& workers,
                   std::vector<std::string>& warnings) {
  const std::vector<std::int64_t> visible = VisibleDevices(visible_devices);
  for (WorkerSpec& worker : workers) {
    const std::int64_t device = DeviceOf(worker, visible);
    if (device >= 0 && device < std::ssize(device_shares)) {
      worker.cpus = device_shares[static_cast<std::size_t>(device)];
    }
    if (worker.cpus.empty()) {
      warnings.push_back("worker " + std::to_string(worker.local_index) +
                         " is not bound: there are no processors for device " +
                         std::to_string(device));
    }
  }
}

Status BindAsListed(const CoreBinding& binding, const std::vector<int>& cpus,
                    const std::string& visible_devices, std::vector<WorkerSpec>& workers,
                    std::vector<std::string>& warnings) {
  const std::vector<std::int64_t> devices = VisibleDevices(visible_devices);
  for (WorkerSpec& worker : workers) {
    const std::string device = "device" + std::to_string(DeviceOf(worker, devices));
    const auto listed = binding.ranges_of_device.find(device);
    if (listed == binding.ranges_of_device.end() || listed->second.empty()) {
      warnings.push_back("worker " + std::to_string(worker.local_index) +
                         " is not bound: --bind_core lists no processors for " + device);
      continue;
    }
    DRYDOCK_TRY(worker.cpus, ListedCpus(device, listed->second, cpus));
  }
  return {};
}

}  // namespace

Result<std::vector<int>> UsableCpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return Fail(ErrorCode::kIo, "the processors of this process cannot be read");
  }
  hwloc_topology_t raw = nullptr;
  if (::hwloc_topology_init(&raw) != 0) {
    return Fail(ErrorCode::kIo, "hwloc cannot be started");
  }
  const std::unique_ptr<hwloc_topology, decltype(&::hwloc_topology_destroy)> topology(
      raw, &::hwloc_topology_destroy);
  if (::hwloc_topology_load(raw) != 0) {
    return Fail(ErrorCode::kIo, "hwloc cannot read this machine");
  }
  // In hwloc's logical order neighbours share as much as possible: threads of a core, then cores of
  // a NUMA node.
  std::vector<int> cpus;
  const int count = ::hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PU);
  for (int i = 0; i < count; ++i) {
    const hwloc_obj_t unit = ::hwloc_get_obj_by_type(raw, HWLOC_OBJ_PU, static_cast<unsigned>(i));
    if (unit->os_index <= static_cast<unsigned>(kMaxCpu) && CPU_ISSET(unit->os_index, &allowed)) {
      cpus.push_back(static_cast<int>(unit->os_index));
    }
  }
  return cpus;
}

std::vector<std::vector<int>> EqualShares(const std::vector<int>& cpus, std::int64_t count) {
  const auto workers = static_cast<std::size_t>(count);
  const std::size_t share = cpus.size() / workers;
  if (share == 0) {
    return {};
  }
  std::vector<std::vector<int>> shares;
  for (std::size_t i = 0; i < workers; ++i) {
    const auto begin = cpus.begin() + static_cast<std::ptrdiff_t>(i * share);
    shares.emplace_back(begin,
                        i + 1 == workers ? cpus.end() : begin + static_cast<std::ptrdiff_t>(share));
  }
  return shares;
}

std::optional<std::vector<int>> CpusOfRange(const std::string& range) {
  const std::size_t dash = range.find('-');
  const auto first = ReadIntWord(range.substr(0, dash));
  const auto last = ReadIntWord(dash == std::string::npos ? range : range.substr(dash + 1));
  if (!first || !last || *first < 0 || *first > *last || *last > kMaxCpu) {
    return std::nullopt;
  }
  std::vector<int> cpus;
  for (std::int64_t cpu = *first; cpu <= *last; ++cpu) {
    cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

Status BindWorkers(const CoreBinding& binding, const std::vector<int>& cpus,
                   const std::vector<std::vector<int>>& device_shares,
                   const std::string& visible_devices, std::vector<WorkerSpec>& workers,
                   std::vector<std::string>& warnings) {
  if (!binding.ranges_of_device.empty()) {
    DRYDOCK_RETURN_IF_ERROR(BindAsListed(binding, cpus, visible_devices, workers, warnings));
  } else if (!device_shares.empty()) {
    BindToDevices(device_shares, visible_devices, workers, warnings);
  } else {
    const auto shares = EqualShares(cpus, static_cast<std::int64_t>(workers.size()));
    if (shares.empty()) {
      warnings.push_back("no worker is bound: " + std::to_string(cpus.size()) +
                         " processors are fewer than " + std::to_string(workers.size()) +
                         " workers");
    }
    for (std::size_t i = 0; i < shares.size(); ++i) {
      workers[i].cpus = shares[i];
    }
  }
  for (WorkerSpec& worker : workers) {
    worker.bound_ranges = worker.cpus.empty() ? "" : RangesOf(worker.cpus);
  }
  return {};
}

}  // namespace drydock::launcher
