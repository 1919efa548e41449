#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace drydock::launcher {

/// An event descriptor: readable while it is raised.
class EventFlag {
 public:
  EventFlag();
  [[nodiscard]] int fd() const { return fd_.get(); }
  void Raise() const;
  void Lower() const;

 private:
  Descriptor fd_;
};

/// Hands values from one thread to another; the reader waits with poll on `fd()`.
template <typename T>
class EventQueue {
 public:
  [[nodiscard]] int fd() const { return flag_.fd(); }
  /// Adds a value; nothing is added if `limit` values wait already.
  void Add(T value, std::size_t limit = static_cast<std::size_t>(-1)) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (values_.size() < limit) {
      values_.push_back(std::move(value));
      flag_.Raise();
    }
  }
  /// Makes `fd()` readable without a value.
  void Wake() const { flag_.Raise(); }
  /// Everything that waits, oldest first.
  [[nodiscard]] std::vector<T> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    flag_.Lower();
    return std::exchange(values_, {});
  }

 private:
  EventFlag flag_;
  std::mutex mutex_;
  std::vector<T> values_;
};

}  // namespace drydock::launcher
