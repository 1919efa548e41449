#include "sim/memory/block_allocator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/result.h"
#include "sim/memory/alignment.h"

namespace drydock::sim {

void BlockAllocator::AddBlock(std::int64_t address, std::int64_t bytes) {
  blocks_.push_back(PoolBlock{.address = address, .bytes = bytes});
  InsertIdle(NewBuffer(Buffer{
      .address = address, .bytes = bytes, .block = static_cast<std::int32_t>(blocks_.size() - 1)}));
}

std::optional<BlockAllocator::BufferIndex> BlockAllocator::TakeBestFit(std::int64_t bytes) {
  const auto found = idle_.lower_bound(
      IdleKey{.bytes = bytes, .address = std::numeric_limits<std::int64_t>::min()});
  if (found == idle_.end()) {
    return std::nullopt;
  }
  const BufferIndex taken = found->buffer;
  EraseIdle(taken);
  if (At(taken).bytes - bytes >= kPoolGranuleBytes) {
    InsertIdle(CutUsed(taken, bytes));
  }
  NoteHandedOut(At(taken));
  return taken;
}

void BlockAllocator::Release(BufferIndex buffer) {
  DRYDOCK_CHECK(!At(buffer).idle);
  const BufferIndex previous = At(buffer).previous;
  const BufferIndex next = At(buffer).next;
  if (IsIdle(next)) {
    EraseIdle(next);
    SwallowNext(buffer);
  }
  if (IsIdle(previous)) {
    EraseIdle(previous);
    SwallowNext(previous);
    InsertIdle(previous);
  } else {
    InsertIdle(buffer);
  }
}

BlockAllocator::BufferIndex BlockAllocator::CutUsed(BufferIndex buffer, std::int64_t head_bytes) {
  const Buffer whole = At(buffer);
  DRYDOCK_CHECK(head_bytes > 0 && head_bytes < whole.bytes);
  const BufferIndex rest = NewBuffer(Buffer{.address = whole.address + head_bytes,
                                            .bytes = whole.bytes - head_bytes,
                                            .previous = buffer,
                                            .next = whole.next,
                                            .block = whole.block});
  if (whole.next != kNone) {
    At(whole.next).previous = rest;
  }
  At(buffer).next = rest;
  At(buffer).bytes = head_bytes;
  return rest;
}

BlockAllocator::BufferIndex BlockAllocator::NewBuffer(const Buffer& value) {
  if (spare_.empty()) {
    buffers_.push_back(value);
    return static_cast<BufferIndex>(buffers_.size() - 1);
  }
  const BufferIndex index = spare_.back();
  spare_.pop_back();
  At(index) = value;
  return index;
}

void BlockAllocator::InsertIdle(BufferIndex buffer) {
  Buffer& idle = At(buffer);
  const IdleKey key{.bytes = idle.bytes, .address = idle.address, .buffer = buffer};
  idle.idle = true;
  if (spare_nodes_.empty()) {
    idle.place = idle_.insert(key).first;
    return;
  }
  spare_nodes_.back().value() = key;
  idle.place = idle_.insert(std::move(spare_nodes_.back())).position;
  spare_nodes_.pop_back();
}

void BlockAllocator::EraseIdle(BufferIndex buffer) {
  At(buffer).idle = false;
  spare_nodes_.push_back(idle_.extract(At(buffer).place));
}

void BlockAllocator::SwallowNext(BufferIndex buffer) {
  const BufferIndex gone = At(buffer).next;
  const BufferIndex after = At(gone).next;
  At(buffer).bytes += At(gone).bytes;
  At(buffer).next = after;
  if (after != kNone) {
    At(after).previous = buffer;
  }
  spare_.push_back(gone);
}

void BlockAllocator::NoteHandedOut(const Buffer& buffer) {
  PoolBlock& block = blocks_[static_cast<std::size_t>(buffer.block)];
  const std::int64_t end = buffer.address + buffer.bytes;
  handed_out_bytes_ -= block.used_to - block.used_from;
  const bool first = block.used_to == block.used_from;
  block.used_from = first ? buffer.address : std::min(block.used_from, buffer.address);
  block.used_to = first ? end : std::max(block.used_to, end);
  handed_out_bytes_ += block.used_to - block.used_from;
}

}  // namespace drydock::sim
