#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace drydock::launcher {

/// Copies what workers write to their logs to the console, in whole lines, while they write.
///
/// Workers write to files and never wait for the console; memory is bounded, since what the console
/// does not take now stays in the file. A line longer than 64 KiB is cut in pieces.
/// Source: docs/launching.md, docs/robustness.md
class LogTail {
 public:
  /// @param console  where to; not owned
  explicit LogTail(int console);
  ~LogTail();
  LogTail(const LogTail&) = delete;
  LogTail& operator=(const LogTail&) = delete;

  [[nodiscard]] int console() const { return console_; }
  /// Follows a log. @param tag  begins every line; may be empty
  /// @param offset  bytes at its beginning that are not shown
  void Add(const std::string& path, std::string tag, std::int64_t offset = 0);
  /// Asks the system to tell when a log grows. Taking that back takes the system up to 20 ms, so
  /// jobs that end at once do without.
  void Watch();
  /// Readable when a log grew; -1 if the system does not tell: then call MarkAll now and then.
  [[nodiscard]] int fd() const { return notify_ ? notify_->get() : -1; }
  /// Logs may have grown: those the system names.
  void TakeChanges();
  /// All of them.
  void MarkAll();
  /// Copies as much as the console takes without waiting.
  void Pump();
  /// More is there than the console took.
  [[nodiscard]] bool waits_for_console() const { return waits_; }
  /// No more is written: the last lines count even if they are not complete.
  void Close();

 private:
  struct Log {
    int fd = -1;
    std::string tag = {};
    std::int64_t offset = 0;
    std::string partial = {};  ///< A line whose end has not been seen.
    bool dirty = true;
  };
  void WatchLog(std::size_t index);
  [[nodiscard]] bool WritePending();
  [[nodiscard]] bool ReadSome(Log& log);
  void AppendLines(Log& log, std::string_view text);

  int console_;
  bool console_is_file_ = false;
  bool broken_ = false;  ///< The console takes nothing any more.
  bool waits_ = false;
  bool closed_ = false;
  std::unique_ptr<Descriptor> notify_;  ///< None: nobody tells of changes.
  std::map<int, std::size_t> log_of_watch_;
  std::vector<Log> logs_;
  std::size_t next_ = 0;
  std::string pending_;  ///< Whole lines on their way to the console.
};

}  // namespace drydock::launcher
