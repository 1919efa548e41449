#pragma once

#include <string>
#include <string_view>

#include "launcher/load_job.h"
#include "launcher/msrun_options.h"
#include "reports/run_report.h"

namespace drydock::launcher {

/// SHA-256 of a text, 64 hexadecimal digits.
[[nodiscard]] std::string Sha256Hex(std::string_view text);

/// Which run the reports of a job belong to: what was given and what was read.
[[nodiscard]] reports::RunReport IdentityOf(const MsrunOptions& options, const LoadedJob& job);

}  // namespace drydock::launcher
