#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace drydock {

/// The same bytes as text, without a copy.
[[nodiscard]] std::string_view AsText(std::span<const std::byte> bytes);

/// The same text as bytes, without a copy.
[[nodiscard]] std::span<const std::byte> AsBytes(std::string_view text);

/// Bounds-checked cursor over bytes that came from outside.
///
/// Every read either succeeds completely or returns nothing and leaves the cursor where it was.
/// Results of ReadText are views into the input.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(AsText(bytes)) {}

  /// Bytes not read yet.
  [[nodiscard]] std::size_t remaining() const { return rest_.size(); }
  /// True if everything was read.
  [[nodiscard]] bool empty() const { return rest_.empty(); }

  /// One byte.
  [[nodiscard]] std::optional<std::uint8_t> ReadByte();
  /// Unsigned number, most significant byte first.
  template <std::unsigned_integral T>
  [[nodiscard]] std::optional<T> ReadBigEndian() {
    if (rest_.size() < sizeof(T)) {
      return std::nullopt;
    }
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>((value << 8U) | static_cast<std::uint8_t>(rest_[i]));
    }
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  /// The next `count` bytes.
  [[nodiscard]] std::optional<std::string_view> ReadText(std::size_t count);

 private:
  std::string_view rest_;
};

/// Writes `value` over the four bytes at `offset`, most significant byte first.
void PatchBigEndian32(std::string& bytes, std::size_t offset, std::uint32_t value);

/// True if `text` is well-formed UTF-8 (no overlong forms, no surrogates, at most U+10FFFF).
[[nodiscard]] bool IsUtf8(std::string_view text);

}  // namespace drydock
