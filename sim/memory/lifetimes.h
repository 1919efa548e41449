#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/result.h"
#include "sim/memory/plan.h"
#include "sim/memory/pool.h"
#include "sim/memory/tracker.h"

namespace drydock::sim {

/// Instead of a kernel: before the first one, when parameters and inputs are placed.
inline constexpr std::int32_t kBeforeKernels = -1;
/// Instead of a last kernel: never freed by the graph.
inline constexpr std::int32_t kNeverFreed = std::numeric_limits<std::int32_t>::max();

/// How a plan is run.
struct LifetimeOptions {
  PoolConfig pool = {};
  /// Workspaces are known from simulation level 2 on; at level 1 they count as nothing.
  bool count_workspace = false;
  /// Steps of the job, >= 1. No more are run than it takes until the peaks stay as they are.
  std::int64_t steps = 1;
  std::size_t largest_count = 10;  ///< Length of MemoryProfile::largest.
  bool keep_series = false;        ///< Fill MemoryProfile::series, with the step of the peak.
  bool keep_trace = false;         ///< Fill MemoryProfile::trace.
};

/// Where and when a buffer's storage lives. Aliases repeat the place of what they share.
struct BufferPlacement {
  std::int64_t address = 0;  ///< Relative to the memory base.
  std::int64_t bytes = 0;    ///< After rounding; 0 = never placed, nothing on this rank uses it.
  PoolKind pool = PoolKind::kCommon;
  std::int32_t first_kernel = kBeforeKernels;  ///< Placed just before this kernel is launched.
  std::int32_t last_kernel = kNeverFreed;      ///< Freed right after this kernel was launched.
  friend bool operator==(const BufferPlacement&, const BufferPlacement&) = default;
};

/// A buffer that is alive at the peak.
struct PeakBuffer {
  std::int32_t buffer = 0;  ///< Index in the plan, -1 = workspace of the kernel at the peak.
  BufferKind kind = BufferKind::kActivation;
  std::int64_t bytes = 0;  ///< After rounding.
  friend bool operator==(const PeakBuffer&, const PeakBuffer&) = default;
};

/// Memory in use around one kernel, bytes.
struct KernelUsage {
  std::int64_t at_launch_bytes = 0;  ///< Its outputs and workspace placed.
  std::int64_t after_bytes = 0;      ///< What it was the last to use freed.
  friend bool operator==(const KernelUsage&, const KernelUsage&) = default;
};

/// What the memory of one rank looks like over one step.
///
/// `breakdown_bytes` sums to `used_peak_bytes`; storages that hold a graph output count as outputs,
/// unless they were there before the first kernel.
struct MemoryProfile {
  std::int64_t used_peak_bytes = 0;         ///< Without fragments.
  std::int64_t actual_peak_bytes = 0;       ///< With fragments.
  std::int64_t reserved_bytes = 0;          ///< Blocks taken from the device.
  std::int64_t persistent_bytes = 0;        ///< Of the peak: parameters, states, constants.
  std::int32_t at_kernel = kBeforeKernels;  ///< First kernel at whose launch the peak is reached.
  std::int32_t at_step = 0;                 ///< And the step of it; the following speaks of it.
  std::array<std::int64_t, kBufferKindCount> breakdown_bytes = {};  ///< At the peak, by BufferKind.
  std::vector<PeakBuffer> largest = {};          ///< At the peak, largest first, then by buffer.
  std::vector<BufferPlacement> placements = {};  ///< One per buffer of the plan.
  std::vector<KernelUsage> series = {};          ///< One per kernel, if asked for.
  /// With the series: what the step before left, one per buffer of the plan.
  std::vector<BufferPlacement> left_over = {};
  std::vector<BufferKind> kinds = {};  ///< With the series: what each buffer counts as.
  MemoryTrace trace = {};              ///< Every allocation, if asked for.
};

/// Runs the steps of `plan` through the pool as the kernel-by-kernel executor does (O0).
///
/// Constants, then parameters and states are placed in order of first use, then the inputs of the
/// step in the order of the plan, then each kernel's outputs and workspace just before it; what a
/// kernel made is freed after the last kernel that uses it (right after its producer if none does).
/// The inputs of a step stay until the kernels that read them get those of the next one, what the
/// step returns until the next step has returned.
/// @error kInternal         the plan contradicts itself (see ResolveStorage)
/// @error kInvalidArgument  device memory is exhausted; never in a simulation of sane size
/// Source: mindspore/ccsrc/runtime/graph_scheduler/actor/kernel_runner.cc
[[nodiscard]] Result<MemoryProfile> ProfileMemory(const MemoryPlan& plan,
                                                  const LifetimeOptions& options);

}  // namespace drydock::sim
