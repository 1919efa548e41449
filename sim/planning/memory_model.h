#pragma once

#include <cstdint>
#include <vector>

#include "sim/planning/plan.h"

namespace drydock::sim {

/// Bytes of one layer on one rank, for one micro batch.
struct LayerActivations {
  double kept = 0;       ///< Kept from the forward to the backward pass under the plan.
  double whole = 0;      ///< Kept if nothing is computed again: what one layer needs at once.
  double attention = 0;  ///< Of that, what exists for each pair of tokens.
};

/// Device memory of a rank of one stage, closed form. Bytes.
struct StageMemory {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double constants = 0;    ///< Zeros that MindSpore clears accumulated gradients with.
  double gathered = 0;     ///< Weights that are whole for a while (level 3), gradients not yet cut.
  double activations = 0;  ///< Of the layers, all micro batches that are under way.
  double borders = 0;      ///< Embedding, last norm, logits and loss.
  double transient = 0;    ///< What a layer that is computed again needs for the moment.
  [[nodiscard]] double Sum() const {
    return weights + gradients + optimizer + constants + gathered + activations + borders +
           transient;
  }
};

/// Weights of the ranks of a stage by the group that shares them, in numbers.
struct StageWeights {
  double plain = 0;
  double experts = 0;
  double dense_layers = 0;  ///< How many layers of each kind the stage has.
  double sparse_layers = 0;
  double layer = 0;    ///< Of one layer, experts included.
  double table = 0;    ///< Of the token table, 0 behind the first stage.
  double ends = 0;     ///< Of table and head, where they are.
  double largest = 0;  ///< Of one layer or table: what is gathered at a time.
};

/// What of a job is the same for all plans; made once, so that a plan costs nanoseconds.
struct JobFacts {
  ModelParameters parameters = {};
};
[[nodiscard]] JobFacts FactsOf(const TrainingJob& job);

/// Bytes that a layer keeps for its backward pass.
/// Source: arXiv 2205.05198 section 4 (GPT, each term), NVIDIA/Megatron-LM:
/// megatron/training/theoretical_memory_usage.py; docs/planning.md lists the terms.
[[nodiscard]] LayerActivations ActivationsOf(const TrainingJob& job, const Plan& plan, bool sparse);

/// Micro batches whose activations stage `stage` holds, counted in whole stages: 1F1B, or
/// interleaved, where parts of a stage count as parts.
[[nodiscard]] double MicroBatchesUnderWay(const TrainingJob& job, const Plan& plan,
                                          std::int64_t stage);

/// Layers of a stage: the rest of a division goes to the stages in the middle.
[[nodiscard]] std::int64_t LayersOf(const TrainingJob& job, const Plan& plan, std::int64_t stage);

/// Weights of a stage under the cuts of tensor and expert parallelism.
[[nodiscard]] StageWeights WeightsOf(const TrainingJob& job, const JobFacts& facts,
                                     const Plan& plan, std::int64_t stage);

[[nodiscard]] StageMemory MemoryOf(const TrainingJob& job, const JobFacts& facts, const Plan& plan,
                                   std::int64_t stage);

/// The stage that needs most, and what it needs.
struct PlanMemory {
  std::int64_t stage = 0;
  StageMemory bytes = {};
};
[[nodiscard]] PlanMemory MemoryOf(const TrainingJob& job, const JobFacts& facts, const Plan& plan);

}  // namespace drydock::sim
