// Two processes watch over each other, so that a launcher that is killed (kill -9, lack of memory)
// leaves nothing behind. The outer one has the number that the caller knows; it only waits and
// hands signals on. The inner one, in a session of its own, does all the work. Both are subreapers
// (prctl(2), PR_SET_CHILD_SUBREAPER): what loses its parent becomes a child of the nearest one that
// lives. If the inner one dies, the outer one gets every descendant as its child; if the outer one
// dies, the kernel tells the inner one (PR_SET_PDEATHSIG). In the same way the outer one hears of
// the end of its own parent where that is Open MPI's mpirun or daemon: killed, or told to stop
// twice, it leaves its processes behind.

#include "launcher/run/guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <system_error>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "launcher/exit_code.h"
#include "launcher/run/job_watch.h"
#include "launcher/run/signal_pipe.h"
#include "sim/tracer/child_process.h"
#include "sim/tracer/run_script.h"

namespace drydock::launcher {
namespace {

constexpr std::array<int, 6> kHandedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT};

/// A handler takes no argument of ours, so these are global.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): see above
volatile pid_t inner_process = 0;
volatile std::sig_atomic_t early_signal = 0;  ///< Came before there was an inner process.
volatile pid_t followed_parent = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

extern "C" void HandOn(int number) {
  const int saved = errno;
  if (inner_process == 0) {
    early_signal = number;
  } else {
    ::kill(inner_process, number);
    if (number == SIGTSTP) {
      ::kill(::getpid(), SIGSTOP);
    }
  }
  errno = saved;
}

/// Comes also when the parent's thread that started us ends.
extern "C" void StopWithParent(int /*number*/) {
  if (::getppid() != followed_parent) {
    HandOn(SIGTERM);
  }
}

void FollowParent() {
  followed_parent = ::getppid();
  struct sigaction action = {};
  action.sa_handler = StopWithParent;
  ::sigaction(kGuardEnded, &action, nullptr);
  ::prctl(PR_SET_PDEATHSIG, kGuardEnded);
  StopWithParent(kGuardEnded);  // it may have ended before the last call
}

void HandSignalsOn() {
  struct sigaction action = {};
  action.sa_handler = HandOn;
  for (const int number : kHandedOn) {
    struct sigaction before = {};
    ::sigaction(number, nullptr, &before);
    if (number != SIGHUP || before.sa_handler != SIG_IGN) {
      ::sigaction(number, &action, nullptr);
    }
  }
}

/// What `ps` shows: another line than that of the process above, which has our arguments. They
/// stand in memory between two addresses that the kernel tells (proc(5), stat, fields 48 and 49).
void ShowAsInner(pid_t outer) {
  ::prctl(PR_SET_NAME, "msrun-job");
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  std::size_t at = line.rfind(')');
  for (int field = 2; field < 48 && at != std::string::npos; ++field) {
    at = line.find(' ', at + 1);
  }
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  if (at == std::string::npos || !(std::istringstream(line.substr(at)) >> begin >> end) ||
      begin == 0 || end <= begin) {
    return;
  }
  const std::string title = "msrun: job of process " + std::to_string(outer);
  const auto room = static_cast<std::size_t>(end - begin);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel tells addresses as numbers
  auto* const arguments = reinterpret_cast<char*>(begin);
  std::memset(arguments, 0, room);
  std::ranges::copy(title.substr(0, room - 1), arguments);
}

void LeaveNote(const GuardNote& note) {
  const int fd =
      note.path.empty()
          ? -1
          : ::open(note.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0) {
    const ssize_t written = ::write(fd, note.text.data(), note.text.size());
    ::close(written < 0 ? -1 : fd);
  }
}

/// The outer process's part.
[[noreturn]] void Watch(pid_t inner, const Context& context, const GuardNote& note) {
  int status = 0;
  while (::waitpid(inner, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) {
    ::_exit(WEXITSTATUS(status));
  }
  const int signal = WTERMSIG(status);
  (void)sim::EndOrphans({});
  LeaveNote(note);
  const Error error = sim::StoppedBySignal(
      signal, "msrun's own process " + std::to_string(inner) + " ended with " +
                  EndText({.signalled = true, .value = signal}) + "; all ranks were ended");
  std::cerr << ErrorText(error, context.program) << std::flush;
  ::_exit(128 + signal);
}

}  // namespace

Result<pid_t> EnterGuarded(const Context& context, const GuardNote& note) {
  context.out.flush();
  std::cerr.flush();
  context.stop.Pause();
  HandSignalsOn();
  if (Variable(context.environment, "OMPI_COMM_WORLD_RANK")) {
    FollowParent();
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t outer = ::getpid();
  const pid_t inner = ::fork();
  if (inner > 0) {
    inner_process = inner;
    if (early_signal != 0) {
      HandOn(early_signal);
    }
    Watch(inner, context, note);
  }
  const int failure = errno;
  for (const int number : {SIGQUIT, SIGTSTP, SIGCONT, kGuardEnded}) {
    std::signal(number, SIG_DFL);
  }
  context.stop.Resume();
  if (inner < 0) {
    return FailCommand(FailureCode::kNproc,
                       "cannot start one more process: " +
                           std::error_code(failure, std::generic_category()).message());
  }
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, kGuardEnded);
  if (::getppid() != outer) {
    ::_exit(128 + SIGKILL);  // it died before the last call
  }
  ShowAsInner(outer);
  return outer;
}

}  // namespace drydock::launcher
