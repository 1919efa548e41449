#include "launcher/run/sweep.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>

#include <sys/syscall.h>

namespace drydock::launcher {
namespace {

/// Rounds: each may uncover what the processes of the last one had just started.
constexpr int kMaxRounds = 50;
constexpr timespec kPause = {.tv_sec = 0, .tv_nsec = 10'000'000};

/// The beginning of a linux_dirent64, as getdents64 fills it.
struct EntryHead {
  std::uint64_t inode = 0;
  std::int64_t offset = 0;
  std::uint16_t bytes = 0;
};
constexpr std::size_t kNameOffset = 19;

/// True if the process's environment holds `assignment` as a whole entry.
bool IsMarked(pid_t pid, std::string_view assignment) {
  std::array<char, 64> path = {};
  (void)std::snprintf(path.data(), path.size(), "/proc/%d/environ", static_cast<int>(pid));
  const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return false;
  }
  // An entry may be cut by the end of a block: its last bytes are kept for the next one.
  std::array<char, 16384> block = {};
  std::size_t kept = 0;
  bool found = false;
  while (!found) {
    const ssize_t count = ::read(fd, block.data() + kept, block.size() - kept);
    if (count <= 0) {
      break;
    }
    const std::string_view text(block.data(), kept + static_cast<std::size_t>(count));
    const std::size_t at = text.find(assignment);
    found = at != std::string_view::npos && (at == 0 || text[at - 1] == '\0');
    kept = std::min(text.size(), assignment.size() + 1);
    std::memmove(block.data(), block.data() + text.size() - kept, kept);
  }
  ::close(fd);
  return found;
}

/// Ends the marked processes of one walk over /proc.
int EndOnce(std::string_view assignment) {
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) {
    return 0;
  }
  int ended = 0;
  alignas(8) std::array<char, 8192> entries = {};
  long count = 0;
  while ((count = ::syscall(SYS_getdents64, proc, entries.data(), entries.size())) > 0) {
    for (long at = 0; at < count;) {
      EntryHead head;
      std::memcpy(&head, entries.data() + at, sizeof(head));
      const char* const name = entries.data() + at + kNameOffset;
      pid_t pid = 0;
      const auto [end, failure] = std::from_chars(name, name + std::strlen(name), pid);
      if (failure == std::errc() && *end == '\0' && pid != ::getpid() &&
          IsMarked(pid, assignment)) {
        ended += ::kill(pid, SIGKILL) == 0 ? 1 : 0;
      }
      at += head.bytes;
    }
  }
  ::close(proc);
  return ended;
}

}  // namespace

int EndMarkedProcesses(const std::string& assignment) {
  int total = 0;
  for (int round = 0; round < kMaxRounds; ++round) {
    const int ended = EndOnce(assignment);
    if (ended == 0) {
      break;
    }
    total += round == 0 ? ended : 0;  // the same ones may still be there
    ::nanosleep(&kPause, nullptr);
  }
  return total;
}

}  // namespace drydock::launcher
