#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "sim/memory/address_table.h"
#include "sim/memory/block_allocator.h"
#include "sim/memory/pool_config.h"

namespace drydock::sim {

/// A buffer handed out by the pool.
struct Allocation {
  std::int64_t address = 0;  ///< Relative to the memory base; negative beyond the capacity.
  std::int64_t bytes = 0;    ///< After both roundings.
  PoolKind pool = PoolKind::kCommon;  ///< Where it came from, which need not be where it was asked.
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

/// Part of a freed buffer that stays in use, as a buffer of its own.
struct KeptRange {
  std::int64_t address = 0;
  std::int64_t bytes = 0;
};

/// Use of a buffer of `memory_stream` by task `task` of another stream `user_stream`.
struct StreamEvent {
  std::int32_t user_stream = 0;
  std::int32_t memory_stream = 0;
  std::int64_t task = 0;
};

/// The figures a pool keeps, bytes.
struct PoolStatistics {
  std::int64_t used_bytes = 0;         ///< In use now, buffers pending on events included.
  std::int64_t used_peak_bytes = 0;    ///< Largest used_bytes so far.
  std::int64_t actual_peak_bytes = 0;  ///< Sum over blocks of the range ever handed out.
  std::int64_t reserved_bytes = 0;     ///< Sum of block sizes.
  friend bool operator==(const PoolStatistics&, const PoolStatistics&) = default;
};

/// Blocks of one allocator, in order of creation.
struct AllocatorBlocks {
  PoolKind pool = PoolKind::kCommon;
  std::int32_t stream = 0;
  std::vector<PoolBlock> blocks = {};
};

/// The dynamic memory pool of one rank, address for address, without any memory behind it.
///
/// Models the pool without virtual memory management and the two-pointer adapter, which is what a
/// MindSpore dry run uses. A buffer is named by its address. Every operation costs O(log n).
/// Source: mindspore ccsrc/memory/mem_pool; mindspore:
/// mindspore/ccsrc/memory/mem_pool/abstract_dynamic_mem_pool.cc (behaviour only)
class MemoryPool {
 public:
  explicit MemoryPool(const PoolConfig& config);
  MemoryPool(MemoryPool&&) = default;
  MemoryPool& operator=(MemoryPool&&) = default;
  MemoryPool(const MemoryPool&) = delete;  // Places point into allocators_.
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool() = default;

  /// Hands out a buffer for `bytes` (0 .. 2^50, before rounding); nothing when memory is exhausted.
  [[nodiscard]] std::optional<Allocation> Allocate(std::int64_t bytes, PoolKind pool,
                                                   std::int32_t stream = 0);

  /// Hands out adjacent common buffers, one per size, each rounded by itself; none when memory is
  /// exhausted or no size is given. Members are freed one by one.
  [[nodiscard]] std::vector<Allocation> AllocateContinuous(std::span<const std::int64_t> bytes,
                                                           std::int32_t stream = 0);

  /// Frees a buffer, or marks it to be freed once its events have been waited for. Unknown
  /// addresses have no effect.
  void Free(std::int64_t address);

  /// Frees `freed` except for the `kept` ranges, taken in list order. Ranges outside the freed
  /// buffers have no effect; ranges reaching beyond their buffer are cut.
  void FreePart(std::span<const std::int64_t> freed, std::span<const KeptRange> kept);

  /// Keeps the buffer from being freed until the event has been waited for.
  void RecordEvent(std::int64_t address, const StreamEvent& event);

  /// Waits for the events of `event.user_stream` up to and including `event.task` of all buffers
  /// registered for this pair of streams; really frees those that were only waiting for them.
  void WaitEvent(const StreamEvent& event);

  [[nodiscard]] PoolStatistics statistics() const;
  [[nodiscard]] std::int64_t used_bytes() const { return used_bytes_; }

  /// Common allocators by stream, then persistent ones by stream; only those that were ever asked.
  [[nodiscard]] std::vector<AllocatorBlocks> Blocks() const;

 private:
  using Key = std::pair<PoolKind, std::int32_t>;
  using BufferIndex = BlockAllocator::BufferIndex;
  struct Place {
    BlockAllocator* allocator = nullptr;  // Owned by allocators_, whose nodes never move.
    BufferIndex buffer = 0;
    PoolKind pool = PoolKind::kCommon;
  };
  struct PendingEvents {
    std::vector<StreamEvent> events = {};
    bool freed = false;
  };

  [[nodiscard]] bool Expand(const Key& key, std::int64_t bytes);
  [[nodiscard]] std::optional<Place> Find(const Key& key, std::int64_t bytes);
  [[nodiscard]] std::optional<Place> FindOrExpand(std::int64_t bytes, Key key);
  [[nodiscard]] std::optional<Allocation> AllocateAligned(std::int64_t bytes, const Key& key);
  void CutKept(std::map<std::int64_t, Place>& candidates, const KeptRange& range);
  void SyncAllEvents();
  void Deregister(std::int64_t address);

  PoolConfig config_;
  std::int64_t lowest_address_ = 0;  // Blocks are cut from the capacity downwards.
  std::map<Key, BlockAllocator> allocators_;
  AddressTable<Place> places_;
  std::map<std::int64_t, PendingEvents> pending_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::set<std::int64_t>> registered_;
  std::int64_t used_bytes_ = 0;
  std::int64_t used_peak_bytes_ = 0;
  std::int64_t reserved_bytes_ = 0;
};

}  // namespace drydock::sim
