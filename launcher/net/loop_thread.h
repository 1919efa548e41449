#pragma once

#include <thread>

#include "launcher/net/event_loop.h"

namespace drydock::launcher {

/// The thread of a loop. It takes no signals: those belong to the launcher. Joined when destroyed,
/// so the loop must have been told to stop.
class LoopThread {
 public:
  /// Runs `loop`, which must outlive the thread.
  void Start(EventLoop& loop);
  [[nodiscard]] bool running() const { return thread_.joinable(); }
  /// Waits for its end.
  void Join();

 private:
  std::jthread thread_;
};

}  // namespace drydock::launcher
