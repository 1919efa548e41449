#pragma once

#include <cstddef>
#include <vector>

#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"

namespace drydock::strategies {

/// Nodes of `local` that become one collective, in the order of its operands; each list has two or
/// more. Empty if the job does not ask for fusion.
[[nodiscard]] std::vector<std::vector<std::size_t>> FusionGroups(const Graph& local,
                                                                 const JobConfig& config);

/// Where the job fuses scattered sums, a fused one has fusion id 1 in the end and one that stays
/// alone 0: nothing waits for the next one behind it.
void SettleScatteredSums(Graph& local, const JobConfig& config);

}  // namespace drydock::strategies
