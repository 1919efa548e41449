#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/memory/pool.h"

namespace drydock::sim {

/// What an allocation is for, in the words of MindSpore's memory tracker.
enum class TrackedType : std::uint8_t {
  kWeight,
  kConstantValue,
  kKernel,
  kGraphOutput,
  kBatchMemory,
  kContinuousMemory,
  kWorkSpace,
};

/// "Weight", "ConstantValue", ...: the `type` column of memory_block.csv.
[[nodiscard]] std::string_view TrackedTypeName(TrackedType type);

/// What allocates.
enum class TrackedTaskKind : std::uint8_t {
  kPrepareData,  ///< Parameters and constants, once.
  kReadInputs,   ///< Graph inputs of the step.
  kKernel,
};

/// Time stamp of the end of a block that lives on.
inline constexpr std::int64_t kNotYetFreed = std::numeric_limits<std::int64_t>::max();

/// One task. Time stamps count tasks and memory events together; they are no wall time.
struct TrackedTask {
  std::int64_t time_stamp = 0;
  TrackedTaskKind kind = TrackedTaskKind::kKernel;
  std::int32_t kernel = -1;  ///< Index in the plan, -1 if the task is no kernel.
};

/// One allocation from hand-out to free: a row of memory_block.csv.
struct TrackedBlock {
  std::int64_t start_time_stamp = 0;
  std::int64_t end_time_stamp = kNotYetFreed;
  Allocation allocation = {};
  std::int64_t actual_peak_bytes = 0;  ///< Of the pool, just after the hand-out.
  TrackedType type = TrackedType::kKernel;
  std::int32_t buffer = -1;                  ///< Index in the plan, -1 = workspace.
  std::size_t producer_task = 0;             ///< Index of the task that allocated it.
  std::vector<std::size_t> user_tasks = {};  ///< Indices of the tasks that use it, ascending.
};

/// Everything allocated during a step, in order.
struct MemoryTrace {
  std::vector<TrackedTask> tasks = {};
  std::vector<TrackedBlock> blocks = {};
};

/// Writes a MemoryTrace while a plan is run.
///
/// Source: spec memory-and-dump 5
class MemoryTracker {
 public:
  /// Begins the task that what follows belongs to.
  void StartTask(TrackedTaskKind kind, std::int32_t kernel);

  /// Notes a hand-out to the current task; `buffer` is -1 for a workspace.
  void Allocated(std::int32_t buffer, TrackedType type, const Allocation& allocation,
                 std::int64_t actual_peak_bytes);

  /// Notes that the current task uses the live block at `address`.
  void Used(std::int64_t address);

  /// Notes that the live block at `address` is freed.
  void Freed(std::int64_t address);

  /// The trace so far; leaves the tracker empty.
  [[nodiscard]] MemoryTrace Take();

 private:
  std::int64_t clock_ = 0;
  MemoryTrace trace_;
  std::unordered_map<std::int64_t, std::size_t> live_;  // Address -> block.
};

}  // namespace drydock::sim
