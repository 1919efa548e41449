#pragma once

#include <string>
#include <string_view>

#include "sim/fleet/dry_run.h"

namespace drydock::reports {

/// The time line as a trace for chrome://tracing and Perfetto: classes of ranks are processes,
/// streams are threads, messages between stages are flows. Times in microseconds. Empty below
/// simulation level 3.
[[nodiscard]] std::string TraceViewText(std::string_view run_id, const sim::DryRunResult& result);

}  // namespace drydock::reports
