#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace drydock {

/// Runs independent work items on a bounded number of threads.
///
/// Work item i may read shared constant input and write only its own slot i; results never depend
/// on the thread count. Two implementations: oneTBB, and std::jthread (for ThreadSanitizer, which
/// does not understand Debian's uninstrumented libtbb).
class Executor {
 public:
  virtual ~Executor() = default;
  /// Number of threads work is spread over, >= 1.
  [[nodiscard]] virtual std::size_t thread_count() const = 0;
  /// Calls `fn(begin, end)` for disjoint ranges that cover [0, count); returns when all are done.
  virtual void ForEachRange(std::size_t count,
                            const std::function<void(std::size_t, std::size_t)>& fn) const = 0;
};

/// Executor on `thread_count` threads; 0 means one per available processor, 1 runs in the caller.
[[nodiscard]] std::unique_ptr<Executor> MakeExecutor(std::size_t thread_count);

/// Calls `fn(i)` for every i in [0, count).
void ForEachIndex(const Executor& executor, std::size_t count,
                  const std::function<void(std::size_t)>& fn);

}  // namespace drydock
