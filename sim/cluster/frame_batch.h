#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/frame.h"
#include "sim/cluster/node_table.h"

namespace drydock::sim {

/// A complete frame for one connection, inside the bytes of its batch.
struct AddressedFrame {
  PeerId peer = {};
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// Encoded frames in the order in which they must be sent, without one allocation per frame.
class FrameBatch {
 public:
  /// Appends a frame whose body `encode(std::string&)` appends.
  template <typename Encode>
  void Add(PeerId peer, std::string_view name, std::string_view scheduler_url,
           const Encode& encode) {
    const OpenFrame open = BeginFrame(name, scheduler_url, bytes_);
    encode(bytes_);
    EndFrame(open, bytes_);
    frames_.push_back({peer, open.start, bytes_.size() - open.start});
  }
  /// Forgets all frames, keeps the memory.
  void Clear() {
    bytes_.clear();
    frames_.clear();
  }
  /// All frames, in order.
  [[nodiscard]] const std::vector<AddressedFrame>& frames() const { return frames_; }
  /// The bytes of one frame; each must go out in one write.
  [[nodiscard]] std::string_view BytesOf(const AddressedFrame& frame) const {
    return std::string_view(bytes_).substr(frame.offset, frame.bytes);
  }
  /// Bytes of all frames.
  [[nodiscard]] std::size_t total_bytes() const { return bytes_.size(); }

 private:
  std::string bytes_;
  std::vector<AddressedFrame> frames_;
};

}  // namespace drydock::sim
