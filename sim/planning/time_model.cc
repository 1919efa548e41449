// Time of a step in closed form.
//
// A layer is a handful of products, an attention, passes over memory between them, and the
// collectives that its cut needs; each has the time that the hardware profile gives for work of its
// size (sim/timing). A stage does its layers for every micro batch; the pipeline adds (p - 1) / v
// of them for filling and draining; what replicas exchange at the end counts as far as the last
// backward pass does not hide it; the optimizer is a pass over its state.
//
// Example: 48 layers of width 6144, 4 x 2048 tokens, 8 tensor parts: the products of a layer are 24
// T h^2 / 8 = 0.93 TFLOP forward, at 0.82 of 312 TFLOP/s 3.6 ms; two AllReduce of 100 MB add 1.5
// ms.
#include "sim/planning/time_model.h"

#include <algorithm>
#include <array>

#include "sim/planning/numbers.h"
#include "sim/timing/collective_time.h"
#include "sim/timing/kernel_time.h"

namespace drydock::sim {
namespace {

/// Type of a product's operands. Heads and routers stay in 16 bits where others have 8.
enum class Width : std::uint8_t { kSixteenBit, kEightBit };

/// A job, a plan and a device, and the questions that terms ask them.
struct Scene {
  const TrainingJob& job;
  const HardwareProfile& hardware;
  const Plan& plan;
  double tokens = 0;  ///< Of a micro batch on a rank.
  double whole = 0;   ///< The same between cut products.
  double tensor = 1;

  [[nodiscard]] double Vector(double bytes) const {
    return KernelSeconds(hardware, {.kind = EfficiencyKind::kVector, .bytes = bytes});
  }
  [[nodiscard]] double Product(double rows, double inner, double columns, Width width) const {
    const auto type =
        width == Width::kEightBit ? strategies::DType::kInt8 : strategies::DType::kBFloat16;
    return KernelSeconds(hardware,
                         {.kind = EfficiencyKind::kProduct,
                          .dtype = type,
                          .flops = 2 * rows * inner * columns,
                          .bytes = kHalfBytes * (rows * inner + inner * columns + rows * columns)});
  }
  [[nodiscard]] double Collective(CollectivePattern pattern, double bytes, std::int64_t size,
                                  std::int64_t stride) const {
    if (size <= 1 || bytes <= 0) {
      return 0;
    }
    CollectiveWork work{.pattern = pattern, .bytes = bytes};
    work.span = SpanOf(hardware, size, stride);
    return CollectiveTime(hardware, work).seconds;
  }
};

Scene SceneOf(const TrainingJob& job, const HardwareProfile& hardware, const Plan& plan) {
  Scene scene{.job = job, .hardware = hardware, .plan = plan};
  scene.tensor = Real(plan.tensor);
  scene.tokens = Real(job.sequence) * Real(plan.micro_batch) / Real(plan.context);
  scene.whole = plan.sequence_parallel ? scene.tokens / scene.tensor : scene.tokens;
  return scene;
}

void AddProductOf(const Scene& scene, Width width, std::array<double, 3> sizes, BlockTime& time) {
  const auto [rows, inner, columns] = sizes;
  if (rows <= 0 || inner <= 0 || columns <= 0) {
    return;
  }
  const double forward = scene.Product(rows, inner, columns, width);
  const double weight = scene.Product(inner, rows, columns, width);
  const double backward = scene.Product(rows, columns, inner, width) + weight;
  time.forward += forward;
  time.backward += backward;
  time.products += forward + backward;
  time.weight_gradients += weight;
  if (width == Width::kEightBit) {
    time.forward += scene.Vector(scene.job.eight_bit_bytes * rows * inner);
    time.backward += scene.Vector(scene.job.eight_bit_bytes * rows * columns);
  }
}

/// One product forward is two backward: for its operand and for its weight.
void AddProduct(const Scene& scene, double rows, double inner, double columns, BlockTime& time) {
  AddProductOf(scene, scene.job.eight_bit_products ? Width::kEightBit : Width::kSixteenBit,
               {rows, inner, columns}, time);
}

/// A pass over memory; backward reads and writes half as much again.
void AddVector(const Scene& scene, double fused_bytes, BlockTime& time) {
  const double bytes = scene.job.memory_passes * fused_bytes;
  time.forward += scene.Vector(bytes);
  time.backward += scene.Vector(1.5 * bytes);
}

/// Matrix units take 16-bit rows of whole 16 bytes; others are multiplied as 32-bit numbers are.
/// Source: BLOOM took 1.4 times as long with heads of 108 as with heads of 216
/// (bigscience-workshop/ bigscience: train/tr11-176B-ml/chronicles-prequel.md).
constexpr std::int64_t kWholeRow = 8;

/// How many times the work of a product counts whose rows are as wide as a head.
double HeadPenalty(const Scene& scene) {
  const double single = scene.hardware.peak_flops[static_cast<std::size_t>(PeakType::kFp32)];
  const double half = PeakFlops(scene.hardware, strategies::DType::kBFloat16);
  const bool whole = scene.job.model.head_width % kWholeRow == 0;
  return whole || single <= 0 ? 1 : std::max(1.0, half / single);
}

/// Core of the attention where scores exist.
void AddPlainCore(const Scene& scene, double query, double value, BlockTime& time) {
  const double heads = Real(scene.job.model.heads) / scene.tensor;
  const double pairs = heads * scene.tokens * Real(scene.job.sequence);
  const double penalty = HeadPenalty(scene);
  const auto batched = [&](double width) {
    return KernelSeconds(
        scene.hardware,
        {.kind = EfficiencyKind::kProduct,
         .dtype = strategies::DType::kBFloat16,
         .flops = penalty * 2 * scene.tokens * Real(scene.job.sequence) * width / scene.tensor,
         .bytes = kHalfBytes * (pairs + 2 * scene.tokens * width / scene.tensor)});
  };
  const double mask = scene.job.model.dropout ? 1 : 0;
  // The softmax reads and writes the scores; dropout reads and writes them and writes a mask.
  const double passes = scene.Vector(2 * kHalfBytes * pairs) +
                        (mask > 0 ? scene.Vector((2 * kHalfBytes + mask) * pairs) : 0);
  const double core = batched(query) + batched(value) + passes;
  time.forward += core;
  time.backward += 2 * batched(query) + 2 * batched(value) + 1.5 * passes;
  time.again += scene.plan.recompute == Recompute::kSelective ? core : 0;
}

/// Core of the attention in one kernel; its backward pass computes the scores once more: 5 products
/// for 2.
void AddFusedCore(const Scene& scene, double query, double value, BlockTime& time) {
  const double share = scene.job.causal ? 0.5 : 1;
  KernelWork work{.kind = EfficiencyKind::kAttention, .dtype = strategies::DType::kBFloat16};
  work.flops = share * 2 * scene.tokens * Real(scene.job.sequence) * (query + value) / scene.tensor;
  work.bytes = kHalfBytes * scene.tokens * 2 * (query + value) / scene.tensor;
  const double core = KernelSeconds(scene.hardware, work);
  time.forward += core;
  work.flops *= 2.5;
  work.bytes *= 2;
  time.backward += KernelSeconds(scene.hardware, work);
}

void AddCore(const Scene& scene, double query, double value, BlockTime& time) {
  if (scene.job.attention == AttentionKernel::kFused) {
    AddFusedCore(scene, query, value, time);
  } else {
    AddPlainCore(scene, query, value, time);
  }
}

void AddLatentAttention(const Scene& scene, BlockTime& time) {
  const ModelShape& model = scene.job.model;
  const LatentAttention& latent = model.latent;
  const double hidden = Real(model.hidden);
  const double heads = Real(model.heads);
  const double query = heads * Real(latent.plain_width + latent.rotary_width);
  const double value = heads * Real(latent.value_width);
  const double query_rank = Real(latent.query_rank);
  AddProduct(scene, scene.whole, hidden, query_rank, time);
  AddProduct(scene, scene.tokens, query_rank > 0 ? query_rank : hidden, query / scene.tensor, time);
  AddProduct(scene, scene.whole, hidden, Real(latent.key_rank + latent.rotary_width), time);
  AddProduct(scene, scene.tokens, Real(latent.key_rank),
             (heads * Real(latent.plain_width) + value) / scene.tensor, time);
  AddVector(scene, 2 * kHalfBytes * (2 * query + value) * scene.tokens / scene.tensor, time);
  AddCore(scene, query, value, time);
  AddProduct(scene, scene.tokens, value / scene.tensor, hidden, time);
}

void AddAttention(const Scene& scene, BlockTime& time) {
  const ModelShape& model = scene.job.model;
  if (model.latent.key_rank > 0) {
    AddLatentAttention(scene, time);
    return;
  }
  const double hidden = Real(model.hidden);
  const double query = Real(model.heads) * Real(model.head_width);
  const double key = Real(model.kv_heads) * Real(model.head_width);
  AddProduct(scene, scene.tokens, hidden, (query + 2 * key) / scene.tensor, time);
  if (model.positions == Positions::kRotary) {
    AddVector(scene, 2 * kHalfBytes * (query + key) * scene.tokens / scene.tensor, time);
  }
  AddCore(scene, query, query, time);
  AddProduct(scene, scene.tokens, query / scene.tensor, hidden, time);
}

void AddFeedForward(const Scene& scene, double tokens, double width, BlockTime& time) {
  if (width <= 0 || tokens <= 0) {
    return;
  }
  const double hidden = Real(scene.job.model.hidden);
  const double columns = scene.job.model.gated ? 2 : 1;
  AddProduct(scene, tokens, hidden, columns * width, time);
  AddVector(scene, kHalfBytes * (columns + 1) * tokens * width, time);
  AddProduct(scene, tokens, width, hidden, time);
}

void AddScaled(const BlockTime& block, double times, BlockTime& sum) {
  sum.forward += times * block.forward;
  sum.backward += times * block.backward;
  sum.again += times * block.again;
  sum.tensor += times * block.tensor;
  sum.context += times * block.context;
  sum.expert += times * block.expert;
  sum.products += times * block.products;
  sum.weight_gradients += times * block.weight_gradients;
}

/// Routing, permuting there and back and the exchanges take about as many launches as eight
/// experts.
constexpr double kRoutingAsExperts = 8;

void AddExperts(const Scene& scene, BlockTime& time) {
  const Experts& experts = scene.job.model.experts;
  const double hidden = Real(scene.job.model.hidden);
  const double tokens = scene.tokens / scene.tensor;
  const double routed = tokens * Real(experts.per_token);
  const double local = Real(experts.count) / Real(scene.plan.expert);
  AddProductOf(scene, Width::kSixteenBit, {tokens, hidden, Real(experts.count)}, time);
  // One grouped product for all experts of the rank, as efficient as one of them is.
  BlockTime one;
  AddFeedForward(scene, routed / local, Real(experts.width), one);
  AddScaled(one, local, time);
  AddVector(scene, 4 * kHalfBytes * routed * hidden, time);  // into the order of experts and back
  AddFeedForward(scene, scene.tokens, Real(experts.shared_width) / scene.tensor, time);
  // How many tokens each expert gets is known to the host only behind the router; from there on the
  // device waits for what is launched, forward and twice that backward.
  const double launches = scene.job.host_expert_seconds * (local + kRoutingAsExperts);
  time.forward += launches;
  time.backward += 2 * launches;
  const double bytes = kHalfBytes * hidden * routed;
  const double all =
      4 * scene.Collective(CollectivePattern::kAllToAll, bytes, scene.plan.expert, 1);
  // Beside it another micro batch is computed, forward with backward.
  time.expert += scene.job.overlap_experts ? std::max(0.05 * all, all - time.Compute()) : all;
}

/// Norms, residual sums and dropout.
void AddBetween(const Scene& scene, BlockTime& time) {
  const double hidden = Real(scene.job.model.hidden);
  const double mask = scene.job.model.dropout ? 1 : 0;
  for (int half = 0; half < 2; ++half) {
    AddVector(scene, 2 * kHalfBytes * scene.whole * hidden, time);
    AddVector(scene, (3 * kHalfBytes + mask) * scene.whole * hidden, time);
  }
}

/// Collectives around the two cut blocks of a layer. With cut tokens each AllReduce is an AllGather
/// and a ReduceScatter of the same volume; the AllGather of inputs that the backward pass repeats
/// runs beside products.
///
/// Example: 4 x 2048 tokens of width 6144 over 8 devices: an AllReduce of 100 MB takes 0.8 ms, four
/// of them 3.1 ms; two are sums of input gradients, which the gradients of the two weights beside
/// them, half of all, hide (2.1 ms at 0.74 of 312 TFLOP/s).
void AddTensorCollectives(const Scene& scene, BlockTime& time) {
  const double bytes = kHalfBytes * scene.tokens * Real(scene.job.model.hidden);
  const std::int64_t size = scene.plan.tensor;
  const auto of = [&](CollectivePattern pattern) {
    return scene.Collective(pattern, bytes, size, 1);
  };
  const bool cut = scene.plan.sequence_parallel;
  const double sum = of(cut ? CollectivePattern::kReduceScatter : CollectivePattern::kAllReduce);
  const double one = sum + (cut ? of(CollectivePattern::kAllGather) : 0);
  const double all = one * (scene.plan.recompute == Recompute::kFull ? 6 : 4);
  switch (scene.job.overlap_tensor) {
    case TensorOverlap::kNone:
      time.tensor += all;
      return;
    case TensorOverlap::kGradients:
      time.tensor += all - std::min(2 * sum, 0.5 * time.weight_gradients);
      return;
    case TensorOverlap::kProducts:
      time.tensor += std::max(all / scene.tensor, all - time.products);
      return;
  }
}

/// Keys and values of the other parts of a sequence; computing on those that are there hides most.
void AddContextCollectives(const Scene& scene, double core, BlockTime& time) {
  const ModelShape& model = scene.job.model;
  const double key = Real(model.kv_heads) * Real(model.head_width);
  const double bytes =
      2 * kHalfBytes * key * Real(scene.job.sequence) * Real(scene.plan.micro_batch) / scene.tensor;
  const double one =
      scene.Collective(CollectivePattern::kAllGather, bytes, scene.plan.context, scene.plan.tensor);
  time.context += std::max(0.3 * one, 3 * one - core);
}

/// Token table, and at the other end norm, head and loss.
BlockTime FirstEnd(const Scene& scene) {
  BlockTime time;
  const double bytes = kHalfBytes * scene.tokens * Real(scene.job.model.hidden);
  AddVector(scene, 2 * kHalfBytes * scene.whole * Real(scene.job.model.hidden), time);
  time.tensor += scene.Collective(CollectivePattern::kAllReduce, bytes, scene.plan.tensor, 1);
  return time;
}

/// Bytes that the kernels of a loss move for each logit where each operator is one. Forward: to 32
/// bits (6), largest (4), difference (8), exponential (8), sum (4), difference (8), the words as
/// ones and zeros (4), product (12), sum (4); backward as compiled steps have it.
constexpr double kLossForwardBytes = 58;
constexpr double kLossBackwardBytes = 102;

BlockTime LastEnd(const Scene& scene) {
  BlockTime time;
  const double columns = Real(scene.job.model.vocabulary) / scene.tensor;
  AddProductOf(scene, Width::kSixteenBit, {scene.tokens, Real(scene.job.model.hidden), columns},
               time);
  if (scene.job.separate_operators) {
    time.forward += scene.Vector(kLossForwardBytes * scene.tokens * columns);
    time.backward += scene.Vector(kLossBackwardBytes * scene.tokens * columns);
  } else {
    AddVector(scene, 12 * scene.tokens * columns, time);
  }
  const double bytes = kHalfBytes * scene.tokens * Real(scene.job.model.hidden);
  time.tensor += scene.Collective(CollectivePattern::kAllReduce, bytes, scene.plan.tensor, 1);
  return time;
}

/// One micro batch on the slowest stage, which sets the pace, and on any other.
struct StageTimes {
  BlockTime slowest = {};
  BlockTime other = {};
};

/// The stage with most layers, and the last one, which has the head and as many layers as there are
/// left for it.
StageTimes TimesOfStages(const Scene& scene, const JobFacts& facts) {
  const Plan& plan = scene.plan;
  const double stages = Real(plan.pipeline);
  const double sparse = Real(facts.parameters.sparse_layers);
  const double layers = Real(facts.parameters.dense_layers) + sparse;
  const double most = Real(LayersOf(scene.job, plan, plan.pipeline / 2));
  BlockTime stage;
  if (facts.parameters.dense_layers > 0) {
    AddScaled(LayerTime(scene.job, scene.hardware, plan, false),
              most * Real(facts.parameters.dense_layers) / layers, stage);
  }
  if (sparse > 0) {
    AddScaled(LayerTime(scene.job, scene.hardware, plan, true), most * sparse / layers, stage);
  }
  BlockTime last = stage;
  // Each layer that predicts a further token has logits of its own.
  const double predicting = Real(scene.job.model.prediction_layers);
  AddScaled(LastEnd(scene), 1 + predicting, last);
  if (predicting > 0) {
    AddScaled(LayerTime(scene.job, scene.hardware, plan, sparse > 0), predicting, last);
  }
  if (stages == 1) {
    AddScaled(FirstEnd(scene), 1, last);
    return {.slowest = last, .other = last};
  }
  const double fewer = Real(LayersOf(scene.job, plan, plan.pipeline - 1)) / most;
  AddScaled(stage, fewer - 1, last);
  return {.slowest = last.Sum() > stage.Sum() ? last : stage, .other = stage};
}

/// Weights of a rank, in numbers.
double RankWeights(const TrainingJob& job, const JobFacts& facts, const Plan& plan) {
  const StageMemory memory = MemoryOf(
      job, facts,
      [&] {
        Plan whole = plan;
        whole.optimizer_level = 0;
        return whole;
      }(),
      0);
  return memory.weights / std::max(job.storage.weight, 1e-9);
}

/// What replicas exchange in a step, less what the backward pass of the last micro batch hides.
double DataTime(const Scene& scene, double weights, const BlockTime& stage, double micro_batches) {
  const Plan& plan = scene.plan;
  const std::int64_t replicas = plan.data * plan.context;
  const double gradients = scene.job.storage.gradient * weights;
  const double gathered = scene.job.storage.computed * weights;
  const std::int64_t stride =
      scene.job.one_ring ? std::max(plan.tensor, scene.hardware.devices_per_node) : plan.tensor;
  const auto time = [&](CollectivePattern pattern, double bytes) {
    return scene.Collective(pattern, bytes, replicas, stride);
  };
  if (replicas <= 1) {
    return 0;
  }
  if (plan.optimizer_level >= 3) {
    const double each = 2 * time(CollectivePattern::kAllGather, gathered) +
                        time(CollectivePattern::kReduceScatter, gradients);
    const double copies = scene.Vector(scene.job.weight_copy_bytes * weights);
    return micro_batches * (std::max(0.05 * each, each - stage.Compute()) + copies);
  }
  const double reduce = plan.optimizer_level == 0
                            ? time(CollectivePattern::kAllReduce, gradients)
                            : time(CollectivePattern::kReduceScatter, gradients);
  const double spread =
      plan.optimizer_level == 0 ? 0 : time(CollectivePattern::kAllGather, gathered);
  if (!scene.job.overlap_data) {
    return reduce + spread;
  }
  if (scene.job.storage.cut_weights && plan.optimizer_level == 2) {
    // Scattered for each micro batch: beside the backward pass, or in a pipeline between two
    // passes.
    const double hidden = plan.pipeline > 1 ? 0 : stage.backward;
    return micro_batches * std::max(0.05 * reduce, reduce - hidden) +
           std::max(0.05 * spread, spread - stage.forward);
  }
  return std::max(0.05 * reduce, reduce - stage.backward) +
         std::max(0.05 * spread, spread - stage.forward);
}

/// The optimizer reads gradient and state, and writes state and weight.
double OptimizerTime(const Scene& scene, double weights) {
  const Plan& plan = scene.plan;
  const double shards = plan.optimizer_level == 0 ? 1 : Real(plan.data * plan.context);
  const Storage& storage = scene.job.storage;
  const double once = storage.gradient + 2 * storage.optimizer + storage.weight;
  const double each = scene.job.optimizer_bytes > 0 ? scene.job.optimizer_bytes : once;
  const double passes = scene.job.separate_operators ? 4 : 1;
  return passes * scene.Vector(each * weights / shards);
}

/// Gradients of one micro batch from 16 to 32 bits, and onto the sum of those before.
double SummingTime(const Scene& scene, double weights, double micro_batches) {
  if (!scene.job.separate_operators) {
    const double share = (micro_batches - 1) / micro_batches;
    return scene.job.summing_bytes > 0 ? share * scene.Vector(scene.job.summing_bytes * weights)
                                       : 0;
  }
  const double shards =
      scene.plan.optimizer_level >= 2 ? Real(scene.plan.data * scene.plan.context) : 1;
  const double cast = (scene.job.storage.gradient + kHalfBytes) * weights;
  const double sum = micro_batches > 1 ? 3 * scene.job.storage.gradient * weights / shards : 0;
  return scene.Vector(cast) + scene.Vector(sum);
}

}  // namespace

BlockTime LayerTime(const TrainingJob& job, const HardwareProfile& hardware, const Plan& plan,
                    bool sparse) {
  const Scene scene = SceneOf(job, hardware, plan);
  BlockTime time;
  AddBetween(scene, time);
  AddAttention(scene, time);
  const double core = time.forward;
  if (sparse) {
    AddExperts(scene, time);
  } else {
    AddFeedForward(scene, scene.tokens, Real(job.model.ffn) / scene.tensor, time);
  }
  AddTensorCollectives(scene, time);
  AddContextCollectives(scene, core, time);
  if (plan.recompute == Recompute::kFull) {
    time.again = time.forward;
  } else if (plan.recompute == Recompute::kProducts) {
    time.again = 0.35 * time.forward;
  }
  const double again = plan.recompute == Recompute::kFull ? 1 : 0;
  time.forward += std::max(0.0, (3 + again) * job.host_layer_seconds - time.Sum());
  return time;
}

StepTime TimeOf(const TrainingJob& job, const JobFacts& facts, const HardwareProfile& hardware,
                const Plan& plan) {
  const Scene scene = SceneOf(job, hardware, plan);
  const auto [stage, other] = TimesOfStages(scene, facts);
  const double micro_batches = Real(std::max<std::int64_t>(1, MicroBatches(job, plan)));
  const double weights = RankWeights(job, facts, plan);
  StepTime step;
  step.compute =
      micro_batches * (stage.forward + stage.backward + SummingTime(scene, weights, micro_batches));
  step.again = micro_batches * stage.again;
  step.tensor = micro_batches * stage.tensor;
  step.context = micro_batches * stage.context;
  step.expert = micro_batches * stage.expert;
  if (plan.pipeline > 1) {
    const double bytes = kHalfBytes * scene.tokens * Real(job.model.hidden) /
                         (job.whole_messages ? 1 : scene.tensor);
    const double message = scene.Collective(CollectivePattern::kMessage, bytes, 2,
                                            plan.tensor * plan.context * plan.data);
    step.pipeline = (job.separate_messages ? 4 : 2) * message *
                    (micro_batches * Real(plan.interleave) + Real(plan.pipeline - 1)) *
                    (plan.interleave > 1 ? 0.5 : 1);
    // While it fills and drains, a micro batch passes the other stages.
    step.bubble = Real(plan.pipeline - 1) / Real(plan.interleave) * other.Sum();
  }
  step.data = DataTime(scene, weights, stage, micro_batches);
  step.optimizer = OptimizerTime(scene, weights);
  return step;
}

double StepFlops(const TrainingJob& job, const Plan& plan, FlopsConvention convention) {
  const ModelShape& model = job.model;
  const double tokens = Real(job.global_batch) * Real(job.sequence);
  const double head = Real(model.vocabulary) * Real(model.hidden);
  const ModelParameters all = CountParameters(model);
  const double norms = Real(all.final_norm);
  const double layers =
      Real(ActiveParameters(model)) - Real(all.embedding + all.positions + all.head) - norms;
  const bool latent = model.latent.key_rank > 0;
  const double widths =
      Real(model.heads) *
      Real(latent ? model.latent.plain_width + model.latent.rotary_width + model.latent.value_width
                  : 2 * model.head_width);
  const double pairs = 2 * Real(model.layers) * Real(job.sequence) * widths *
                       (convention == FlopsConvention::kModelCausal ? 0.5 : 1);
  double each = 3 * (2 * (layers + head) + pairs);
  if (convention == FlopsConvention::kHardware) {
    each += plan.recompute == Recompute::kFull        ? 2 * layers + pairs
            : plan.recompute == Recompute::kSelective ? pairs
                                                      : 0;
  }
  return each * tokens;
}

}  // namespace drydock::sim
