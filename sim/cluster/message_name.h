#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace drydock::sim {

/// Every message of the protocol; the value is the number that stands, in decimal, in a frame's
/// name. Source: docs/protocol.md.
enum class MessageName : std::uint8_t {
  kRegistration = 0,      ///< Worker asks to become a member.
  kUnregistration = 1,    ///< Worker leaves.
  kHeartbeat = 2,         ///< Worker is alive.
  kSuccess = 3,           ///< Reply: done.
  kInvalidNode = 4,       ///< Reply: refused, or id unknown.
  kNotReady = 5,          ///< Reply: not possible before the topology is complete.
  kWriteMetadata = 6,     ///< Worker stores a value; never answered.
  kReadMetadata = 7,      ///< Worker reads a value.
  kDeleteMetadata = 8,    ///< Worker removes a value.
  kHostNames = 9,         ///< Worker asks for the host names of a role, in rank order.
  kValidMetadata = 10,    ///< Reply: there was such a value. See MetadataNumbers.
  kInvalidMetadata = 11,  ///< Reply: there is no such value (yet). See MetadataNumbers.
};

/// The same number as a request, of releases that can add to a number in the store; their answers
/// have other numbers (MetadataNumbers).
inline constexpr MessageName kAddMetadata = MessageName::kValidMetadata;

/// Number of messages.
inline constexpr std::size_t kMessageNameCount = 12;

/// The name as it stands in a frame: "0" .. "11".
[[nodiscard]] std::string_view WireName(MessageName name);

/// The message of a frame's name; leading zeros are tolerated as the reference does.
/// Nothing for user-defined names and for numbers nobody knows.
[[nodiscard]] std::optional<MessageName> ParseMessageName(std::string_view wire_name);

/// True if a worker waits for an answer to this message.
[[nodiscard]] bool HasReply(MessageName name);

}  // namespace drydock::sim
