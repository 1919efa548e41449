#include "sim/cluster/proto_wire.h"

#include <array>
#include <limits>

#include "base/byte_reader.h"

namespace drydock::sim {
namespace {

// Wire types of the protobuf encoding.
constexpr std::uint32_t kVarintType = 0;
constexpr std::uint32_t kFixed64Type = 1;
constexpr std::uint32_t kLengthType = 2;
constexpr std::uint32_t kGroupBegin = 3;
constexpr std::uint32_t kGroupEnd = 4;
constexpr std::uint32_t kFixed32Type = 5;

constexpr std::size_t kMaxVarintBytes = 10;
constexpr std::size_t kMaxTagBytes = 5;
/// Depth to which unknown groups may be nested, as in protobuf.
constexpr std::size_t kMaxGroupDepth = 100;
/// protobuf refuses lengths that would overflow its int arithmetic.
constexpr std::uint64_t kMaxLength = std::numeric_limits<std::int32_t>::max() - 16;

constexpr std::uint32_t Tag(std::uint32_t field, std::uint32_t type) {
  return field << 3U | type;
}

}  // namespace

void ProtoWriter::Varint(std::uint64_t value) {
  while (value >= 0x80U) {
    out_.push_back(static_cast<char>(value | 0x80U));
    value >>= 7U;
  }
  out_.push_back(static_cast<char>(value));
}

void ProtoWriter::Text(std::uint32_t field, std::string_view value) {
  if (!value.empty()) {
    Message(field, value);
  }
}

void ProtoWriter::Number(std::uint32_t field, std::uint32_t value) {
  if (value != 0) {
    Varint(Tag(field, kVarintType));
    Varint(value);
  }
}

void ProtoWriter::Flag(std::uint32_t field, bool value) {
  Number(field, value ? 1 : 0);
}

void ProtoWriter::Message(std::uint32_t field, std::string_view body) {
  Varint(Tag(field, kLengthType));
  Varint(body.size());
  out_.append(body);
}

bool ProtoReader::ReadVarint(std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < kMaxVarintBytes && i < rest_.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(rest_[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << (7U * i);
    if (byte < 0x80U) {
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool ProtoReader::ReadTag(std::uint32_t& tag) {
  const std::size_t before = rest_.size();
  std::uint64_t wide = 0;
  if (!ReadVarint(wide) || before - rest_.size() > kMaxTagBytes) {
    return false;
  }
  tag = static_cast<std::uint32_t>(wide);
  return true;
}

bool ProtoReader::ReadLengthDelimited(std::string_view& text) {
  const std::size_t before = rest_.size();
  std::uint64_t length = 0;
  if (!ReadVarint(length) || before - rest_.size() > kMaxTagBytes || length > kMaxLength ||
      length > rest_.size()) {
    return false;
  }
  text = rest_.substr(0, static_cast<std::size_t>(length));
  rest_.remove_prefix(text.size());
  return true;
}

bool ProtoReader::SkipFixed(std::size_t bytes) {
  if (rest_.size() < bytes) {
    return false;
  }
  rest_.remove_prefix(bytes);
  return true;
}

bool ProtoReader::SkipGroup(std::uint32_t number) {
  std::array<std::uint32_t, kMaxGroupDepth> open = {};
  std::size_t depth = 0;
  open[depth++] = number;
  while (depth > 0) {
    std::uint32_t tag = 0;
    if (!ReadTag(tag) || tag >> 3U == 0) {
      return false;
    }
    ProtoField ignored;
    switch (tag & 7U) {
      case kGroupBegin:
        if (depth == kMaxGroupDepth) {
          return false;
        }
        open[depth++] = tag >> 3U;
        break;
      case kGroupEnd:
        if (open[--depth] != tag >> 3U) {
          return false;
        }
        break;
      default:
        if (!ReadValue(tag, ignored)) {
          return false;
        }
    }
  }
  return true;
}

bool ProtoReader::ReadValue(std::uint32_t tag, ProtoField& field) {
  field = ProtoField{.number = tag >> 3U};
  switch (tag & 7U) {
    case kVarintType:
      field.kind = ProtoKind::kVarint;
      return ReadVarint(field.value);
    case kFixed64Type:
      return SkipFixed(8);
    case kLengthType:
      field.kind = ProtoKind::kText;
      return ReadLengthDelimited(field.text);
    case kFixed32Type:
      return SkipFixed(4);
    default:
      return false;
  }
}

Result<bool> ProtoReader::Next(ProtoField& field) {
  if (rest_.empty()) {
    return false;
  }
  std::uint32_t tag = 0;
  if (!ReadTag(tag) || tag >> 3U == 0) {
    return Fail(ErrorCode::kProtocol, "a field of the message has no number");
  }
  if ((tag & 7U) == kGroupBegin) {
    field = ProtoField{.number = tag >> 3U};
    if (SkipGroup(tag >> 3U)) {
      return true;
    }
  } else if (ReadValue(tag, field)) {
    return true;
  }
  return Fail(ErrorCode::kProtocol, "a field of the message is cut off or of an unknown kind");
}

tl::unexpected<Error> BadBody(std::string_view message) {
  return Fail(ErrorCode::kProtocol, "body is not a " + std::string(message) + " message");
}

Status CheckProtoString(std::string_view message, std::string_view text) {
  if (!IsUtf8(text)) {
    return Fail(ErrorCode::kProtocol,
                "a text field of a " + std::string(message) + " message is not UTF-8");
  }
  return {};
}

}  // namespace drydock::sim
