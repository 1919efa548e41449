#include "launcher/run/signal_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/result.h"

namespace drydock::launcher {
namespace {

/// Where the handler writes; a handler takes no argument of ours, so this is global.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
volatile std::sig_atomic_t write_end = -1;

/// Set in the byte of a signal that the process above us sent.
constexpr unsigned kFromAbove = 0x80;

extern "C" void TellJobSignal(int number, siginfo_t* facts, void* /*context*/) {
  const int saved = errno;
  const bool is_from_above = facts->si_code == SI_USER && facts->si_pid == ::getppid();
  const auto byte =
      static_cast<unsigned char>(static_cast<unsigned>(number) | (is_from_above ? kFromAbove : 0));
  if (::write(write_end, &byte, 1) < 0) {
    // A full pipe means that plenty of signals are waiting already.
  }
  errno = saved;
}

}  // namespace

SignalPipe::SignalPipe(pid_t guard) : guard_(guard) {
  DRYDOCK_CHECK(::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  write_end = ends_[1];
  struct sigaction action = {};
  action.sa_sigaction = TellJobSignal;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
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

bool SignalPipe::IsNew(int number, bool is_handed_on) {
  if (guard_ == 0 || number == SIGCHLD) {
    return true;
  }
  Count& count = counts_[static_cast<std::size_t>(number)];
  const int before = std::max(count.direct, count.handed_on);
  ++(is_handed_on ? count.handed_on : count.direct);
  return std::max(count.direct, count.handed_on) > before;
}

std::vector<int> SignalPipe::Take() {
  std::vector<int> signals;
  std::array<unsigned char, 64> bytes = {};
  ssize_t count = 0;
  while ((count = ::read(ends_[0], bytes.data(), bytes.size())) > 0) {
    for (const unsigned char byte : std::span(bytes).first(static_cast<std::size_t>(count))) {
      const int number = static_cast<int>(byte & ~kFromAbove);
      if (number == kGuardEnded) {
        if (guard_ != 0 && ::getppid() != guard_) {
          signals.push_back(SIGKILL);
        }
      } else if (IsNew(number, (byte & kFromAbove) != 0)) {
        signals.push_back(number);
      }
    }
  }
  return signals;
}

}  // namespace drydock::launcher
