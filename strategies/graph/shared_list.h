#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "strategies/graph/shared_pointer.h"

namespace drydock::strategies {

/// A short list that copies share: a copy costs a pointer, and changing one leaves the others.
///
/// For objects that are copied many times and rarely changed: the kernels of 64 micro batches have
/// the same results. Reads like a const std::vector.
template <typename T>
class SharedList {
 public:
  SharedList() = default;
  SharedList(std::vector<T> items)  // NOLINT(google-explicit-constructor): a list is a list
      : items_(items.empty() ? SharedPointer<std::vector<T>>()
                             : SharedPointer<std::vector<T>>(std::move(items))) {}
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}

  [[nodiscard]] bool empty() const { return !items_; }
  [[nodiscard]] std::size_t size() const { return items_ ? items_->size() : 0; }
  [[nodiscard]] const T* begin() const { return items_ ? items_->data() : nullptr; }
  [[nodiscard]] const T* end() const { return begin() + size(); }
  [[nodiscard]] const T& operator[](std::size_t index) const { return (*items_)[index]; }
  [[nodiscard]] const T& front() const { return items_->front(); }

  /// Puts another item at `index`, in this copy only.
  void Set(std::size_t index, T item) {
    std::vector<T> items = *items_;
    items[index] = std::move(item);
    *this = SharedList(std::move(items));
  }

  friend bool operator==(const SharedList& a, const SharedList& b) {
    return a.items_ == b.items_ || (a.items_ && b.items_ && *a.items_ == *b.items_);
  }

 private:
  SharedPointer<std::vector<T>> items_;
};

}  // namespace drydock::strategies
