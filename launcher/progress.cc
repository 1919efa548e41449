#include "launcher/progress.h"

#include <unistd.h>

#include <cmath>
#include <utility>

namespace drydock::launcher {

Progress::Progress(std::string what, std::size_t count)
    : what_(std::move(what)),
      count_(count),
      begin_(std::chrono::steady_clock::now()),
      line_(::isatty(STDERR_FILENO) != 0) {}

void Progress::Show(std::size_t done, const std::string& name) {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
  std::string text = what_ + ": " + std::to_string(done) + " of " + std::to_string(count_);
  if (done > 0) {
    const double left =
        spent.count() / static_cast<double>(done) * static_cast<double>(count_ - done);
    text += ", about " + std::to_string(std::lround(left)) + " s left";
  }
  line_.Say(text + ": " + name);
}

}  // namespace drydock::launcher
