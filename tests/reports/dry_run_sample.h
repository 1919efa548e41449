#pragma once

#include "sim/fleet/dry_run.h"

namespace drydock::reports {

/// A dry run of the quick start with made-up memory figures (bytes, each chosen to be recognised):
/// ranks 0-3 and 4-7 in two classes, peaks 3 and 4 MiB with fragments on a device of 58 GiB.
[[nodiscard]] sim::DryRunResult SampleDryRun();

}  // namespace drydock::reports
