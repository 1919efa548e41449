// Inference of the operators between two layouts.
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/checked.h"
#include "strategies/layout/redistribution.h"
#include "strategies/layout/redistribution_search.h"

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

// ---- All pairs ----------------------------------------------------------------------------------

/// Every layout with at most one axis per dimension of a tensor of `rank` dimensions of extent 64.
void AddLayouts(TensorLayout layout, std::size_t rank, std::vector<TensorLayout>& layouts) {
  if (layout.shape.size() == rank) {
    layouts.push_back(std::move(layout));
    return;
  }
  layout.shape.push_back(64);
  layout.tensor_map.emplace_back();
  AddLayouts(layout, rank, layouts);
  for (std::int64_t axis = 0; axis < std::ssize(layout.device_matrix); ++axis) {
    layout.tensor_map.back() = {axis};
    if (ValidateLayout(layout)) {
      AddLayouts(layout, rank, layouts);
    }
  }
}

/// Pairs of layouts on 64 devices, rank 1 to 4, both sides on one of these device matrices.
std::vector<Pair> AllPairs() {
  std::vector<Pair> pairs;
  for (const std::vector<std::int64_t>& matrix :
       {std::vector<std::int64_t>{64}, {8, 8}, {4, 4, 4}, {2, 4, 8}}) {
    for (std::size_t rank = 1; rank <= 4; ++rank) {
      std::vector<TensorLayout> layouts;
      AddLayouts({.device_matrix = matrix}, rank, layouts);
      for (const TensorLayout& from : layouts) {
        for (const TensorLayout& to : layouts) {
          pairs.push_back({.from = from, .to = to});
        }
      }
    }
  }
  return pairs;
}

/// Infers all pairs; counts elements sent relative to the tensor, summed over the pairs.
void InferAll(benchmark::State& state, const RedistributionOptions& options) {
  const std::vector<Pair> pairs = AllPairs();
  double sent = 0;
  double collectives = 0;
  for (auto _ : state) {
    sent = 0;
    collectives = 0;
    for (const Pair& pair : pairs) {
      const auto ops = InferRedistribution(pair.from, pair.to, options);
      DRYDOCK_CHECK(ops.has_value());
      sent +=
          static_cast<double>(SentElements(*ops)) / static_cast<double>(Product(pair.from.shape));
      for (const RedistributionOp& op : *ops) {
        collectives += GroupSize(op.group) > 1 ? 1 : 0;
      }
    }
  }
  state.counters["pairs"] = static_cast<double>(pairs.size());
  state.counters["sent_tensors"] = sent;
  state.counters["collectives"] = collectives;
  state.SetItemsProcessed(state.iterations() * std::ssize(pairs));
}

void BM_InferAllPairs_Reference(benchmark::State& state) {
  InferAll(state, {});
}
BENCHMARK(BM_InferAllPairs_Reference)->Unit(benchmark::kMillisecond);

void BM_InferAllPairs_ReferenceWithAlltoAll(benchmark::State& state) {
  InferAll(state, {.enable_alltoall = true});
}
BENCHMARK(BM_InferAllPairs_ReferenceWithAlltoAll)->Unit(benchmark::kMillisecond);

void BM_InferAllPairs_Optimal(benchmark::State& state) {
  InferAll(state, {.cheapest = true});
}
BENCHMARK(BM_InferAllPairs_Optimal)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace drydock::strategies
