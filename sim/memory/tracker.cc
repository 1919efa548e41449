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
    case TrackedType::kContinuousMemory:
      return "ContinuousMemory";
    case TrackedType::kWorkSpace:
      return "WorkSpace";
  }
  return "Other";
}

void MemoryTracker::AddTask(TrackedTask task) {
  task.time_stamp = clock_++;
  current_ = task;
  trace_.tasks.push_back(task);
}

void MemoryTracker::Begin(TrackedTaskKind kind, std::int32_t kernel) {
  current_ = TrackedTask{.time_stamp = clock_, .kind = kind, .kernel = kernel};
  if (kind == TrackedTaskKind::kReadInputs) {
    AddTask(current_);
  }
}

void MemoryTracker::Launched() {
  AddTask(current_);
}

void MemoryTracker::Event(TrackedTaskKind kind) {
  AddTask(TrackedTask{.kind = kind});
}

void MemoryTracker::Allocated(std::int32_t buffer, TrackedType type, const Allocation& allocation,
                              const PoolStatistics& statistics) {
  if (current_.kind == TrackedTaskKind::kPrepareData) {
    AddTask(TrackedTask{.kind = TrackedTaskKind::kPrepareData, .buffer = buffer});
  }
  live_[allocation.address] = trace_.blocks.size();
  trace_.blocks.push_back(TrackedBlock{.start_time_stamp = ++clock_,
                                       .allocation = allocation,
                                       .used_bytes = statistics.used_bytes,
                                       .actual_peak_bytes = statistics.actual_peak_bytes,
                                       .type = type,
                                       .buffer = buffer,
                                       .producer = current_});
}

void MemoryTracker::Used(std::int64_t address) {
  if (const auto found = live_.find(address); found != live_.end()) {
    trace_.blocks[found->second].user_tasks.push_back(current_.time_stamp);
  }
}

void MemoryTracker::Freed(std::int64_t address) {
  if (const auto found = live_.find(address); found != live_.end()) {
    trace_.blocks[found->second].end_time_stamp = ++clock_;
    live_.erase(found);
  }
}

MemoryTrace MemoryTracker::Take() {
  live_.clear();
  clock_ = 0;
  current_ = {};
  return std::exchange(trace_, {});
}

}  // namespace drydock::sim
