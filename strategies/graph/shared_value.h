#pragma once

#include <memory>
#include <utility>

namespace drydock::strategies {

/// A value that never changes and that copies share, or none.
///
/// Used where thousands of objects hold the same large value: a copy costs a pointer. Reads like
/// std::optional<const T>.
template <typename T>
class SharedValue {
 public:
  SharedValue() = default;
  SharedValue(T value)  // NOLINT(google-explicit-constructor): as with std::optional
      : value_(std::make_shared<const T>(std::move(value))) {}

  /// A part of the value, which lives as long as anyone shares it. `part` lies within the value.
  template <typename Part>
  [[nodiscard]] SharedValue<Part> Share(const Part& part) const {
    SharedValue<Part> shared;
    shared.value_ = std::shared_ptr<const Part>(value_, &part);
    return shared;
  }

  [[nodiscard]] bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] const T& operator*() const { return *value_; }
  [[nodiscard]] const T* operator->() const { return value_.get(); }

 private:
  template <typename Whole>
  friend class SharedValue;
  std::shared_ptr<const T> value_;
};

}  // namespace drydock::strategies
