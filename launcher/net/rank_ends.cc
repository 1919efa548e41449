// A scheduler whose launcher is gone learns from process descriptors, not from its own children,
// when the ranks of its node have ended. Their numbers come through the pipe that the launcher
// closed last.

#include "launcher/net/rank_ends.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include <sys/syscall.h>

#include "launcher/flags.h"

namespace drydock::launcher {

RankEnds::RankEnds(int pipe) : pipe_(pipe), complete_(pipe < 0) {
  if (pipe >= 0) {
    (void)::fcntl(pipe, F_SETFL, O_NONBLOCK);
  }
}

std::vector<pollfd> RankEnds::Watched() const {
  std::vector<pollfd> watched;
  if (!complete_) {
    watched.push_back({.fd = pipe_, .events = POLLIN, .revents = 0});
  }
  for (const auto& process : running_) {
    watched.push_back({.fd = process->get(), .events = POLLIN, .revents = 0});
  }
  return watched;
}

void RankEnds::Add(const std::string& number) {
  const auto pid = ReadIntWord(number);
  if (!pid || *pid <= 0) {
    return;
  }
  ++known_;
  // Fails for one that has ended already; a number used again since then belongs to nobody we wait
  // for.
  auto process = std::make_unique<Descriptor>(
      static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(*pid), 0)));
  if (process->get() >= 0) {
    running_.push_back(std::move(process));
  }
}

void RankEnds::ReadNumbers() {
  std::array<char, 4096> block = {};
  ssize_t count = 0;
  while ((count = ::read(pipe_, block.data(), block.size())) > 0) {
    text_.append(block.data(), static_cast<std::size_t>(count));
  }
  complete_ = count == 0;
  std::size_t end = 0;
  while ((end = text_.find('\n')) != std::string::npos) {
    Add(text_.substr(0, end));
    text_.erase(0, end + 1);
  }
}

void RankEnds::Take(const std::vector<pollfd>& watched) {
  for (const pollfd& entry : watched) {
    if (entry.revents == 0) {
      continue;
    }
    if (entry.fd == pipe_) {
      ReadNumbers();
    } else {
      std::erase_if(running_, [&entry](const auto& process) { return process->get() == entry.fd; });
    }
  }
}

}  // namespace drydock::launcher
