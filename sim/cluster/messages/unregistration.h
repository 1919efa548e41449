#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/cluster/message_name.h"

namespace drydock::sim {

/// Worker leaves (message "1"). `node_id` is a view into the body.
///
/// The body of the answer is the decimal number of its own name: "3", "4" or "5".
struct UnregistrationRequest {
  static constexpr MessageName kName = MessageName::kUnregistration;
  std::string_view node_id = {};
  friend bool operator==(const UnregistrationRequest&, const UnregistrationRequest&) = default;
};

/// Appends the body to `out`.
void EncodeBody(const UnregistrationRequest& message, std::string& out);

/// @error kProtocol  malformed, not UTF-8, or larger than a node id can make it
[[nodiscard]] Result<UnregistrationRequest> DecodeUnregistration(std::string_view body);

}  // namespace drydock::sim
