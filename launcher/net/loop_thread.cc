#include "launcher/net/loop_thread.h"

#include <csignal>

namespace drydock::launcher {

void LoopThread::Start(EventLoop& loop) {
  sigset_t all = {};
  sigset_t old = {};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  thread_ = std::jthread([&loop] { loop.Run(); });
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

void LoopThread::Join() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace drydock::launcher
