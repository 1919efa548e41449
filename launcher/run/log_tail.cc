#include "launcher/run/log_tail.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/inotify.h>
#include <sys/stat.h>

namespace drydock::launcher {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 16U;
/// What a pipe or terminal that is ready takes without waiting.
constexpr std::size_t kConsoleBytes = 4096;

}  // namespace

LogTail::LogTail(int console) : console_(console) {
  struct stat facts = {};
  console_is_file_ = ::fstat(console, &facts) == 0 && S_ISREG(facts.st_mode);
}

LogTail::~LogTail() {
  for (const Log& log : logs_) {
    ::close(log.fd);
  }
}

void LogTail::Add(const std::string& path, std::string tag, std::int64_t offset) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return;
  }
  logs_.push_back({.fd = fd, .tag = std::move(tag), .offset = offset});
  if (notify_) {
    WatchLog(logs_.size() - 1);
  }
}

void LogTail::WatchLog(std::size_t index) {
  // Names the open file itself: the log may have been removed or replaced since.
  const std::string path = "/proc/self/fd/" + std::to_string(logs_[index].fd);
  const int watch = notify_ ? ::inotify_add_watch(notify_->get(), path.c_str(), IN_MODIFY) : -1;
  if (watch < 0) {
    notify_ = nullptr;  // too many watches: the caller looks at all logs now and then
  } else {
    log_of_watch_[watch] = index;
  }
}

void LogTail::Watch() {
  notify_ = std::make_unique<Descriptor>(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    WatchLog(i);
  }
  MarkAll();  // what was written before
}

void LogTail::TakeChanges() {
  alignas(inotify_event) std::array<char, 4096> bytes = {};
  ssize_t count = 0;
  while ((count = ::read(notify_->get(), bytes.data(), bytes.size())) > 0) {
    for (ssize_t at = 0; at < count;) {
      inotify_event event = {};
      std::memcpy(&event, bytes.data() + at, sizeof(event));
      const auto log = log_of_watch_.find(event.wd);
      if (log != log_of_watch_.end()) {
        logs_[log->second].dirty = true;
      } else if ((event.mask & IN_Q_OVERFLOW) != 0) {
        MarkAll();
      }
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
  }
}

void LogTail::MarkAll() {
  for (Log& log : logs_) {
    log.dirty = true;
  }
}

/// False if the console does not take more at the moment.
bool LogTail::WritePending() {
  std::size_t done = 0;
  while (done < pending_.size() && !broken_) {
    pollfd ready = {.fd = console_, .events = POLLOUT, .revents = 0};
    if (!console_is_file_ && ::poll(&ready, 1, 0) == 0) {
      break;
    }
    const std::size_t size =
        console_is_file_ ? pending_.size() - done : std::min(pending_.size() - done, kConsoleBytes);
    const ssize_t count = ::write(console_, pending_.data() + done, size);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      broken_ = true;  // the reader is gone; the job goes on
    }
  }
  pending_.erase(0, broken_ ? pending_.size() : done);
  return pending_.empty();
}

void LogTail::AppendLines(Log& log, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      log.partial.append(text);
      break;
    }
    pending_.append(log.tag).append(log.partial).append(text.substr(0, end + 1));
    log.partial.clear();
    text.remove_prefix(end + 1);
  }
  if (log.partial.size() >= kBlockBytes) {
    pending_.append(log.tag).append(log.partial).append("\n");
    log.partial.clear();
  }
}

/// False if there was nothing.
bool LogTail::ReadSome(Log& log) {
  std::array<char, kBlockBytes> block;  // NOLINT: filled by pread
  struct stat facts = {};
  if (::fstat(log.fd, &facts) == 0 && facts.st_size < log.offset) {
    log.offset = 0;  // cut short by somebody
  }
  const ssize_t count = ::pread(log.fd, block.data(), block.size(), log.offset);
  if (count <= 0) {
    log.dirty = false;
    if (closed_ && !log.partial.empty()) {
      AppendLines(log, "\n");
    }
    return false;
  }
  log.offset += count;
  AppendLines(log, std::string_view(block.data(), static_cast<std::size_t>(count)));
  return true;
}

void LogTail::Pump() {
  waits_ = false;
  if (broken_) {
    return;
  }
  // In turn, so that a chatty rank does not silence the others.
  std::size_t idle = 0;
  while (idle < logs_.size() || !pending_.empty()) {
    if (!WritePending()) {
      waits_ = true;
      return;
    }
    if (broken_ || logs_.empty()) {
      return;
    }
    next_ = (next_ + 1) % logs_.size();
    Log& log = logs_[next_];
    idle = log.dirty && ReadSome(log) ? 0 : idle + 1;
  }
}

void LogTail::Close() {
  closed_ = true;
  MarkAll();
}

}  // namespace drydock::launcher
