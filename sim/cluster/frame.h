#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drydock::sim {

/// Bytes in front of the four parts of a frame: magic and four big-endian lengths.
inline constexpr std::size_t kFrameHeaderBytes = 20;
/// Largest name, `to` and `from` (inclusive). Source: docs/protocol.md.
inline constexpr std::size_t kMaxFrameTextBytes = 1024;
/// Largest body MindSpore accepts (inclusive): 2 GiB - 4 KiB.
inline constexpr std::size_t kMaxFrameBodyBytes = 2'147'479'552;
/// Sender address of every frame: both sides leave name and url empty.
inline constexpr std::string_view kFromAddress = "@";

/// One message on the wire. All parts are views into the bytes it was cut from.
///
/// Example: a heartbeat {name "2", to "@127.0.0.1:8118", from "@", body <protobuf>}.
struct FrameView {
  std::string_view name = {};
  std::string_view to = {};
  std::string_view from = {};
  std::string_view body = {};
  friend bool operator==(const FrameView&, const FrameView&) = default;
};

/// What a receiver is ready to take; a frame beyond it ends the connection.
struct FrameLimits {
  std::size_t text_bytes = kMaxFrameTextBytes;  ///< For each of name, to, from.
  std::size_t body_bytes = kMaxFrameBodyBytes;
  friend bool operator==(const FrameLimits&, const FrameLimits&) = default;
};

/// Appends one frame to `out`.
void AppendFrame(const FrameView& frame, std::string& out);

/// Frame under construction at the end of a byte string; see BeginFrame.
struct OpenFrame {
  std::size_t start = 0;       ///< Offset of the header.
  std::size_t body_start = 0;  ///< Offset of the first body byte.
};

/// Appends header, name and addresses, so that the body can be encoded in place behind them.
///
/// @param scheduler_url  host:port of the scheduler: `to` is "@" and this, in both directions
[[nodiscard]] OpenFrame BeginFrame(std::string_view name, std::string_view scheduler_url,
                                   std::string& out);

/// Completes the frame: everything after `frame.body_start` is its body.
void EndFrame(const OpenFrame& frame, std::string& out);

/// A frame found at the beginning of some bytes, and its length.
struct ParsedFrame {
  FrameView frame = {};
  std::size_t bytes = 0;
};

/// Cuts one frame off the front; nothing if more bytes are needed.
///
/// @error kProtocol  wrong magic (seen from the first wrong byte on), a part beyond its limit, an
///                   empty name, or no '@' in either address. The connection cannot be used
///                   further.
[[nodiscard]] Result<std::optional<ParsedFrame>> ParseFrame(std::span<const std::byte> bytes,
                                                            const FrameLimits& limits);

/// Cuts a byte stream into frames, whatever pieces it arrives in.
///
/// Memory follows what was received, never what a header announces.
class FrameDecoder {
 public:
  explicit FrameDecoder(FrameLimits limits = {}) : limits_(limits) {}
  /// Takes the next piece of the stream. Views returned by Next() before end here.
  void Feed(std::span<const std::byte> bytes);
  /// The next complete frame, nothing if it has not arrived completely.
  /// @error kProtocol  as ParseFrame; the error is kept, every further call returns it again
  [[nodiscard]] Result<std::optional<FrameView>> Next();
  /// Bytes of a frame that is not complete.
  [[nodiscard]] std::size_t pending_bytes() const { return buffer_.size() - consumed_; }

 private:
  FrameLimits limits_;
  std::string buffer_;
  std::size_t consumed_ = 0;
  std::optional<Error> failure_;
};

}  // namespace drydock::sim
