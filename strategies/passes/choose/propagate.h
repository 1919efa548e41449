#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/passes/choose/assign.h"

namespace drydock::strategies {

/// Sharding propagation: from the operators that have a strategy to their neighbours, breadth
/// first, choosing what needs the least redistribution.
///
/// Decides every forward operator with a rule that has no plan yet; the others stay as they are.
/// @error kInvalidArgument  nothing to start from
/// Source: mindspore ops_info/operator_info.cc.
[[nodiscard]] Status PropagateStrategies(const Graph& graph, const std::vector<Region>& regions,
                                         const JobConfig& config, Assignment& assignment);

}  // namespace drydock::strategies
