#include "base/byte_reader.h"

namespace drydock {
namespace {

struct Utf8Lead {
  std::size_t length = 0;          ///< Bytes of the whole character; 0 if it cannot start one.
  std::uint8_t second_low = 0x80;  ///< Smallest legal second byte.
  std::uint8_t second_high = 0xBF;
};

Utf8Lead ClassifyLead(std::uint8_t lead) {
  if (lead >= 0xC2 && lead <= 0xDF) {
    return {.length = 2};
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    return {.length = 3,
            .second_low = static_cast<std::uint8_t>(lead == 0xE0 ? 0xA0 : 0x80),
            .second_high = static_cast<std::uint8_t>(lead == 0xED ? 0x9F : 0xBF)};
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    return {.length = 4,
            .second_low = static_cast<std::uint8_t>(lead == 0xF0 ? 0x90 : 0x80),
            .second_high = static_cast<std::uint8_t>(lead == 0xF4 ? 0x8F : 0xBF)};
  }
  return {};
}

}  // namespace

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::optional<std::uint8_t> ByteReader::ReadByte() {
  if (rest_.empty()) {
    return std::nullopt;
  }
  const auto value = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return value;
}

std::optional<std::string_view> ByteReader::ReadText(std::size_t count) {
  if (rest_.size() < count) {
    return std::nullopt;
  }
  const std::string_view text = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return text;
}

void PatchBigEndian32(std::string& bytes, std::size_t offset, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[offset + i] = static_cast<char>((value >> (24U - 8U * i)) & 0xFFU);
  }
}

bool IsUtf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<std::uint8_t>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const Utf8Lead kind = ClassifyLead(lead);
    if (kind.length == 0 || text.size() - i < kind.length) {
      return false;
    }
    const auto second = static_cast<std::uint8_t>(text[i + 1]);
    if (second < kind.second_low || second > kind.second_high) {
      return false;
    }
    for (std::size_t k = 2; k < kind.length; ++k) {
      if ((static_cast<std::uint8_t>(text[i + k]) & 0xC0U) != 0x80U) {
        return false;
      }
    }
    i += kind.length;
  }
  return true;
}

}  // namespace drydock
