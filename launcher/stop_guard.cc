#include "launcher/stop_guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include "base/result.h"

namespace drydock::launcher {
namespace {

constexpr std::array<int, 3> kStopSignals = {SIGINT, SIGTERM, SIGHUP};

/// Where the handler writes the signal's number. A handler takes no argument of ours, so this is
/// global.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
volatile std::sig_atomic_t pipe_end = -1;

extern "C" void TellSignal(int number) {
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(number);
  if (::write(pipe_end, &byte, 1) < 0) {
    // A full pipe means that 65,536 signals are waiting already.
  }
  errno = saved;
}

}  // namespace

struct StopGuard::State {
  std::mutex running = {};
  std::array<int, 2> ends = {-1, -1};
  std::array<struct sigaction, 3> old_actions = {};
  std::thread listener = {};

  /// Waits for signals; a byte 0 ends it.
  void Listen() {
    int first = 0;
    std::thread ender;
    while (true) {
      unsigned char number = 0;
      const ssize_t count = ::read(ends[0], &number, 1);
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count <= 0 || number == 0) {
        break;
      }
      if (first != 0) {
        ::_exit(128 + number);
      }
      first = number;
      ender = std::thread([this, first] {
        const std::unique_lock<std::mutex> lock(running);
        ::_exit(128 + first);
      });
    }
    if (ender.joinable()) {
      ender.join();
    }
  }
};

StopGuard::StopGuard() : state_(std::make_unique<State>()) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // `ulimit -f`: to write says so
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    ::sigaction(kStopSignals[i], nullptr, &state_->old_actions[i]);
  }
  Resume();
}

void StopGuard::Resume() {
  DRYDOCK_CHECK(::pipe2(state_->ends.data(), O_CLOEXEC) == 0);
  pipe_end = state_->ends[1];
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    struct sigaction action = {};
    action.sa_handler = TellSignal;
    action.sa_flags = SA_RESTART;
    if (kStopSignals[i] != SIGHUP || state_->old_actions[i].sa_handler != SIG_IGN) {
      ::sigaction(kStopSignals[i], &action, nullptr);
    }
  }
  state_->listener = std::thread([this] { state_->Listen(); });
}

void StopGuard::Pause() {
  const unsigned char end = 0;
  DRYDOCK_CHECK(::write(state_->ends[1], &end, 1) == 1);
  state_->listener.join();
  ::close(state_->ends[0]);
  ::close(state_->ends[1]);
}

StopGuard::~StopGuard() {
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    ::sigaction(kStopSignals[i], &state_->old_actions[i], nullptr);
  }
  Pause();
}

std::unique_lock<std::mutex> StopGuard::Delay() {
  return std::unique_lock<std::mutex>(state_->running);
}

}  // namespace drydock::launcher
