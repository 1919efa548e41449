#include "launcher/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace drydock::launcher {
namespace {

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kDebug:
      return spdlog::level::debug;
  }
  return spdlog::level::debug;
}

}  // namespace

Log::Log(const std::string& program, LogLevel level)
    : logger_(std::make_shared<spdlog::logger>(program,
                                               std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  logger_->set_pattern("%n: %l: %v");
  logger_->set_error_handler(
      [](const std::string& /*reason*/) {});  // a closed stderr is no failure
  SetLevel(level);
}

void Log::SetLevel(LogLevel level) {
  logger_->set_level(LevelOf(level));
}
void Log::Error(std::string_view text) const {
  logger_->error("{}", text);
}
void Log::Warning(std::string_view text) const {
  logger_->warn("{}", text);
}
void Log::Info(std::string_view text) const {
  logger_->info("{}", text);
}
void Log::Debug(std::string_view text) const {
  logger_->debug("{}", text);
}

}  // namespace drydock::launcher
