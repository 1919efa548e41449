#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/cluster/message_name.h"

namespace drydock::sim {

/// Largest key of the scheduler's store that is accepted.
inline constexpr std::size_t kMaxMetadataNameBytes = 4096;

/// One entry of the scheduler's key-value store: body of messages "6" (write), "7" (read), "8"
/// (delete) and of their answers "10" (there was such an entry) and "11" (there was none).
///
/// `name` is UTF-8, `value` any bytes; both are views into the body. A write is never answered.
struct MetadataMessage {
  std::string_view name = {};
  std::string_view value = {};
  friend bool operator==(const MetadataMessage&, const MetadataMessage&) = default;
};

/// Appends the body to `out`.
void EncodeBody(const MetadataMessage& message, std::string& out);

/// @error kProtocol  malformed, or the name is not UTF-8
[[nodiscard]] Result<MetadataMessage> DecodeMetadata(std::string_view body);

}  // namespace drydock::sim
