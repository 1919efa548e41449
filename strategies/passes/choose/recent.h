#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace drydock::strategies {

/// Small FIFO that is searched linearly. Repeated layers ask the same question, so hits are likely;
/// networks without repetition cost neither memory nor time.
template <typename T>
class Recent {
 public:
  /// The first that `matches`, null if there is none. Valid until the next Add.
  template <typename Predicate>
  [[nodiscard]] const T* FindIf(Predicate matches) const {
    const auto it = std::ranges::find_if(items_, matches);
    return it == items_.end() ? nullptr : &*it;
  }

  /// Adds one, in place of the oldest if there are many.
  void Add(T item) {
    if (items_.size() < kMost) {
      items_.push_back(std::move(item));
      return;
    }
    items_[oldest_] = std::move(item);
    oldest_ = (oldest_ + 1) % kMost;
  }

 private:
  /// Far more than one operator has different uses in a layer.
  static constexpr std::size_t kMost = 64;
  std::vector<T> items_ = {};
  std::size_t oldest_ = 0;
};

}  // namespace drydock::strategies
