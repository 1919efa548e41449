#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drydock::launcher {

/// Exit statuses of every command. Source: docs/robustness.md G5. Ended by signal n: 128 + n, not
/// in this list.
enum class ExitCode : int {
  kOk = 0,
  kRankFailed = 1,
  kUsage = 2,
  kPreflight = 3,      ///< Refused before anything was started: files, folders, interpreter.
  kNotFormed = 4,      ///< The cluster could not be formed.
  kInternal = 5,       ///< Our defect.
  kRejected = 6,       ///< Simulation: program or strategy rejected.
  kLimitExceeded = 7,  ///< Simulation: finished, but a limit that was asked for is exceeded.
  kUnsupported = 8,    ///< Something that is not handled here.
};

/// Failure of a command with a stable code (docs/errors.md).
/// The code decides the exit status, and the hint where none is given.
[[nodiscard]] tl::unexpected<Error> FailCommand(FailureCode code, std::string message,
                                                std::string hint = {});

/// The same error, reported under `code`.
[[nodiscard]] Error WithCode(Error error, FailureCode code);

/// FailCommand for wrong flags and words of the command line.
[[nodiscard]] tl::unexpected<Error> FailUsage(std::string message, std::string hint = {});

/// Stable code of any error, e.g. kStrategy for a rejected program.
[[nodiscard]] FailureCode FailureCodeOf(const Error& error);

/// Its name as it is printed: "STRATEGY".
[[nodiscard]] std::string CodeOf(const Error& error);

/// The code that another process of ours printed.
[[nodiscard]] std::optional<FailureCode> CodeNamed(std::string_view name);

/// Exit status a command ends with because of `error`.
[[nodiscard]] ExitCode ExitCodeOf(const Error& error);

/// The number a process ends with because of `error`: its exit code, or 128 + n if a signal n came.
[[nodiscard]] int StatusOf(const Error& error);

/// Safe on a terminal: control characters other than line breaks and tabs become "\xNN".
[[nodiscard]] std::string PrintableText(std::string_view text);

/// One line of at most `most_bytes` of a text that somebody else wrote: nothing in it ends the
/// line, and what was cut off is said.
[[nodiscard]] std::string OneLine(std::string_view text, std::size_t most_bytes = 1000);

/// Text for stderr: a compiler-like message if the error has a place in the user's files, else
/// "<program>: error[<CODE>]: <what>; hint: <action>". Ends with a line break.
[[nodiscard]] std::string ErrorText(const Error& error, std::string_view program);

}  // namespace drydock::launcher
