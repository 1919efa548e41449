#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/passes/choose/assign.h"

namespace drydock::strategies {

/// Chooses the strategy of every operator. See choose.cc.
///
/// @param graph  gets nodes behind what a network that is not trained returns; `regions` with it
[[nodiscard]] Result<Assignment> ChooseStrategies(Graph& graph, std::vector<Region>& regions,
                                                  const JobConfig& config);

}  // namespace drydock::strategies
