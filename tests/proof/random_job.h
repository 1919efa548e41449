#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/graph/job_config.h"
#include "strategies/operators/builder.h"
#include "strategies/reference/executor.h"

namespace drydock::strategies {

/// A random small training step, cut in every way a job can be cut, and the same step uncut.
struct RandomJob {
  Graph cut = {};
  Graph whole = {};
  JobConfig config = {};
  std::vector<StepData> steps = {};        ///< Of two steps; parameters as `cut` has them.
  std::vector<StepData> whole_steps = {};  ///< The same numbers; parameters as `whole` has them.
  std::string how = {};                    ///< "8 ranks, 2 stages, 4 micro batches, level 2".
};

/// The job that belongs to a seed; the same seed gives the same job everywhere. 4, 8, 12 or 16
/// ranks; stages, micro batches, sharded optimizer, accumulation, recomputation, clipping, fusion
/// and strategies are drawn independently of each other.
RandomJob MakeRandomJob(std::uint32_t seed);

/// Runs two steps of the job on all its ranks and, uncut, on one device. Empty if every slice of
/// every parameter is equal afterwards and all ranks agree on their collectives, else the first
/// difference.
[[nodiscard]] Result<std::string> DifferenceOf(const RandomJob& job);

}  // namespace drydock::strategies
