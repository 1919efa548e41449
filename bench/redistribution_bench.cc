// Inference of the operators between two layouts.
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "strategies/layout/redistribution.h"

namespace drydock::strategies {
namespace {

/// A pair of layouts of one tensor.
struct Pair {
  TensorLayout from = {};
  TensorLayout to = {};
};

TensorLayout Layout(std::vector<std::int64_t> device_matrix, const std::vector<std::int64_t>& map,
                    Shape shape) {
  return MakeLayout(std::move(device_matrix), map, std::move(shape));
}

void Infer(benchmark::State& state, const Pair& pair, const RedistributionOptions& options) {
  std::size_t op_count = 0;
  for (auto _ : state) {
    const Result<std::vector<RedistributionOp>> ops =
        InferRedistribution(pair.from, pair.to, options);
    DRYDOCK_CHECK(ops.has_value());
    op_count = ops->size();
    benchmark::DoNotOptimize(ops);
  }
  state.counters["ops"] = static_cast<double>(op_count);
  state.SetItemsProcessed(state.iterations());
}

/// Quick start: rows stay cut, whole columns are cut by the other axis.
void BM_InferRedistribution_Slice(benchmark::State& state) {
  const std::int64_t half = state.range(0) / 2;
  Infer(state,
        {.from = Layout({2, half}, {1, -1}, {4096, 4096}),
         .to = Layout({2, half}, {1, 0}, {4096, 4096})},
        {});
}
BENCHMARK(BM_InferRedistribution_Slice)->Arg(8)->Arg(64)->Arg(512)->Arg(4096);

/// Rows to columns: everything moves.
void BM_InferRedistribution_RowsToColumns(benchmark::State& state) {
  const std::int64_t ranks = state.range(0);
  Infer(state,
        {.from = Layout({ranks}, {0, -1}, {4096, 4096}),
         .to = Layout({ranks}, {-1, 0}, {4096, 4096})},
        {.enable_alltoall = true});
}
BENCHMARK(BM_InferRedistribution_RowsToColumns)->Arg(8)->Arg(64)->Arg(512)->Arg(4096);

/// Hidden cut into heads: a reshape whose cuts survive.
void BM_InferRedistribution_Heads(benchmark::State& state) {
  const std::int64_t replicas = state.range(0) / 8;
  Infer(state,
        {.from = Layout({replicas, 8}, {1, 0}, {512 * 128, 2048}),
         .to = Layout({replicas, 8}, {1, -1, 0, -1}, {512, 128, 16, 128})},
        {});
}
BENCHMARK(BM_InferRedistribution_Heads)->Arg(8)->Arg(64)->Arg(512)->Arg(4096);

/// Different device matrices, four dimensions, every axis changes place.
void BM_InferRedistribution_Hard(benchmark::State& state) {
  const std::int64_t rest = state.range(0) / 8;
  Infer(state,
        {.from = Layout({2, rest, 2, 2}, {3, 2, 1, 0}, {4096, 4096, 64, 64}),
         .to = Layout({rest, 4, 2}, {0, 1, -1, -1}, {4096, 4096, 64, 64})},
        {});
}
BENCHMARK(BM_InferRedistribution_Hard)->Arg(8)->Arg(64)->Arg(512)->Arg(4096);

}  // namespace
}  // namespace drydock::strategies
