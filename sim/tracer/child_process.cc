#include "sim/tracer/child_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/descriptor.h"

namespace drydock::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<int, 3> kStopSignals = {SIGINT, SIGTERM, SIGHUP};
/// How long a child may take to end after SIGTERM.
constexpr std::chrono::milliseconds kGrace{2000};
/// How often a held time limit looks whether it is still held.
constexpr std::chrono::milliseconds kHoldCheck{500};
/// Rounds of ending descendants: each may uncover the next generation.
constexpr int kMaxOrphanRounds = 100;

/// Where the handler writes the signal's number; handlers have no argument of ours.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler sees only globals
volatile std::sig_atomic_t signal_pipe = -1;

extern "C" void TellStopSignal(int number) {
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(number);
  if (::write(signal_pipe, &byte, 1) < 0) {
    // The pipe is full: enough signals are waiting already.
  }
  errno = saved;
}

/// Stop signals go into a pipe while this lives.
class StopSignals {
 public:
  StopSignals() {
    if (::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      return;
    }
    signal_pipe = ends_[1];
    struct sigaction action = {};
    action.sa_handler = TellStopSignal;
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
      ::sigaction(kStopSignals[i], nullptr, &old_[i]);
      if (kStopSignals[i] != SIGHUP || old_[i].sa_handler != SIG_IGN) {
        ::sigaction(kStopSignals[i], &action, nullptr);
      }
    }
  }
  ~StopSignals() {
    if (ends_[0] < 0) {
      return;
    }
    for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
      ::sigaction(kStopSignals[i], &old_[i], nullptr);
    }
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  [[nodiscard]] int read_end() const { return ends_[0]; }

  /// The first signal that came, if any.
  [[nodiscard]] std::optional<int> Taken() const {
    unsigned char number = 0;
    return ::read(ends_[0], &number, 1) == 1 ? std::optional<int>(number) : std::nullopt;
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
  std::array<struct sigaction, 3> old_ = {};
};

/// Orphaned descendants become our children while this lives.
class Subreaper {
 public:
  Subreaper() {
    ::prctl(PR_GET_CHILD_SUBREAPER, &before_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~Subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, before_); }
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;

 private:
  int before_ = 0;
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

int Spawn(const ChildCommand& command, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  if (command.quiet) {
    ::posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  }
  ::posix_spawn_file_actions_adddup2(&files, 2, 1);
  sigset_t all;
  sigset_t none;
  ::sigfillset(&all);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
  std::vector<std::string> arguments = {command.program};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment = command.environment;
  const int failure = ::posix_spawn(&pid, command.program.c_str(), &files, &attributes,
                                    Pointers(arguments).data(), Pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return failure;
}

/// Waits for the child's end or `until`; true if it has ended. Stop signals end the wait early.
bool WaitUntil(int pidfd, int signals, std::optional<Clock::time_point> until) {
  while (true) {
    int milliseconds = -1;
    if (until) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
      if (left <= 0) {
        milliseconds = 0;
      } else {
        milliseconds = static_cast<int>(std::min<std::int64_t>(left, 1'000'000));
      }
    }
    std::array<pollfd, 2> watched = {{{.fd = pidfd, .events = POLLIN, .revents = 0},
                                      {.fd = signals, .events = POLLIN, .revents = 0}}};
    const int ready = ::poll(watched.data(), signals < 0 ? 1 : 2, milliseconds);
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (watched[0].revents != 0) {
      return true;
    }
    if (watched[1].revents != 0 || ready < 0 || (until && Clock::now() >= *until)) {
      return false;
    }
  }
}

ChildEnd EndOf(int status) {
  if (WIFSIGNALED(status)) {
    return {.kind = ChildEnd::Kind::kSignalled, .value = WTERMSIG(status)};
  }
  return {.kind = ChildEnd::Kind::kExited, .value = WEXITSTATUS(status)};
}

/// Waits for a running child; ends it on a stop signal or at the time limit. Leaves it as a zombie.
std::optional<ChildEnd> Supervise(pid_t pid, int pidfd, const StopSignals& signals,
                                  const ChildCommand& command) {
  std::optional<Clock::time_point> until;
  if (command.timeout_s > 0) {
    until = Clock::now() + std::chrono::seconds(command.timeout_s);
  }
  std::optional<int> signal;
  do {
    if (WaitUntil(pidfd, signals.read_end(), until)) {
      return std::nullopt;
    }
    signal = signals.Taken();
    until = Clock::now() + kHoldCheck;
  } while (!signal && !command.hold_file.empty() && ::access(command.hold_file.c_str(), F_OK) == 0);
  ::kill(-pid, SIGTERM);
  (void)WaitUntil(pidfd, -1, Clock::now() + kGrace);
  ::kill(-pid, SIGKILL);
  (void)WaitUntil(pidfd, -1, std::nullopt);
  if (signal) {
    return ChildEnd{.kind = ChildEnd::Kind::kStopped, .value = *signal};
  }
  return ChildEnd{.kind = ChildEnd::Kind::kTimedOut};
}

}  // namespace

std::set<pid_t> Children() {
  std::set<pid_t> children;
  DIR* tasks = ::opendir("/proc/self/task");
  if (tasks == nullptr) {
    return children;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own
  while (const dirent* entry = ::readdir(tasks)) {
    std::ifstream file("/proc/self/task/" + std::string(entry->d_name) + "/children");
    for (pid_t pid = 0; file >> pid;) {
      children.insert(pid);
    }
  }
  ::closedir(tasks);
  return children;
}

int EndOrphans(const std::set<pid_t>& kept) {
  int ended = 0;
  for (int round = 0; round < kMaxOrphanRounds; ++round) {
    bool found = false;
    for (const pid_t pid : Children()) {
      if (!kept.contains(pid)) {
        found = true;
        ended += ::kill(pid, SIGKILL) == 0 ? 1 : 0;
        ::waitpid(pid, nullptr, 0);
      }
    }
    if (!found) {
      break;
    }
  }
  return ended;
}

Result<ChildEnd> RunChild(const ChildCommand& command) {
  const std::set<pid_t> before = Children();
  const Subreaper subreaper;
  const StopSignals signals;
  pid_t pid = 0;
  if (const int failure = Spawn(command, pid); failure != 0) {
    return Fail(
        ErrorCode::kIo,
        command.program + ": " + std::error_code(failure, std::generic_category()).message(),
        "check that it can be executed");
  }
  // By number: the C library's header (2.36) declares the function without C linkage.
  const Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd.get() < 0) {
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return Fail(ErrorCode::kIo, std::string("cannot watch a process: ") +
                                    std::error_code(errno, std::generic_category()).message());
  }
  const std::optional<ChildEnd> ended = Supervise(pid, pidfd.get(), signals, command);
  // The zombie keeps its number reserved, so the group cannot be somebody else's.
  ::kill(-pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  (void)EndOrphans(before);
  return ended ? *ended : EndOf(status);
}

std::string FindExecutable(const std::string& name, const std::string& path_variable) {
  const auto usable = [](const std::string& path) {
    struct stat facts = {};
    return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    return usable(name) ? name : "";
  }
  std::size_t begin = 0;
  while (begin <= path_variable.size() && !path_variable.empty()) {
    const std::size_t end = std::min(path_variable.find(':', begin), path_variable.size());
    const std::string folder = path_variable.substr(begin, end - begin);
    std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (usable(path)) {
      return path;
    }
    begin = end + 1;
  }
  return "";
}

}  // namespace drydock::sim
