#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drydock::sim {

/// Appends proto3 fields to a body: default values are left out, so call in ascending field order.
class ProtoWriter {
 public:
  explicit ProtoWriter(std::string& out) : out_(out) {}
  /// string or bytes field.
  void Text(std::uint32_t field, std::string_view value);
  /// uint32 field.
  void Number(std::uint32_t field, std::uint32_t value);
  /// bool field.
  void Flag(std::uint32_t field, bool value);
  /// Embedded message; written even if `body` is empty, since presence counts.
  void Message(std::uint32_t field, std::string_view body);

 private:
  void Varint(std::uint64_t value);
  std::string& out_;
};

/// How the value of a field is written.
enum class ProtoKind : std::uint8_t {
  kVarint,  ///< Number.
  kText,    ///< Bytes with a length in front.
  kOther,   ///< Fixed-size number or group: skipped, no message of ours has one.
};

/// One field as it stands in a body; `text` is a view into the body.
struct ProtoField {
  std::uint32_t number = 0;
  ProtoKind kind = ProtoKind::kOther;
  std::uint64_t value = 0;
  std::string_view text = {};
  friend bool operator==(const ProtoField&, const ProtoField&) = default;

  /// True if this is uint32 or bool field `field`.
  [[nodiscard]] bool IsNumber(std::uint32_t field) const {
    return number == field && kind == ProtoKind::kVarint;
  }
  /// True if this is string, bytes or message field `field`.
  [[nodiscard]] bool IsText(std::uint32_t field) const {
    return number == field && kind == ProtoKind::kText;
  }
};

/// Walks over the fields of a body and accepts exactly what a protobuf parser accepts.
///
/// A field of a known number but unexpected kind counts as unknown, the last occurrence wins.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view body) : rest_(body) {}
  /// The next field, false at the end. @error kProtocol  malformed body
  [[nodiscard]] Result<bool> Next(ProtoField& field);

 private:
  [[nodiscard]] bool ReadTag(std::uint32_t& tag);
  [[nodiscard]] bool ReadVarint(std::uint64_t& value);
  [[nodiscard]] bool ReadLengthDelimited(std::string_view& text);
  [[nodiscard]] bool SkipFixed(std::size_t bytes);
  [[nodiscard]] bool SkipGroup(std::uint32_t number);
  [[nodiscard]] bool ReadValue(std::uint32_t tag, ProtoField& field);

  std::string_view rest_;
};

/// Error of a body that is not a well-formed `message`.
[[nodiscard]] tl::unexpected<Error> BadBody(std::string_view message);

/// Fails unless `text` may stand in a proto3 string field, that is unless it is UTF-8.
[[nodiscard]] Status CheckProtoString(std::string_view message, std::string_view text);

}  // namespace drydock::sim
