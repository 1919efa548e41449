#include "sim/memory/static_plan.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/memory/storage.h"

namespace drydock::sim {
namespace {

/// Kernels between which a tensor of the static plan is alive, both included.
struct Lifetime {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

bool MayShare(const Lifetime& a, const Lifetime& b) {
  return a.last < b.first || b.last < a.first;
}

/// Last kernel that touches each storage, by owner.
std::vector<std::int32_t> LastUses(const MemoryPlan& plan, const StorageTable& table) {
  std::vector<std::int32_t> last(plan.buffers.size(), -1);
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    for (const auto* buffers : {&plan.kernels[k].inputs, &plan.kernels[k].outputs}) {
      for (const std::int32_t buffer : *buffers) {
        const std::int32_t root = table.root[static_cast<std::size_t>(buffer)];
        last[static_cast<std::size_t>(root)] = static_cast<std::int32_t>(k);
      }
    }
  }
  return last;
}

/// Lifetimes and sizes of all tensors, and the tensor each buffer owns (-1 = none).
struct Tensors {
  std::vector<SomasTensor> tensors = {};
  std::vector<Lifetime> lifetimes = {};
  std::vector<std::int32_t> of_buffer = {};
};

Tensors ListTensors(const MemoryPlan& plan, const StorageTable& table, bool count_workspace) {
  Tensors list;
  list.of_buffer.assign(plan.buffers.size(), -1);
  const std::vector<std::int32_t> last = LastUses(plan, table);
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    const auto kernel = static_cast<std::int32_t>(k);
    for (const std::int32_t output : plan.kernels[k].outputs) {
      const auto b = static_cast<std::size_t>(output);
      if (table.root[b] != output) {
        continue;
      }
      list.of_buffer[b] = static_cast<std::int32_t>(list.tensors.size());
      list.tensors.push_back(
          SomasTensor{.bytes = AlignedBytes(plan.buffers[b].bytes), .graph_output = table.kept[b]});
      list.lifetimes.push_back(Lifetime{kernel, table.kept[b] ? kNeverFreed : last[b]});
    }
    if (count_workspace && plan.kernels[k].workspace_bytes > 0) {
      list.tensors.push_back(SomasTensor{.bytes = AlignedBytes(plan.kernels[k].workspace_bytes)});
      list.lifetimes.push_back(Lifetime{kernel, kernel});
    }
  }
  return list;
}

/// Kernel during which the tensors alive are largest together; the first of equals.
std::int32_t PeakKernel(const Tensors& list, std::size_t kernel_count) {
  std::vector<std::int64_t> change(kernel_count + 1, 0);
  for (std::size_t t = 0; t < list.tensors.size(); ++t) {
    const Lifetime& life = list.lifetimes[t];
    change[static_cast<std::size_t>(life.first)] += list.tensors[t].bytes;
    if (life.last != kNeverFreed) {
      change[static_cast<std::size_t>(life.last) + 1] -= list.tensors[t].bytes;
    }
  }
  std::int64_t alive = 0;
  std::int64_t peak = 0;
  std::int32_t at = 0;
  for (std::size_t k = 0; k < kernel_count; ++k) {
    alive += change[k];
    if (alive > peak) {
      peak = alive;
      at = static_cast<std::int32_t>(k);
    }
  }
  return at;
}

void FillConflicts(const Tensors& list, std::int32_t peak_kernel, SomasProblem& problem) {
  const std::size_t count = list.tensors.size();
  problem.may_share.assign(count, std::vector<bool>(count, false));
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      if (!MayShare(list.lifetimes[a], list.lifetimes[b])) {
        continue;
      }
      problem.may_share[a][b] = true;
      if (list.lifetimes[b].first <= peak_kernel && peak_kernel <= list.lifetimes[b].last) {
        problem.tensors[a].reusable_peak_bytes += list.tensors[b].bytes;
      }
    }
  }
}

}  // namespace

Result<SomasProblem> StaticProblem(const MemoryPlan& plan, bool count_workspace) {
  DRYDOCK_TRY(const StorageTable table, ResolveStorage(plan));
  const Tensors list = ListTensors(plan, table, count_workspace);
  if (list.tensors.size() > kMaxStaticTensors) {
    return Fail(ErrorCode::kUnsupported,
                "a static memory plan of " + std::to_string(list.tensors.size()) +
                    " tensors is too large (at most " + std::to_string(kMaxStaticTensors) + ")",
                "use memory optimize_level O0");
  }
  SomasProblem problem{.tensors = list.tensors};
  FillConflicts(list, PeakKernel(list, plan.kernels.size()), problem);
  for (const auto& group : table.groups) {
    std::vector<std::int32_t> chain;
    chain.reserve(group.size());
    for (const std::int32_t root : group) {
      chain.push_back(list.of_buffer[static_cast<std::size_t>(root)]);
    }
    problem.contiguous.push_back(std::move(chain));
  }
  return problem;
}

Result<MemoryProfile> ProfileStaticMemory(const MemoryPlan& plan, const LifetimeOptions& options) {
  DRYDOCK_TRY(const StorageTable table, ResolveStorage(plan));
  DRYDOCK_TRY(const SomasProblem problem, StaticProblem(plan, options.count_workspace));
  LifetimeOptions dynamic = options;
  dynamic.count_workspace = false;  // Workspaces are part of the static plan.
  if (problem.tensors.empty()) {
    return ProfileMemory(plan, dynamic);
  }
  DRYDOCK_TRY(const SomasPlan solved, SolveSomas(problem));
  // The same plan with one buffer that all kernel outputs are views of: made by the first kernel,
  // used by the last.
  MemoryPlan merged = plan;
  const auto whole = static_cast<std::int32_t>(merged.buffers.size());
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (table.root[b] == static_cast<std::int32_t>(b) && table.producer[b] >= 0) {
      merged.buffers[b].alias_of = whole;
    }
  }
  merged.buffers.push_back(PlannedBuffer{.bytes = solved.solutions[solved.chosen].total_bytes});
  merged.kernels.front().outputs.insert(merged.kernels.front().outputs.begin(), whole);
  merged.kernels.back().inputs.push_back(whole);
  DRYDOCK_TRY(MemoryProfile profile, ProfileMemory(merged, dynamic));
  profile.placements.pop_back();
  return profile;
}

}  // namespace drydock::sim
