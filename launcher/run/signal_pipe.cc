#include "launcher/run/signal_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/result.h"

namespace drydock::launcher {
namespace {

/// Where the handler writes; a handler takes no argument of ours, so this is global.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
volatile std::sig_atomic_t write_end = -1;

extern "C" void TellJobSignal(int number) {
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(number);
  if (::write(write_end, &byte, 1) < 0) {
    // A full pipe means that plenty of signals are waiting already.
  }
  errno = saved;
}

}  // namespace

SignalPipe::SignalPipe() {
  DRYDOCK_CHECK(::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  write_end = ends_[1];
  struct sigaction action = {};
  action.sa_handler = TellJobSignal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (kSignals[i] != SIGHUP || before_[i].sa_handler != SIG_IGN) {
      ::sigaction(kSignals[i], &action, nullptr);
    }
  }
}

SignalPipe::~SignalPipe() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  ::close(ends_[0]);
  ::close(ends_[1]);
}

std::vector<int> SignalPipe::Take() const {
  std::vector<int> signals;
  std::array<unsigned char, 64> bytes = {};
  ssize_t count = 0;
  while ((count = ::read(ends_[0], bytes.data(), bytes.size())) > 0) {
    signals.insert(signals.end(), bytes.begin(), bytes.begin() + count);
  }
  return signals;
}

}  // namespace drydock::launcher
