#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/cluster/scheduler_options.h"

namespace drydock::sim {

/// Kinds of members a scheduler knows.
enum class Role : std::uint8_t { kWorker = 0, kServer = 1, kParameterServer = 2 };
/// Number of roles.
inline constexpr std::size_t kRoleCount = 3;

/// "MS_WORKER", "MS_SERVER", "MS_PSERVER".
[[nodiscard]] std::string_view RoleName(Role role);
/// The role of such a name, nothing for other texts.
[[nodiscard]] std::optional<Role> ParseRole(std::string_view name);

/// The rank a node id stands for if it consists of digits only; too large numbers saturate.
[[nodiscard]] std::optional<std::uint32_t> NumericId(std::string_view node_id);

/// What decides about the rank of a member. Texts are views.
struct RankingInput {
  std::string_view node_id = {};
  std::string_view host_ip = {};
  Role role = Role::kWorker;
  std::uint32_t device_id = 0;
  std::uint32_t rank = 0;  ///< Provisional.
};

/// True for an IPv4 or IPv6 address, also one with a scope ("fe80::1%eth0").
[[nodiscard]] bool IsAddress(std::string_view host_ip);

/// Text by which addresses are ordered: hex digits of the bytes of an IPv4 or IPv6 address.
/// Anything else sorts behind them, by its own text. Source: docs/protocol.md.
[[nodiscard]] std::string AddressKey(std::string_view host_ip);

/// Final ranks of all members, in the order given.
///
/// If every id is a number the ranks stay; otherwise all members are ranked anew, per role, by
/// address and then id. Source: docs/protocol.md.
[[nodiscard]] std::vector<std::uint32_t> FinalRanks(std::span<const RankingInput> members);

/// Final ranks by a rank table: the device_id-th rank of the member's host.
/// @error kInvalidArgument  a member without device or host in the table, another number of members
///        than devices on a host, a rank twice or too large; nothing is assigned then
[[nodiscard]] Result<std::vector<std::uint32_t>> RanksByTable(std::span<const RankingInput> members,
                                                              const RankTable& table);

/// Reads the text of a rank table file ("server_list" of {"pod_ip", "device": [{"rank_id"}]}).
/// @error kInvalidArgument  not of this form
[[nodiscard]] Result<RankTable> ParseRankTable(std::string_view json_text);

}  // namespace drydock::sim
