#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace drydock::strategies {

/// Many short lists in one piece of memory, instead of a vector of vectors, each of which is an
/// allocation of its own.
///
/// Example: room for 2, 0 and 1 items, then Append(2, x), Append(0, y): lists {y}, {}, {x}.
template <typename T>
class PackedLists {
 public:
  /// Per list how many items it may get.
  explicit PackedLists(const std::vector<std::uint32_t>& room)
      : begin_(room.size(), 0), size_(room.size(), 0) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < room.size(); ++i) {
      begin_[i] = count;
      count += room[i];
    }
    items_.resize(count);
  }

  void Append(std::size_t list, T item) { items_[begin_[list] + size_[list]++] = item; }

  [[nodiscard]] std::span<const T> operator[](std::size_t list) const {
    return {items_.data() + begin_[list], size_[list]};
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<std::uint32_t> size_;
  std::vector<T> items_ = {};
};

}  // namespace drydock::strategies
