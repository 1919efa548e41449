#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/cluster/message_name.h"

namespace drydock::sim {

/// State of the whole job as workers see it.
enum class TopologyState : std::uint8_t {
  kInitialising = 0,  ///< Members are missing.
  kInitialised = 1,   ///< Everybody is registered, ranks are final.
  kFailed = 2,        ///< Set only inside workers.
  kFinished = 3,      ///< Everybody has left.
};

/// Worker is alive (message "2"). `node_id` is a view into the body.
struct HeartbeatRequest {
  static constexpr MessageName kName = MessageName::kHeartbeat;
  std::string_view node_id = {};
  friend bool operator==(const HeartbeatRequest&, const HeartbeatRequest&) = default;
};

/// Answer to a heartbeat of a known node (message "3").
struct HeartbeatReply {
  bool success = false;  ///< Always true on the wire.
  std::uint32_t topo_state = 0;
  std::uint32_t nodes_num = 0;  ///< Expected members.
  std::uint32_t abnormal_nodes_num =
      0;  ///< Members that fell silent; > 0 makes a worker end itself.
  friend bool operator==(const HeartbeatReply&, const HeartbeatReply&) = default;
};

/// Appends the body to `out`.
void EncodeBody(const HeartbeatRequest& message, std::string& out);
void EncodeBody(const HeartbeatReply& message, std::string& out);

/// @error kProtocol  malformed, not UTF-8, or larger than a node id can make it
[[nodiscard]] Result<HeartbeatRequest> DecodeHeartbeat(std::string_view body);
/// @error kProtocol  malformed
[[nodiscard]] Result<HeartbeatReply> DecodeHeartbeatReply(std::string_view body);

}  // namespace drydock::sim
