// Inference of the operators between two layouts.
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
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

/// Where every slice begins and into how many parts each dimension is cut: two layouts with equal
/// keys put the same elements on every rank.
using Ownership = std::vector<std::pair<RankExpr, std::int64_t>>;

Ownership OwnershipOf(const TensorLayout& layout) {
  const std::vector<RankExpr> begins = SliceBegin(layout);
  const std::vector<std::int64_t> cuts = CutsOf(layout);
  Ownership key;
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    key.emplace_back(Canonical(begins[d]), cuts[d]);
  }
  return key;
}

using Layouts = std::map<Ownership, TensorLayout>;

/// Every layout with at most one axis per dimension of a tensor of `rank` dimensions of extent 64.
void AddLayouts(TensorLayout layout, std::size_t rank, Layouts& layouts) {
  if (layout.shape.size() == rank) {
    layouts.emplace(OwnershipOf(layout), std::move(layout));
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

/// The same on every device matrix of `devices`, which `matrix` begins.
void AddLayoutsOnAll(std::vector<std::int64_t> matrix, std::int64_t devices, std::size_t rank,
                     Layouts& layouts) {
  if (devices == 1) {
    AddLayouts({.device_matrix = std::move(matrix)}, rank, layouts);
    return;
  }
  for (std::int64_t extent = 2; extent <= devices; extent *= 2) {
    matrix.push_back(extent);
    AddLayoutsOnAll(matrix, devices / extent, rank, layouts);
    matrix.pop_back();
  }
}

/// Calls `visit` with all pairs of different layouts of tensors of `rank` dimensions on 64 devices,
/// but with one of those only that differ in the names of the tensor's dimensions.
template <typename Visit>
void ForAllPairs(std::size_t rank, Visit visit) {
  Layouts layouts;
  AddLayoutsOnAll({}, 64, rank, layouts);
  for (const auto& [from_key, from] : layouts) {
    if (!std::is_sorted(from_key.begin(), from_key.end())) {
      continue;
    }
    for (const auto& [to_key, to] : layouts) {
      if (from_key != to_key) {
        visit(from, to);
      }
    }
  }
}

/// Infers all pairs of a rank; counts elements sent relative to the tensor, summed over the pairs.
void InferAll(benchmark::State& state, const RedistributionOptions& options) {
  double sent = 0;
  double collectives = 0;
  std::int64_t pairs = 0;
  for (auto _ : state) {
    sent = collectives = 0;
    pairs = 0;
    ForAllPairs(static_cast<std::size_t>(state.range(0)), [&](const auto& from, const auto& to) {
      const auto ops = InferRedistribution(from, to, options);
      DRYDOCK_CHECK(ops.has_value());
      sent += static_cast<double>(SentElements(*ops)) / static_cast<double>(Product(from.shape));
      for (const RedistributionOp& op : *ops) {
        collectives += GroupSize(op.group) > 1 ? 1 : 0;
      }
      ++pairs;
    });
  }
  state.counters["pairs"] = static_cast<double>(pairs);
  state.counters["sent_tensors"] = sent;
  state.counters["collectives"] = collectives;
  state.SetItemsProcessed(state.iterations() * pairs);
}

/// Tensors of up to four dimensions.
void Pairs(benchmark::internal::Benchmark* bench) {
  bench->ArgName("rank")->Unit(benchmark::kMillisecond)->Iterations(1)->DenseRange(1, 4);
}

void BM_InferAllPairs_Reference(benchmark::State& state) {
  InferAll(state, {});
}
BENCHMARK(BM_InferAllPairs_Reference)->Apply(Pairs);

void BM_InferAllPairs_ReferenceWithAlltoAll(benchmark::State& state) {
  InferAll(state, {.enable_alltoall = true});
}
BENCHMARK(BM_InferAllPairs_ReferenceWithAlltoAll)->Apply(Pairs);

/// Those of four dimensions take ten minutes.
void BM_InferAllPairs_Optimal(benchmark::State& state) {
  InferAll(state, {.cheapest = true});
}
BENCHMARK(BM_InferAllPairs_Optimal)->Apply(Pairs);

}  // namespace
}  // namespace drydock::strategies
