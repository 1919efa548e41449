#include "sim/cluster/frame.h"

#include <algorithm>
#include <array>

#include "base/byte_reader.h"

namespace drydock::sim {
namespace {

constexpr std::string_view kMagic = "RPC0";
/// Offset of the body's length in the header.
constexpr std::size_t kBodyLengthOffset = 16;
/// Consumed bytes are dropped once they outweigh this, so that feeding stays linear.
constexpr std::size_t kCompactBytes = 4096;

struct FrameHeader {
  std::uint32_t name_bytes = 0;
  std::uint32_t to_bytes = 0;
  std::uint32_t from_bytes = 0;
  std::uint32_t body_bytes = 0;
};

FrameHeader ReadHeader(ByteReader& reader) {
  const auto length = [&reader] { return reader.ReadBigEndian<std::uint32_t>().value_or(0); };
  FrameHeader header;
  header.name_bytes = length();
  header.to_bytes = length();
  header.from_bytes = length();
  header.body_bytes = length();
  return header;
}

Status CheckHeader(const FrameHeader& header, const FrameLimits& limits) {
  const std::size_t longest_text =
      std::max({header.name_bytes, header.to_bytes, header.from_bytes});
  if (longest_text > limits.text_bytes) {
    return Fail(ErrorCode::kProtocol, "name or address of a frame announces " +
                                          std::to_string(longest_text) + " bytes, the limit is " +
                                          std::to_string(limits.text_bytes));
  }
  if (header.body_bytes > limits.body_bytes) {
    return Fail(ErrorCode::kProtocol,
                "body of a frame announces " + std::to_string(header.body_bytes) +
                    " bytes, the limit is " + std::to_string(limits.body_bytes));
  }
  if (header.name_bytes == 0) {
    return Fail(ErrorCode::kProtocol, "a frame has an empty message name");
  }
  return {};
}

/// Appends a header in one piece: this runs once per message of a million ranks.
void AppendHeader(const FrameHeader& header, std::string& out) {
  std::array<char, kFrameHeaderBytes> bytes = {};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  std::size_t at = kMagic.size();
  for (const std::uint32_t length :
       {header.name_bytes, header.to_bytes, header.from_bytes, header.body_bytes}) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
      bytes[at++] = static_cast<char>((length >> shift) & 0xFFU);
    }
  }
  out.append(bytes.data(), bytes.size());
}

std::uint32_t Length(std::string_view part) {
  return static_cast<std::uint32_t>(part.size());
}

}  // namespace

OpenFrame BeginFrame(std::string_view name, std::string_view scheduler_url, std::string& out) {
  OpenFrame frame{.start = out.size()};
  AppendHeader({.name_bytes = Length(name),
                .to_bytes = Length(scheduler_url) + 1,
                .from_bytes = Length(kFromAddress)},
               out);
  out.append(name).append(1, '@').append(scheduler_url).append(kFromAddress);
  frame.body_start = out.size();
  return frame;
}

void EndFrame(const OpenFrame& frame, std::string& out) {
  PatchBigEndian32(out, frame.start + kBodyLengthOffset,
                   static_cast<std::uint32_t>(out.size() - frame.body_start));
}

void AppendFrame(const FrameView& frame, std::string& out) {
  AppendHeader({.name_bytes = Length(frame.name),
                .to_bytes = Length(frame.to),
                .from_bytes = Length(frame.from),
                .body_bytes = Length(frame.body)},
               out);
  out.append(frame.name).append(frame.to).append(frame.from).append(frame.body);
}

Result<std::optional<ParsedFrame>> ParseFrame(std::span<const std::byte> bytes,
                                              const FrameLimits& limits) {
  const std::string_view text = AsText(bytes);
  const std::size_t magic_seen = std::min(text.size(), kMagic.size());
  if (text.substr(0, magic_seen) != kMagic.substr(0, magic_seen)) {
    return Fail(ErrorCode::kProtocol, "bytes do not begin with the magic 'RPC0'",
                "another program talks to this port; check host and port of the job");
  }
  if (text.size() < kFrameHeaderBytes) {
    return std::nullopt;
  }
  ByteReader reader(text.substr(kMagic.size()));
  const FrameHeader header = ReadHeader(reader);
  DRYDOCK_RETURN_IF_ERROR(CheckHeader(header, limits));
  const std::uint64_t parts_bytes =
      std::uint64_t{header.name_bytes} + header.to_bytes + header.from_bytes + header.body_bytes;
  if (reader.remaining() < parts_bytes) {
    return std::nullopt;
  }
  ParsedFrame parsed;
  parsed.frame.name = *reader.ReadText(header.name_bytes);
  parsed.frame.to = *reader.ReadText(header.to_bytes);
  parsed.frame.from = *reader.ReadText(header.from_bytes);
  parsed.frame.body = *reader.ReadText(header.body_bytes);
  parsed.bytes = kFrameHeaderBytes + static_cast<std::size_t>(parts_bytes);
  if (parsed.frame.to.find('@') == std::string_view::npos &&
      parsed.frame.from.find('@') == std::string_view::npos) {
    return Fail(ErrorCode::kProtocol, "a frame has no '@' in its addresses");
  }
  return parsed;
}

void FrameDecoder::Feed(std::span<const std::byte> bytes) {
  if (failure_) {
    return;
  }
  if (consumed_ == buffer_.size() || consumed_ >= kCompactBytes) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
  }
  buffer_.append(AsText(bytes));
}

Result<std::optional<FrameView>> FrameDecoder::Next() {
  if (failure_) {
    return tl::unexpected(*failure_);
  }
  auto parsed = ParseFrame(AsBytes(std::string_view(buffer_).substr(consumed_)), limits_);
  if (!parsed) {
    failure_ = parsed.error();
    buffer_.clear();
    consumed_ = 0;
    return tl::unexpected(*failure_);
  }
  if (!*parsed) {
    return std::nullopt;
  }
  consumed_ += (*parsed)->bytes;
  return (*parsed)->frame;
}

}  // namespace drydock::sim
