#pragma once

#include <string>

#include "base/result.h"
#include "launcher/environment.h"

namespace drydock::launcher {

/// Variable of a job's secret.
inline constexpr std::string_view kSecretName = "DRYDOCK_JOB_SECRET";

/// The secret of a job: first line of --job_secret's file, else the variable; empty if there is
/// none.
/// @error USAGE  the file cannot be read, is open to others, or has fewer than 16 bytes in that
/// line
[[nodiscard]] Result<std::string> ReadJobSecret(const std::string& file,
                                                const Environment& environment);

/// What shows a scheduler that the other side knows the secret: HMAC-SHA256 in hexadecimal. Empty
/// for no secret.
[[nodiscard]] std::string ProofOf(const std::string& secret);

}  // namespace drydock::launcher
