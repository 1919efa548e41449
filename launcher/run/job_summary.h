#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "launcher/run/job_watch.h"

namespace drydock::launcher {

/// Lines of the first failing rank's log that the summary shows.
inline constexpr std::size_t kSummaryLines = 20;

/// First line about something that is waited for, and the pause between further ones. Source:
/// docs/robustness.md G1
inline constexpr Duration kFirstNotice = std::chrono::seconds(10);
inline constexpr Duration kNoticePause = std::chrono::seconds(30);

/// What a person reads when a job is over: how it ended, which rank failed first with the end of
/// its log, who failed later, who was ended by us. Source: docs/robustness.md G3, R-26
/// @param last_lines  end of the log of watch.first_failed(), at most kSummaryLines
[[nodiscard]] std::string JobSummary(const JobWatch& watch,
                                     const std::vector<std::string>& last_lines, Duration took);

/// The same for programs: drydock.launch/1. @param code  stable error code, empty if all went well
[[nodiscard]] std::string JobStatusJson(const JobWatch& watch, const std::string& code,
                                        int exit_status);

/// Of a node that is not the scheduler's: "waiting for the scheduler at 10.0.0.1:8118 and the other
/// nodes; 590 s left".
[[nodiscard]] std::string JoiningText(const std::string& scheduler, std::int64_t left_s);

/// "37 of 64 ranks have registered; waiting for ranks 3, 5; 590 s left".
/// @param missing  first ranks that are missing, may be empty
/// @param left_s   seconds left, negative: no limit
[[nodiscard]] std::string FormingText(std::int64_t present, std::int64_t expected,
                                      const std::vector<std::uint32_t>& missing,
                                      std::int64_t left_s);

/// "<text>; 590 s left"; as it is where there is no limit (negative).
[[nodiscard]] std::string WithTimeLeft(std::string text, std::int64_t left_s);

/// The last lines of a text, at most `count`, without line breaks; control characters are shown as
/// "\xNN".
[[nodiscard]] std::vector<std::string> LastLines(std::string_view text, std::size_t count);

}  // namespace drydock::launcher
