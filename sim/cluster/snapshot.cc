#include "sim/cluster/snapshot.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace drydock::sim {
namespace {

using Json = nlohmann::json;

constexpr const char* kComplete = "compute_node_states";
constexpr const char* kBuilding = "drydock_building_node_states";
constexpr const char* kLeft = "drydock_left_node_states";

tl::unexpected<Error> Bad(const std::string& what) {
  return FailInput("Recovery:unreadable", "recovery file " + what,
                   "remove the file if no job is to be continued");
}

std::string EncodeNodes(const std::vector<const NodeSnapshot*>& nodes) {
  Json document = Json::object();
  for (const NodeSnapshot* node : nodes) {
    document[node->node_id] = {{"node_id", node->node_id},     {"host_name", node->host_name},
                               {"role", RoleName(node->role)}, {"rank_id", node->rank},
                               {"device_id", node->device_id}, {"host_ip", node->host_ip}};
  }
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Text member `key`, empty if absent; nothing if it is there but no text.
std::optional<std::string> Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return std::string();
  }
  if (!found->is_string()) {
    return std::nullopt;
  }
  return found->get<std::string>();
}

/// Number member `key`, `absent` if there is none; nothing if it is no 32-bit number.
std::optional<std::uint32_t> Number(const Json& object, const char* key,
                                    std::optional<std::uint32_t> absent) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return absent;
  }
  if (!found->is_number_unsigned() ||
      found->get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  return found->get<std::uint32_t>();
}

Status DecodeNodes(const std::string& text, bool left, SchedulerSnapshot& snapshot) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) {
    return Bad("holds node states that are not a JSON object");
  }
  for (const auto& [key, value] : document.items()) {
    if (!value.is_object()) {
      return Bad("holds a node '" + key + "' that is not a JSON object");
    }
    auto node_id = Text(value, "node_id");
    auto host_name = Text(value, "host_name");
    auto host_ip = Text(value, "host_ip");
    const auto role = ParseRole(Text(value, "role").value_or(""));
    const auto rank = Number(value, "rank_id", std::nullopt);
    const auto device_id = Number(value, "device_id", 0);
    if (node_id != key || !host_name || !host_ip || !role || !rank || !device_id) {
      return Bad("holds a node '" + key + "' with missing or wrong members");
    }
    snapshot.nodes.push_back({.node_id = *std::move(node_id),
                              .host_name = *std::move(host_name),
                              .host_ip = *std::move(host_ip),
                              .role = *role,
                              .rank = *rank,
                              .device_id = *device_id,
                              .left = left});
  }
  return {};
}

}  // namespace

std::string EncodeSnapshot(const SchedulerSnapshot& snapshot) {
  std::vector<const NodeSnapshot*> members;
  std::vector<const NodeSnapshot*> left;
  for (const NodeSnapshot& node : snapshot.nodes) {
    (node.left ? left : members).push_back(&node);
  }
  Json document = Json::object();
  if (snapshot.topology_ready) {
    document[kComplete] = EncodeNodes(members);
  } else if (!members.empty()) {
    document[kBuilding] = EncodeNodes(members);
  }
  if (!left.empty()) {
    document[kLeft] = EncodeNodes(left);
  }
  return document.dump();
}

Result<SchedulerSnapshot> DecodeSnapshot(std::string_view text) {
  SchedulerSnapshot snapshot;
  if (text.empty()) {
    return snapshot;
  }
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) {
    return Bad("is not a JSON object");
  }
  snapshot.topology_ready = document.contains(kComplete);
  for (const char* const key : {kComplete, kBuilding, kLeft}) {
    const auto nodes = Text(document, key);
    if (!nodes) {
      return Bad("has a member '" + std::string(key) + "' that is not a string");
    }
    if (document.contains(key)) {
      DRYDOCK_RETURN_IF_ERROR(DecodeNodes(*nodes, key == kLeft, snapshot));
    }
  }
  std::sort(snapshot.nodes.begin(), snapshot.nodes.end(),
            [](const NodeSnapshot& a, const NodeSnapshot& b) { return a.node_id < b.node_id; });
  return snapshot;
}

}  // namespace drydock::sim
