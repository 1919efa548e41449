// Time in closed form and the search, on a device of round numbers.
#include "sim/planning/plan_search.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace drydock::sim {
namespace {

/// 100 TFLOP/s and 1 TB/s at every size, no launch times, one switch of 10 GB/s without latency.
HardwareProfile RoundDevice() {
  HardwareProfile device{.name = "round", .vector_flops = 1e13, .usable_bytes = 64LL << 30};
  device.peak_flops.fill(1e14);
  device.memory_bytes_per_second = 1e12;
  for (EfficiencyCurve& curve : device.efficiency) {
    curve.points = {{.size = 1, .efficiency = 1}};
  }
  device.devices_per_node = 8;
  device.levels = {{.name = "node", .devices = 0, .bytes_per_second = 1e10}};
  return device;
}

TrainingJob SmallJob(std::int64_t devices, std::int64_t batch) {
  return {.model = {.layers = 8,
                    .hidden = 1024,
                    .heads = 16,
                    .kv_heads = 16,
                    .head_width = 64,
                    .ffn = 4096,
                    .vocabulary = 1,
                    .positions = Positions::kNone},
          .sequence = 1024,
          .global_batch = batch,
          .devices = devices,
          .attention = AttentionKernel::kPlain};
}

TEST(StepTime, BubbleIsThatOf1F1BAndOfInterleavedPipelines) {
  // (p - 1) / m of the ideal time for 1F1B, (p - 1) / (v m) interleaved (arXiv 2104.04473, 2.2),
  // where stages are equal: without a head.
  TrainingJob job = SmallJob(4, 16);
  job.model.vocabulary = 0;
  const HardwareProfile device = RoundDevice();
  const auto bubble = [&](std::int64_t interleave) {
    const StepTime step =
        TimeOf(job, FactsOf(job), device, {.pipeline = 4, .interleave = interleave});
    return step.bubble / (step.compute + step.again + step.tensor);
  };
  EXPECT_DOUBLE_EQ(bubble(1), 3.0 / 16);
  EXPECT_DOUBLE_EQ(bubble(2), 3.0 / (2 * 16));
}

TEST(StepTime, FullRecomputationAddsOneForwardPass) {
  const TrainingJob job = SmallJob(1, 1);
  const BlockTime layer = LayerTime(job, RoundDevice(), {.recompute = Recompute::kFull}, false);
  EXPECT_DOUBLE_EQ(layer.again, layer.forward);
}

TEST(StepTime, ALayerTakesAtLeastWhatTheHostNeedsToLaunchIt) {
  // A second forward, two backward, and one more for what is computed again.
  TrainingJob job = SmallJob(1, 1);
  job.host_layer_seconds = 1;
  EXPECT_DOUBLE_EQ(LayerTime(job, RoundDevice(), {}, false).Sum(), 3);
  EXPECT_DOUBLE_EQ(LayerTime(job, RoundDevice(), {.recompute = Recompute::kFull}, false).Sum(), 4);
}

TEST(StepTime, TensorParallelismSendsFourAllReducesALayer) {
  // 2 s b h = 2 MiB each; a ring of 2 sends 2 * 1/2 of it at 10 GB/s; with full recomputation six.
  const TrainingJob job = SmallJob(2, 1);
  const double one = 2.0 * 1024 * 1024 / 1e10;
  EXPECT_NEAR(LayerTime(job, RoundDevice(), {.tensor = 2}, false).tensor, 4 * one, 1e-9);
  EXPECT_NEAR(
      LayerTime(job, RoundDevice(), {.tensor = 2, .recompute = Recompute::kFull}, false).tensor,
      6 * one, 1e-9);
}

TEST(StepTime, ProductsHideSumsOfGradientsOrPiecesOfAllCollectives) {
  // Four AllReduces as above. Weights of a rank: 12 h^2 / 2, whose gradients take 2 T operations
  // each; half of them are beside the two sums of input gradients.
  TrainingJob job = SmallJob(2, 1);
  const double all = 4 * 2.0 * 1024 * 1024 / 1e10;
  const double gradients = 12.0 * 1024 * 1024 / 2 * 2 * 1024 / 1e14;
  job.overlap_tensor = TensorOverlap::kGradients;
  EXPECT_NEAR(LayerTime(job, RoundDevice(), {.tensor = 2}, false).tensor, all - gradients / 2,
              1e-9);
  // Forward and both gradients of the backward pass take three times that, less than one half of
  // the collectives; on a slower network only the first of two pieces is waited for.
  job.overlap_tensor = TensorOverlap::kProducts;
  EXPECT_NEAR(LayerTime(job, RoundDevice(), {.tensor = 2}, false).tensor, all - 3 * gradients,
              1e-9);
  HardwareProfile faster = RoundDevice();
  faster.levels[0].bytes_per_second = 2e10;
  EXPECT_NEAR(LayerTime(job, faster, {.tensor = 2}, false).tensor, all / 2 / 2, 1e-9);
}

TEST(StepTime, ThePipelineFillsThroughStagesWithoutTheHead) {
  // The last of 4 stages has the head and sets the pace of 16 micro batches; on its way there the
  // first one passes three stages of 2 layers.
  TrainingJob job = SmallJob(4, 16);
  job.model.vocabulary = 1 << 16;
  const Plan plan{.pipeline = 4};
  const StepTime step = TimeOf(job, FactsOf(job), RoundDevice(), plan);
  const double layer = LayerTime(job, RoundDevice(), plan, false).Sum();
  EXPECT_DOUBLE_EQ(step.bubble, 3 * 2 * layer);
  EXPECT_GT(step.compute, 16 * 2 * layer);
}

TEST(StepTime, ExpertsAreExchangedBesideAnotherMicroBatchAndLaunchedOneByOne) {
  // 8 experts on 2 devices; 1024 tokens of 2 KiB of a rank go to two of them each: half of 4 MiB
  // leaves the device, four times, at 10 GB/s.
  TrainingJob job = SmallJob(2, 2);
  job.model.experts = {.count = 8, .per_token = 2, .width = 512};
  const Plan plan{.data = 2, .expert = 2};
  const BlockTime plain = LayerTime(job, RoundDevice(), plan, true);
  EXPECT_NEAR(plain.expert, 4 * 0.5 * 2 * 1024 * 2048 / 1e10, 1e-9);
  // The network is a hundred times faster than the products are: a twentieth is waited for.
  HardwareProfile fast = RoundDevice();
  fast.levels[0].bytes_per_second = 1e12;
  job.overlap_experts = true;
  EXPECT_NEAR(LayerTime(job, fast, plan, true).expert, 0.05 * plain.expert / 100, 1e-12);
  // 4 local experts and what routing takes, as much as 8; forward and twice that backward.
  job.host_expert_seconds = 1;
  EXPECT_NEAR(LayerTime(job, fast, plan, true).Compute() - plain.Compute(), 3 * (4 + 8), 1e-9);
}

TEST(StepTime, MessagesBetweenStagesAreThereAndBackForEachMicroBatch) {
  // 2 MiB at 10 GB/s, forward and backward, 16 micro batches and 3 to fill; twice as many one by
  // one.
  TrainingJob job = SmallJob(4, 16);
  const double all = 2 * (16 + 3) * 2.0 * 1024 * 1024 / 1e10;
  EXPECT_NEAR(TimeOf(job, FactsOf(job), RoundDevice(), {.pipeline = 4}).pipeline, all, 1e-9);
  job.separate_messages = true;
  EXPECT_NEAR(TimeOf(job, FactsOf(job), RoundDevice(), {.pipeline = 4}).pipeline, 2 * all, 1e-9);
}

TEST(StepTime, ALossOfSeparateOperatorsIsManyPassesOverItsLogits) {
  // 58 bytes for each of T V logits forward, 102 backward; beside them the head's three products of
  // T h V at 2 operations, and 6 bytes to cast the gradient of each further weight, at 1 TB/s.
  TrainingJob job = SmallJob(1, 1);
  job.separate_operators = true;
  job.model.vocabulary = 0;
  const double before = TimeOf(job, FactsOf(job), RoundDevice(), {}).compute;
  const auto weights = FactsOf(job).parameters.Sum();
  job.model.vocabulary = 1 << 16;
  const double logits = 1024.0 * (1 << 16);
  const double more = static_cast<double>(FactsOf(job).parameters.Sum() - weights);
  EXPECT_NEAR(TimeOf(job, FactsOf(job), RoundDevice(), {}).compute - before,
              160 * logits / 1e12 + 3 * 2 * 1024 * logits / 1e14 + 6 * more / 1e12, 1e-9);
}

TEST(StepTime, OptimizerAndSumsOfGradientsMoveWhatTheProgramSays) {
  // 62 bytes a weight for the step; 6 for each micro batch but the first of 8, at 1 TB/s.
  TrainingJob job = SmallJob(1, 8);
  const double weights = static_cast<double>(FactsOf(job).parameters.Sum());
  const double before = TimeOf(job, FactsOf(job), RoundDevice(), {}).compute;
  job.optimizer_bytes = 62;
  job.summing_bytes = 6;
  const StepTime step = TimeOf(job, FactsOf(job), RoundDevice(), {});
  EXPECT_NEAR(step.optimizer, 62 * weights / 1e12, 1e-9);
  EXPECT_NEAR(step.compute - before, 7 * 6 * weights / 1e12, 1e-9);
}

TEST(StepTime, HeadsThatAreNoWholeRowsMissTheMatrixUnits) {
  // Scores and their product with values: 2 T s operations for each of 16 * 60 columns, each, once
  // forward; as 32-bit numbers at a tenth of the rate.
  TrainingJob job = SmallJob(1, 1);
  job.model.head_width = 60;
  HardwareProfile device = RoundDevice();
  device.memory_bytes_per_second = 1e30;
  const double before = LayerTime(job, device, {}, false).forward;
  device.peak_flops[static_cast<std::size_t>(PeakType::kFp32)] = 1e13;
  EXPECT_NEAR(LayerTime(job, device, {}, false).forward - before,
              9 * 2 * 2.0 * 1024 * 1024 * 960 / 1e14, 1e-9);
}

TEST(StepTime, HeadsStayIn16BitsWhereProductsHave8) {
  // One layer of 2^20 tokens less than nothing to do but its head: 2 T h V, forward and twice that
  // backward, at 1e14; layers at 2e14 where the device is twice as fast in 8 bits.
  TrainingJob job = SmallJob(1, 1);
  job.model.vocabulary = 1 << 20;
  HardwareProfile device = RoundDevice();
  device.memory_bytes_per_second = 1e30;
  device.peak_flops[static_cast<std::size_t>(PeakType::kInt8)] = 2e14;
  device.peak_flops[static_cast<std::size_t>(PeakType::kFp8)] = 2e14;
  const double head = 6.0 * 1024 * 1024 * (1 << 20) / 1e14;
  const double plain = TimeOf(job, FactsOf(job), device, {}).compute;
  job.eight_bit_products = true;
  // Scores and their product with values stay in 16 bits as well: 6 * 2 T s h for each layer.
  const double scores = 8 * 12.0 * 1024 * 1024 * 1024 / 1e14;
  EXPECT_NEAR(TimeOf(job, FactsOf(job), device, {}).compute,
              head + scores + (plain - head - scores) / 2, plain * 1e-9);
}

TEST(StepTime, OneRingSendsEverythingThroughOneAdapter) {
  // 16 replicas on 2 nodes: each device sends an eighth of 15 / 16 between nodes, a ring all of it.
  TrainingJob job = SmallJob(16, 16);
  job.overlap_data = false;
  HardwareProfile device = RoundDevice();
  device.levels = {{.name = "node", .devices = 8, .bytes_per_second = 1e30},
                   {.name = "rail", .devices = 0, .bytes_per_second = 1e10}};
  const Plan plan{.data = 16, .optimizer_level = 1};
  const double own = TimeOf(job, FactsOf(job), device, plan).data;
  job.one_ring = true;
  const double ring = TimeOf(job, FactsOf(job), device, plan).data;
  // (1 / 2) / 8 of the volume without, 15 / 16 of it with.
  EXPECT_NEAR(ring / own, (15.0 / 16) / (0.5 / 8), 1e-9);
}

TEST(StepTime, CutWeightsAreCopiedForEveryMicroBatch) {
  TrainingJob job = SmallJob(2, 8);
  const Plan plan{.data = 2, .optimizer_level = 3};
  const double before = TimeOf(job, FactsOf(job), RoundDevice(), plan).data;
  job.weight_copy_bytes = 40;
  // 8 (12 h^2 + 2 h) + 2 h + ... weights, 40 bytes each, 4 micro batches, at 1 TB/s.
  const double weights = static_cast<double>(FactsOf(job).parameters.Sum());
  EXPECT_NEAR(TimeOf(job, FactsOf(job), RoundDevice(), plan).data - before, 4 * 40 * weights / 1e12,
              1e-9);
}

TEST(StepFlops, AreThoseOfPublications) {
  // 175 billion: 1536 samples of 2048 tokens, 96 layers of 12288, vocabulary 51200 on 1024 devices
  // in 32 s are 137.7 TFLOP/s with recomputation (NVIDIA/Megatron-LM: README.md of April 2021).
  TrainingJob job = SmallJob(1024, 1536);
  job.model.layers = 96;
  job.model.hidden = 12288;
  job.model.heads = job.model.kv_heads = 96;
  job.model.head_width = 128;
  job.model.ffn = 49152;  // 4 x 12,288
  job.model.vocabulary = 51200;
  job.model.tied = true;
  job.sequence = 2048;
  const Plan full{.data = 1024, .recompute = Recompute::kFull};
  EXPECT_NEAR(StepFlops(job, full, FlopsConvention::kHardware) / 32 / 1024 / 1e12, 137.7, 0.1);
}

TEST(Search, FindsEveryPossiblePlanOnce) {
  const TrainingJob job = SmallJob(8, 8);
  const std::vector<Plan> plans = EnumeratePlans(job, {});
  const std::set<Plan> distinct(plans.begin(), plans.end());
  EXPECT_EQ(distinct.size(), plans.size());
  for (const Plan& plan : plans) {
    EXPECT_TRUE(CheckPlan(job, plan)) << PlanText(plan);
  }
  // Ways to write 8 as dp * tp * pp * cp, tp, pp, cp, dp powers of two: C(6, 3) = 20.
  std::set<std::array<std::int64_t, 4>> cuts;
  for (const Plan& plan : plans) {
    cuts.insert({plan.data, plan.tensor, plan.pipeline, plan.context});
  }
  EXPECT_EQ(cuts.size(), 20U);
}

TEST(Search, FixedPartsAreKept) {
  SearchSpace space;
  space.fixed.tensor = 2;
  space.fixed.context = 1;
  for (const Plan& plan : EnumeratePlans(SmallJob(8, 8), space)) {
    EXPECT_EQ(plan.tensor, 2);
    EXPECT_EQ(plan.context, 1);
  }
}

TEST(Search, UnevenPartsAreForThoseWhoAskForThem) {
  // 126 layers in 8 stages with 8 parts each, as Megatron trains Llama of 405 billion weights.
  TrainingJob job = SmallJob(8, 64);
  job.model.layers = 126;
  EXPECT_TRUE(CheckPlan(job, {.pipeline = 8, .interleave = 8}));
  for (const Plan& plan : EnumeratePlans(job, {})) {
    EXPECT_TRUE(plan.interleave == 1 || 126 % (plan.pipeline * plan.interleave) == 0);
  }
}

TEST(Search, TheBestAreNotShadesOfOnePlan) {
  // Of 8 plans that are shown, the fastest of each kind come before plans of the same kind.
  const TrainingJob job = SmallJob(8, 64);
  const auto executor = MakeExecutor(1);
  const auto found = SearchPlans(job, {}, RoundDevice(), 1e15, 3, *executor);
  ASSERT_TRUE(found);
  std::set<std::pair<std::int64_t, std::int64_t>> kinds;
  for (const std::size_t index : found->best) {
    const Plan& plan = found->plans[index].plan;
    EXPECT_TRUE(kinds.emplace(plan.tensor, plan.pipeline).second) << PlanText(plan);
  }
}

TEST(Search, FrontIsWhatNothingBeatsAndThreadsDecideNothing) {
  const TrainingJob job = SmallJob(8, 16);
  const auto one = SearchPlans(job, {}, RoundDevice(), 1e12, 5, *MakeExecutor(1));
  const auto four = SearchPlans(job, {}, RoundDevice(), 1e12, 5, *MakeExecutor(4));
  ASSERT_TRUE(one && four);
  EXPECT_EQ(one->best, four->best);
  EXPECT_EQ(one->front, four->front);
  // Brute force: a plan is on the front if none is at least as fast with less memory.
  for (const std::size_t index : one->front) {
    for (const PlanFigures& other : one->plans) {
      EXPECT_FALSE(other.step_seconds <= one->plans[index].step_seconds &&
                   other.peak_bytes < one->plans[index].peak_bytes)
          << PlanText(other.plan) << " beats " << PlanText(one->plans[index].plan);
    }
  }
  ASSERT_FALSE(one->best.empty());
  const auto fastest = std::ranges::min_element(one->plans, {}, &PlanFigures::step_seconds);
  EXPECT_EQ(one->plans[one->best.front()].step_seconds, fastest->step_seconds);
}

TEST(Search, GoesOnBehindPlansThatDoNotFit) {
  // Four plans of one kind, closed forms 90, 80, 60 and 50 bytes, faster the larger; the limit is
  // 100. In full each needs 1.5 times as much: 135, 120, 90, 75. The first teaches the ratio, so
  // 120 is not tried.
  SearchResult found;
  for (const auto& [data, bytes] :
       {std::pair(8, 90.0), std::pair(4, 80.0), std::pair(2, 60.0), std::pair(1, 50.0)}) {
    found.plans.push_back({.plan = {.data = data, .tensor = 8 / data},
                           .step_seconds = 1 / bytes,
                           .peak_bytes = bytes});
  }
  std::vector<CompiledPlan> compiled = {{.plan = 0, .peak_bytes = 135, .fits = false}};
  EXPECT_EQ(FurtherPlans(found, compiled, 100, 1), std::vector<std::size_t>({2}));
  EXPECT_EQ(FurtherPlans(found, compiled, 100, 5), std::vector<std::size_t>({2, 3}));
  // Those fit. 80 is not expected to, and needs less than the only one that is known not to: it is
  // what is left.
  compiled.push_back({.plan = 2, .peak_bytes = 90, .fits = true});
  compiled.push_back({.plan = 3, .peak_bytes = 75, .fits = true});
  EXPECT_EQ(FurtherPlans(found, compiled, 100, 5), std::vector<std::size_t>({1}));
  compiled.push_back({.plan = 1, .peak_bytes = 120, .fits = false});
  EXPECT_TRUE(FurtherPlans(found, compiled, 100, 5).empty());
}

TEST(Search, GivesUpWhereTheSmallestOfAKindDoesNotFit) {
  SearchResult found;
  for (const double bytes : {90.0, 80.0, 70.0}) {
    found.plans.push_back(
        {.plan = {.tensor = std::llround(bytes)}, .step_seconds = 1, .peak_bytes = bytes});
  }
  std::vector<CompiledPlan> compiled = {{.plan = 0, .peak_bytes = 180, .fits = false}};
  EXPECT_EQ(FurtherPlans(found, compiled, 100, 5), std::vector<std::size_t>({2}));
  compiled.push_back({.plan = 2, .peak_bytes = 140, .fits = false});
  EXPECT_TRUE(FurtherPlans(found, compiled, 100, 5).empty());
  // Another kind is not held to it.
  found.plans.push_back(
      {.plan = {.recompute = Recompute::kFull}, .step_seconds = 1, .peak_bytes = 95});
  EXPECT_EQ(FurtherPlans(found, compiled, 100, 5), std::vector<std::size_t>({3}));
}

TEST(Search, AnEmptySpaceIsNamed) {
  SearchSpace space;
  space.fixed.tensor = 3;
  const auto result = SearchPlans(SmallJob(8, 8), space, RoundDevice(), 1e12, 5, *MakeExecutor(1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "no plan is possible: nothing divides 8 devices, 8 samples and 16 heads as asked");
}

}  // namespace
}  // namespace drydock::sim
