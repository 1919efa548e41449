#pragma once

#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"

namespace drydock::strategies {

/// Gives every stage what the last one returns, if the job asks for it
/// (`JobConfig::pipeline_result_broadcast`) and does not train.
///
/// @param stage  program of one stage; stages without the result return zeros in its place
void BroadcastResults(Graph& stage, const JobConfig& config);

}  // namespace drydock::strategies
