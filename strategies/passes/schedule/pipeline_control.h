#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/graph/job_config.h"
#include "strategies/graph/kernel_graph.h"
#include "strategies/passes/schedule/lower.h"
#include "strategies/program/local_program.h"

namespace drydock::strategies {

/// Before micro batches are unrolled: what starts the backward pass of a stage is there once for
/// each of them. See pipeline_control.cc.
void RepeatSeeds(LoweredProgram& rolled, const Graph& local);

/// Behind it: the order of micro batches that the scheduler of the job gives to a stage.
///
/// @param ends  per micro batch the kernels that end its backward pass where nothing is sent back
[[nodiscard]] Status OrderPipeline(KernelGraph& graph, const Graph& local, const JobConfig& config,
                                   StageId stage, const std::vector<std::vector<KernelId>>& ends);

}  // namespace drydock::strategies
