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
  kKernel,  ///< Results of kernels and inputs of the step.
  kContinuousMemory,
  kWorkSpace,
};

/// "Weight", "ConstantValue", ...: the `type` column of memory_block.csv.
[[nodiscard]] std::string_view TrackedTypeName(TrackedType type);

/// What happens.
enum class TrackedTaskKind : std::uint8_t {
  kPrepareData,  ///< A parameter or constant gets its memory, once for the whole run.
  kReadInputs,   ///< The inputs of a step get theirs.
  kKernel,       ///< A kernel is launched.
  kRecordEvent,  ///< A stream notes how far it is.
  kWaitEvent,    ///< A stream waits for that.
  kKernelEvent,  ///< A collective notes its own end.
  kReturn,       ///< The step hands its results to the script.
};

/// Time stamp of the end of a block that lives on.
inline constexpr std::int64_t kNotYetFreed = std::numeric_limits<std::int64_t>::max();

/// One task. Time stamps count tasks and memory events together; they are no wall time.
struct TrackedTask {
  std::int64_t time_stamp = 0;
  TrackedTaskKind kind = TrackedTaskKind::kKernel;
  /// kKernel: index in the plan; later_kernels are counted behind kernels.
  std::int32_t kernel = -1;
  std::int32_t buffer = -1;  ///< kPrepareData: index in the plan.
};

/// One allocation from hand-out to free: a row of memory_block.csv.
struct TrackedBlock {
  std::int64_t start_time_stamp = 0;
  std::int64_t end_time_stamp = kNotYetFreed;
  Allocation allocation = {};
  std::int64_t used_bytes = 0;         ///< Of the pool, just after the hand-out.
  std::int64_t actual_peak_bytes = 0;  ///< Likewise.
  TrackedType type = TrackedType::kKernel;
  std::int32_t buffer = -1;                   ///< Index in the plan, -1 = workspace.
  TrackedTask producer = {};                  ///< What asked for it.
  std::vector<std::int64_t> user_tasks = {};  ///< Time stamps of the launches that read it.
};

/// Everything allocated during the steps that were run, in order.
struct MemoryTrace {
  std::vector<TrackedTask> tasks = {};
  std::vector<TrackedBlock> blocks = {};
};

/// Writes a MemoryTrace while a plan is run.
///
/// The clock goes on behind each task and before each hand-out and each free. A kernel asks for the
/// memory of its results before it is launched: that moment has a time stamp, too, but is no task
/// of its own.
/// Source: mindspore/ccsrc/memory/mem_pool/mem_tracker.cc
class MemoryTracker {
 public:
  /// What follows belongs to this. Only kReadInputs is a task at once: data is prepared buffer by
  /// buffer, and a kernel is a task when it is launched.
  void Begin(TrackedTaskKind kind, std::int32_t kernel);

  /// The kernel that was begun is launched.
  void Launched();

  /// A task without memory: an end of an event, or of the step.
  void Event(TrackedTaskKind kind);

  /// Notes a hand-out to what was begun; `buffer` is -1 for a workspace.
  void Allocated(std::int32_t buffer, TrackedType type, const Allocation& allocation,
                 const PoolStatistics& statistics);

  /// Notes that the kernel launched last reads the live block at `address`.
  void Used(std::int64_t address);

  /// Notes that the live block at `address` is freed.
  void Freed(std::int64_t address);

  /// The trace so far; leaves the tracker empty.
  [[nodiscard]] MemoryTrace Take();

 private:
  void AddTask(TrackedTask task);

  std::int64_t clock_ = 0;
  TrackedTask current_;
  MemoryTrace trace_;
  std::unordered_map<std::int64_t, std::size_t> live_;  // Address -> block.
};

}  // namespace drydock::sim
