#include "sim/timing/event_engine.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strategies/passes/schedule/pipeline_messages.h"
#include "strategies/passes/schedule/pipeline_schedule.h"

namespace drydock::sim {
namespace {

using Kind = TimedTask::Kind;

/// Tasks of one program with a cost each.
class ProgramMaker {
 public:
  ProgramMaker& Kernel(double seconds) { return Add(Kind::kKernel, 0, -1, {.seconds = seconds}); }
  ProgramMaker& Transfer(int stream, TaskCost cost, int meeting = -1) {
    return Add(Kind::kTransfer, stream, meeting, cost);
  }
  ProgramMaker& Record(int stream, int event) { return Add(Kind::kRecord, stream, event, {}); }
  ProgramMaker& Wait(int stream, int event) { return Add(Kind::kWait, stream, event, {}); }
  TimedProgram Make() { return program_; }

 private:
  ProgramMaker& Add(Kind kind, int stream, int reference, TaskCost cost) {
    program_.tasks.push_back({.kind = kind,
                              .stream = static_cast<std::uint16_t>(stream),
                              .reference = reference,
                              .cost = static_cast<std::int32_t>(program_.costs.size())});
    program_.costs.push_back(cost);
    program_.streams =
        std::max<std::uint16_t>(program_.streams, static_cast<std::uint16_t>(stream + 1));
    if (kind == Kind::kRecord || kind == Kind::kWait) {
      program_.events = std::max(program_.events, reference + 1);
    }
    return *this;
  }
  TimedProgram program_ = {};
};

TEST(EventEngine, StreamsWaitForEvents) {
  // Kernel 2 s, record; the other stream waits, transfers 3 s; kernel 2 s; then computation waits.
  TimedJob job;
  job.programs = {ProgramMaker()
                      .Kernel(2)
                      .Record(0, 0)
                      .Wait(1, 0)
                      .Transfer(1, {.seconds = 3})
                      .Kernel(2)
                      .Record(1, 1)
                      .Wait(0, 1)
                      .Kernel(1)
                      .Make()};
  const TimedRun run = RunTimedJob(job);
  EXPECT_EQ(run.left_out, 0);
  EXPECT_DOUBLE_EQ(run.start[3], 2);
  EXPECT_DOUBLE_EQ(run.end[3], 5);
  EXPECT_DOUBLE_EQ(run.end[4], 4);
  EXPECT_DOUBLE_EQ(run.start[7], 5);
  EXPECT_DOUBLE_EQ(run.seconds, 6);
  EXPECT_EQ(run.cause[7], 3);  // The last kernel began behind the transfer, not the kernel.
}

TEST(EventEngine, TransfersShareTheLinksOfALevel) {
  // Alone 4 s and 2 s. Together at half speed: the second ends at 4 with 2 s of the first left.
  TimedJob job;
  job.programs = {ProgramMaker().Transfer(1, {.seconds = 4}).Transfer(2, {.seconds = 2}).Make()};
  const TimedRun run = RunTimedJob(job);
  EXPECT_DOUBLE_EQ(run.end[1], 4);
  EXPECT_DOUBLE_EQ(run.end[0], 6);
  // One out, one in: they do not meet.
  job.programs = {ProgramMaker()
                      .Transfer(1, {.seconds = 4, .use = LinkUse::kOut})
                      .Transfer(2, {.seconds = 2, .use = LinkUse::kIn})
                      .Make()};
  EXPECT_DOUBLE_EQ(RunTimedJob(job).seconds, 4);
  // On different levels neither.
  job.levels = 2;
  job.programs = {
      ProgramMaker().Transfer(1, {.seconds = 4}).Transfer(2, {.seconds = 2, .level = 1}).Make()};
  EXPECT_DOUBLE_EQ(RunTimedJob(job).seconds, 4);
}

TEST(EventEngine, KernelsAreSlowerBesideTransfers) {
  // 10 s of kernel at 0.8 for the 5 s of the transfer: 4 s done, 6 s left: 11 s.
  TimedJob job;
  job.overlap_slowdown = 0.2;
  job.programs = {ProgramMaker().Kernel(10).Transfer(1, {.seconds = 5}).Make()};
  EXPECT_NEAR(RunTimedJob(job).seconds, 11, 1e-12);
}

TEST(EventEngine, MeetingsBeginWhenAllAreThere) {
  TimedJob job;
  job.meetings = {2};
  job.programs = {
      ProgramMaker().Kernel(3).Record(0, 0).Wait(1, 0).Transfer(1, {.seconds = 1}, 0).Make(),
      ProgramMaker().Transfer(1, {.seconds = 1}, 0).Record(1, 0).Wait(0, 0).Kernel(1).Make()};
  const TimedRun run = RunTimedJob(job);
  EXPECT_DOUBLE_EQ(run.seconds, 5);
  EXPECT_DOUBLE_EQ(run.start[static_cast<std::size_t>(run.first[1])], 3);
  EXPECT_EQ(run.cause[static_cast<std::size_t>(run.first[1])], 0);  // The kernel of the other one.
}

TEST(EventEngine, ProgramsThatWaitForEachOtherAreSeen) {
  TimedJob job;
  job.meetings = {2, 2};
  job.programs = {
      ProgramMaker().Transfer(1, {.seconds = 1}, 0).Transfer(1, {.seconds = 1}, 1).Make(),
      ProgramMaker().Transfer(1, {.seconds = 1}, 1).Transfer(1, {.seconds = 1}, 0).Make()};
  EXPECT_EQ(RunTimedJob(job).left_out, 4);
}

TEST(EventEngine, ChanceFollowsFromTheSeed) {
  TimedJob job;
  job.jitter = 0.1;
  ProgramMaker maker;
  for (int i = 0; i < 1000; ++i) {
    maker.Kernel(1);
  }
  job.programs = {maker.Make()};
  job.seed = 1;
  const double once = RunTimedJob(job).seconds;
  EXPECT_EQ(RunTimedJob(job).seconds, once);
  // Each kernel is 10 % late on average (exponential, 1,000 of them: +-0.4 %), the program up to
  // some times 2 %.
  EXPECT_GT(once, 1080);
  EXPECT_LT(once, 1250);
  job.seed = 2;
  EXPECT_NE(RunTimedJob(job).seconds, once);
}

// ---- Pipelines ----------------------------------------------------------------------------------

/// A pipeline in the order of the scheduler; passes of a chunk cost as given, messages nothing.
double PipelineSeconds(strategies::PipelineScheduler scheduler, strategies::PipelineShape shape,
                       double forward, double backward) {
  const auto orders = strategies::ProvenOrders(scheduler, shape);
  EXPECT_TRUE(orders) << (orders ? "" : orders.error().message);
  if (!orders) {
    return 0;
  }
  // Each pass records an event of its own; who needs it meets the giver.
  const std::int64_t parts = shape.stages * shape.chunks;
  const auto meeting = [&](bool back, std::int64_t micro, std::int64_t border) {
    return static_cast<int>(((back ? shape.micros : 0) + micro) * parts + border);
  };
  TimedJob job;
  job.meetings.assign(static_cast<std::size_t>(2 * shape.micros * parts), 2);
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    ProgramMaker maker;
    int stream = 0;
    int event = 0;
    for (const strategies::PipelineTask& task : (*orders)[static_cast<std::size_t>(stage)]) {
      const std::int64_t flow = task.chunk * shape.stages + stage;
      // Flows of data come from border flow - 1 and go to flow; gradients the other way.
      const std::int64_t from = task.backward ? flow : flow - 1;
      const std::int64_t to = task.backward ? flow - 1 : flow;
      if (from >= 0 && from < parts - 1) {
        maker.Transfer(++stream, {.use = LinkUse::kIn}, meeting(task.backward, task.micro, from));
        maker.Record(stream, event).Wait(0, event);
        ++event;
      }
      maker.Kernel(task.backward ? backward : forward);
      if (to >= 0 && to < parts - 1) {
        maker.Record(0, event).Wait(++stream, event);
        ++event;
        maker.Transfer(stream, {.use = LinkUse::kOut}, meeting(task.backward, task.micro, to));
      }
    }
    job.programs.push_back(maker.Make());
  }
  const TimedRun run = RunTimedJob(job);
  EXPECT_EQ(run.left_out, 0);
  return run.seconds;
}

/// (m + p - 1) (tf + tb): Narayanan et al., arXiv 2104.04473, section 2.2.1.
TEST(EventEngine, BubbleOf1F1BAndGPipeIsTheClosedForm) {
  for (const std::int64_t stages : {2, 4, 8}) {
    for (const std::int64_t micros : {8, 16, 32}) {
      const strategies::PipelineShape shape{.stages = stages, .micros = micros};
      const auto expected = static_cast<double>((micros + stages - 1) * 3);
      using enum strategies::PipelineScheduler;
      EXPECT_DOUBLE_EQ(PipelineSeconds(k1F1B, shape, 1, 2), expected) << stages << " " << micros;
      EXPECT_DOUBLE_EQ(PipelineSeconds(kGPipe, shape, 1, 2), expected) << stages << " " << micros;
    }
  }
}

/// (m + (p - 1) / v) (tf + tb), a pass of a chunk taking 1 / v: the same, section 2.2.2.
TEST(EventEngine, BubbleOfInterleaved1F1BIsTheClosedForm) {
  for (const std::int64_t stages : {2, 4}) {
    for (const std::int64_t chunks : {2, 4}) {
      const strategies::PipelineShape shape{
          .stages = stages, .micros = 4 * stages, .chunks = chunks};
      const auto v = static_cast<double>(chunks);
      const double expected =
          (static_cast<double>(shape.micros) + static_cast<double>(stages - 1) / v) * 3;
      EXPECT_NEAR(PipelineSeconds(strategies::PipelineScheduler::k1F1B, shape, 1 / v, 2 / v),
                  expected, 1e-9)
          << stages << " stages, " << chunks << " chunks";
    }
  }
}

}  // namespace
}  // namespace drydock::sim
