// Registration of virtual ranks, from the first frame to the last rank having left.
#include <cstdint>
#include <memory>

#include <benchmark/benchmark.h>

#include "base/executor.h"
#include "sim/fleet/registration.h"

namespace {

void BM_RegisterFleet(benchmark::State& state) {
  const auto executor = drydock::MakeExecutor(0);
  const drydock::sim::FleetOptions options{.worker_num =
                                               static_cast<std::uint32_t>(state.range(0))};
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    const auto statistics = drydock::sim::RegisterFleet(*executor, options);
    bytes += statistics->bytes_to_scheduler + statistics->bytes_to_workers;
    benchmark::DoNotOptimize(statistics);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(BM_RegisterFleet)
    ->RangeMultiplier(10)
    ->Range(1000, 1000000)
    ->Arg(4000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// Ids that are no numbers: one more question per rank, ranks by address.
void BM_RegisterFleet_TextIds(benchmark::State& state) {
  const auto executor = drydock::MakeExecutor(0);
  const drydock::sim::FleetOptions options{.worker_num = static_cast<std::uint32_t>(state.range(0)),
                                           .numeric_ids = false};
  for (auto _ : state) {
    benchmark::DoNotOptimize(drydock::sim::RegisterFleet(*executor, options));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_RegisterFleet_TextIds)->Arg(100000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
