#include "launcher/run/guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <system_error>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "launcher/exit_code.h"
#include "launcher/run/sweep.h"

namespace drydock::launcher {
namespace {

/// The child's part: only system calls and memory that is there already.
[[noreturn]] void Watch(int pipe_end, const std::string& mark, const std::string& note_path,
                        const std::string& note) {
  ::setsid();
  ::prctl(PR_SET_NAME, "msrun-guard");
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE}) {
    std::signal(number, SIG_IGN);
  }
  std::signal(SIGCHLD, SIG_DFL);
  // Nothing of ours stays open in it: neither a port nor the terminal nor the log of a rank.
  (void)::dup2(pipe_end, STDIN_FILENO);
  (void)::syscall(SYS_close_range, STDIN_FILENO + 1, UINT_MAX, 0);
  unsigned char byte = 0;
  ssize_t count = 0;
  while ((count = ::read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR) {
  }
  if (count == 0) {  // no farewell
    (void)EndMarkedProcesses(mark);
    const int fd =
        note_path.empty()
            ? -1
            : ::open(note_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && ::write(fd, note.data(), note.size()) < 0) {
      ::_exit(1);
    }
  }
  ::_exit(0);
}

}  // namespace

Result<Guard> Guard::Start(const std::string& mark, const std::string& note_path,
                           const std::string& note) {
  std::array<int, 2> ends = {-1, -1};
  pid_t pid = -1;
  if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
    pid = ::fork();
  }
  if (pid == 0) {
    Watch(ends[0], mark, note_path, note);
  }
  const int failure = errno;
  ::close(ends[0]);
  if (pid < 0) {
    ::close(ends[1]);
    return FailCommand("NPROC", "cannot start one more process: " +
                                    std::error_code(failure, std::generic_category()).message());
  }
  return Guard(pid, ends[1]);
}

Guard::Guard(Guard&& other) noexcept : pid_(other.pid_), pipe_end_(other.pipe_end_) {
  other.pid_ = 0;
  other.pipe_end_ = -1;
}

Guard::~Guard() {
  Dismiss();
  if (pid_ > 0) {
    ::waitpid(pid_, nullptr, 0);
  }
}

void Guard::Dismiss() {
  if (pipe_end_ < 0) {
    return;
  }
  const unsigned char farewell = 1;
  if (::write(pipe_end_, &farewell, 1) != 1) {
    // The guard is gone already; SIGPIPE is ignored.
  }
  ::close(pipe_end_);
  pipe_end_ = -1;
}

}  // namespace drydock::launcher
