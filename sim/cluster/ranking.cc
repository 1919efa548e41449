#include "sim/cluster/ranking.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include <arpa/inet.h>

#include "sim/cluster/messages/registration.h"

namespace drydock::sim {
namespace {

constexpr std::array<std::string_view, kRoleCount> kRoleNames = {"MS_WORKER", "MS_SERVER",
                                                                 "MS_PSERVER"};
constexpr std::string_view kReason = "RankTable:unusable";

std::string Hex(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xFU];
  }
  return text;
}

using AddressBytes = std::array<unsigned char, 16>;

/// Number of the address's bytes; 0 if it is none.
std::size_t ParseAddress(std::string_view host_ip, AddressBytes& bytes) {
  const std::string address(host_ip.substr(0, host_ip.find('%')));
  if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) {
    return 4;
  }
  return inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1 ? bytes.size() : 0;
}

Status CheckCounts(std::span<const RankingInput> members, const RankTable& table) {
  std::unordered_map<std::string_view, std::size_t> member_count;
  for (const RankingInput& member : members) {
    ++member_count[member.host_ip];
  }
  for (const RankingInput& member : members) {
    const auto host = table.find(std::string(member.host_ip));
    const std::string who = "node '" + std::string(member.node_id) + "'";
    if (member.device_id == kNoDevice) {
      return FailInput(std::string(kReason), who + " has no device id", "export DEVICE_ID");
    }
    if (host == table.end()) {
      return FailInput(std::string(kReason),
                       "host '" + std::string(member.host_ip) + "' of " + who + " is not listed");
    }
    if (host->second.size() != member_count[member.host_ip]) {
      return FailInput(std::string(kReason),
                       "host '" + std::string(member.host_ip) + "' lists " +
                           std::to_string(host->second.size()) + " devices for " +
                           std::to_string(member_count[member.host_ip]) + " nodes");
    }
    if (member.device_id >= host->second.size()) {
      return FailInput(std::string(kReason), "device " + std::to_string(member.device_id) + " of " +
                                                 who + " is not listed");
    }
  }
  return {};
}

}  // namespace

std::string_view RoleName(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

std::optional<Role> ParseRole(std::string_view name) {
  const auto* const found = std::find(kRoleNames.begin(), kRoleNames.end(), name);
  if (found == kRoleNames.end()) {
    return std::nullopt;
  }
  return static_cast<Role>(found - kRoleNames.begin());
}

std::optional<std::uint32_t> NumericId(std::string_view node_id) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::all_of(node_id.begin(), node_id.end(), is_digit)) {
    return std::nullopt;
  }
  std::uint32_t rank = 0;
  const auto parsed = std::from_chars(node_id.data(), node_id.data() + node_id.size(), rank);
  if (parsed.ec == std::errc::result_out_of_range) {
    return std::numeric_limits<std::uint32_t>::max();
  }
  return rank;
}

bool IsAddress(std::string_view host_ip) {
  AddressBytes bytes = {};
  return ParseAddress(host_ip, bytes) > 0;
}

std::string AddressKey(std::string_view host_ip) {
  AddressBytes bytes = {};
  const std::size_t length = ParseAddress(host_ip, bytes);
  return length > 0 ? Hex(std::span(bytes).first(length)) : "~" + std::string(host_ip);
}

std::vector<std::uint32_t> FinalRanks(std::span<const RankingInput> members) {
  std::vector<std::uint32_t> ranks;
  ranks.reserve(members.size());
  bool all_numeric = true;
  for (const RankingInput& member : members) {
    all_numeric = all_numeric && NumericId(member.node_id).has_value();
    ranks.push_back(member.rank);
  }
  if (all_numeric) {
    return ranks;
  }
  std::unordered_map<std::string_view, std::string> keys;
  for (const RankingInput& member : members) {
    if (const auto [slot, fresh] = keys.try_emplace(member.host_ip); fresh) {
      slot->second = AddressKey(member.host_ip);
    }
  }
  std::vector<const std::string*> key_of;
  key_of.reserve(members.size());
  for (const RankingInput& member : members) {
    key_of.push_back(&keys.find(member.host_ip)->second);
  }
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int by_address = key_of[a] == key_of[b] ? 0 : key_of[a]->compare(*key_of[b]);
    return by_address != 0 ? by_address < 0 : members[a].node_id < members[b].node_id;
  });
  std::array<std::uint32_t, kRoleCount> next = {};
  for (const std::size_t i : order) {
    ranks[i] = next[static_cast<std::size_t>(members[i].role)]++;
  }
  return ranks;
}

Result<std::vector<std::uint32_t>> RanksByTable(std::span<const RankingInput> members,
                                                const RankTable& table) {
  DRYDOCK_RETURN_IF_ERROR(CheckCounts(members, table));
  std::vector<std::uint32_t> ranks;
  std::set<std::pair<Role, std::uint32_t>> taken;
  for (const RankingInput& member : members) {
    const std::uint32_t rank = table.find(std::string(member.host_ip))->second[member.device_id];
    if (rank >= members.size() || !taken.emplace(member.role, rank).second) {
      return FailInput(std::string(kReason), "rank " + std::to_string(rank) + " of node '" +
                                                 std::string(member.node_id) +
                                                 "' is too large or given twice");
    }
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace drydock::sim
