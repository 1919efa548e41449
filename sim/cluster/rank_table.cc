#include <algorithm>
#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "sim/cluster/ranking.h"

namespace drydock::sim {
namespace {

using Json = nlohmann::json;

tl::unexpected<Error> Bad(std::string what) {
  return FailInput(
      "RankTable:unreadable", "rank table " + std::move(what),
      "give \"server_list\": [{\"pod_ip\": \"10.0.0.1\", \"device\": [{\"rank_id\": \"0\"}]}]");
}

/// Member `key` of an object, null if it is none or has no such member.
const Json& Member(const Json& object, const char* key) {
  static const Json kNull;
  if (!object.is_object()) {
    return kNull;
  }
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

Result<std::vector<std::uint32_t>> DeviceRanks(const Json& devices) {
  if (!devices.is_array()) {
    return Bad("has a server without a list \"device\"");
  }
  std::vector<std::uint32_t> ranks;
  for (const Json& device : devices) {
    const Json& rank_id = Member(device, "rank_id");
    const std::string text = rank_id.is_string() ? rank_id.get<std::string>() : std::string();
    const auto rank = NumericId(text);
    if (text.empty() || !rank) {
      return Bad("has a device without a string \"rank_id\" that is a number");
    }
    ranks.push_back(*rank);
  }
  return ranks;
}

/// "line 1, column 18" of the character at which the text stops being JSON.
std::string PlaceIn(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(1 + std::ranges::count(before, '\n')) + ", column " +
         std::to_string(before.size() - line_start + 1);
}

Result<Json> ParseJson(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Bad("is not JSON: " + PlaceIn(text, error.byte));
  } catch (const Json::exception&) {
    return Bad("has a number that no machine number holds");
  }
}

}  // namespace

Result<RankTable> ParseRankTable(std::string_view json_text) {
  DRYDOCK_TRY(const Json document, ParseJson(json_text));
  const Json& servers = Member(document, "server_list");
  if (!servers.is_array()) {
    return Bad("is not a JSON object with a list \"server_list\"");
  }
  RankTable table;
  for (const Json& server : servers) {
    const Json& pod_ip = Member(server, "pod_ip");
    // A table that only numbers devices, without addresses of pods, is good for the ranks'
    // libraries and no reason to stop: it fits no member, so ranks stay as they are, and the log
    // says so.
    const bool has_address = pod_ip.is_string();
    if (!has_address && !pod_ip.is_null()) {
      return Bad("has a server whose \"pod_ip\" is not a string");
    }
    DRYDOCK_TRY(auto ranks, DeviceRanks(Member(server, "device")));
    table[has_address ? pod_ip.get<std::string>() : std::string()] = std::move(ranks);
  }
  return table;
}

}  // namespace drydock::sim
