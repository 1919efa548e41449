#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace drydock::strategies {

/// Shares a value that never changes, or none, at the price of one pointer: std::shared_ptr takes
/// two.
///
/// For members of objects that a job has by the million. Copies may live in several threads.
template <typename T>
class SharedPointer {
 public:
  SharedPointer() = default;
  explicit SharedPointer(T value) : block_(new Block{.value = std::move(value)}) {}
  SharedPointer(const SharedPointer& other) : block_(other.block_) {
    if (block_ != nullptr) {
      block_->owners.fetch_add(1, std::memory_order_relaxed);
    }
  }
  SharedPointer(SharedPointer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedPointer& operator=(SharedPointer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedPointer() {
    if (block_ != nullptr && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete block_;
    }
  }

  explicit operator bool() const { return block_ != nullptr; }
  [[nodiscard]] const T& operator*() const { return block_->value; }
  [[nodiscard]] const T* operator->() const { return &block_->value; }
  friend bool operator==(const SharedPointer& a, const SharedPointer& b) {
    return a.block_ == b.block_;
  }

 private:
  struct Block {
    std::atomic<std::uint32_t> owners = 1;
    const T value;
  };
  Block* block_ = nullptr;
};

}  // namespace drydock::strategies
