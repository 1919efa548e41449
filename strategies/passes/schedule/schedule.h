#pragma once

#include "base/result.h"
#include "strategies/graph/job_config.h"
#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// The kernels that a rank of a stage launches for its program, in order, those of all micro
/// batches. With `data_sink` of the job the inputs of a step are fetched by the first of them
/// instead of being there.
/// @error kInternal     an operator's lowering returned another number of results than it has
/// @error kUnsupported  as UnrollMicroBatches, OrderPipeline
[[nodiscard]] Result<KernelGraph> ScheduleKernels(const Graph& local, const JobConfig& config,
                                                  StageId stage = StageId{0});

}  // namespace drydock::strategies
