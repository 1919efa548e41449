#include "launcher/run_progress.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
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
  std::string notes_path = {};
  int notes = -1;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (notes >= 0) {
      ::close(notes);
      ::unlink(notes_path.c_str());
    }
  }

  /// What another process says, else what we said.
  [[nodiscard]] std::string Text() const {
    constexpr std::size_t kMostBytes = 200;
    std::array<char, kMostBytes> bytes = {};
    const ssize_t count = notes < 0 ? 0 : ::pread(notes, bytes.data(), bytes.size(), 0);
    const std::string_view text(bytes.data(),
                                static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    const std::string_view line = text.substr(0, text.find_first_of(std::string_view("\n\0", 2)));
    return line.empty() ? what : std::string(line);
  }

  void Draw() {
    std::unique_lock<std::mutex> lock(mutex);
    while (!wake.wait_for(lock, drawn ? kNext : kFirst, [this] { return ended; })) {
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      // The cursor stays in front, so that other output overwrites the line.
      Write("\r" + reports::FitText(fmt::format("{} ... {:.1f} s", Text(), seconds), kColumns) +
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
    if (state_->notes >= 0 && ::ftruncate(state_->notes, 0) != 0) {
      // The old text stays, which is only late.
    }
  }
}

std::string RunProgress::NotesFile() {
  if (!state_) {
    return {};
  }
  const std::unique_lock<std::mutex> lock(state_->mutex);
  if (state_->notes < 0) {
    std::error_code failure;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(failure);
    state_->notes_path = (failure ? "/tmp" : folder.string()) + "/drydock-progress-XXXXXX";
    state_->notes = ::mkostemp(state_->notes_path.data(), O_CLOEXEC);
  }
  return state_->notes < 0 ? std::string() : state_->notes_path;
}

}  // namespace drydock::launcher
