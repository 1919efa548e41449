#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace drydock::sim {

/// Failure of a request that the Python side should not have made.
[[nodiscard]] tl::unexpected<Error> BadRequest(std::string message);

/// What was read of a request; a failure becomes that of a bad request: its place is one in a text
/// that nobody sees.
template <typename T>
[[nodiscard]] Result<T> OfRequest(Result<T> read) {
  return read ? std::move(read) : Result<T>(BadRequest(std::move(read).error().message));
}

/// {"error": {...}}: an error as the Python side reads it.
[[nodiscard]] std::string ErrorAnswer(const Error& error);

}  // namespace drydock::sim
