#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/passes/choose/assign.h"

namespace drydock::strategies {

/// The strategies of least modelled cost that fit into memory, with a proof of how good they are.
/// See the source.
///
/// Decides every forward operator with a rule that has no plan yet; the others stay as they are.
/// @error kInvalidArgument  the strategies that the script gives do not go together
[[nodiscard]] Status SearchOptimally(const Graph& graph, const std::vector<Region>& regions,
                                     const JobConfig& config, Assignment& assignment);

}  // namespace drydock::strategies
