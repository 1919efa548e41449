#pragma once

#include "sim/planning/memory_model.h"

namespace drydock::sim {

/// Device memory of a rank of one stage as MindSpore's compiled step needs it: what is alive when
/// most is, at the loss of the last stage or behind the first gradients of a stage.
[[nodiscard]] StageMemory MindsporeMemoryOf(const TrainingJob& job, const JobFacts& facts,
                                            const Plan& plan, std::int64_t stage);

}  // namespace drydock::sim
