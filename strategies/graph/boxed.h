#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace drydock::strategies {

/// An optional value that costs one pointer while it is absent: for members that few objects have.
///
/// Reads like std::optional; copies are deep.
template <typename T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(std::nullopt_t) {}  // NOLINT(google-explicit-constructor): as with std::optional
  Boxed(T value)            // NOLINT(google-explicit-constructor): as with std::optional
      : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(std::optional<T> value)  // NOLINT(google-explicit-constructor): the roomy form of the same
      : value_(value ? std::make_unique<T>(*std::move(value)) : nullptr) {}
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
  Boxed& operator=(Boxed&&) noexcept = default;
  /// For lists in braces, as with std::optional.
  template <typename Value = T>
  requires(!std::same_as<std::remove_cvref_t<Value>, Boxed> &&
           std::constructible_from<T, Value>) Boxed&
  operator=(Value&& value) {
    value_ = std::make_unique<T>(std::forward<Value>(value));
    return *this;
  }
  ~Boxed() = default;

  [[nodiscard]] bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] T& operator*() { return *value_; }
  [[nodiscard]] const T& operator*() const { return *value_; }
  [[nodiscard]] T* operator->() { return value_.get(); }
  [[nodiscard]] const T* operator->() const { return value_.get(); }
  [[nodiscard]] T value_or(T other) const { return value_ ? *value_ : std::move(other); }
  void reset() { value_.reset(); }
  T& emplace() { return *(value_ = std::make_unique<T>()); }

  friend bool operator==(const Boxed& a, const Boxed& b) {
    return a.has_value() == b.has_value() && (!a || *a == *b);
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace drydock::strategies
