#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/passes/choose/assign.h"

namespace drydock::strategies {

/// Dynamic programming: the strategies whose modelled costs sum up to the least. See the source.
///
/// Decides every forward operator with a rule that has no plan yet; the others stay as they are.
/// @error kInvalidArgument  the strategies that the script gives do not go together
[[nodiscard]] Status SearchDynamically(const Graph& graph, const std::vector<Region>& regions,
                                       const JobConfig& config, Assignment& assignment);

}  // namespace drydock::strategies
