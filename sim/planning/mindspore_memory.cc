// Device memory of MindSpore's programs in closed form.
//
// What lives for the whole run is exact: weights and moments, which optimizer parallelism cuts from
// level 1 on; with several micro batches a sum of gradients for each weight (cut from level 2 on),
// zeros of its size that clear it, and zeros of the weight's size. What comes and goes is largest
// at one of two moments: at the loss, where the last stage holds its activations and the logits in
// several types; or where the backward pass begins to hand out gradients, while weights that were
// gathered in 32 bits wait for their casts. How many copies are alive then was read off compiled
// steps (docs/planning.md has the comparison), not derived.
//
// Example: Llama's 8 layers of width 4096 and 128,256 words on 8 replicas, level 1, 8 micro batches
// of 4,096 tokens: 11.18 GiB as weights in 32 bits / 8 x 3 + 2 x 10.41 (sums, zeros) + 1.3 (zeros)
// + 5.2 (16-bit copies) + 5.2 (activations) + 12.0 (24.5 bytes for each of 525 million logits).
#include "sim/planning/mindspore_memory.h"

#include <algorithm>

#include "sim/planning/numbers.h"

namespace drydock::sim {
namespace {

constexpr double kWhole = 4;  // and of a 32-bit one

/// A stage's weights, whole and as its rank keeps them.
struct Held {
  double whole = 0;
  double cut = 0;
  StageWeights weights = {};
};

Held HeldOf(const TrainingJob& job, const JobFacts& facts, const Plan& plan, std::int64_t stage) {
  const StageWeights weights = WeightsOf(job, facts, plan, stage);
  const double shards = Real(plan.data * plan.context);
  const double expert_shards = std::max(1.0, shards * Real(plan.tensor) / Real(plan.expert));
  // A table that two stages share is not cut by the optimizer.
  const ModelShape& model = job.model;
  const bool copied = plan.pipeline > 1 && (model.tied || model.prediction_layers > 0);
  const bool end = stage == 0 || stage == plan.pipeline - 1;
  const double shared = copied && end ? Real(facts.parameters.embedding) / Real(plan.tensor) : 0.0;
  return {.whole = weights.plain + weights.experts,
          .cut = (weights.plain - shared) / shards + shared + weights.experts / expert_shards,
          .weights = weights};
}

/// What lives for the whole run.
void AddState(const TrainingJob& job, const Plan& plan, const Held& held, StageMemory& memory) {
  const Storage& storage = job.storage;
  const double kept = plan.optimizer_level >= 1 ? held.cut : held.whole;
  memory.weights = storage.weight * kept;
  memory.optimizer = storage.optimizer * kept;
  if (MicroBatches(job, plan) > 1) {
    memory.gradients = storage.gradient * (plan.optimizer_level >= 2 ? held.cut : held.whole);
    memory.constants = memory.gradients + storage.weight * kept;
  }
}

/// Copies of weights as products take them, and gathered ones that wait for their casts.
double GatheredBytes(const TrainingJob& job, const Plan& plan, const Held& held) {
  const Storage& storage = job.storage;
  const bool gathers = plan.optimizer_level >= 1;
  const bool casts = storage.computed < storage.weight;
  if (!gathers && !casts) {
    return 0;
  }
  const double copies = storage.computed * held.whole;
  if (plan.pipeline > 1 || plan.recompute != Recompute::kFull) {
    return copies;
  }
  const double layers = held.whole - held.weights.ends;
  if (plan.optimizer_level >= 3) {  // layers are gathered anew by the recomputation
    return storage.computed * held.weights.ends + storage.weight * held.weights.layer;
  }
  // Casts are repeated by the recomputation, which keeps what they read.
  const double sources = gathers && casts ? storage.weight * layers : 0;
  return sources + (MicroBatches(job, plan) > 1 ? copies : storage.computed * held.weights.ends);
}

/// Bytes for each logit at the loss.
double LogitBytes(const TrainingJob& job, const Plan& plan) {
  if (plan.pipeline > 1) {
    return plan.interleave > 1 ? 1.83 * job.logit_bytes : job.logit_bytes;
  }
  const double half_sums = job.storage.gradient < kWhole && MicroBatches(job, plan) > 1 ? 4 : 0;
  return job.logit_bytes + half_sums + (MicroBatches(job, plan) > 1 ? 4.5 : 2.5);
}

double LossBytes(const TrainingJob& job, const Plan& plan, const Held& held) {
  const double tokens = Real(job.sequence) * Real(plan.micro_batch) / Real(plan.context);
  const double heads = 1 + 0.4 * Real(job.model.prediction_layers);  // each has logits of its own
  double bytes = 2 * kHalfBytes * Real(job.model.hidden) * tokens + heads * LogitBytes(job, plan) *
                                                                        Real(job.model.vocabulary) *
                                                                        tokens / Real(plan.tensor);
  const double layer = job.storage.weight * held.weights.layer;
  if (plan.interleave > 1) {
    bytes += plan.optimizer_level >= 1 ? 3 * layer : 0;
  }
  if (plan.pipeline == 1 && plan.optimizer_level == 2 && MicroBatches(job, plan) > 1) {
    // Gradients of the micro batch before are scattered behind the forward pass.
    bytes += job.storage.gradient * (held.whole - held.weights.table + held.cut);
  }
  if (plan.optimizer_level >= 3 && MicroBatches(job, plan) > 1) {
    bytes += job.storage.computed * (held.weights.ends - held.weights.table);
  }
  return bytes;
}

/// Where the backward pass of a stage without a loss begins: gradients of the largest matrices, and
/// gathered weights before their casts.
double BackwardBytes(const TrainingJob& job, const Plan& plan, const Held& held) {
  const Storage& storage = job.storage;
  const double layer = kWhole * held.weights.layer;
  const bool waits = plan.optimizer_level >= 1;
  double bytes = (storage.gradient + storage.computed) * held.weights.layer / 4;
  if (plan.interleave > 1) {
    bytes += 2 * layer + (waits ? 3 * layer : 0);
  } else if (waits) {
    bytes += 2 * layer;
  }
  return bytes + (waits ? kWhole * held.weights.table : 0);
}

}  // namespace

StageMemory MindsporeMemoryOf(const TrainingJob& job, const JobFacts& facts, const Plan& plan,
                              std::int64_t stage) {
  StageMemory memory;
  const Held held = HeldOf(job, facts, plan, stage);
  AddState(job, plan, held, memory);
  memory.gathered = GatheredBytes(job, plan, held);
  const LayerActivations layer = ActivationsOf(job, plan, facts.parameters.sparse_layers > 0);
  const bool last = stage == plan.pipeline - 1;
  const std::int64_t layers = LayersOf(job, plan, stage) + (last ? job.model.prediction_layers : 0);
  const double one = Real(layers) * layer.kept;
  const double under_way = MicroBatchesUnderWay(job, plan, stage) * one;
  memory.activations = under_way;
  if (last) {
    memory.borders = LossBytes(job, plan, held);
    return memory;
  }
  // Either the first layer of the backward pass, or behind its last one the table's gradient.
  const double again = plan.recompute == Recompute::kNone ? 0 : layer.whole - layer.kept;
  const double first = BackwardBytes(job, plan, held) + again;
  const double table = (job.storage.gradient + job.storage.computed) * held.weights.table +
                       (plan.optimizer_level >= 1 ? job.storage.weight * held.weights.table : 0);
  const double behind = plan.interleave > 1 ? table : table - one;
  memory.transient = std::max(first, behind);
  return memory;
}

}  // namespace drydock::sim
