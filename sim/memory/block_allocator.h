#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace drydock::sim {

/// One block of device memory and the range of it that was ever handed out.
struct PoolBlock {
  std::int64_t address = 0;  ///< Relative to the memory base; negative beyond the capacity.
  std::int64_t bytes = 0;
  std::int64_t used_from = -1;  ///< Lowest address handed out; -1 = none (see `used_to`).
  std::int64_t used_to = -1;  ///< End of the highest buffer handed out; equal to used_from = none.
  friend bool operator==(const PoolBlock&, const PoolBlock&) = default;
};

/// Blocks of one pool of one stream, cut into idle and used buffers; best fit with coalescing.
///
/// Buffers of a block are chained in address order and cover it without gaps; two idle neighbours
/// never exist. Every operation costs O(log idle buffers).
/// Source: mindspore ccsrc/memory/mem_pool
class BlockAllocator {
 public:
  /// Number of a buffer, stable until it is freed or swallowed by a neighbour.
  using BufferIndex = std::int32_t;

  /// Adds a block that is one idle buffer.
  void AddBlock(std::int64_t address, std::int64_t bytes);

  /// Takes the smallest idle buffer that holds `bytes` (ties: lowest address) and cuts off the rest
  /// if it is at least one granule; nothing if there is none.
  [[nodiscard]] std::optional<BufferIndex> TakeBestFit(std::int64_t bytes);

  /// Frees a used buffer: joins it with idle neighbours.
  void Release(BufferIndex buffer);

  /// Cuts a used buffer after `head_bytes` (0 < head_bytes < size); returns the rest, used as well.
  BufferIndex CutUsed(BufferIndex buffer, std::int64_t head_bytes);

  [[nodiscard]] std::int64_t address(BufferIndex buffer) const { return At(buffer).address; }
  [[nodiscard]] std::int64_t bytes(BufferIndex buffer) const { return At(buffer).bytes; }
  [[nodiscard]] const std::vector<PoolBlock>& blocks() const { return blocks_; }

  /// Sum over blocks of the range ever handed out, bytes; never falls.
  [[nodiscard]] std::int64_t handed_out_bytes() const { return handed_out_bytes_; }

 private:
  static constexpr BufferIndex kNone = -1;

  struct IdleKey {
    std::int64_t bytes = 0;
    std::int64_t address = 0;
    BufferIndex buffer = kNone;
    friend bool operator<(const IdleKey& a, const IdleKey& b) {
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.address < b.address;
    }
  };
  using IdleSet = std::set<IdleKey>;
  struct Buffer {
    std::int64_t address = 0;
    std::int64_t bytes = 0;
    BufferIndex previous = kNone;
    BufferIndex next = kNone;
    std::int32_t block = 0;
    bool idle = false;
    IdleSet::iterator place = {};  // In idle_, while idle.
  };

  [[nodiscard]] const Buffer& At(BufferIndex buffer) const {
    return buffers_[static_cast<std::size_t>(buffer)];
  }
  [[nodiscard]] Buffer& At(BufferIndex buffer) {
    return buffers_[static_cast<std::size_t>(buffer)];
  }
  [[nodiscard]] bool IsIdle(BufferIndex buffer) const { return buffer != kNone && At(buffer).idle; }
  BufferIndex NewBuffer(const Buffer& value);
  void InsertIdle(BufferIndex buffer);
  void EraseIdle(BufferIndex buffer);
  void SwallowNext(BufferIndex buffer);
  void NoteHandedOut(const Buffer& buffer);

  std::vector<PoolBlock> blocks_;
  std::vector<Buffer> buffers_;
  std::vector<BufferIndex> spare_;
  IdleSet idle_;
  std::vector<IdleSet::node_type> spare_nodes_;  // Re-used: no allocation in the steady state.
  std::int64_t handed_out_bytes_ = 0;
};

}  // namespace drydock::sim
