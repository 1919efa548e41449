#pragma once

#include <string_view>

#include "sim/planning/memory_model.h"
#include "sim/planning/plan.h"
#include "sim/timing/hardware_profile.h"

namespace drydock::sim {

/// Seconds of one layer (or of an end of the model) on one rank, for one micro batch.
struct BlockTime {
  double forward = 0;
  double backward = 0;
  double again = 0;     ///< Of the forward pass, what is computed twice.
  double tensor = 0;    ///< Collectives of tensor parallelism, both passes, what is not hidden.
  double context = 0;   ///< Of context parallelism, what is not hidden.
  double expert = 0;    ///< AlltoAll of experts, both passes.
  double products = 0;  ///< Of the passes, what all products take.
  double weight_gradients = 0;  ///< Of that, what the gradients of weights take.
  [[nodiscard]] double Compute() const { return forward + backward + again; }
  [[nodiscard]] double Sum() const { return Compute() + tensor + context + expert; }
};

/// A step in closed form. Seconds; they sum to the step.
struct StepTime {
  double compute = 0;  ///< Forward and backward of all micro batches on the slowest stage.
  double again = 0;    ///< What recomputation adds.
  double tensor = 0;
  double context = 0;
  double expert = 0;
  double pipeline = 0;  ///< Messages between stages that nothing hides.
  double bubble = 0;    ///< Waiting while the pipeline fills and drains.
  double data = 0;      ///< Gradients and weights between replicas, what is not hidden.
  double optimizer = 0;
  [[nodiscard]] double Sum() const {
    return compute + again + tensor + context + expert + pipeline + bubble + data + optimizer;
  }
};

/// The closed form of a step on a device.
/// Source: arXiv 2104.04473 section 3 (pipeline, volumes); docs/planning.md lists the terms.
[[nodiscard]] StepTime TimeOf(const TrainingJob& job, const JobFacts& facts,
                              const HardwareProfile& hardware, const Plan& plan);

/// Time of one layer, without its weights' collectives.
[[nodiscard]] BlockTime LayerTime(const TrainingJob& job, const HardwareProfile& hardware,
                                  const Plan& plan, bool sparse);

/// How publications count the floating-point operations of a step.
enum class FlopsConvention : std::uint8_t {
  kModel,        ///< Products of forward and backward; scores of all pairs of tokens.
  kModelCausal,  ///< The same with half of the pairs.
  kHardware,     ///< kModel and what recomputation repeats.
};
[[nodiscard]] double StepFlops(const TrainingJob& job, const Plan& plan,
                               FlopsConvention convention);

}  // namespace drydock::sim
