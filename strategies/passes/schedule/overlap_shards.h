#pragma once

#include "strategies/graph/job_config.h"
#include "strategies/graph/kernel_graph.h"
#include "strategies/program/local_program.h"

namespace drydock::strategies {

/// Behind OrderPipeline: where a sharded optimizer's gathers and scatters stand among the messages
/// of a stage. See overlap_shards.cc.
void OverlapShards(KernelGraph& graph, const Graph& local, const JobConfig& config);

}  // namespace drydock::strategies
