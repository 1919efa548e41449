#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace drydock {
namespace {

std::string PlacePrefix(const SourcePlace& place) {
  std::string text = place.file;
  if (place.line > 0) {
    text += ":" + std::to_string(place.line);
    if (place.column > 0) {
      text += ":" + std::to_string(place.column);
    }
  }
  return text + ": ";
}

std::string SourceExcerpt(const SourcePlace& place) {
  if (place.text.empty() || place.line <= 0) {
    return {};
  }
  std::string number = std::to_string(place.line);
  if (number.size() < 5) {
    number.insert(0, 5 - number.size(), ' ');
  }
  std::string text = "\n" + number + " | " + place.text;
  if (place.column > 0) {
    text +=
        "\n      | " + std::string(static_cast<std::size_t>(place.column) - 1, ' ') + "^ near here";
  }
  return text;
}

}  // namespace

tl::unexpected<Error> Fail(ErrorCode code, std::string message, std::string hint) {
  return tl::unexpected(
      Error{.code = code, .message = std::move(message), .hint = std::move(hint)});
}

tl::unexpected<Error> FailInput(std::string reason, std::string message, std::string hint) {
  return tl::unexpected(Error{.code = ErrorCode::kInvalidArgument,
                              .message = std::move(message),
                              .hint = std::move(hint),
                              .reason = std::move(reason)});
}

Error WithCause(Error error, Cause cause) {
  error.cause = cause;
  return error;
}

bool IsCausedBy(const Error& error, const Cause& cause) {
  return error.cause == cause;
}

Error WithNote(Error error, std::string note) {
  error.notes.push_back(std::move(note));
  return error;
}

Error WithPlace(Error error, const std::optional<SourcePlace>& place) {
  if (!error.place && place) {
    error.place = place;
  }
  return error;
}

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid-argument";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kProtocol:
      return "protocol";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

std::string FormatError(const Error& error) {
  std::string text = error.place ? PlacePrefix(*error.place) : std::string();
  text += error.code == ErrorCode::kUnsupported ? "unsupported: " : "error: ";
  text += error.message;
  if (error.place) {
    text += SourceExcerpt(*error.place);
  }
  for (const std::string& note : error.notes) {
    text += "\nnote: " + note;
  }
  if (!error.hint.empty()) {
    text += "\nhint: " + error.hint;
  }
  return text;
}

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace drydock
