#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "base/cause.h"

namespace drydock {

/// What kind of failure an Error is; decides the exit status of a command.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  ///< The user's mistake: a value that cannot be right.
  kUnsupported,      ///< Our limit: legal for MindSpore, not handled here.
  kProtocol,         ///< A peer broke the wire protocol.
  kTimeout,          ///< Something did not happen in time.
  kIo,               ///< A file or stream could not be read or written.
  kInternal,         ///< Our defect.
};

/// Place in the user's script or input file. `line` and `column` are 1-based, 0 where unknown.
struct SourcePlace {
  std::string file = {};
  std::int32_t line = 0;
  std::int32_t column = 0;
  std::string text = {};  ///< The source line itself, without the line break; may be empty.
  friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};

/// A failure as a value: what is wrong, where in the user's input, and what would work.
///
/// Text is lower case without a full stop, user's names in quotes.
/// Example: message "strategy of 'MatMul' cuts dimension 1 of input 0 into 3, but 8 devices are not
/// divisible by 3", hint "use cuts whose product divides 8, for instance ((2, 4), (4, 1))".
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message = {};
  std::string hint = {};  ///< Remedy that works when followed; may be empty.
  /// Machine-readable "Subject:code", e.g. "MatMul:strategy-not-divisible"; printed only: code that
  /// decides asks `cause`.
  std::string reason = {};
  Cause cause = {};
  std::optional<SourcePlace> place = {};
  std::vector<std::string> notes = {};
  friend bool operator==(const Error&, const Error&) = default;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// Failure with code and message, convertible to any Result.
[[nodiscard]] tl::unexpected<Error> Fail(ErrorCode code, std::string message,
                                         std::string hint = {});

/// Failure of the user's input, with a machine-readable reason "Subject:code".
[[nodiscard]] tl::unexpected<Error> FailInput(std::string reason, std::string message,
                                              std::string hint = {});

/// The same error with a cause that callers decide on.
[[nodiscard]] Error WithCause(Error error, Cause cause);

/// Whether that is what failed: IsCausedBy(error, ScriptCause::kNoInterpreter).
[[nodiscard]] bool IsCausedBy(const Error& error, const Cause& cause);

/// The same error with one more note, innermost first.
[[nodiscard]] Error WithNote(Error error, std::string note);

/// The same error at `place`, unless it already has one.
[[nodiscard]] Error WithPlace(Error error, const std::optional<SourcePlace>& place);

/// "kInvalidArgument" -> "invalid-argument"; stable names used in reports.
[[nodiscard]] std::string_view ErrorCodeName(ErrorCode code);

/// Text of an error as a compiler would print it: place, message, source line with caret, notes,
/// hint.
[[nodiscard]] std::string FormatError(const Error& error);

/// Ends the process with the place of a broken invariant of our own code. Never for user input.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace drydock

#define DRYDOCK_CAT_(a, b) a##b
#define DRYDOCK_CAT(a, b) DRYDOCK_CAT_(a, b)
#define DRYDOCK_TRY_(tmp, decl, expr)              \
  auto tmp = (expr);                               \
  if (!tmp) {                                      \
    return tl::unexpected(std::move(tmp).error()); \
  }                                                \
  decl = *std::move(tmp)
/// DRYDOCK_TRY(const auto x, Compute()): the value, or the error returned to the caller.
#define DRYDOCK_TRY(decl, expr) DRYDOCK_TRY_(DRYDOCK_CAT(try_, __LINE__), decl, expr)
/// The same for a Status.
#define DRYDOCK_RETURN_IF_ERROR(expr)                    \
  do {                                                   \
    if (auto status_ = (expr); !status_) {               \
      return tl::unexpected(std::move(status_).error()); \
    }                                                    \
  } while (false)
#define DRYDOCK_CHECK(cond)                              \
  do {                                                   \
    if (!(cond)) {                                       \
      ::drydock::CheckFailed(#cond, __FILE__, __LINE__); \
    }                                                    \
  } while (false)
