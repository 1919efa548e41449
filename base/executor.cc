#include "base/executor.h"

#include <algorithm>
#include <thread>

#ifdef DRYDOCK_JTHREAD_EXECUTOR
#include <atomic>
#include <latch>
#include <vector>
#else
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace drydock {
namespace {

class SerialExecutor : public Executor {
 public:
  [[nodiscard]] std::size_t thread_count() const override { return 1; }
  void ForEachRange(std::size_t count,
                    const std::function<void(std::size_t, std::size_t)>& fn) const override {
    if (count > 0) {
      fn(0, count);
    }
  }
};

#ifdef DRYDOCK_JTHREAD_EXECUTOR
class ThreadExecutor : public Executor {
 public:
  explicit ThreadExecutor(std::size_t threads) : threads_(threads) {}
  [[nodiscard]] std::size_t thread_count() const override { return threads_; }
  void ForEachRange(std::size_t count,
                    const std::function<void(std::size_t, std::size_t)>& fn) const override {
    const std::size_t grain = std::max<std::size_t>(1, count / (threads_ * 8));
    // Relaxed on purpose: a stronger order would create happens-before edges that hide races.
    std::atomic<std::size_t> next = 0;
    std::latch start(static_cast<std::ptrdiff_t>(threads_));
    std::vector<std::jthread> pool;
    for (std::size_t t = 0; t < threads_; ++t) {
      pool.emplace_back([&] {
        start.arrive_and_wait();
        for (;;) {
          const std::size_t begin = next.fetch_add(grain, std::memory_order_relaxed);
          if (begin >= count) {
            return;
          }
          fn(begin, std::min(count, begin + grain));
        }
      });
    }
  }

 private:
  std::size_t threads_;
};
#else
class ThreadExecutor : public Executor {
 public:
  explicit ThreadExecutor(std::size_t threads)
      : threads_(threads),
        limit_(tbb::global_control::max_allowed_parallelism, threads),
        arena_(static_cast<int>(threads)) {}
  [[nodiscard]] std::size_t thread_count() const override { return threads_; }
  void ForEachRange(std::size_t count,
                    const std::function<void(std::size_t, std::size_t)>& fn) const override {
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, count),
          [&](const tbb::blocked_range<std::size_t>& range) { fn(range.begin(), range.end()); });
    });
  }

 private:
  std::size_t threads_;
  tbb::global_control
      limit_;  // lets --threads exceed the processors; lives as long as the executor
  mutable tbb::task_arena arena_;
};
#endif

}  // namespace

std::unique_ptr<Executor> MakeExecutor(std::size_t thread_count) {
  if (thread_count == 0) {
    thread_count = std::max(1U, std::thread::hardware_concurrency());
  }
  if (thread_count == 1) {
    return std::make_unique<SerialExecutor>();
  }
  return std::make_unique<ThreadExecutor>(thread_count);
}

void ForEachIndex(const Executor& executor, std::size_t count,
                  const std::function<void(std::size_t)>& fn) {
  executor.ForEachRange(count, [&fn](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      fn(i);
    }
  });
}

}  // namespace drydock
