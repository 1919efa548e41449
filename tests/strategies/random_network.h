#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "strategies/graph/job_config.h"
#include "strategies/operators/builder.h"
#include "strategies/reference/executor.h"

namespace drydock::strategies {

/// A random small training step with random legal strategies, for comparing sharded with whole
/// runs.
struct RandomStep {
  Graph graph = {};
  JobConfig job = {};
  StepData data = {};
};

/// The step that belongs to a seed; the same seed gives the same step everywhere.
/// @param world_size  ranks of the job: 2, 3, 4, 6, 8 or 12
RandomStep MakeRandomStep(std::uint32_t seed, std::int64_t world_size);

}  // namespace drydock::strategies
