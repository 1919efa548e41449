#include "strategies/passes/schedule/pipeline_schedule.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

using Orders = std::vector<std::vector<PipelineTask>>;

std::string Text(const std::vector<PipelineTask>& order) {
  std::string text;
  for (const PipelineTask& task : order) {
    text += (text.empty() ? "" : " ") + std::string(task.backward ? "B" : "F") +
            std::to_string(task.micro) + (task.chunk > 0 ? "'" : "");
  }
  return text;
}

Orders OrdersOf(PipelineScheduler scheduler, const PipelineShape& shape) {
  Orders orders;
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    orders.push_back(PipelineOrder(scheduler, shape, stage).value());
  }
  return orders;
}

/// Most forwards of a stage whose backward is still to come.
std::int64_t MostHeld(const std::vector<PipelineTask>& order) {
  std::int64_t held = 0;
  std::int64_t most = 0;
  for (const PipelineTask& task : order) {
    held += task.backward ? -1 : 1;
    most = std::max(most, held);
  }
  return most;
}

// The order in which MindSpore 2.10 launches the kernels of pipe2_micro4 (tests/vectors): stage 0
// sends two micro batches before the first gradient comes, then one goes and one comes.
TEST(PipelineSchedule, OneForwardOneBackwardIsAsRecorded) {
  const PipelineShape shape{.stages = 2, .micros = 4};
  const Orders orders = OrdersOf(PipelineScheduler::k1F1B, shape);
  EXPECT_EQ(Text(orders[0]), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(Text(orders[1]), "F0 B0 F1 B1 F2 B2 F3 B3");
}

// Stage s of S warms up with S - s forwards, so it holds at most that many activations.
TEST(PipelineSchedule, AStageHoldsAsManyActivationsAsThereAreStagesFromItOn) {
  const PipelineShape shape{.stages = 4, .micros = 8};
  const Orders orders = OrdersOf(PipelineScheduler::k1F1B, shape);
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    EXPECT_EQ(MostHeld(orders[static_cast<std::size_t>(stage)]), shape.stages - stage);
  }
  EXPECT_EQ(MostHeld(OrdersOf(PipelineScheduler::kGPipe, shape)[0]), shape.micros);
}

// Two chunks: micro batches in rounds of two, chunk 0 before chunk 1; stage 0 warms up with
// S * (chunks - 1) + 2 * (S - 1) = 4 forwards.
TEST(PipelineSchedule, InterleavedChunksGoInRounds) {
  const PipelineShape shape{.stages = 2, .micros = 4, .chunks = 2};
  EXPECT_EQ(Text(PipelineOrder(PipelineScheduler::k1F1B, shape, 0).value()),
            "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3");
}

TEST(PipelineSchedule, TheScheduleOfZeroBubblesIsAV) {
  const PipelineShape shape{.stages = 4, .micros = 8, .chunks = 2};
  const Orders orders = OrdersOf(PipelineScheduler::kZeroBubbleV, shape);
  // The first stage has both ends of the network: nothing is before its chunk 0 nor behind its
  // chunk 1, so it ends with a backward of chunk 0.
  EXPECT_EQ(orders[0].front(), (PipelineTask{}));
  EXPECT_EQ(orders[0].back().chunk, 0);
  for (const std::vector<PipelineTask>& order : orders) {
    EXPECT_LE(MostHeld(order), 2 * shape.stages);
  }
}

TEST(PipelineSchedule, EverythingIsDoneOnceAndNobodyWaitsForever) {
  using Key = std::tuple<bool, std::int32_t, std::int32_t, std::int32_t>;
  for (const auto scheduler : {PipelineScheduler::k1F1B, PipelineScheduler::kGPipe,
                               PipelineScheduler::kSeqPipe, PipelineScheduler::kSeqSmartVpp,
                               PipelineScheduler::kSeqVpp, PipelineScheduler::kZeroBubbleV}) {
    for (std::int64_t stages = 2; stages <= 5; ++stages) {
      for (std::int64_t micros = stages; micros <= 11; ++micros) {
        const PipelineShape shape{.stages = stages, .micros = micros, .chunks = 2};
        const Orders orders = OrdersOf(scheduler, shape);
        for (const std::vector<PipelineTask>& order : orders) {
          std::set<Key> tasks;
          for (const PipelineTask& task : order) {
            tasks.insert({task.backward, task.micro, task.chunk, task.sequence});
          }
          EXPECT_EQ(tasks.size(), order.size());
          EXPECT_EQ(std::ssize(order), 2 * micros * shape.chunks);
        }
        EXPECT_TRUE(CheckPipeline(scheduler, shape, orders).has_value())
            << stages << " stages, " << micros << " micro batches";
      }
    }
  }
}

TEST(PipelineSchedule, SchedulersAreForSeveralPartsPerStage) {
  EXPECT_EQ(SchedulerInForce(PipelineScheduler::kGPipe, true), PipelineScheduler::kGPipe);
  EXPECT_EQ(SchedulerInForce(PipelineScheduler::kGPipe, false), PipelineScheduler::k1F1B);
  EXPECT_EQ(SchedulerInForce(PipelineScheduler::kSeqVpp, false), PipelineScheduler::kSeqPipe);
  EXPECT_EQ(SchedulerInForce(PipelineScheduler::kZeroBubbleV, false),
            PipelineScheduler::kZeroBubbleV);
}

TEST(PipelineSchedule, OrdersThatWaitForEachOtherAreRefused) {
  const PipelineShape shape{.stages = 2, .micros = 2};
  Orders orders = OrdersOf(PipelineScheduler::k1F1B, shape);
  // Stage 0 wants the gradient of micro batch 1 before it has done micro batch 1.
  orders[0] = {{.micro = 0}, {.backward = true, .micro = 1}, {.micro = 1}, {.backward = true}};
  const Status status = CheckPipeline(PipelineScheduler::k1F1B, shape, orders);
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("stage 0 comes no further than to backward of micro batch "
                                        "1"),
            std::string::npos);
}

TEST(PipelineSchedule, TooFewMicroBatchesAreRefused) {
  const PipelineShape shape{.stages = 4, .micros = 3};
  EXPECT_FALSE(PipelineOrder(PipelineScheduler::k1F1B, shape, 0).has_value());
  EXPECT_FALSE(ParsePipelineScheduler("2f2b").has_value());
}

}  // namespace
}  // namespace drydock::strategies
