#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace drydock::sim {

/// Values by address, without an allocation for each as std::unordered_map makes it.
///
/// Open addressing: an entry stands at the place that its address asks for, or behind it with
/// nothing free between the two. At most half of the places are taken.
template <typename T>
class AddressTable {
 public:
  /// Null if there is none. Valid until the table changes.
  [[nodiscard]] const T* Find(std::int64_t address) const {
    const Entry& entry = entries_[PlaceOf(address)];
    return entry.address == address && address != kFree ? &entry.value : nullptr;
  }

  /// An address that is there keeps its value.
  void Insert(std::int64_t address, const T& value) {
    if (2 * (count_ + 1) > entries_.size()) {
      Grow();
    }
    Entry& entry = entries_[PlaceOf(address)];
    if (entry.address != address) {
      entry = {.address = address, .value = value};
      ++count_;
    }
  }

  /// Entries behind close the gap, if it lies between them and the place that they ask for.
  void Erase(std::int64_t address) {
    std::size_t gap = PlaceOf(address);
    if (entries_[gap].address != address || address == kFree) {
      return;
    }
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t at = (gap + 1) & mask; entries_[at].address != kFree; at = (at + 1) & mask) {
      const std::size_t wanted = WantedBy(entries_[at].address);
      if (((at - wanted) & mask) >= ((at - gap) & mask)) {
        entries_[gap] = entries_[at];
        gap = at;
      }
    }
    entries_[gap] = {};
    --count_;
  }

 private:
  static constexpr std::int64_t kFree = std::numeric_limits<std::int64_t>::min();  ///< No address.
  static constexpr unsigned kFirstBits = 6;

  struct Entry {
    std::int64_t address = kFree;
    T value = {};
  };

  /// Upper bits of a product: addresses are multiples of large powers of two.
  [[nodiscard]] std::size_t WantedBy(std::int64_t address) const {
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
    return static_cast<std::size_t>((static_cast<std::uint64_t>(address) * kGolden) >>
                                    (64U - bits_));
  }

  /// Where an address is, or would be.
  [[nodiscard]] std::size_t PlaceOf(std::int64_t address) const {
    std::size_t at = WantedBy(address);
    while (entries_[at].address != kFree && entries_[at].address != address) {
      at = (at + 1) & (entries_.size() - 1);
    }
    return at;
  }

  void Grow() {
    ++bits_;
    const std::vector<Entry> before =
        std::exchange(entries_, std::vector<Entry>(std::size_t{1} << bits_));
    for (const Entry& entry : before) {
      if (entry.address != kFree) {
        entries_[PlaceOf(entry.address)] = entry;
      }
    }
  }

  unsigned bits_ = kFirstBits;
  std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << kFirstBits);
  std::size_t count_ = 0;
};

}  // namespace drydock::sim
