#include "sim/memory/lifetimes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "sim/memory/storage.h"

namespace drydock::sim {
namespace {

bool IsPersistentKind(BufferKind kind) {
  return kind == BufferKind::kParameter || kind == BufferKind::kOptimizerState ||
         kind == BufferKind::kAccumulatedGradient || kind == BufferKind::kConstant;
}

/// One run of a plan. Storages are named by the buffer that owns them.
class PlanRun {
 public:
  PlanRun(const MemoryPlan& plan, const LifetimeOptions& options, StorageTable table)
      : plan_(plan),
        options_(options),
        table_(std::move(table)),
        pool_(options.pool),
        pending_uses_(table_.uses) {
    profile_.placements.assign(plan.buffers.size(), BufferPlacement{});
    if (options.keep_trace) {
      tracker_.emplace();
    }
    if (options.keep_series) {
      profile_.series.reserve(plan.kernels.size());
    }
  }

  Result<MemoryProfile> Run() {
    DRYDOCK_RETURN_IF_ERROR(PlacePersistent());
    DRYDOCK_RETURN_IF_ERROR(PlaceInputs());
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      DRYDOCK_RETURN_IF_ERROR(RunKernel(k));
    }
    const PoolStatistics statistics = pool_.statistics();
    profile_.used_peak_bytes = statistics.used_peak_bytes;
    profile_.actual_peak_bytes = statistics.actual_peak_bytes;
    profile_.reserved_bytes = statistics.reserved_bytes;
    DescribePeak();
    if (tracker_) {
      profile_.trace = tracker_->Take();
    }
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      profile_.placements[b] = profile_.placements[Root(b)];
    }
    return std::move(profile_);
  }

 private:
  [[nodiscard]] std::size_t Root(std::size_t buffer) const {
    return static_cast<std::size_t>(table_.root[buffer]);
  }
  [[nodiscard]] std::size_t Root(std::int32_t buffer) const {
    return Root(static_cast<std::size_t>(buffer));
  }
  [[nodiscard]] bool Placed(std::size_t root) const { return profile_.placements[root].bytes > 0; }

  [[nodiscard]] tl::unexpected<Error> Exhausted(std::int64_t bytes) const {
    return FailInput("Memory:exhausted",
                     "device memory is exhausted by a request for " + BytesText(bytes) + " while " +
                         BytesText(pool_.statistics().used_bytes) + " of " +
                         BytesText(options_.pool.capacity_bytes) + " are in use",
                     "cut the tensors over more devices or recompute activations");
  }

  void StartTask(TrackedTaskKind kind) {
    if (tracker_) {
      tracker_->StartTask(kind, kernel_);
    }
  }

  void Track(std::int32_t buffer, TrackedType type, const Allocation& allocation) {
    if (tracker_) {
      tracker_->Allocated(buffer, type, allocation, pool_.statistics().actual_peak_bytes);
    }
  }

  void Free(std::int64_t address) {
    pool_.Free(address);
    if (tracker_) {
      tracker_->Freed(address);
    }
  }

  void Note(std::size_t root, const Allocation& allocation, TrackedType type) {
    Track(static_cast<std::int32_t>(root), type, allocation);
    profile_.placements[root] = BufferPlacement{.address = allocation.address,
                                                .bytes = allocation.bytes,
                                                .pool = allocation.pool,
                                                .first_kernel = kernel_};
  }

  Status Place(std::size_t root, PoolKind pool, TrackedType type) {
    const std::int64_t bytes = plan_.buffers[root].bytes;
    const auto allocation = pool_.Allocate(bytes, pool);
    if (!allocation) {
      return Exhausted(bytes);
    }
    Note(root, *allocation, type);
    return {};
  }

  Status PlaceGroup(const std::vector<std::int32_t>& roots) {
    std::vector<std::int64_t> bytes;
    bytes.reserve(roots.size());
    std::int64_t total = 0;
    for (const std::int32_t root : roots) {
      bytes.push_back(plan_.buffers[static_cast<std::size_t>(root)].bytes);
      total += bytes.back();
    }
    const auto members = pool_.AllocateContinuous(bytes);
    if (members.empty()) {
      return Exhausted(total);
    }
    for (std::size_t i = 0; i < roots.size(); ++i) {
      Note(static_cast<std::size_t>(roots[i]), members[i], TrackedType::kContinuousMemory);
    }
    return {};
  }

  Status PlacePersistentOf(std::int32_t buffer) {
    const std::size_t root = Root(buffer);
    if (Placed(root) || table_.producer[root] >= 0 || !IsPersistentKind(plan_.buffers[root].kind)) {
      return {};
    }
    return Place(root, PoolKind::kPersistent,
                 plan_.buffers[root].kind == BufferKind::kConstant ? TrackedType::kConstantValue
                                                                   : TrackedType::kWeight);
  }

  Status PlacePersistent() {
    StartTask(TrackedTaskKind::kPrepareData);
    for (const PlannedKernel& kernel : plan_.kernels) {
      for (const std::int32_t input : kernel.inputs) {
        DRYDOCK_RETURN_IF_ERROR(PlacePersistentOf(input));
      }
      for (const std::int32_t output : kernel.outputs) {
        DRYDOCK_RETURN_IF_ERROR(PlacePersistentOf(output));
      }
    }
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].graph_output) {
        DRYDOCK_RETURN_IF_ERROR(PlacePersistentOf(static_cast<std::int32_t>(b)));
      }
    }
    NotePeak();
    return {};
  }

  Status PlaceInputs() {
    const PoolKind pool = plan_.sink_inputs ? PoolKind::kCommon : PoolKind::kPersistent;
    StartTask(TrackedTaskKind::kReadInputs);
    std::vector<std::size_t> placed;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (Root(b) == b && table_.producer[b] < 0 && plan_.buffers[b].kind == BufferKind::kInput) {
        DRYDOCK_RETURN_IF_ERROR(Place(b, pool, TrackedType::kBatchMemory));
        placed.push_back(b);
      }
    }
    NotePeak();
    for (const std::size_t root : placed) {
      FreeIfUnused(root);
    }
    return {};
  }

  Status RunKernel(std::size_t k) {
    kernel_ = static_cast<std::int32_t>(k);
    const PlannedKernel& kernel = plan_.kernels[k];
    StartTask(TrackedTaskKind::kKernel);
    for (const std::int32_t output : kernel.outputs) {
      DRYDOCK_RETURN_IF_ERROR(PlaceOutput(output));
    }
    std::optional<Allocation> workspace;
    if (options_.count_workspace && kernel.workspace_bytes > 0) {
      workspace = pool_.Allocate(kernel.workspace_bytes, PoolKind::kCommon);
      if (!workspace) {
        return Exhausted(kernel.workspace_bytes);
      }
      Track(-1, TrackedType::kWorkSpace, *workspace);
    }
    TrackUses(kernel);
    const std::int64_t at_launch_bytes = pool_.statistics().used_bytes;
    NotePeak(workspace ? workspace->bytes : 0);
    if (workspace) {
      Free(workspace->address);
    }
    ReleaseUses(kernel);
    if (options_.keep_series) {
      profile_.series.push_back(KernelUsage{at_launch_bytes, pool_.statistics().used_bytes});
    }
    return {};
  }

  void TrackUses(const PlannedKernel& kernel) {
    if (!tracker_) {
      return;
    }
    for (const auto* buffers : {&kernel.inputs, &kernel.outputs}) {
      for (const std::int32_t buffer : *buffers) {
        tracker_->Used(profile_.placements[Root(buffer)].address);
      }
    }
  }

  void ReleaseUses(const PlannedKernel& kernel) {
    for (const std::int32_t input : kernel.inputs) {
      --pending_uses_[Root(input)];
      FreeIfUnused(Root(input));
    }
    for (const std::int32_t output : kernel.outputs) {
      pending_uses_[Root(output)] -= Root(output) != static_cast<std::size_t>(output) ? 1 : 0;
    }
    for (const std::int32_t output : kernel.outputs) {
      FreeIfUnused(Root(output));
    }
  }

  /// Places an output that owns its storage, unless it came with a continuous buffer before.
  Status PlaceOutput(std::int32_t output) {
    const std::size_t root = Root(output);
    if (root != static_cast<std::size_t>(output) || Placed(root)) {
      return {};
    }
    if (const std::int32_t group = table_.group[root]; group >= 0) {
      return PlaceGroup(table_.groups[static_cast<std::size_t>(group)]);
    }
    return Place(root, PoolKind::kCommon,
                 table_.kept[root] ? TrackedType::kGraphOutput : TrackedType::kKernel);
  }

  void FreeIfUnused(std::size_t root) {
    BufferPlacement& placement = profile_.placements[root];
    const bool persistent = table_.producer[root] < 0 && IsPersistentKind(plan_.buffers[root].kind);
    if (pending_uses_[root] > 0 || persistent || table_.kept[root] ||
        placement.last_kernel != kNeverFreed) {
      return;
    }
    Free(placement.address);
    placement.last_kernel = kernel_;
  }

  /// Within a kernel memory only grows until it is launched, so one look per launch suffices.
  void NotePeak(std::int64_t workspace_bytes = 0) {
    const std::int64_t used_bytes = pool_.statistics().used_bytes;
    if (used_bytes > peak_bytes_) {
      peak_bytes_ = used_bytes;
      peak_workspace_bytes_ = workspace_bytes;
      profile_.at_kernel = kernel_;
    }
  }

  [[nodiscard]] BufferKind ReportedKind(std::size_t root) const {
    const BufferKind kind = plan_.buffers[root].kind;
    return table_.kept[root] && table_.producer[root] >= 0 ? BufferKind::kOutput : kind;
  }

  void DescribePeak() {
    std::vector<PeakBuffer> live;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      const BufferPlacement& placement = profile_.placements[b];
      if (placement.bytes > 0 && placement.first_kernel <= profile_.at_kernel &&
          placement.last_kernel >= profile_.at_kernel) {
        live.push_back(PeakBuffer{static_cast<std::int32_t>(b), ReportedKind(b), placement.bytes});
      }
    }
    if (peak_workspace_bytes_ > 0) {
      live.push_back(PeakBuffer{-1, BufferKind::kWorkspace, peak_workspace_bytes_});
    }
    for (const PeakBuffer& buffer : live) {
      profile_.breakdown_bytes[static_cast<std::size_t>(buffer.kind)] += buffer.bytes;
      profile_.persistent_bytes += IsPersistentKind(buffer.kind) ? buffer.bytes : 0;
    }
    const std::size_t count = std::min(options_.largest_count, live.size());
    std::partial_sort(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(count), live.end(),
                      [](const PeakBuffer& a, const PeakBuffer& b) {
                        return a.bytes != b.bytes ? a.bytes > b.bytes : a.buffer < b.buffer;
                      });
    live.resize(count);
    profile_.largest = std::move(live);
  }

  const MemoryPlan& plan_;
  const LifetimeOptions& options_;
  StorageTable table_;
  MemoryPool pool_;
  std::optional<MemoryTracker> tracker_;
  std::vector<std::int32_t> pending_uses_;
  std::int32_t kernel_ = kBeforeKernels;
  std::int64_t peak_bytes_ = 0;
  std::int64_t peak_workspace_bytes_ = 0;
  MemoryProfile profile_;
};

}  // namespace

Result<MemoryProfile> ProfileMemory(const MemoryPlan& plan, const LifetimeOptions& options) {
  DRYDOCK_TRY(StorageTable table, ResolveStorage(plan));
  return PlanRun(plan, options, std::move(table)).Run();
}

}  // namespace drydock::sim
