#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"
#include "sim/cluster/scheduler_events.h"

namespace drydock::launcher {

/// Path that stands for stderr.
inline constexpr std::string_view kStandardError = "-";

/// scheduler.log: lines in the form of MindSpore's C++ logger, so that tools that search
/// MindSpore's logs find what they look for. Source: docs/protocol.md.
class SchedulerLog {
 public:
  /// Creates or empties the file; kStandardError is stderr; without a path nothing is written.
  /// @error LOG_DIR  with the reason of the system
  [[nodiscard]] static Result<SchedulerLog> Open(const std::string& path);

  /// One line for an event.
  void Add(const sim::SchedulerEvent& event);
  /// One line; control characters in `text` are escaped.
  void Add(sim::EventLevel level, std::string_view text);
  /// Writes what was added. A full disk loses lines, nothing else.
  void Flush();

 private:
  explicit SchedulerLog(std::unique_ptr<Descriptor> file);
  std::unique_ptr<Descriptor> file_;  ///< Null: no file.
  std::string pending_;
};

}  // namespace drydock::launcher
