// ProfileMemory against a brute force that knows nothing of pools: sums of rounded sizes over the
// intervals in which storages are alive, recomputed from scratch for every kernel.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/memory/lifetimes.h"

namespace drydock::sim {
namespace {

using Rng = std::mt19937_64;

std::int64_t Draw(Rng& rng, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(high - low + 1));
}

bool Chance(Rng& rng, std::int64_t percent) {
  return Draw(rng, 1, 100) <= percent;
}

/// A plan of random kernels over parameters, inputs, aliases and fused collectives.
MemoryPlan RandomPlan(Rng& rng) {
  MemoryPlan plan;
  plan.sink_inputs = Chance(rng, 50);
  for (std::int64_t i = Draw(rng, 1, 6); i > 0; --i) {
    plan.buffers.push_back({.bytes = Draw(rng, 0, 5000),
                            .kind = static_cast<BufferKind>(Draw(rng, 0, 4)),
                            .graph_output = Chance(rng, 5)});
  }
  for (std::int64_t k = Draw(rng, 1, 40); k > 0; --k) {
    PlannedKernel kernel{.workspace_bytes = Chance(rng, 30) ? Draw(rng, 1, 9000) : 0,
                         .continuous_inputs = Chance(rng, 15),
                         .continuous_outputs = Chance(rng, 15)};
    const auto known = static_cast<std::int64_t>(plan.buffers.size());
    for (std::int64_t i = Draw(rng, 0, 4); i > 0; --i) {
      kernel.inputs.push_back(
          static_cast<std::int32_t>(Draw(rng, std::max<std::int64_t>(0, known - 12), known - 1)));
    }
    for (std::int64_t i = Draw(rng, 0, 3); i > 0; --i) {
      PlannedBuffer output{.bytes = Draw(rng, 0, 20000),
                           .kind = static_cast<BufferKind>(Draw(rng, 5, 7)),
                           .graph_output = Chance(rng, 5)};
      if (!kernel.inputs.empty() && Chance(rng, 20)) {
        output.alias_of = Chance(rng, 80) ? kernel.inputs.front()
                                          : static_cast<std::int32_t>(Draw(rng, 0, known - 1));
      }
      kernel.outputs.push_back(static_cast<std::int32_t>(plan.buffers.size()));
      plan.buffers.push_back(output);
    }
    plan.kernels.push_back(std::move(kernel));
  }
  return plan;
}

std::size_t RootOf(const MemoryPlan& plan, std::size_t buffer) {
  while (plan.buffers[buffer].alias_of >= 0) {
    buffer = static_cast<std::size_t>(plan.buffers[buffer].alias_of);
  }
  return buffer;
}

struct Interval {
  int first = 1 << 30;  // Never alive.
  int last = -1;
};

/// Alive from the first kernel to the last; both inclusive, -1 = before all kernels.
Interval AliveIn(const MemoryPlan& plan, std::size_t root) {
  const int kernel_count = static_cast<int>(plan.kernels.size());
  Interval interval;
  bool kept = false;
  bool used = false;
  bool read = false;
  int born = -1;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    kept = kept || (RootOf(plan, b) == root && plan.buffers[b].graph_output);
  }
  for (int k = 0; k < kernel_count; ++k) {
    const PlannedKernel& kernel = plan.kernels[static_cast<std::size_t>(k)];
    for (const auto* list : {&kernel.inputs, &kernel.outputs}) {
      for (const std::int32_t b : *list) {
        if (RootOf(plan, static_cast<std::size_t>(b)) == root) {
          used = true;
          read = read || list == &kernel.inputs;
          interval.last = std::max(interval.last, k);
          born = static_cast<std::size_t>(b) == root && list == &kernel.outputs ? k : born;
        }
      }
    }
  }
  const BufferKind kind = plan.buffers[root].kind;
  const bool persistent = born < 0 && kind <= BufferKind::kConstant;
  if (persistent && !used && !kept) {
    return Interval{};
  }
  interval.first = born;
  const bool held = born < 0 && kind == BufferKind::kInput && read && !plan.sink_inputs;
  if (kept || persistent || held) {
    interval.last = kernel_count;
  }
  return interval;
}

/// Continuous buffers advance the birth of their members to that of the first one.
void AdvanceContinuous(const MemoryPlan& plan, std::vector<Interval>& intervals) {
  std::set<std::size_t> taken;
  for (const PlannedKernel& kernel : plan.kernels) {
    for (const bool inputs : {true, false}) {
      if (inputs ? !kernel.continuous_inputs : !kernel.continuous_outputs) {
        continue;
      }
      std::set<std::size_t> members;
      int first = 1 << 30;
      for (const std::int32_t b : inputs ? kernel.inputs : kernel.outputs) {
        const std::size_t root = RootOf(plan, static_cast<std::size_t>(b));
        const bool own = inputs || root == static_cast<std::size_t>(b);
        if (own && intervals[root].first >= 0 && taken.count(root) == 0) {
          members.insert(root);
        }
      }
      if (members.size() < 2) {
        continue;
      }
      for (const std::size_t root : members) {
        first = std::min(first, intervals[root].first);
        taken.insert(root);
      }
      for (const std::size_t root : members) {
        intervals[root].first = first;
      }
    }
  }
}

std::int64_t Rounded(std::int64_t bytes) {
  return (bytes + 543) / 512 * 512;
}

std::int64_t BruteForcePeak(const MemoryPlan& plan, bool workspace) {
  std::vector<Interval> intervals(plan.buffers.size());
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (RootOf(plan, b) == b) {
      intervals[b] = AliveIn(plan, b);
    }
  }
  AdvanceContinuous(plan, intervals);
  std::int64_t peak = 0;
  for (int k = -1; k < static_cast<int>(plan.kernels.size()); ++k) {
    std::int64_t sum = 0;
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
      sum += intervals[b].first <= k && k <= intervals[b].last ? Rounded(plan.buffers[b].bytes) : 0;
    }
    if (k >= 0 && workspace && plan.kernels[static_cast<std::size_t>(k)].workspace_bytes > 0) {
      sum += Rounded(plan.kernels[static_cast<std::size_t>(k)].workspace_bytes);
    }
    peak = std::max(peak, sum);
  }
  return peak;
}

std::uint64_t Seed() {
  const char* text = std::getenv("DRYDOCK_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 20240607;
}

TEST(ProfileMemoryProperty, PeakIsTheLargestSumOfLiveIntervals) {
  const std::uint64_t seed = Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const MemoryPlan plan = RandomPlan(rng);
    const bool workspace = Chance(rng, 50);
    const auto profile = ProfileMemory(plan, {.count_workspace = workspace, .keep_series = true});
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    ASSERT_EQ(profile->used_peak_bytes, BruteForcePeak(plan, workspace));
    std::int64_t parts = 0;
    for (const std::int64_t part : profile->breakdown_bytes) {
      parts += part;
    }
    ASSERT_EQ(parts, profile->used_peak_bytes);
    ASSERT_GE(profile->actual_peak_bytes, profile->used_peak_bytes);
    ASSERT_GE(profile->reserved_bytes, profile->actual_peak_bytes);
  }
}

TEST(ProfileMemoryProperty, StoragesAliveTogetherNeverOverlap) {
  const std::uint64_t seed = Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const MemoryPlan plan = RandomPlan(rng);
    const auto profile = ProfileMemory(plan, {});
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    const auto& places = profile->placements;
    for (std::size_t a = 0; a < places.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const bool apart = RootOf(plan, a) == RootOf(plan, b) || places[a].bytes == 0 ||
                           places[b].bytes == 0 || places[a].last_kernel < places[b].first_kernel ||
                           places[b].last_kernel < places[a].first_kernel ||
                           places[a].address + places[a].bytes <= places[b].address ||
                           places[b].address + places[b].bytes <= places[a].address;
        ASSERT_TRUE(apart) << "buffers " << a << " and " << b;
      }
    }
  }
}

}  // namespace
}  // namespace drydock::sim
