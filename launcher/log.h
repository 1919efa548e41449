#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace spdlog {
class logger;
}

namespace drydock::launcher {

/// What is told on stderr.
enum class LogLevel : unsigned char { kError, kWarning, kInfo, kDebug };

/// Log of one command: lines "msrun: warning: ..." on stderr. Made in main and handed down.
class Log {
 public:
  /// @param program  name at the beginning of every line
  Log(const std::string& program, LogLevel level);
  void SetLevel(LogLevel level);
  void Error(std::string_view text) const;
  void Warning(std::string_view text) const;
  void Info(std::string_view text) const;
  void Debug(std::string_view text) const;

 private:
  std::shared_ptr<spdlog::logger>
      logger_;  ///< Shared because spdlog's sinks are; no registry is used.
};

}  // namespace drydock::launcher
