#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/passes/choose/assign.h"

namespace drydock::strategies {

/// Recursive programming: every operator is halved again and again. See the source.
///
/// Decides every forward operator with a rule. Strategies that the user gave count only if the job
/// pins them; else they are taken away and the diagnostics say so.
[[nodiscard]] Status SearchRecursively(const Graph& graph, const std::vector<Region>& regions,
                                       const JobConfig& config, Assignment& assignment);

}  // namespace drydock::strategies
