#pragma once

#include "base/result.h"
#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"

namespace drydock::strategies {

/// Finds out how many micro batches a network has and gives the nodes that cut its batch the cuts
/// of the data set. See micro_batches.cc.
/// @error kInvalidArgument  two numbers of micro batches; a rank's rows are not divisible
[[nodiscard]] Status PrepareMicroBatches(Graph& traced, JobConfig& config);

}  // namespace drydock::strategies
