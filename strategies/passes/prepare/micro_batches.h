#pragma once

#include <cstdint>

#include "base/result.h"
#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"

namespace drydock::strategies {

/// Finds out how many micro batches a network has and gives the nodes that cut its batch the cuts
/// of the data set. See micro_batches.cc.
/// @error kInvalidArgument  two numbers of micro batches; a rank's rows are not divisible
[[nodiscard]] Status PrepareMicroBatches(Graph& traced, JobConfig& config);

/// Makes of a recorded network that of a batch `times` as large in `times` as many micro batches,
/// which the same script would have recorded. False if that cannot be told, for instance because an
/// operator looks at the whole batch; the graph is then as it was.
[[nodiscard]] bool MultiplyMicroBatches(Graph& traced, std::int64_t times);

}  // namespace drydock::strategies
