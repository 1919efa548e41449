#pragma once

#include "strategies/graph/job_config.h"
#include "strategies/passes/compile_job.h"

namespace drydock::reports {

/// Network of the quick start for 8 ranks, batch 16: x (16, 32) times w (32, 16) cut ((2, 4), (4,
/// 1)), ReLU cut ((2, 4),), times w2 (16, 16) cut ((2, 4), (4, 1)); the result is differentiated by
/// both weights, which are updated in place. All numbers in the tests follow from these.
[[nodiscard]] strategies::Graph QuickStartGraph();
[[nodiscard]] strategies::JobConfig QuickStartJob();

/// The same, compiled; ends the test program if that fails.
[[nodiscard]] strategies::LocalProgram QuickStartProgram();

}  // namespace drydock::reports
