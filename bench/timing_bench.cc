#include <cstdint>

#include <benchmark/benchmark.h>

#include "sim/timing/event_engine.h"

namespace drydock::sim {
namespace {

/// A pipeline as compiled programs have it: per micro batch and pass a message in, `kernels`
/// kernels with a collective behind every tenth that the next one waits for, a message out.
TimedJob Pipeline(std::int32_t stages, std::int32_t micros, std::int32_t kernels) {
  TimedJob job{.levels = 2, .overlap_slowdown = 0.02};
  job.programs.resize(static_cast<std::size_t>(stages));
  job.meetings.assign(static_cast<std::size_t>(micros) * static_cast<std::size_t>(stages - 1), 2);
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    TimedProgram& program = job.programs[static_cast<std::size_t>(stage)];
    program.streams = 3;
    program.costs = {{.seconds = 1e-3},
                     {.seconds = 2e-3},
                     {.seconds = 1e-3, .level = 1, .use = LinkUse::kIn},
                     {.seconds = 1e-3, .level = 1, .use = LinkUse::kOut}};
    const auto add = [&](TimedTask::Kind kind, int stream, std::int32_t reference,
                         std::int32_t cost) {
      program.tasks.push_back({.kind = kind,
                               .stream = static_cast<std::uint16_t>(stream),
                               .reference = reference,
                               .cost = cost});
    };
    const auto join = [&](int from, int to) {
      add(TimedTask::Kind::kRecord, from, program.events, 0);
      add(TimedTask::Kind::kWait, to, program.events++, 0);
    };
    for (std::int32_t micro = 0; micro < micros; ++micro) {
      if (stage > 0) {
        add(TimedTask::Kind::kTransfer, 2, micro * (stages - 1) + stage - 1, 2);
        join(2, 0);
      }
      for (std::int32_t k = 0; k < kernels; ++k) {
        add(TimedTask::Kind::kKernel, 0, -1, 0);
        if (k % 10 == 9) {
          join(0, 1);
          add(TimedTask::Kind::kTransfer, 1, -1, 1);
          join(1, 0);
        }
      }
      if (stage < stages - 1) {
        join(0, 2);
        add(TimedTask::Kind::kTransfer, 2, micro * (stages - 1) + stage, 3);
      }
    }
  }
  return job;
}

void BM_EventEngine(benchmark::State& state) {
  const TimedJob job = Pipeline(static_cast<std::int32_t>(state.range(0)), 64, 600);
  std::int64_t events = 0;
  for (auto _ : state) {
    events += RunTimedJob(job).events;
  }
  state.SetItemsProcessed(events);
}
BENCHMARK(BM_EventEngine)->Arg(1)->Arg(16)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace drydock::sim
