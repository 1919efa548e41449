#include "sim/memory/tracker.h"

#include <utility>

namespace drydock::sim {

std::string_view TrackedTypeName(TrackedType type) {
  switch (type) {
    case TrackedType::kWeight:
      return "Weight";
    case TrackedType::kConstantValue:
      return "ConstantValue";
    case TrackedType::kKernel:
      return "Kernel";
    case TrackedType::kGraphOutput:
      return "GraphOutput";
    case TrackedType::kBatchMemory:
      return "BatchMemory";
    case TrackedType::kContinuousMemory:
      return "ContinuousMemory";
    case TrackedType::kWorkSpace:
      return "WorkSpace";
  }
  return "Other";
}

void MemoryTracker::StartTask(TrackedTaskKind kind, std::int32_t kernel) {
  trace_.tasks.push_back(TrackedTask{.time_stamp = clock_++, .kind = kind, .kernel = kernel});
}

void MemoryTracker::Allocated(std::int32_t buffer, TrackedType type, const Allocation& allocation,
                              std::int64_t actual_peak_bytes) {
  live_[allocation.address] = trace_.blocks.size();
  trace_.blocks.push_back(TrackedBlock{.start_time_stamp = clock_++,
                                       .allocation = allocation,
                                       .actual_peak_bytes = actual_peak_bytes,
                                       .type = type,
                                       .buffer = buffer,
                                       .producer_task = trace_.tasks.size() - 1});
}

void MemoryTracker::Used(std::int64_t address) {
  if (const auto found = live_.find(address); found != live_.end()) {
    auto& users = trace_.blocks[found->second].user_tasks;
    const std::size_t task = trace_.tasks.size() - 1;
    if (users.empty() || users.back() != task) {
      users.push_back(task);
    }
  }
}

void MemoryTracker::Freed(std::int64_t address) {
  if (const auto found = live_.find(address); found != live_.end()) {
    trace_.blocks[found->second].end_time_stamp = clock_++;
    live_.erase(found);
  }
}

MemoryTrace MemoryTracker::Take() {
  live_.clear();
  clock_ = 0;
  return std::exchange(trace_, {});
}

}  // namespace drydock::sim
