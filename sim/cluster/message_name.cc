#include "sim/cluster/message_name.h"

#include <algorithm>
#include <array>

namespace drydock::sim {
namespace {

constexpr std::array<std::string_view, kMessageNameCount> kWireNames = {
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"};

}  // namespace

std::string_view WireName(MessageName name) {
  return kWireNames[static_cast<std::size_t>(name)];
}

std::optional<MessageName> ParseMessageName(std::string_view wire_name) {
  if (wire_name.empty()) {
    return std::nullopt;
  }
  const std::size_t first = std::min(wire_name.find_first_not_of('0'), wire_name.size() - 1);
  const std::string_view digits = wire_name.substr(first);
  if (digits.size() > 2) {
    return std::nullopt;
  }
  const auto* const found = std::find(kWireNames.begin(), kWireNames.end(), digits);
  if (found == kWireNames.end()) {
    return std::nullopt;
  }
  return static_cast<MessageName>(found - kWireNames.begin());
}

bool HasReply(MessageName name) {
  switch (name) {
    case MessageName::kRegistration:
    case MessageName::kUnregistration:
    case MessageName::kHeartbeat:
    case MessageName::kReadMetadata:
    case MessageName::kDeleteMetadata:
    case MessageName::kHostNames:
      return true;
    default:
      return false;
  }
}

}  // namespace drydock::sim
