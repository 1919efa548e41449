#include "sim/memory/pool.h"

#include <algorithm>
#include <iterator>

#include "base/result.h"

namespace drydock::sim {
namespace {

// Beyond these no device ever goes; they keep sums of sizes and addresses far from 64 bits.
constexpr std::int64_t kMaxRequestBytes = std::int64_t{1} << 51;
constexpr std::int64_t kMaxReservedBytes = std::int64_t{1} << 60;

}  // namespace

MemoryPool::MemoryPool(const PoolConfig& config)
    : config_(config), lowest_address_(config.capacity_bytes) {
  if (config_.initial_bytes > 0) {
    const std::int64_t half = PoolAlignedBytes(config_.initial_bytes / 2);
    static_cast<void>(Expand(Key{PoolKind::kPersistent, 0}, half));
    static_cast<void>(Expand(Key{PoolKind::kCommon, 0}, half));
  }
}

std::optional<Allocation> MemoryPool::Allocate(std::int64_t bytes, PoolKind pool,
                                               std::int32_t stream) {
  if (bytes < 0 || bytes > kMaxRequestBytes / 2) {
    return std::nullopt;
  }
  return AllocateAligned(AlignedBytes(bytes), Key{pool, stream});
}

std::vector<Allocation> MemoryPool::AllocateContinuous(std::span<const std::int64_t> bytes,
                                                       std::int32_t stream) {
  std::int64_t total = 0;
  for (const std::int64_t member : bytes) {
    if (member < 0 || member > kMaxRequestBytes / 2 || total > kMaxRequestBytes / 2) {
      return {};
    }
    total += ManagerAlignedBytes(member);
  }
  if (bytes.empty()) {
    return {};
  }
  const auto whole = AllocateAligned(PoolAlignedBytes(total), Key{PoolKind::kCommon, stream});
  if (!whole) {
    return {};
  }
  std::vector<Allocation> members = {*whole};
  Place place = *places_.Find(whole->address);
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    const std::int64_t head = ManagerAlignedBytes(bytes[i]);
    const BufferIndex rest = place.allocator->CutUsed(place.buffer, head);
    members.back().bytes = head;
    place.buffer = rest;
    const std::int64_t address = place.allocator->address(rest);
    members.push_back(Allocation{address, place.allocator->bytes(rest), place.pool});
    places_.Insert(address, place);
  }
  return members;
}

void MemoryPool::Free(std::int64_t address) {
  const Place* const found = places_.Find(address);
  if (found == nullptr) {
    return;
  }
  if (!pending_.empty()) {
    if (const auto pending = pending_.find(address); pending != pending_.end()) {
      pending->second.freed = true;
      return;
    }
  }
  const Place place = *found;
  used_bytes_ -= place.allocator->bytes(place.buffer);
  places_.Erase(address);
  place.allocator->Release(place.buffer);
}

void MemoryPool::FreePart(std::span<const std::int64_t> freed, std::span<const KeptRange> kept) {
  std::map<std::int64_t, Place> candidates;
  for (const std::int64_t address : freed) {
    if (const Place* const found = places_.Find(address)) {
      candidates.emplace(address, *found);
    }
  }
  std::set<std::int64_t> seen;
  for (const KeptRange& range : kept) {
    if (range.bytes > 0 && seen.insert(range.address).second) {
      CutKept(candidates, range);
    }
  }
  for (const auto& candidate : candidates) {
    Free(candidate.first);
  }
}

void MemoryPool::CutKept(std::map<std::int64_t, Place>& candidates, const KeptRange& range) {
  auto found = candidates.upper_bound(range.address);
  if (found == candidates.begin()) {
    return;
  }
  --found;
  const std::int64_t start = found->first;
  Place place = found->second;
  const std::int64_t end = start + place.allocator->bytes(place.buffer);
  if (range.address >= end) {
    return;
  }
  if (range.address == start) {
    candidates.erase(found);
  } else {
    place.buffer = place.allocator->CutUsed(place.buffer, range.address - start);
    places_.Insert(range.address, place);
  }
  if (range.bytes < end - range.address) {
    place.buffer = place.allocator->CutUsed(place.buffer, range.bytes);
    places_.Insert(range.address + range.bytes, place);
    candidates.emplace(range.address + range.bytes, place);
  }
}

PoolStatistics MemoryPool::statistics() const {
  std::int64_t actual_peak_bytes = 0;
  for (const auto& entry : allocators_) {
    actual_peak_bytes += entry.second.handed_out_bytes();
  }
  return PoolStatistics{.used_bytes = used_bytes_,
                        .used_peak_bytes = used_peak_bytes_,
                        .actual_peak_bytes = actual_peak_bytes,
                        .reserved_bytes = reserved_bytes_};
}

std::vector<AllocatorBlocks> MemoryPool::Blocks() const {
  std::vector<AllocatorBlocks> result;
  result.reserve(allocators_.size());
  for (const auto& [key, allocator] : allocators_) {
    result.push_back(
        AllocatorBlocks{.pool = key.first, .stream = key.second, .blocks = allocator.blocks()});
  }
  return result;
}

bool MemoryPool::Expand(const Key& key, std::int64_t bytes) {
  if (bytes > kMaxRequestBytes) {
    return false;
  }
  const std::int64_t free_bytes = std::max<std::int64_t>(lowest_address_, 0);
  const std::int64_t block = NextBlockBytes(config_, key.first, free_bytes, bytes);
  if (block == 0 || block > kMaxReservedBytes - reserved_bytes_) {
    return false;
  }
  lowest_address_ -= block;
  reserved_bytes_ += block;
  allocators_[key].AddBlock(lowest_address_, block);
  return true;
}

std::optional<MemoryPool::Place> MemoryPool::Find(const Key& key, std::int64_t bytes) {
  BlockAllocator& allocator = allocators_[key];
  if (allocator.blocks().empty() && !Expand(key, bytes)) {
    return std::nullopt;
  }
  if (const auto buffer = allocator.TakeBestFit(bytes)) {
    return Place{.allocator = &allocator, .buffer = *buffer, .pool = key.first};
  }
  return std::nullopt;
}

std::optional<MemoryPool::Place> MemoryPool::FindOrExpand(std::int64_t bytes, Key key) {
  if (auto place = Find(key, bytes)) {
    return place;
  }
  const bool asked_persistent = key.first == PoolKind::kPersistent;
  if (asked_persistent) {
    key.first = PoolKind::kCommon;  // Final: what follows grows the common pool.
    if (auto place = Find(key, bytes)) {
      return place;
    }
  }
  if (Expand(key, bytes)) {
    return Find(key, bytes);
  }
  if (!asked_persistent) {
    if (auto place = Find(Key{PoolKind::kPersistent, key.second}, bytes)) {
      return place;
    }
  }
  SyncAllEvents();
  return Find(key, bytes);
}

std::optional<Allocation> MemoryPool::AllocateAligned(std::int64_t bytes, const Key& key) {
  const auto place = FindOrExpand(bytes, key);
  if (!place) {
    return std::nullopt;
  }
  const Allocation result{.address = place->allocator->address(place->buffer),
                          .bytes = place->allocator->bytes(place->buffer),
                          .pool = place->pool};
  used_bytes_ += result.bytes;
  used_peak_bytes_ = std::max(used_peak_bytes_, used_bytes_);
  places_.Insert(result.address, *place);
  return result;
}

}  // namespace drydock::sim
