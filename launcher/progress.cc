#include "launcher/progress.h"

#include <unistd.h>

#include <cstdio>

namespace drydock::launcher {

Progress::Progress(std::string what, std::size_t count)
    : what_(std::move(what)),
      count_(count),
      terminal_(::isatty(STDERR_FILENO) != 0),
      begin_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (terminal_) {
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
  }
}

void Progress::Show(std::size_t done, const std::string& name) {
  if (!terminal_) {
    return;
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
  std::string line = what_ + ": " + std::to_string(done) + " of " + std::to_string(count_);
  if (done > 0) {
    const double left =
        spent.count() / static_cast<double>(done) * static_cast<double>(count_ - done);
    line += ", about " + std::to_string(static_cast<long>(left + 0.5)) + " s left";
  }
  std::fprintf(stderr, "\r\x1b[K%s: %.60s", line.c_str(), name.c_str());
  std::fflush(stderr);
}

}  // namespace drydock::launcher
