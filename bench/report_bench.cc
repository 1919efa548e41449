// From the result of a dry run to the text of the report files.
#include <cstdint>

#include <benchmark/benchmark.h>

#include "base/executor.h"
#include "bench/networks.h"
#include "reports/report_set.h"
#include "reports/terminal_summary.h"
#include "sim/fleet/dry_run.h"
#include "strategies/passes/compile_job.h"

namespace drydock::bench {
namespace {

sim::DryRunResult GptResult(std::int64_t layers, std::int64_t ranks) {
  Result<strategies::LocalProgram> program = strategies::Compile(
      GptStep(layers, ranks, Sharding::kEverywhere), GptJob(ranks, Sharding::kEverywhere));
  DRYDOCK_CHECK(program.has_value());
  const auto executor = MakeExecutor(0);
  Result<sim::DryRunResult> result =
      sim::DryRun(strategies::JobOf(*std::move(program)), {}, *executor);
  DRYDOCK_CHECK(result.has_value());
  return *std::move(result);
}

/// Arguments: layers, ranks.
void BM_BuildReports_Gpt(benchmark::State& state) {
  const sim::DryRunResult result = GptResult(state.range(0), state.range(1));
  for (auto _ : state) {
    benchmark::DoNotOptimize(reports::BuildReports({.subject = "gpt"}, result));
  }
  state.SetItemsProcessed(state.iterations() *
                          std::ssize(sim::DescribedProgram(result).local.nodes));
}
BENCHMARK(BM_BuildReports_Gpt)
    ->Args({12, 8})
    ->Args({12, 4096})
    ->Args({222, 4096})
    ->Unit(benchmark::kMillisecond);

void BM_ReportFiles_Gpt(benchmark::State& state) {
  const sim::DryRunResult result = GptResult(state.range(0), state.range(1));
  const reports::ReportSet set = reports::BuildReports({.subject = "gpt"}, result);
  std::int64_t bytes = 0;
  for (auto _ : state) {
    for (const reports::ReportFile& file : reports::ReportFiles(set)) {
      bytes += std::ssize(file.text);
    }
    benchmark::DoNotOptimize(reports::TerminalSummary(set.summary, set.memory, {}));
  }
  state.SetBytesProcessed(bytes);
}
BENCHMARK(BM_ReportFiles_Gpt)
    ->Args({12, 8})
    ->Args({12, 4096})
    ->Args({222, 4096})
    ->Unit(benchmark::kMillisecond);

/// Everything behind the compiler: memory, agreement, virtual ranks.
void BM_DryRun_Gpt(benchmark::State& state) {
  const Result<strategies::LocalProgram> program =
      strategies::Compile(GptStep(state.range(0), state.range(1), Sharding::kEverywhere),
                          GptJob(state.range(1), Sharding::kEverywhere));
  DRYDOCK_CHECK(program.has_value());
  const auto executor = MakeExecutor(0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(sim::DryRun(strategies::JobOf(*program), {}, *executor));
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(BM_DryRun_Gpt)
    ->Args({12, 8})
    ->Args({12, 4096})
    ->Args({222, 4096})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace drydock::bench
