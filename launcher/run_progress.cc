#include "launcher/run_progress.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "reports/text_table.h"

namespace drydock::launcher {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kFirst = std::chrono::milliseconds(500);
constexpr auto kNext = std::chrono::milliseconds(200);
constexpr std::size_t kColumns = 78;

void Write(std::string_view text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) {
    // A terminal that went away shows nothing.
  }
}

}  // namespace

struct RunProgress::State {
  std::mutex mutex = {};
  std::condition_variable wake = {};
  std::string what = {};
  bool ended = false;
  bool drawn = false;
  Clock::time_point begin = Clock::now();
  std::thread drawer = {};

  void Draw() {
    std::unique_lock<std::mutex> lock(mutex);
    while (!wake.wait_for(lock, drawn ? kNext : kFirst, [this] { return ended; })) {
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      // The cursor stays in front, so that other output overwrites the line.
      Write("\r" + reports::FitText(fmt::format("{} ... {:.1f} s", what, seconds), kColumns) +
            "\x1b[K\r");
      drawn = true;
    }
    if (drawn) {
      Write("\r\x1b[K");
    }
  }
};

RunProgress::RunProgress(bool shown) {
  if (shown) {
    state_ = std::make_unique<State>();
    state_->drawer = std::thread([this] { state_->Draw(); });
  }
}

RunProgress::~RunProgress() {
  End();
}

void RunProgress::End() {
  if (state_) {
    {
      const std::unique_lock<std::mutex> lock(state_->mutex);
      state_->ended = true;
    }
    state_->wake.notify_one();
    state_->drawer.join();
    state_.reset();
  }
}

void RunProgress::Say(std::string what) {
  if (state_) {
    const std::unique_lock<std::mutex> lock(state_->mutex);
    state_->what = std::move(what);
  }
}

}  // namespace drydock::launcher
