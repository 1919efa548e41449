// Events between streams: a buffer used by another stream is freed only after that use.

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/memory/pool.h"

namespace drydock::sim {

void MemoryPool::RecordEvent(std::int64_t address, const StreamEvent& event) {
  if (places_.Find(address) == nullptr) {
    return;
  }
  pending_[address].events.push_back(event);
  registered_[{event.user_stream, event.memory_stream}].insert(address);
}

void MemoryPool::WaitEvent(const StreamEvent& event) {
  const auto found = registered_.find({event.user_stream, event.memory_stream});
  if (found == registered_.end()) {
    return;
  }
  const std::vector<std::int64_t> addresses(found->second.begin(), found->second.end());
  for (const std::int64_t address : addresses) {
    PendingEvents& pending = pending_.at(address);
    std::erase_if(pending.events, [&](const StreamEvent& other) {
      return other.user_stream == event.user_stream && other.task <= event.task;
    });
    if (pending.events.empty()) {
      const bool freed = pending.freed;
      Deregister(address);
      if (freed) {
        Free(address);
      }
    }
  }
}

void MemoryPool::SyncAllEvents() {
  registered_.clear();
  for (const auto& [address, pending] : std::exchange(pending_, {})) {
    if (pending.freed) {
      Free(address);
    }
  }
}

void MemoryPool::Deregister(std::int64_t address) {
  pending_.erase(address);
  for (auto& entry : registered_) {
    entry.second.erase(address);
  }
}

}  // namespace drydock::sim
