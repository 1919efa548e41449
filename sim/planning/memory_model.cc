// Device memory in closed form.
//
// Three sums: what a weight costs times the weights of the rank; what a layer keeps for its
// backward pass times the layers and micro batches under way; and the ends of the model, where the
// logits are. Example (arXiv 2205.05198, figure 1): 48 layers of width 6144 with 64 heads, 4
// sequences of 2048 tokens, 8 tensor parts keep s b h (10 + 24/8 + 5 * 64 * 2048 / (6144 * 8)) =
// 1,325,400,064 bytes each, 59.25 GiB together.
//
// The compiled graph is the primary source (`drydock plan` runs the best plans in full); the closed
// form is what lets a hundred thousand plans a second be looked at.
#include "sim/planning/memory_model.h"

#include <algorithm>

#include "sim/planning/mindspore_memory.h"
#include "sim/planning/numbers.h"

namespace drydock::sim {
namespace {

/// Sizes of a layer on one rank: tokens, and how often things are cut.
struct Cut {
  double tokens = 0;  ///< Of a micro batch, after context parallelism.
  double whole =
      0;  ///< The same where tensor parallelism does not cut, tokens cut by sequence parallelism.
  double tensor = 1;
};

Cut CutOf(const TrainingJob& job, const Plan& plan) {
  const double tokens = Real(job.sequence) * Real(plan.micro_batch) / Real(plan.context);
  const double tensor = Real(plan.tensor);
  return {.tokens = tokens,
          .whole = plan.sequence_parallel ? tokens / tensor : tokens,
          .tensor = tensor};
}

/// Widths of queries, keys and values of all heads.
struct Widths {
  double query = 0;
  double key = 0;
  double value = 0;
  double result = 0;
  double compressed = 0;  ///< Narrow vectors before them, with and without norm.
};

Widths WidthsOf(const ModelShape& model) {
  const double heads = Real(model.heads);
  if (model.latent.key_rank > 0) {
    const LatentAttention& latent = model.latent;
    const double query = heads * Real(latent.plain_width + latent.rotary_width);
    return {
        .query = query,
        .key = query,
        .value = heads * Real(latent.value_width),
        .result = heads * Real(latent.value_width),
        .compressed = 2 * Real(latent.query_rank + latent.key_rank) + Real(latent.rotary_width)};
  }
  const double query = heads * Real(model.head_width);
  const double key = Real(model.kv_heads) * Real(model.head_width);
  return {.query = query, .key = key, .value = key, .result = query};
}

/// Bytes for each pair of tokens: the softmax' result, with dropout its mask and what is left of
/// it.
double PairBytes(const TrainingJob& job) {
  return job.attention == AttentionKernel::kFused
             ? 0
             : kHalfBytes + (job.model.dropout ? 1 + kHalfBytes : 0);
}

/// Bytes of a feed-forward block of width `width` for one token, without its input.
double BlockBytes(const TrainingJob& job, double width) {
  const double copies = job.model.gated ? (job.fused_gate ? 3 : 4) : 2;
  return kHalfBytes * copies * width;
}

double ExpertBytes(const TrainingJob& job, const Cut& cut) {
  const ModelShape& model = job.model;
  const double routed = Real(model.experts.per_token) * cut.tokens / cut.tensor;
  // Input and output of an expert, each once in the order of tokens and once in that of experts;
  // MindSpore keeps the latter input and the former output.
  const double copies = job.storage.cut_weights ? 2 : 4;
  const double one =
      copies * kHalfBytes * Real(model.hidden) + BlockBytes(job, Real(model.experts.width));
  return routed * one +
         cut.tokens / cut.tensor * BlockBytes(job, Real(model.experts.shared_width)) +
         4 * Real(model.experts.count) * cut.whole;
}

LayerActivations WholeLayer(const TrainingJob& job, const Plan& plan, bool sparse) {
  const ModelShape& model = job.model;
  const Cut cut = CutOf(job, plan);
  const Widths widths = WidthsOf(model);
  const double hidden = Real(model.hidden);
  const double mask = model.dropout ? 1 : 0;
  LayerActivations layer;
  layer.attention =
      PairBytes(job) * Real(model.heads) * cut.tokens * Real(job.sequence) / cut.tensor;
  // Of norms and first products. MindSpore keeps what is gathered for a product.
  const bool keeps = job.storage.cut_weights;
  const double gathered = keeps || job.distributed_tensors ? cut.tokens : cut.whole;
  const double inputs =
      ((2 * kHalfBytes + 2 * mask) * cut.whole + 2 * kHalfBytes * gathered) * hidden;
  const double projections = kHalfBytes *
                             (widths.query + widths.result +
                              (widths.key + widths.value) * (keeps ? Real(plan.context) : 1)) *
                             cut.tokens / cut.tensor;
  const double sums = job.attention == AttentionKernel::kFused
                          ? job.attention_sum_bytes * Real(model.heads) * cut.tokens / cut.tensor
                          : 0;
  const double block =
      sparse ? ExpertBytes(job, cut) : BlockBytes(job, Real(model.ffn)) * cut.tokens / cut.tensor;
  layer.whole = layer.attention + inputs + projections + sums + block +
                kHalfBytes * widths.compressed * cut.whole;
  return layer;
}

/// Every second product and the attention's result: the layer's input, queries, values, result,
/// gate, and the output of the last product.
double ProductsKept(const TrainingJob& job, const Plan& plan) {
  const ModelShape& model = job.model;
  const Cut cut = CutOf(job, plan);
  const Widths widths = WidthsOf(model);
  return kHalfBytes * 2 * Real(model.hidden) * cut.whole +
         (kHalfBytes * (widths.query + widths.value + widths.result + Real(model.ffn)) +
          job.attention_sum_bytes * Real(model.heads)) *
             cut.tokens / cut.tensor;
}

void AddWeights(const TrainingJob& job, const Plan& plan, const StageWeights& weights,
                StageMemory& memory) {
  const Storage& storage = job.storage;
  const double shards = Real(plan.data * plan.context);
  const double expert_shards =
      std::max(1.0, Real(plan.data * plan.context * plan.tensor) / Real(plan.expert));
  const auto held = [&](bool cut) {
    return cut ? weights.plain / shards + weights.experts / expert_shards
               : weights.plain + weights.experts;
  };
  memory.weights = storage.weight * held(plan.optimizer_level >= 3);
  memory.gradients =
      storage.gradient * held(plan.optimizer_level >= 2) + storage.accumulation * held(false);
  memory.optimizer = storage.optimizer * held(plan.optimizer_level >= 1);
  if (plan.optimizer_level >= 3) {
    // The unit in use, the next one, and the gradient of the one in use.
    memory.gathered = weights.largest * 3 * storage.computed;
  } else if (plan.optimizer_level == 2) {
    memory.gathered = weights.largest * storage.gradient;
  }
}

double BorderBytes(const TrainingJob& job, const Plan& plan, std::int64_t stage) {
  const Cut cut = CutOf(job, plan);
  const double hidden = Real(job.model.hidden);
  double bytes = 0;
  if (stage == 0) {
    const double under_way = MicroBatchesUnderWay(job, plan, 0);
    bytes += under_way * (4 * cut.tokens + (job.model.dropout ? hidden * cut.whole : 0));
  }
  if (stage == plan.pipeline - 1) {
    bytes += 2 * kHalfBytes * hidden * cut.whole;
    bytes += job.logit_bytes * Real(job.model.vocabulary) * cut.tokens / cut.tensor;
  }
  return bytes;
}

/// What PyTorch's programs hold beyond the terms of their layers: whole gradients of gathered
/// inputs and of outputs that are scattered, those of a layer's weights before they are added up,
/// and buffers of a stage for what it receives and what it has sent, one for each micro batch.
/// Source: pytorch/pytorch: torch/distributed/pipelining/stage.py,
/// torch/distributed/fsdp/_fully_shard/_fsdp_param.py; pytorch/torchtitan: README.md
void AddDistributedTensors(const TrainingJob& job, const Plan& plan, std::int64_t stage,
                           StageMemory& memory) {
  const Cut cut = CutOf(job, plan);
  const double row = kHalfBytes * Real(job.model.hidden);
  const bool gathers = plan.tensor > 1 && plan.sequence_parallel;
  const bool last = stage == plan.pipeline - 1;
  memory.transient += gathers ? 2 * row * cut.tokens : 0;
  memory.borders += gathers && last ? 2 * row * cut.tokens : 0;  // Of the head.
  if (plan.pipeline > 1) {
    const double buffers = (stage > 0 ? 1 : 0) + (last ? 0 : 2);
    memory.borders += buffers * Real(MicroBatches(job, plan)) * row * cut.whole;
    const StageWeights weights = WeightsOf(job, FactsOf(job), plan, stage);
    memory.gathered += (job.storage.computed + job.storage.gradient) * weights.layer;
  }
}

}  // namespace

StageWeights WeightsOf(const TrainingJob& job, const JobFacts& facts, const Plan& plan,
                       std::int64_t stage) {
  const ModelParameters& all = facts.parameters;
  const double tensor = Real(plan.tensor);
  const std::int64_t layers = LayersOf(job, plan, stage);
  // Dense layers come first in every model that has both.
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < stage; ++i) {
    first += LayersOf(job, plan, i);
  }
  const double dense = Real(std::clamp<std::int64_t>(all.dense_layers - first, 0, layers));
  const double sparse = Real(layers) - dense;
  const auto plain = [tensor](const LayerParameters& layer) {
    return Real(layer.matrices) / tensor + Real(layer.whole);
  };
  StageWeights weights{.dense_layers = dense, .sparse_layers = sparse};
  weights.plain = dense * plain(all.dense) + sparse * plain(all.sparse);
  weights.experts = sparse * Real(all.sparse.experts) / Real(plan.expert);
  const double sparse_layer = plain(all.sparse) + Real(all.sparse.experts) / Real(plan.expert);
  weights.layer = sparse > 0 ? sparse_layer : plain(all.dense);
  weights.largest = std::max(plain(all.dense), sparse_layer);
  const bool last = stage == plan.pipeline - 1;
  if (stage == 0) {
    weights.table = Real(all.embedding) / tensor;
    weights.ends = weights.table;
    weights.plain += weights.table + Real(all.positions);
  }
  if (last) {
    const bool copied = (job.model.tied || all.prediction > 0) && plan.pipeline > 1;
    const double head = (Real(all.head) + (copied ? Real(all.embedding) : 0)) / tensor;
    weights.ends += head;
    // Layers that predict further tokens: their experts are cut as others are.
    const double predicted_experts =
        Real(job.model.prediction_layers) * Real(all.sparse_layers > 0 ? all.sparse.experts : 0);
    weights.plain +=
        head + Real(all.final_norm) + (Real(all.prediction) - predicted_experts) / tensor;
    weights.experts += predicted_experts / Real(plan.expert);
  }
  if (stage == 0 || last) {
    weights.largest = std::max(weights.largest, Real(all.embedding) / tensor);
  }
  return weights;
}

JobFacts FactsOf(const TrainingJob& job) {
  return {.parameters = CountParameters(job.model)};
}

LayerActivations ActivationsOf(const TrainingJob& job, const Plan& plan, bool sparse) {
  LayerActivations layer = WholeLayer(job, plan, sparse);
  switch (plan.recompute) {
    case Recompute::kNone:
      layer.kept = layer.whole;
      break;
    case Recompute::kSelective:
      layer.kept = layer.whole - layer.attention;
      break;
    case Recompute::kProducts:
      layer.kept = sparse ? layer.whole - layer.attention : ProductsKept(job, plan);
      break;
    case Recompute::kFull:
      layer.kept = kHalfBytes * Real(job.model.hidden) * CutOf(job, plan).whole;
      break;
  }
  return layer;
}

double MicroBatchesUnderWay(const TrainingJob& job, const Plan& plan, std::int64_t stage) {
  const double all = Real(std::max<std::int64_t>(1, MicroBatches(job, plan)));
  const std::int64_t behind = plan.pipeline - stage - 1;
  if (plan.interleave == 1) {
    return std::min(all, Real(behind + 1));
  }
  const double parts = Real(2 * behind + (plan.interleave - 1) * plan.pipeline + 1);
  return std::min(all, parts / Real(plan.interleave));
}

std::int64_t LayersOf(const TrainingJob& job, const Plan& plan, std::int64_t stage) {
  const std::int64_t each = job.model.layers / plan.pipeline;
  const std::int64_t rest = job.model.layers % plan.pipeline;
  const std::int64_t begin = (plan.pipeline - rest) / 2;
  return each + (stage >= begin && stage < begin + rest ? 1 : 0);
}

StageMemory MemoryOf(const TrainingJob& job, const JobFacts& facts, const Plan& plan,
                     std::int64_t stage) {
  if (job.storage.cut_weights) {
    return MindsporeMemoryOf(job, facts, plan, stage);
  }
  StageMemory memory;
  AddWeights(job, plan, WeightsOf(job, facts, plan, stage), memory);
  const bool experts = facts.parameters.sparse_layers > 0;
  const LayerActivations layer = ActivationsOf(job, plan, experts);
  memory.activations =
      MicroBatchesUnderWay(job, plan, stage) * Real(LayersOf(job, plan, stage)) * layer.kept;
  memory.transient = plan.recompute == Recompute::kNone ? 0 : layer.whole - layer.kept;
  memory.borders = BorderBytes(job, plan, stage);
  if (job.distributed_tensors) {
    AddDistributedTensors(job, plan, stage, memory);
  }
  return memory;
}

PlanMemory MemoryOf(const TrainingJob& job, const JobFacts& facts, const Plan& plan) {
  PlanMemory most{.stage = 0, .bytes = MemoryOf(job, facts, plan, 0)};
  for (const std::int64_t stage : {plan.pipeline / 2, plan.pipeline - 1}) {
    const StageMemory bytes = MemoryOf(job, facts, plan, stage);
    if (bytes.Sum() > most.bytes.Sum()) {
      most = {.stage = stage, .bytes = bytes};
    }
  }
  return most;
}

}  // namespace drydock::sim
