// Closed forms of memory against arXiv 2205.05198 (figures 1 and 7), arXiv 1910.02054 and
// NVIDIA/Megatron-LM: docs/source/api-guide/dist_optimizer.md.
#include "sim/planning/memory_model.h"

#include <gtest/gtest.h>

namespace drydock::sim {
namespace {

ModelShape Gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  return {.layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_width = hidden / heads,
          .ffn = 4 * hidden,
          .vocabulary = 51200,
          .sequence = 2048,
          .position_rows = 2048,
          .positions = Positions::kLearned,
          .tied = true,
          .norm_bias = true,
          .query_bias = true,
          .output_bias = true,
          .mlp_bias = true,
          .dropout = true};
}

TrainingJob Job(const ModelShape& model, std::int64_t devices, std::int64_t batch) {
  return {.model = model,
          .sequence = 2048,
          .global_batch = batch,
          .devices = devices,
          .attention = AttentionKernel::kPlain};
}

const TrainingJob k22B = Job(Gpt(48, 6144, 64), 8, 4);
const TrainingJob k175B = Job(Gpt(96, 12288, 96), 64, 64);

TEST(Activations, OfA22BillionLayerWithoutRecomputation) {
  // s b h (10 + 24 / t + 5 a s / (h t)) = 2048 * 4 * 6144 * (10 + 3 + 5 * 64 * 2048 / (6144 * 8)).
  const Plan plan{.tensor = 8, .micro_batch = 4};
  EXPECT_EQ(ActivationsOf(k22B, plan, false).kept, 1325400064.0);
  // 48 layers: 59.25 GiB.
  EXPECT_EQ(MemoryOf(k22B, FactsOf(k22B), plan, 0).activations, 59.25 * 1073741824.0);
}

TEST(Activations, SequenceParallelAndSelectiveRecomputation) {
  // 34 s b h / 8 = 213,909,504.
  const Plan plan{
      .tensor = 8, .micro_batch = 4, .sequence_parallel = true, .recompute = Recompute::kSelective};
  EXPECT_EQ(ActivationsOf(k22B, plan, false).kept, 213909504.0);
}

TEST(Activations, FullRecomputationKeepsTheLayersInput) {
  // 2 s b h.
  const Plan plan{.tensor = 8, .micro_batch = 4, .recompute = Recompute::kFull};
  EXPECT_EQ(ActivationsOf(k22B, plan, false).kept, 2.0 * 2048 * 4 * 6144);
}

TEST(Activations, OfTheFirstStageOfAnInterleavedPipeline) {
  // 12 layers a stage, 8 (1 + 7 / (8 * 3)) micro batches: 66.84375 GiB without, 12.3515625 GiB with
  // sequence parallelism and selective recomputation.
  Plan plan{.tensor = 8, .pipeline = 8, .interleave = 3};
  EXPECT_EQ(MemoryOf(k175B, FactsOf(k175B), plan, 0).activations, 66.84375 * 1073741824.0);
  plan.sequence_parallel = true;
  plan.recompute = Recompute::kSelective;
  EXPECT_EQ(MemoryOf(k175B, FactsOf(k175B), plan, 0).activations, 12.3515625 * 1073741824.0);
}

TEST(Activations, OfALlamaLayerWithFusedAttention) {
  // bytes / (s b): 12 h (norm and product inputs 8 h, queries 2 h, result 2 h) + 4 k d + 4 a + 8 f
  // = 49152 + 4096 + 128 + 114688.
  ModelShape llama{.layers = 32,
                   .hidden = 4096,
                   .heads = 32,
                   .kv_heads = 8,
                   .head_width = 128,
                   .ffn = 14336,
                   .vocabulary = 128256,
                   .gated = true};
  TrainingJob job = Job(llama, 1, 1);
  job.attention = AttentionKernel::kFused;
  EXPECT_EQ(ActivationsOf(job, Plan{}, false).kept, 2048.0 * (49152 + 4096 + 128 + 114688));
}

TEST(Activations, MicroBatchesUnderWay) {
  // 1F1B: stage i holds min(m, p - i).
  const Plan plain{.pipeline = 8};
  EXPECT_EQ(MicroBatchesUnderWay(k175B, plain, 0), 8);
  EXPECT_EQ(MicroBatchesUnderWay(k175B, plain, 7), 1);
  // Interleaved in 3 parts: stage 0 warms up with 2 * 7 + 2 * 8 parts and holds one more: 31 / 3.
  EXPECT_DOUBLE_EQ(MicroBatchesUnderWay(k175B, {.pipeline = 8, .interleave = 3}, 0), 31.0 / 3);
  // No more than there are.
  TrainingJob few = k175B;
  few.global_batch = 2;
  EXPECT_EQ(MicroBatchesUnderWay(few, plain, 0), 2);
}

/// Layers only, 7.5e9 weights: 40 layers of width 3952 would not divide, so one table stands for
/// all.
double BytesPerWeight(const Storage& storage, std::int64_t level, std::int64_t data) {
  TrainingJob job = Job({.layers = 1,
                         .hidden = 1024,
                         .heads = 1,
                         .kv_heads = 1,
                         .head_width = 1024,
                         .ffn = 1 << 20,
                         .vocabulary = 1},
                        data, data);
  job.storage = storage;
  const JobFacts facts = FactsOf(job);
  const StageMemory memory = MemoryOf(job, facts, {.data = data, .optimizer_level = level}, 0);
  return (memory.weights + memory.gradients + memory.optimizer) /
         static_cast<double>(facts.parameters.Sum());
}

TEST(OptimizerState, BytesPerWeightOfThePublishedSchemes) {
  // arXiv 1910.02054, 64 devices: 16; 2 + 2 + 12/64; 2 + 14/64; 16/64.
  const Storage zero{.weight = 2, .gradient = 2, .optimizer = 12};
  EXPECT_DOUBLE_EQ(BytesPerWeight(zero, 0, 64), 16);
  EXPECT_DOUBLE_EQ(BytesPerWeight(zero, 1, 64), 4 + 12.0 / 64);
  EXPECT_DOUBLE_EQ(BytesPerWeight(zero, 2, 64), 2 + 14.0 / 64);
  EXPECT_DOUBLE_EQ(BytesPerWeight(zero, 3, 64), 16.0 / 64);
  // Megatron, bf16 weights and fp32 gradients: 18; 6 + 12/d.
  const Storage megatron{.weight = 2, .gradient = 4, .optimizer = 12};
  EXPECT_DOUBLE_EQ(BytesPerWeight(megatron, 0, 8), 18);
  EXPECT_DOUBLE_EQ(BytesPerWeight(megatron, 1, 8), 6 + 12.0 / 8);
}

TEST(MindsporeMemory, StateOfAShardedOptimizerWithMicroBatches) {
  // 8 layers of width 4096: 4096 * (4096 + 2 * 1024 + 4096 + 3 * 14336) + 2 * 4096 weights each,
  // two tables of 128256 x 4096, one norm.
  const std::int64_t layer = 4096LL * (4096 + 2048 + 4096 + 3 * 14336) + 2 * 4096;
  const auto weights = static_cast<double>(8 * layer + 2 * 128256LL * 4096 + 4096);
  TrainingJob job = Job({.layers = 8,
                         .hidden = 4096,
                         .heads = 32,
                         .kv_heads = 8,
                         .head_width = 128,
                         .ffn = 14336,
                         .vocabulary = 128256,
                         .gated = true},
                        8, 64);
  job.storage = {.weight = 4, .gradient = 4, .optimizer = 8, .cut_weights = true};
  job.attention = AttentionKernel::kFused;
  const JobFacts facts = FactsOf(job);
  Plan plan{.data = 8, .optimizer_level = 1};
  // Weights and moments are cut over 8 replicas, the sum of gradients is not; zeros clear both.
  StageMemory memory = MemoryOf(job, facts, plan, 0);
  EXPECT_DOUBLE_EQ(memory.weights, 4 * weights / 8);
  EXPECT_DOUBLE_EQ(memory.optimizer, 8 * weights / 8);
  EXPECT_DOUBLE_EQ(memory.gradients, 4 * weights);
  EXPECT_DOUBLE_EQ(memory.constants, 4 * weights + 4 * weights / 8);
  plan.optimizer_level = 2;
  memory = MemoryOf(job, facts, plan, 0);
  EXPECT_DOUBLE_EQ(memory.gradients, 4 * weights / 8);
  EXPECT_DOUBLE_EQ(memory.constants, 2 * 4 * weights / 8);
  // One micro batch needs no sum: 64 samples, 8 at a time on 8 replicas.
  plan.micro_batch = 8;
  memory = MemoryOf(job, facts, plan, 0);
  EXPECT_EQ(memory.gradients + memory.constants, 0);
}

TEST(MindsporeMemory, WhatDoesNotDivideIsNotCut) {
  // 24 experts on 4 of 16 replicas: 6 for each device, which the other 4 replicas cannot share.
  ModelShape model = Gpt(2, 1024, 16);
  model.tied = false;
  model.experts = {.count = 24, .per_token = 2, .width = 512, .layers = 2};
  TrainingJob job = Job(model, 16, 16);
  job.storage = {.weight = 4, .gradient = 4, .optimizer = 8, .cut_weights = true};
  const auto weights = [&](std::int64_t expert) {
    return MemoryOf(job, FactsOf(job), {.data = 16, .expert = expert, .optimizer_level = 1}, 0)
               .weights /
           4;
  };
  // An expert has 2 * 1024 * 512 weights. On 4 parts a rank keeps 6 of them in each of 2 layers; on
  // 2 parts 12, which 8 replicas cannot share either.
  const double expert = 2.0 * 1024 * 512;
  EXPECT_NEAR(weights(2) - weights(4), 2 * (12 - 6) * expert, 1);
  // On one part 24 experts, which 16 cannot share.
  EXPECT_NEAR(weights(1) - weights(4), 2 * (24 - 6) * expert, 1);
  // 32 experts: 8 on 4 parts, which 4 replicas share.
  job.model.experts.count = 32;
  const double routers = 2.0 * 1024 * (32 - 24) / 16;
  EXPECT_NEAR(
      weights(4),
      [&] {
        job.model.experts.count = 24;
        const double before = weights(4);
        job.model.experts.count = 32;
        return before - 2 * 6 * expert + 2 * 2 * expert + routers;
      }(),
      1);
}

TEST(Plans, TextReadsBackAsTheSamePlan) {
  const Plan plan{.data = 8,
                  .tensor = 4,
                  .pipeline = 16,
                  .interleave = 2,
                  .context = 2,
                  .expert = 4,
                  .micro_batch = 3,
                  .optimizer_level = 1,
                  .sequence_parallel = true,
                  .recompute = Recompute::kSelective};
  EXPECT_EQ(PlanText(plan), "dp8 tp4 pp16 vpp2 cp2 ep4 mb3 op1 sp selective");
  const auto again = ParsePlan(PlanText(plan));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, plan);
  const auto bad = ParsePlan("dp8 tq4");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "'tq4' is not part of a plan");
}

TEST(Plans, ContradictionsAreNamed) {
  const auto message = [](const Plan& plan) {
    const Status status = CheckPlan(k175B, plan);
    return status ? std::string("possible") : status.error().message;
  };
  EXPECT_EQ(message({.data = 1, .tensor = 8, .pipeline = 8}), "possible");
  EXPECT_EQ(message({.data = 2, .tensor = 8, .pipeline = 8}),
            "the plan takes 128 devices, the job has 64");
  EXPECT_EQ(message({.data = 1, .tensor = 64}),
            "96 attention heads cannot be divided by 64 tensor parts");
  EXPECT_EQ(message({.data = 1, .tensor = 8, .pipeline = 8, .micro_batch = 3}),
            "64 samples cannot be divided by 3 samples at once");
  EXPECT_EQ(message({.data = 8, .tensor = 8, .expert = 2}), "the model has no experts to cut");
}

TEST(Memory, DistributedTensorsAreWholeWhereProductsAreCut) {
  // 4 tensor parts, 2 stages, 2 micro batches of 1024 tokens, width 512: a row has 1 KiB. Two
  // inputs of a layer are kept by all parts instead of one, 3/4 of 1 MiB each; two gradients are
  // whole, 2 MiB. A first stage has two buffers for each micro batch, 1024 / 4 rows each.
  TrainingJob job{.model = {.layers = 2,
                            .hidden = 512,
                            .heads = 8,
                            .kv_heads = 8,
                            .head_width = 64,
                            .ffn = 1024,
                            .vocabulary = 1024},
                  .sequence = 1024,
                  .global_batch = 2,
                  .devices = 8};
  const Plan plan{.tensor = 4, .pipeline = 2, .sequence_parallel = true};
  const StageMemory before = MemoryOf(job, FactsOf(job), plan, 0);
  job.distributed_tensors = true;
  const StageMemory after = MemoryOf(job, FactsOf(job), plan, 0);
  constexpr double kMebi = 1024.0 * 1024;
  EXPECT_DOUBLE_EQ(after.activations - before.activations, 2 * 2 * 0.75 * kMebi);
  EXPECT_DOUBLE_EQ(after.transient - before.transient, 2 * kMebi);
  EXPECT_DOUBLE_EQ(after.borders - before.borders, 2 * 2 * 0.25 * kMebi);
}

}  // namespace
}  // namespace drydock::sim
