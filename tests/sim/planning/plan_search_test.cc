// Time in closed form and the search, on a device of round numbers.
#include "sim/planning/plan_search.h"

#include <algorithm>
#include <set>

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
  // (p - 1) / m of the ideal time for 1F1B, (p - 1) / (v m) interleaved (arXiv 2104.04473, 2.2).
  const TrainingJob job = SmallJob(4, 16);
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

TEST(StepFlops, AreThoseOfPublications) {
  // 175 billion: 1536 samples of 2048 tokens, 96 layers of 12288, vocabulary 51200 on 1024 devices
  // in 32 s are 137.7 TFLOP/s with recomputation (NVIDIA/Megatron-LM: README.md of April 2021).
  TrainingJob job = SmallJob(1024, 1536);
  job.model.layers = 96;
  job.model.hidden = 12288;
  job.model.heads = job.model.kv_heads = 96;
  job.model.head_width = 128;
  job.model.ffn = 4 * 12288;
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
