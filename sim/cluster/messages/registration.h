#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/cluster/message_name.h"

namespace drydock::sim {

/// Largest node id; MindSpore's random ids have 36 bytes, msrun's are decimal ranks.
inline constexpr std::size_t kMaxNodeIdBytes = 256;
/// Largest host name, as gethostname() can give it.
inline constexpr std::size_t kMaxHostNameBytes = 1023;
/// Largest textual address.
inline constexpr std::size_t kMaxHostIpBytes = 256;
/// Largest body of a registration that is looked at.
inline constexpr std::size_t kMaxRegistrationBytes = 8192;
/// `device_id` of a worker that has none.
inline constexpr std::uint32_t kNoDevice = 0xFFFFFFFF;

/// Worker asks to become a member of the job (message "0"). Texts are views into the body.
///
/// A worker of MindSpore 2.0 sends no `host_ip`, one before 2.4 no `device_id`.
struct RegistrationRequest {
  static constexpr MessageName kName = MessageName::kRegistration;
  std::string_view node_id = {};
  std::string_view host_name = {};
  std::string_view role = {};
  std::string_view host_ip = {};
  std::uint32_t device_id = 0;
  friend bool operator==(const RegistrationRequest&, const RegistrationRequest&) = default;
};

/// Answer to a registration (message "3" or "4").
///
/// `rank_id` is provisional for ids that are no numbers. `node_num` is 0 in the answer to a node
/// that was already known. A refusal without a reason (unknown role) has an empty body.
struct RegistrationReply {
  bool success = false;
  std::uint32_t rank_id = 0;
  std::uint32_t node_num = 0;  ///< Expected members of the whole job.
  std::string_view error_reason = {};
  friend bool operator==(const RegistrationReply&, const RegistrationReply&) = default;
};

/// Appends the body to `out`.
void EncodeBody(const RegistrationRequest& message, std::string& out);
void EncodeBody(const RegistrationReply& message, std::string& out);

/// @error kProtocol  malformed, not UTF-8, or larger than kMaxRegistrationBytes
[[nodiscard]] Result<RegistrationRequest> DecodeRegistration(std::string_view body);
/// @error kProtocol  malformed or not UTF-8
[[nodiscard]] Result<RegistrationReply> DecodeRegistrationReply(std::string_view body);

}  // namespace drydock::sim
