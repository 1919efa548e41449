#include "sim/memory/lifetimes.h"

#include <algorithm>
#include <deque>
#include <map>
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

/// Steps after which the peaks of a job have settled at the latest: the pool repeats itself.
constexpr std::int64_t kMostSteps = 6;

/// One run of a plan. Storages are named by the buffer that owns them.
class PlanRun {
 public:
  PlanRun(const MemoryPlan& plan, const LifetimeOptions& options, StorageTable table)
      : plan_(plan),
        options_(options),
        table_(std::move(table)),
        pool_(options.pool),
        storages_(plan.buffers.size()) {
    profile_.placements.assign(plan.buffers.size(), BufferPlacement{});
    if (options.keep_trace) {
      tracker_.emplace();
    }
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
      const BufferKind kind = plan.buffers[b].kind;
      const bool filled = table_.producer[b] < 0;
      storages_[b] = {.pending_uses = table_.uses[b],
                      .held_until = plan.buffers[b].held_until,
                      .persistent = filled && IsPersistentKind(kind),
                      .input = filled && kind == BufferKind::kInput,
                      .kept = table_.kept[b]};
    }
    FindLastReaders();
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
      if (plan.buffers[b].held_until >= 0) {
        held_.emplace(plan.buffers[b].held_until, Root(b));
      }
    }
  }

  Result<MemoryProfile> Run() {
    DRYDOCK_RETURN_IF_ERROR(PlacePersistent());
    PoolStatistics before;
    for (step_ = 0; step_ < std::min(options_.steps, kMostSteps); ++step_) {
      DRYDOCK_RETURN_IF_ERROR(RunStep());
      const PoolStatistics now = pool_.statistics();
      const bool settled = step_ > 1 && now.used_peak_bytes == before.used_peak_bytes &&
                           now.actual_peak_bytes == before.actual_peak_bytes;
      before = now;
      if (settled) {
        break;
      }
    }
    const PoolStatistics statistics = pool_.statistics();
    MemoryProfile result = std::move(at_peak_);
    result.used_peak_bytes = statistics.used_peak_bytes;
    result.actual_peak_bytes = statistics.actual_peak_bytes;
    result.reserved_bytes = statistics.reserved_bytes;
    if (tracker_) {
      result.trace = tracker_->Take();
    }
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      result.placements[b] = result.placements[Root(b)];
    }
    return result;
  }

 private:
  /// What is looked at whenever a kernel uses a storage.
  struct Storage {
    std::int32_t pending_uses = 0;              ///< Uses to come in this step.
    std::int32_t stream_uses = 0;               ///< Uses by other streams not waited for.
    std::int32_t last_reader = kBeforeKernels;  ///< Last kernel that reads it by itself.
    std::int32_t held_until = -1;
    bool persistent : 1 = false;
    bool input : 1 = false;
    bool kept : 1 = false;
  };

  [[nodiscard]] std::size_t Root(std::size_t buffer) const {
    return static_cast<std::size_t>(table_.root[buffer]);
  }
  [[nodiscard]] std::size_t Root(std::int32_t buffer) const {
    return Root(static_cast<std::size_t>(buffer));
  }
  [[nodiscard]] const std::vector<PlannedKernel>& Kernels() const { return plan_.KernelsOf(step_); }

  void FindLastReaders() {
    for (std::size_t k = 0; k < Kernels().size(); ++k) {
      for (const std::int32_t input : Kernels()[k].inputs) {
        storages_[Root(input)].last_reader = static_cast<std::int32_t>(k);
      }
    }
  }

  [[nodiscard]] bool Placed(std::size_t root) const { return profile_.placements[root].bytes > 0; }
  [[nodiscard]] bool IsPersistent(std::size_t root) const { return storages_[root].persistent; }
  [[nodiscard]] bool IsInput(std::size_t root) const { return storages_[root].input; }

  [[nodiscard]] tl::unexpected<Error> Exhausted(std::int64_t bytes) const {
    return FailInput("Memory:exhausted",
                     "device memory is exhausted by a request for " + BytesText(bytes) + " while " +
                         BytesText(pool_.used_bytes()) + " of " +
                         BytesText(options_.pool.capacity_bytes) + " are in use",
                     "cut the tensors over more devices or recompute activations");
  }

  // ---- Steps

  Status RunStep() {
    BeginStep();
    DRYDOCK_RETURN_IF_ERROR(PlaceInputs());
    for (std::size_t k = 0; k < Kernels().size(); ++k) {
      DRYDOCK_RETURN_IF_ERROR(RunKernel(k));
    }
    RunEvents(plan_.last_events);
    TrackEvent(TrackedTaskKind::kReturn);
    EndStep();
    return {};
  }

  /// What the step before left: its inputs and what it returned.
  void BeginStep() {
    peak_in_step_ = step_ == 0;  // What was placed before belongs to the first step.
    kernel_ = kBeforeKernels;
    profile_.series.clear();
    if (step_ == 0) {
      return;
    }
    for (std::size_t b = 0; b < storages_.size(); ++b) {
      storages_[b].pending_uses = table_.uses[b];
    }
    old_.clear();
    if (step_ == 1 && !plan_.later_kernels.empty()) {
      FindLastReaders();
    }
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (Root(b) != b || IsPersistent(b)) {
        continue;
      }
      if (Placed(b) && profile_.placements[b].last_kernel == kNeverFreed) {
        BufferPlacement& old = old_[b] = profile_.placements[b];
        old.first_kernel = kBeforeKernels;
      }
      profile_.placements[b] = {};
    }
  }

  void EndStep() {
    for (auto& [stream, uses] : uses_of_stream_) {
      Release(uses, kNeverFreed);
    }
    DropOldResults();
    if (peak_in_step_) {
      at_peak_ = profile_;
      at_peak_.at_step = static_cast<std::int32_t>(step_);
      if (options_.keep_series) {
        at_peak_.left_over.assign(plan_.buffers.size(), {});
        for (const auto& [root, placement] : old_) {
          at_peak_.left_over[root] = placement;
        }
        at_peak_.kinds.clear();
        for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
          at_peak_.kinds.push_back(ReportedKind(b));
        }
      }
      DescribePeak(at_peak_);
    }
  }

  /// What the step before returned.
  void DropOldResults() {
    for (const auto& [root, placement] : old_) {
      if (!IsInput(root)) {
        FreeOld(root, kernel_);
      }
    }
  }

  /// @param last_kernel  the last one that sees it
  void FreeOld(std::size_t root, std::int32_t last_kernel) {
    const auto old = old_.find(root);
    if (old != old_.end() && old->second.last_kernel == kNeverFreed) {
      Free(old->second.address);
      old->second.last_kernel = last_kernel;
    }
  }

  // ---- The pool

  void Begin(TrackedTaskKind kind) {
    if (tracker_) {
      const bool later = step_ > 0 && !plan_.later_kernels.empty() && kernel_ >= 0;
      const auto offset = static_cast<std::int32_t>(later ? plan_.kernels.size() : 0);
      tracker_->Begin(kind, kernel_ + offset);
    }
  }

  void TrackEvent(TrackedTaskKind kind) {
    if (tracker_) {
      tracker_->Event(kind);
    }
  }

  void Track(std::int32_t buffer, TrackedType type, const Allocation& allocation) {
    if (tracker_) {
      tracker_->Allocated(buffer, type, allocation, pool_.statistics());
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

  Status PlacePersistentOf(std::int32_t buffer, bool constants) {
    const std::size_t root = Root(buffer);
    const bool constant = plan_.buffers[root].kind == BufferKind::kConstant;
    if (Placed(root) || !IsPersistent(root) || constant != constants ||
        plan_.buffers[root].on_host) {
      return {};
    }
    return Place(root, PoolKind::kPersistent,
                 constant ? TrackedType::kConstantValue : TrackedType::kWeight);
  }

  Status PlacePersistent() {
    Begin(TrackedTaskKind::kPrepareData);
    for (const bool constants : {true, false}) {
      for (const PlannedKernel& kernel : plan_.kernels) {
        for (const std::int32_t input : kernel.inputs) {
          DRYDOCK_RETURN_IF_ERROR(PlacePersistentOf(input, constants));
        }
        for (const std::int32_t output : kernel.outputs) {
          DRYDOCK_RETURN_IF_ERROR(PlacePersistentOf(output, constants));
        }
      }
      for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
        if (plan_.buffers[b].graph_output) {
          DRYDOCK_RETURN_IF_ERROR(PlacePersistentOf(static_cast<std::int32_t>(b), constants));
        }
      }
    }
    NotePeak();
    return {};
  }

  /// Inputs of the first step lie where parameters do, later ones where results of kernels do.
  Status PlaceInputs() {
    const PoolKind pool =
        plan_.sink_inputs || step_ > 0 ? PoolKind::kCommon : PoolKind::kPersistent;
    Begin(TrackedTaskKind::kReadInputs);
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (Root(b) == b && IsInput(b)) {
        DRYDOCK_RETURN_IF_ERROR(Place(b, pool, TrackedType::kKernel));
      }
    }
    NotePeak();
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (Root(b) == b && IsInput(b) && storages_[b].last_reader == kBeforeKernels) {
        FreeOld(b, kernel_);
        FreeIfUnused(b);
      }
    }
    return {};
  }

  // ---- Kernels

  Status RunKernel(std::size_t k) {
    const PlannedKernel& kernel = Kernels()[k];
    kernel_ = static_cast<std::int32_t>(k) - 1;  // What is freed now is not there at the launch.
    RunEvents(kernel.events);
    if (kernel_ + 1 == plan_.first_after_step) {
      DropOldResults();
    }
    kernel_ = static_cast<std::int32_t>(k);
    Begin(TrackedTaskKind::kKernel);
    DRYDOCK_TRY(std::vector<Allocation> scratch, PlaceCopies(kernel));
    for (const std::int32_t input : kernel.inputs) {
      if (storages_[Root(input)].last_reader == kernel_) {
        FreeOld(Root(input), kernel_ - 1);
      }
    }
    for (const std::int32_t output : kernel.outputs) {
      DRYDOCK_RETURN_IF_ERROR(PlaceOutput(output));
    }
    if (options_.count_workspace && kernel.workspace_bytes > 0) {
      DRYDOCK_RETURN_IF_ERROR(AddScratch(kernel.workspace_bytes, scratch));
    }
    TrackLaunch(kernel);
    const std::int64_t at_launch_bytes = pool_.used_bytes();
    std::int64_t scratch_bytes = 0;
    for (const Allocation& allocation : scratch) {
      scratch_bytes += allocation.bytes;
    }
    NotePeak(scratch_bytes);
    for (const Allocation& allocation : scratch) {
      Free(allocation.address);
    }
    ReleaseUses(kernel);
    ReleaseHeld();
    if (options_.keep_series) {
      profile_.series.push_back(KernelUsage{at_launch_bytes, pool_.used_bytes()});
    }
    return {};
  }

  Status AddScratch(std::int64_t bytes, std::vector<Allocation>& scratch) {
    const auto allocation = pool_.Allocate(bytes, PoolKind::kCommon);
    if (!allocation) {
      return Exhausted(bytes);
    }
    Track(-1, TrackedType::kWorkSpace, *allocation);
    scratch.push_back(*allocation);
    return {};
  }

  /// Copies of what the kernel uses of the host's memory, each once.
  Result<std::vector<Allocation>> PlaceCopies(const PlannedKernel& kernel) {
    std::vector<Allocation> copies;
    std::vector<std::size_t> copied;
    for (const auto* buffers : {&kernel.inputs, &kernel.outputs}) {
      for (const std::int32_t buffer : *buffers) {
        const std::size_t root = Root(buffer);
        if (plan_.buffers[root].on_host && std::ranges::find(copied, root) == copied.end()) {
          copied.push_back(root);
          DRYDOCK_RETURN_IF_ERROR(AddScratch(plan_.buffers[root].bytes, copies));
        }
      }
    }
    return copies;
  }

  /// What was held until this kernel.
  void ReleaseHeld() {
    const auto [first, last] = held_.equal_range(kernel_);
    for (auto held = first; held != last; ++held) {
      FreeIfUnused(held->second);
    }
  }

  void RunEvents(const std::vector<PlannedEvent>& events) {
    for (const PlannedEvent& event : events) {
      if (event.release_up_to >= 0) {
        Release(uses_of_stream_[event.stream], event.release_up_to);
      }
      TrackEvent(event.records ? TrackedTaskKind::kRecordEvent : TrackedTaskKind::kWaitEvent);
    }
  }

  void TrackLaunch(const PlannedKernel& kernel) {
    if (!tracker_) {
      return;
    }
    tracker_->Launched();
    for (const std::int32_t input : kernel.inputs) {
      tracker_->Used(profile_.placements[Root(input)].address);
    }
    if (kernel.stream != 0) {
      tracker_->Event(TrackedTaskKind::kKernelEvent);
    }
  }

  void ReleaseUses(const PlannedKernel& kernel) {
    if (kernel.stream != 0) {
      for (const auto* buffers : {&kernel.inputs, &kernel.outputs}) {
        for (const std::int32_t buffer : *buffers) {
          ++storages_[Root(buffer)].stream_uses;
          uses_of_stream_[kernel.stream].push_back({.root = Root(buffer), .kernel = kernel_});
        }
      }
    }
    for (const std::int32_t input : kernel.inputs) {
      --storages_[Root(input)].pending_uses;
      FreeIfUnused(Root(input));
    }
    for (const std::int32_t output : kernel.outputs) {
      storages_[Root(output)].pending_uses -=
          Root(output) != static_cast<std::size_t>(output) ? 1 : 0;
    }
    for (const std::int32_t output : kernel.outputs) {
      FreeIfUnused(Root(output));
    }
  }

  /// A use by a kernel of another stream than that of computation.
  struct StreamUse {
    std::size_t root = 0;
    std::int32_t kernel = 0;
  };

  /// Forgets the uses by kernels up to `kernel`.
  void Release(std::deque<StreamUse>& uses, std::int32_t kernel) {
    while (!uses.empty() && uses.front().kernel <= kernel) {
      const std::size_t root = uses.front().root;
      uses.pop_front();
      --storages_[root].stream_uses;
      FreeIfUnused(root);
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
    return Place(root, PoolKind::kCommon, TrackedType::kKernel);
  }

  void FreeIfUnused(std::size_t root) {
    const Storage& storage = storages_[root];
    if (storage.pending_uses > 0 || storage.stream_uses > 0 || storage.persistent ||
        (storage.input && storage.last_reader != kBeforeKernels && !plan_.sink_inputs) ||
        kernel_ < storage.held_until || storage.kept) {
      return;
    }
    BufferPlacement& placement = profile_.placements[root];
    if (placement.bytes == 0 || placement.last_kernel != kNeverFreed) {
      return;
    }
    Free(placement.address);
    placement.last_kernel = kernel_;
  }

  // ---- The peak

  /// Within a kernel memory only grows until it is launched, so one look per launch suffices.
  void NotePeak(std::int64_t workspace_bytes = 0) {
    const std::int64_t used_bytes = pool_.used_bytes();
    if (used_bytes > peak_bytes_) {
      peak_bytes_ = used_bytes;
      peak_workspace_bytes_ = workspace_bytes;
      profile_.at_kernel = kernel_;
      peak_in_step_ = true;
    }
  }

  [[nodiscard]] BufferKind ReportedKind(std::size_t root) const {
    const BufferKind kind = plan_.buffers[root].kind;
    return table_.kept[root] && table_.producer[root] >= 0 ? BufferKind::kOutput : kind;
  }

  void DescribePeak(MemoryProfile& profile) const {
    std::vector<PeakBuffer> live;
    const auto note = [&](std::size_t b, const BufferPlacement& placement) {
      if (placement.bytes > 0 && placement.first_kernel <= profile.at_kernel &&
          placement.last_kernel >= profile.at_kernel) {
        live.push_back(PeakBuffer{static_cast<std::int32_t>(b), ReportedKind(b), placement.bytes});
      }
    };
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      note(b, profile.placements[b]);
    }
    for (const auto& [root, placement] : old_) {
      note(root, placement);
    }
    if (peak_workspace_bytes_ > 0) {
      live.push_back(PeakBuffer{-1, BufferKind::kWorkspace, peak_workspace_bytes_});
    }
    for (const PeakBuffer& buffer : live) {
      profile.breakdown_bytes[static_cast<std::size_t>(buffer.kind)] += buffer.bytes;
      profile.persistent_bytes += IsPersistentKind(buffer.kind) ? buffer.bytes : 0;
    }
    const std::size_t count = std::min(options_.largest_count, live.size());
    std::partial_sort(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(count), live.end(),
                      [](const PeakBuffer& a, const PeakBuffer& b) {
                        return a.bytes != b.bytes ? a.bytes > b.bytes : a.buffer < b.buffer;
                      });
    live.resize(count);
    profile.largest = std::move(live);
  }

  const MemoryPlan& plan_;
  const LifetimeOptions& options_;
  StorageTable table_;
  MemoryPool pool_;
  std::optional<MemoryTracker> tracker_;
  std::vector<Storage> storages_;  ///< Per buffer; of roots only.
  std::map<std::int32_t, std::deque<StreamUse>> uses_of_stream_ = {};
  std::multimap<std::int32_t, std::size_t> held_ = {};  ///< By kernel: roots held until it.
  /// By root: what the step before left, its inputs and its results.
  std::map<std::size_t, BufferPlacement> old_ = {};
  std::int64_t step_ = 0;
  std::int32_t kernel_ = kBeforeKernels;
  std::int64_t peak_bytes_ = 0;
  std::int64_t peak_workspace_bytes_ = 0;
  bool peak_in_step_ = false;
  MemoryProfile profile_;
  MemoryProfile at_peak_;  ///< As of the end of the step with the peak.
};

}  // namespace

Result<MemoryProfile> ProfileMemory(const MemoryPlan& plan, const LifetimeOptions& options) {
  DRYDOCK_TRY(StorageTable table, ResolveStorage(plan));
  return PlanRun(plan, options, std::move(table)).Run();
}

}  // namespace drydock::sim
