// Device memory of MindSpore's programs in closed form.
//
// What lives for the whole run is exact: weights and moments, which optimizer parallelism cuts from
// level 1 on; with several micro batches a sum of gradients for each weight (cut from level 2 on),
// zeros of its size that clear it, and zeros of the weight's size. What comes and goes is largest
// at one of two moments: at the loss, where the last stage holds its activations and the logits in
// several types; or where the backward pass begins to hand out gradients. How many copies are alive
// then was read off compiled steps (docs/planning.md has the comparison), not derived.
//
// Example: Llama's 8 layers of width 4096 and 128,256 words on 8 replicas, level 1, 8 micro batches
// of 4,096 tokens: 11.18 GiB as weights in 32 bits / 8 x 3 + 2 x 10.41 (sums, zeros) + 1.3 (zeros)
// + 5.2 (16-bit copies) + 5.2 (activations) + 13.9 (28.5 bytes for each of 525 million logits).
#include "sim/planning/mindspore_memory.h"

#include <algorithm>
#include <vector>

#include "sim/planning/numbers.h"

namespace drydock::sim {
namespace {

constexpr double kWhole = 4;  // and of a 32-bit one

/// Weights that lie in matrices of a number of rows, those of a rank.
struct Matrix {
  double numbers = 0;
  std::int64_t rows = 0;
};

/// What a rank keeps of a matrix. The optimizer cuts the first dimension only, and leaves whole
/// what does not divide: 151,936 words on 1,024 replicas, 16 experts on 128.
double Kept(const Matrix& matrix, std::int64_t shards) {
  return shards > 1 && matrix.rows % shards == 0 ? matrix.numbers / Real(shards) : matrix.numbers;
}

void AddFeedForwardMatrices(const ModelShape& model, std::int64_t width, std::int64_t tensor,
                            std::vector<Matrix>& matrices) {
  const double one = Real(model.hidden) * Real(width) / Real(tensor);
  matrices.push_back({(model.gated ? 2 : 1) * one, model.hidden});
  matrices.push_back({one, width / tensor});
}

/// Matrices of a layer without its experts.
std::vector<Matrix> MatricesOf(const ModelShape& model, std::int64_t tensor, bool sparse) {
  const auto matrix = [](std::int64_t rows, std::int64_t columns) {
    return Matrix{Real(rows) * Real(columns), rows};
  };
  std::vector<Matrix> matrices;
  const LatentAttention& latent = model.latent;
  if (latent.key_rank > 0) {
    const std::int64_t query = model.heads * (latent.plain_width + latent.rotary_width) / tensor;
    const std::int64_t value = model.heads * latent.value_width / tensor;
    const std::int64_t plain = model.heads * latent.plain_width / tensor;
    matrices = {matrix(latent.query_rank > 0 ? latent.query_rank : model.hidden, query),
                matrix(model.hidden, latent.query_rank + latent.key_rank + latent.rotary_width),
                matrix(latent.key_rank, plain + value), matrix(value, model.hidden)};
  } else {
    const std::int64_t query = model.heads * model.head_width / tensor;
    const std::int64_t key = model.kv_heads * model.head_width / tensor;
    matrices = {matrix(model.hidden, query + 2 * key), matrix(query, model.hidden)};
  }
  if (sparse) {
    matrices.push_back(matrix(model.hidden, model.experts.count));
  }
  AddFeedForwardMatrices(model, sparse ? model.experts.shared_width : model.ffn, tensor, matrices);
  return matrices;
}

/// What a rank keeps of a layer with `whole` weights; norms and biases divide.
double KeptOfLayer(const ModelShape& model, const Plan& plan, bool sparse, double whole) {
  const std::int64_t shards = plan.data * plan.context;
  double kept = 0;
  double rest = whole;
  for (const Matrix& matrix : MatricesOf(model, plan.tensor, sparse)) {
    kept += Kept(matrix, shards);
    rest -= matrix.numbers;
  }
  return kept + std::max(0.0, rest) / Real(shards);
}

/// A stage's weights, whole and as its rank keeps them.
struct Held {
  double whole = 0;
  double cut = 0;
  StageWeights weights = {};
};

Held HeldOf(const TrainingJob& job, const JobFacts& facts, const Plan& plan, std::int64_t stage) {
  const StageWeights weights = WeightsOf(job, facts, plan, stage);
  const ModelShape& model = job.model;
  const ModelParameters& all = facts.parameters;
  const std::int64_t shards = plan.data * plan.context;
  const auto layers = [&](double count, const LayerParameters& layer, bool sparse) {
    const double whole = Real(layer.matrices) / Real(plan.tensor) + Real(layer.whole);
    return count > 0 ? count * KeptOfLayer(model, plan, sparse, whole) : 0;
  };
  // A table that two stages share is not cut by the optimizer.
  const bool copied = plan.pipeline > 1 && (model.tied || model.prediction_layers > 0);
  const bool end = stage == 0 || stage == plan.pipeline - 1;
  const double shared = copied && end ? Real(all.embedding) / Real(plan.tensor) : 0.0;
  const double tables = weights.ends - shared;
  const double counted =
      weights.dense_layers *
          (Real(all.dense.matrices) / Real(plan.tensor) + Real(all.dense.whole)) +
      weights.sparse_layers *
          (Real(all.sparse.matrices) / Real(plan.tensor) + Real(all.sparse.whole));
  // Positions, last norm, layers that predict further tokens.
  const double rest = weights.plain - counted - weights.ends;
  const std::int64_t expert_shards = std::max<std::int64_t>(1, shards * plan.tensor / plan.expert);
  return {.whole = weights.plain + weights.experts,
          .cut = layers(weights.dense_layers, all.dense, false) +
                 layers(weights.sparse_layers, all.sparse, true) +
                 Kept({tables, model.vocabulary / plan.tensor}, shards) + shared +
                 rest / Real(shards) +
                 Kept({weights.experts, model.experts.count / plan.expert}, expert_shards),
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

/// Copies of weights as products take them: they live through the step below level 3, where
/// optimizer parallelism gathers them for every pass instead.
double GatheredBytes(const TrainingJob& job, const Plan& plan, const Held& held) {
  const Storage& storage = job.storage;
  if (plan.optimizer_level < 1 && storage.computed >= storage.weight) {
    return 0;
  }
  if (plan.pipeline > 1 || plan.optimizer_level < 3) {
    return storage.computed * held.whole;
  }
  const bool held_back = plan.recompute == Recompute::kFull && MicroBatches(job, plan) == 1;
  return held_back ? storage.computed * held.weights.table : 0;
}

/// Logits of a rank.
double LogitsOf(const TrainingJob& job, const Plan& plan) {
  const double tokens = Real(job.sequence) * Real(plan.micro_batch) / Real(plan.context);
  const double heads = 1 + 0.4 * Real(job.model.prediction_layers);  // each has logits of its own
  return heads * Real(job.model.vocabulary) * tokens / Real(plan.tensor);
}

/// Bytes for each logit at the loss. In a pipeline one gradient, in 32 bits, begins all micro
/// batches and lives through the step.
double LogitBytes(const TrainingJob& job, const Plan& plan) {
  const bool several = MicroBatches(job, plan) > 1;
  const double first_gradient = several ? kWhole : 0;
  if (plan.pipeline > 1) {
    return plan.interleave > 1 ? 1.83 * job.logit_bytes : job.logit_bytes + first_gradient;
  }
  if (plan.optimizer_level >= 3) {
    return job.logit_bytes + 4.5;
  }
  const double half_sums = job.storage.gradient < kWhole && several ? 4 : 0;
  return job.logit_bytes + half_sums + (several ? 4.5 : 2.5);
}

double LossBytes(const TrainingJob& job, const Plan& plan) {
  const double tokens = Real(job.sequence) * Real(plan.micro_batch) / Real(plan.context);
  return 2 * kHalfBytes * Real(job.model.hidden) * tokens +
         LogitBytes(job, plan) * LogitsOf(job, plan);
}

/// Without stages a step of several micro batches may need more elsewhere than at the loss: where a
/// micro batch begins at level 3 and all its weights are gathered, or where it ends at level 2 with
/// all gradients whole. They wait to be added up; other collectives in between would let go of
/// them.
void RaiseToOtherMoments(const TrainingJob& job, const Plan& plan, const Held& held,
                         StageMemory& memory) {
  if (plan.pipeline > 1 || MicroBatches(job, plan) == 1) {
    return;
  }
  const Storage& storage = job.storage;
  const double table = storage.computed * held.weights.table;
  const bool alone = plan.tensor == 1 && plan.context == 1 && plan.expert == 1;
  const double at_loss = memory.activations + memory.borders + memory.gathered;
  StageMemory other = memory;
  other.activations = other.borders = 0;
  other.gathered = storage.computed * held.whole;
  if (plan.optimizer_level == 2 && alone) {
    const double summed = 1 - held.weights.table / std::max(held.whole, 1.0);
    other.transient = storage.gradient * (held.whole + held.cut * summed) + table;
    other.borders = kWhole * LogitsOf(job, plan);
  }
  if (other.borders + other.transient + other.gathered > at_loss) {
    memory = other;
  }
}

/// Where the backward pass of a stage without a loss begins: gradients of the largest matrices,
/// with interleaved parts those of two layers.
double BackwardBytes(const TrainingJob& job, const Plan& plan, const Held& held) {
  const Storage& storage = job.storage;
  return (storage.gradient + storage.computed) * held.weights.layer / 4 +
         (plan.interleave > 1 ? 2 * kWhole * held.weights.layer : 0);
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
    memory.borders = LossBytes(job, plan);
    RaiseToOtherMoments(job, plan, held, memory);
    return memory;
  }
  // Either the first layer of the backward pass, or behind its last one the table's gradient.
  const double again = plan.recompute == Recompute::kNone ? 0 : layer.whole - layer.kept;
  const double first = BackwardBytes(job, plan, held) + again;
  const double table = (job.storage.gradient + job.storage.computed) * held.weights.table;
  const double behind = plan.interleave > 1 ? table : table - one;
  memory.transient = std::max(first, behind);
  return memory;
}

}  // namespace drydock::sim
