#include "launcher/run/spawn.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <system_error>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

constexpr unsigned kFirstOwnDescriptor = 3;
constexpr unsigned kCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC

/// All that the child needs, prepared beforehand: it shares our memory and must not allocate.
struct Plan {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  int input = -1;
  int output = -1;
  int error = -1;
  const cpu_set_t* cpus = nullptr;
  bool dies_with_us = false;
  long file_limit = -1;
  pid_t parent = 0;
  volatile int failure = 0;  ///< errno of what failed in the child.
};

void ResetSignals() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    ::sigaction(number, &action, nullptr);  // fails for the two that cannot be changed
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Runs in the child until the program is loaded; only system calls.
bool PrepareChild(const Plan& plan) {
  if (::setsid() < 0) {
    return false;
  }
  if (plan.dies_with_us &&
      (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != plan.parent)) {
    return false;  // the parent may have died before the first call
  }
  if (plan.input >= 0 && ::dup2(plan.input, STDIN_FILENO) < 0) {
    return false;
  }
  if (plan.output >= 0 &&
      (::dup2(plan.output, STDOUT_FILENO) < 0 || ::dup2(plan.output, STDERR_FILENO) < 0)) {
    return false;
  }
  if (plan.error >= 0 && ::dup2(plan.error, STDERR_FILENO) < 0) {
    return false;
  }
  if (plan.cpus != nullptr && ::sched_setaffinity(0, sizeof(cpu_set_t), plan.cpus) != 0) {
    return false;
  }
  if (plan.file_limit >= 0) {
    struct rlimit limit = {};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = static_cast<rlim_t>(plan.file_limit);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  // Kernels before 5.11 do not know it; all descriptors of ours are close-on-exec anyway.
  (void)::syscall(SYS_close_range, kFirstOwnDescriptor, UINT_MAX, kCloseOnExec);
  ResetSignals();
  return true;
}

/// Not inlined: a function that calls vfork keeps no values in registers across it.
[[gnu::noinline]] pid_t StartChild(Plan& plan) {
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): fork copies tables for milliseconds
  const pid_t pid = ::vfork();
  if (pid != 0) {
    return pid;
  }
  if (PrepareChild(plan)) {
    ::execve(plan.program, plan.arguments, plan.environment);
  }
  plan.failure = errno != 0 ? errno : EINVAL;
  ::_exit(127);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): execve does not write to them
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

tl::unexpected<Error> FailSpawn(const std::string& program, int number) {
  const std::string reason = std::error_code(number, std::generic_category()).message();
  if (number == EAGAIN || number == ENOMEM) {
    return FailCommand(FailureCode::kNproc, "cannot start one more process: " + reason,
                       "raise the limit of processes (ulimit -u), or start fewer ranks per node");
  }
  if (number == E2BIG) {
    return FailCommand(FailureCode::kUsage,
                       program + ": the arguments and the environment are too long",
                       "give the script fewer arguments, or unset what it does not need");
  }
  return FailCommand(FailureCode::kNoInterpreter, program + ": " + reason,
                     "check that it is an executable for this machine");
}

}  // namespace

Result<pid_t> Spawn(const SpawnRequest& request) {
  const std::vector<char*> arguments = Pointers(request.arguments);
  const std::vector<char*> environment = Pointers(request.environment);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int cpu : request.cpus) {
    CPU_SET(static_cast<std::size_t>(cpu), &cpus);
  }
  Plan plan{.program = request.program.c_str(),
            .arguments = arguments.data(),
            .environment = environment.data(),
            .input = request.input,
            .output = request.output,
            .error = request.error,
            .cpus = request.cpus.empty() ? nullptr : &cpus,
            .dies_with_us = request.dies_with_us,
            .file_limit = request.file_limit,
            .parent = ::getpid()};
  // No handler of ours may run in the child, which shares our memory.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  errno = 0;
  const pid_t pid = StartChild(plan);
  const int failure = pid < 0 ? errno : plan.failure;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure == 0) {
    return pid;
  }
  if (pid > 0) {
    ::waitpid(pid, nullptr, 0);
  }
  return FailSpawn(request.program, failure);
}

}  // namespace drydock::launcher
