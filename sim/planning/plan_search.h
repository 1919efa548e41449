#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "sim/planning/memory_model.h"
#include "sim/planning/plan.h"
#include "sim/planning/time_model.h"
#include "sim/timing/hardware_profile.h"

namespace drydock::sim {

/// Which plans are looked at. A part of `fixed` that is not -1 is the only value of that axis.
struct SearchSpace {
  Plan fixed = {.data = -1,
                .tensor = -1,
                .pipeline = -1,
                .interleave = -1,
                .context = -1,
                .expert = -1,
                .micro_batch = -1,
                .optimizer_level = -1};
  bool fixed_sequence_parallel = false;  ///< `fixed.sequence_parallel` is meant.
  bool fixed_recompute = false;          ///< `fixed.recompute` is meant.
  std::int64_t most_tensor = 16;
  std::int64_t most_pipeline = 64;
  std::int64_t most_interleave = 8;
  std::int64_t most_context = 16;
  std::int64_t most_micro_batch = 16;
};

/// A plan and what the closed forms say of it.
struct PlanFigures {
  Plan plan = {};
  double step_seconds = 0;
  double peak_bytes = 0;  ///< Of the fullest stage.
};

/// What a search found; indices point into `plans`.
struct SearchResult {
  std::vector<PlanFigures> plans = {};  ///< All that are possible, fitting or not.
  std::vector<std::size_t> best = {};   ///< Fitting, fastest first; one for each way of cutting.
  std::vector<std::size_t> front = {};  ///< Fitting, nothing is both faster and smaller; by time.
  std::int64_t fitting = 0;
  std::size_t smallest = 0;  ///< The plan that needs least memory.
};

/// All plans that are possible, in a fixed order.
[[nodiscard]] std::vector<Plan> EnumeratePlans(const TrainingJob& job, const SearchSpace& space);

/// Asks the closed forms about every plan. The result does not depend on the threads.
///
/// @param limit_bytes  memory of a device that tensors may use
/// @param count        length of `best`, at most
/// @error kInvalidArgument  no plan is possible
[[nodiscard]] Result<SearchResult> SearchPlans(const TrainingJob& job, const SearchSpace& space,
                                               const HardwareProfile& hardware, double limit_bytes,
                                               std::size_t count, const Executor& executor);

/// A plan that was compiled for all ranks.
struct CompiledPlan {
  std::size_t plan = 0;   ///< Index in SearchResult::plans.
  double peak_bytes = 0;  ///< Of the fullest rank.
  bool fits = false;
};

/// The next plans to compile, at most `count`, where some of those before did not fit: fastest
/// first of those that are expected to fit, when closed forms are corrected by what plans of the
/// same kind needed in full. When those are used up, whatever needs less than every plan of its
/// kind that did not fit. Empty: no other plan can be expected to fit.
[[nodiscard]] std::vector<std::size_t> FurtherPlans(const SearchResult& found,
                                                    std::span<const CompiledPlan> compiled,
                                                    double limit_bytes, std::size_t count);

}  // namespace drydock::sim
