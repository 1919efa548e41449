// Graph documents: text to graph and back.
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/networks.h"
#include "strategies/document/json_codec.h"

namespace drydock::bench {
namespace {

constexpr std::int64_t kRanks = 8;

/// Argument: traced nodes (about).
void BM_ReadGraphDocument_Gpt(benchmark::State& state) {
  const strategies::JobConfig job = GptJob(kRanks, Sharding::kEverywhere);
  const std::string text = strategies::WriteGraphDocument(
      GptStep(state.range(0) / kGptNodesPerLayer, kRanks, Sharding::kEverywhere), job);
  for (auto _ : state) {
    const auto document = strategies::ReadGraphDocument(text, "gpt.json", job);
    DRYDOCK_CHECK(document.has_value());
    benchmark::DoNotOptimize(document);
  }
  state.SetBytesProcessed(state.iterations() * std::ssize(text));
}
BENCHMARK(BM_ReadGraphDocument_Gpt)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

void BM_WriteGraphDocument_Gpt(benchmark::State& state) {
  const strategies::JobConfig job = GptJob(kRanks, Sharding::kEverywhere);
  const strategies::Graph graph =
      GptStep(state.range(0) / kGptNodesPerLayer, kRanks, Sharding::kEverywhere);
  std::int64_t bytes = 0;
  for (auto _ : state) {
    bytes += std::ssize(strategies::WriteGraphDocument(graph, job));
  }
  state.SetBytesProcessed(bytes);
}
BENCHMARK(BM_WriteGraphDocument_Gpt)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace drydock::bench
