#pragma once

#include <concepts>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "strategies/graph/shared_pointer.h"

namespace drydock::strategies {

/// A text that never changes and that copies share; reads like a const std::string.
///
/// For objects that are copied many times: a kernel of 64 micro batches has one name.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)  // NOLINT(google-explicit-constructor): a text is a text
      : text_(text.empty() ? SharedPointer<std::string>()
                           : SharedPointer<std::string>(std::move(text))) {}
  SharedText(const char* text)  // NOLINT(google-explicit-constructor)
      : SharedText(std::string(text)) {}

  operator std::string_view() const {  // NOLINT(google-explicit-constructor)
    return text_ ? std::string_view(*text_) : std::string_view();
  }
  [[nodiscard]] std::string str() const { return text_ ? *text_ : std::string(); }

  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(const SharedText& a, const Text& b) {
    return std::string_view(a) == std::string_view(b);
  }
  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || std::string_view(a) == std::string_view(b);
  }
  friend std::ostream& operator<<(std::ostream& out, const SharedText& text) {
    return out << std::string_view(text);
  }

 private:
  SharedPointer<std::string> text_;
};

}  // namespace drydock::strategies
