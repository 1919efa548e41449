#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "sim/memory/lifetimes.h"
#include "sim/memory/pool.h"

namespace drydock::sim {
namespace {

/// A training step of `layers` layers: forward outputs live until their backward kernel, gradients
/// until an in-place optimizer; three kernels per layer.
MemoryPlan TrainingStep(std::int64_t layers) {
  MemoryPlan plan;
  const auto add = [&plan](const PlannedBuffer& buffer) {
    plan.buffers.push_back(buffer);
    return static_cast<std::int32_t>(plan.buffers.size() - 1);
  };
  std::vector<std::int32_t> weights;
  std::vector<std::int32_t> activations = {add({.bytes = 4096, .kind = BufferKind::kInput})};
  for (std::int64_t i = 0; i < layers; ++i) {
    weights.push_back(add({.bytes = 100'000 + i % 7 * 4096, .kind = BufferKind::kParameter}));
    const std::int32_t output = add({.bytes = 50'000 + i % 5 * 2048});
    plan.kernels.push_back({.inputs = {activations.back(), weights.back()}, .outputs = {output}});
    activations.push_back(output);
  }
  std::int32_t upper = activations.back();
  std::vector<std::int32_t> gradients;
  for (std::int64_t i = layers - 1; i >= 0; --i) {
    const auto layer = static_cast<std::size_t>(i);
    const auto kind = BufferKind::kGradient;
    const std::int32_t lower = add({.bytes = 50'000 + i % 5 * 2048, .kind = kind});
    gradients.push_back(
        add({.bytes = plan.buffers[static_cast<std::size_t>(weights[layer])].bytes, .kind = kind}));
    plan.kernels.push_back({.inputs = {upper, activations[layer], weights[layer]},
                            .outputs = {lower, gradients.back()}});
    upper = lower;
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::int32_t weight = weights[weights.size() - 1 - i];
    const std::int32_t updated = add({.kind = BufferKind::kGradient, .alias_of = weight});
    plan.kernels.push_back({.inputs = {weight, gradients[i]}, .outputs = {updated}});
  }
  return plan;
}

void BM_PlanLifetimes(benchmark::State& state) {
  const MemoryPlan plan = TrainingStep(state.range(0) / 3);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ProfileMemory(plan, {}));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_PlanLifetimes)->Arg(300)->Arg(3'000)->Arg(30'000)->Arg(300'000);

/// Requests of mixed sizes, up to 1,000 alive at a time, freed in another order than made.
void BM_MemoryPool_Churn(benchmark::State& state) {
  constexpr std::size_t kAlive = 1'000;
  for (auto _ : state) {
    MemoryPool pool({});
    std::vector<std::int64_t> alive(kAlive, 0);
    std::uint64_t random = 1;
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      std::int64_t& slot = alive[(random >> 33) % kAlive];
      if (slot != 0) {
        pool.Free(slot);
      }
      const auto bytes = static_cast<std::int64_t>((random >> 20) % 1'000'000);
      slot = pool.Allocate(bytes, PoolKind::kCommon)->address;
    }
    benchmark::DoNotOptimize(pool.statistics());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_MemoryPool_Churn)->Arg(1'000)->Arg(100'000);

}  // namespace
}  // namespace drydock::sim
