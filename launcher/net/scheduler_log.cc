#include "launcher/net/scheduler_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>

#include "launcher/log_file.h"

namespace drydock::launcher {
namespace {

std::string_view LevelWord(sim::EventLevel level) {
  switch (level) {
    case sim::EventLevel::kInfo:
      return "INFO";
    case sim::EventLevel::kWarning:
      return "WARNING";
    case sim::EventLevel::kError:
      return "ERROR";
  }
  return "ERROR";
}

/// "2026-01-31-23:59:59.123.456", local time.
std::string NowText() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
                          now - std::chrono::system_clock::from_time_t(seconds))
                          .count();
  std::tm parts = {};
  ::localtime_r(&seconds, &parts);
  std::array<char, 64> day = {};
  const std::size_t size = std::strftime(day.data(), day.size(), "%Y-%m-%d-%H:%M:%S", &parts);
  std::array<char, 16> rest = {};
  std::snprintf(rest.data(), rest.size(), ".%03d.%03d", static_cast<int>(micros / 1000),
                static_cast<int>(micros % 1000));
  return std::string(day.data(), size) + rest.data();
}

}  // namespace

SchedulerLog::SchedulerLog(std::unique_ptr<Descriptor> file) : file_(std::move(file)) {}

Result<SchedulerLog> SchedulerLog::Open(const std::string& path) {
  if (path.empty()) {
    return SchedulerLog(nullptr);
  }
  if (path == kStandardError) {
    return SchedulerLog(std::make_unique<Descriptor>(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)));
  }
  DRYDOCK_TRY(auto file, OpenLog(path));
  return SchedulerLog(std::move(file));
}

void SchedulerLog::Add(const sim::SchedulerEvent& event) {
  Add(sim::LevelOf(event.kind), sim::EventText(event));
}

void SchedulerLog::Add(sim::EventLevel level, std::string_view text) {
  if (!file_) {
    return;
  }
  pending_ += "[" + std::string(LevelWord(level)) + "] DISTRIBUTED(" + std::to_string(::getpid()) +
              "," + std::to_string(::gettid()) + ",drydock):" + NowText() + " [scheduler] ";
  for (const char character : text) {
    const auto code = static_cast<unsigned char>(character);
    pending_ += code < 0x20 || code == 0x7f ? '?' : character;
  }
  pending_ += '\n';
}

void SchedulerLog::Flush() {
  if (file_ && !pending_.empty()) {
    (void)!::write(file_->get(), pending_.data(), pending_.size());
    pending_.clear();
  }
}

}  // namespace drydock::launcher
