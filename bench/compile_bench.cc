// The compiler: propagation, the whole of Compile, and what is left to do for each rank.
#include <cstdint>
#include <cstdio>

#include <benchmark/benchmark.h>

#include "bench/networks.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/passes/choose/propagate.h"
#include "strategies/passes/compile_job.h"
#include "strategies/passes/prepare/clean_traced.h"
#include "strategies/passes/prepare/rewrite.h"
#include "strategies/program/agreement.h"
#include "strategies/program/collectives.h"

namespace drydock::bench {
namespace {

using strategies::Graph;
using strategies::JobConfig;
using strategies::LocalProgram;

/// Result of something that cannot fail on the networks used here.
template <typename T>
T Must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", FormatError(result.error()).c_str());
  }
  DRYDOCK_CHECK(result.has_value());
  return *std::move(result);
}

void Propagate(benchmark::State& state, const Graph& step, const JobConfig& job) {
  const Graph graph = strategies::InsertDatasetNode(strategies::CleanTraced(step));
  const std::vector<strategies::Region> regions = strategies::ClassifyNodes(graph);
  const strategies::Assignment given = Must(strategies::AssignGiven(graph, regions, job));
  for (auto _ : state) {
    strategies::Assignment assignment = given;
    const Status status = strategies::PropagateStrategies(graph, regions, job, assignment);
    DRYDOCK_CHECK(status.has_value());
    benchmark::DoNotOptimize(assignment);
  }
  state.SetItemsProcessed(state.iterations() * std::ssize(graph.nodes));
}

void BM_PropagateStrategies_QuickStart(benchmark::State& state) {
  Propagate(state, QuickStartStep(), QuickStartJob());
}
BENCHMARK(BM_PropagateStrategies_QuickStart)->Unit(benchmark::kMicrosecond);

/// Arguments: layers, ranks.
void BM_PropagateStrategies_Gpt(benchmark::State& state) {
  Propagate(state, GptStep(state.range(0), state.range(1), Sharding::kMatMulsOnly),
            GptJob(state.range(1), Sharding::kMatMulsOnly));
}
BENCHMARK(BM_PropagateStrategies_Gpt)
    ->Args({12, 8})
    ->Args({12, 64})
    ->Args({12, 512})
    ->Args({12, 4096})
    ->Args({222, 4096})
    ->Unit(benchmark::kMillisecond);

void BM_Compile_QuickStart(benchmark::State& state) {
  const Graph step = QuickStartStep();
  const JobConfig job = QuickStartJob();
  for (auto _ : state) {
    benchmark::DoNotOptimize(Must(strategies::Compile(step, job)));
  }
  state.SetItemsProcessed(state.iterations() * std::ssize(step.nodes));
}
BENCHMARK(BM_Compile_QuickStart)->Unit(benchmark::kMicrosecond);

/// Arguments: traced nodes (about), ranks.
void BM_Compile_GptSemiAuto(benchmark::State& state) {
  const Graph step =
      GptStep(state.range(0) / kGptNodesPerLayer, state.range(1), Sharding::kEverywhere);
  const JobConfig job = GptJob(state.range(1), Sharding::kEverywhere);
  std::int64_t local_nodes = 0;
  for (auto _ : state) {
    const LocalProgram program = Must(strategies::Compile(step, job));
    local_nodes = std::ssize(program.local.nodes);
  }
  state.counters["traced_nodes"] = static_cast<double>(step.nodes.size());
  state.counters["local_nodes"] = static_cast<double>(local_nodes);
  state.SetItemsProcessed(state.iterations() * std::ssize(step.nodes));
}
BENCHMARK(BM_Compile_GptSemiAuto)
    ->Args({1000, 8})
    ->Args({1000, 4096})
    ->Args({10000, 4096})
    ->Args({100000, 4096})
    ->Unit(benchmark::kMillisecond);

void BM_CheckAgreement_Gpt(benchmark::State& state) {
  const LocalProgram program =
      Must(strategies::Compile(GptStep(22, state.range(0), Sharding::kEverywhere),
                               GptJob(state.range(0), Sharding::kEverywhere)));
  const std::vector<std::int32_t> same(static_cast<std::size_t>(state.range(0)), 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        strategies::CheckAgreement({strategies::SequenceOf(program)}, same, std::ssize(same)));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_CheckAgreement_Gpt)
    ->Arg(8)
    ->Arg(64)
    ->Arg(512)
    ->Arg(4096)
    ->Arg(65536)
    ->Unit(benchmark::kMillisecond);

/// The full program of one rank out of `ranks`.
void BM_SpecialiseForRank_QuickStart(benchmark::State& state) {
  JobConfig job = QuickStartJob();
  const LocalProgram program = Must(strategies::Compile(QuickStartStep(), job));
  std::int32_t rank = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(strategies::SpecialiseForRank(program, RankId{rank}));
    rank = (rank + 1) % 8;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SpecialiseForRank_QuickStart)->Unit(benchmark::kMicrosecond);

/// The same for a program of 12 layers; groups have 8 and `ranks` / 8 members.
void BM_SpecialiseForRank_Gpt(benchmark::State& state) {
  const LocalProgram program =
      Must(strategies::Compile(GptStep(12, state.range(0), Sharding::kEverywhere),
                               GptJob(state.range(0), Sharding::kEverywhere)));
  std::int32_t rank = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(strategies::SpecialiseForRank(program, RankId{rank}));
    rank = (rank + 1) % static_cast<std::int32_t>(state.range(0));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SpecialiseForRank_Gpt)
    ->Arg(8)
    ->Arg(64)
    ->Arg(512)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond);

/// Position of every rank in the groups of all collectives, without writing the program out.
void BM_IndexInGroup_AllRanks(benchmark::State& state) {
  const LocalProgram program =
      Must(strategies::Compile(GptStep(1, state.range(0), Sharding::kEverywhere),
                               GptJob(state.range(0), Sharding::kEverywhere)));
  const std::vector<strategies::CollectiveUse> uses = strategies::CollectivesOf(program);
  for (auto _ : state) {
    std::int64_t sum = 0;
    for (std::int64_t rank = 0; rank < state.range(0); ++rank) {
      for (const strategies::CollectiveUse& use : uses) {
        sum += strategies::IndexInGroup(use.group, rank);
      }
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * std::ssize(uses));
}
BENCHMARK(BM_IndexInGroup_AllRanks)->Arg(8)->Arg(64)->Arg(512)->Arg(4096);

}  // namespace
}  // namespace drydock::bench
