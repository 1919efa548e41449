#include "launcher/net/agent_table.h"

#include <nlohmann/json.hpp>

namespace drydock::launcher {
namespace {

using Json = nlohmann::json;

tl::unexpected<Error> FailTable(std::string_view what) {
  return Fail(ErrorCode::kProtocol, "another agent wrote no " + std::string(what),
              "start the same version of msrun on all nodes");
}

/// Never throws: names of hosts may be any bytes.
std::string Text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json ToJson(const AgentRank& rank) {
  Json value = {{"rank", rank.rank},
                {"node_id", rank.node_id},
                {"host_name", rank.host_name},
                {"address", rank.address}};
  if (!rank.note.empty()) {
    value["note"] = rank.note;
  }
  return value;
}

Result<std::string> Member(const Json& value, const char* name) {
  const auto it = value.find(name);
  if (it == value.end() || !it->is_string()) {
    return FailTable(name);
  }
  return it->get<std::string>();
}

Result<std::uint32_t> Number(const Json& value, const char* name, std::uint64_t limit) {
  const auto it = value.find(name);
  if (it == value.end() || !it->is_number_unsigned() || it->get<std::uint64_t>() > limit) {
    return FailTable(name);
  }
  return it->get<std::uint32_t>();
}

Result<AgentRank> FromJson(const Json& value) {
  if (!value.is_object()) {
    return FailTable("rank");
  }
  AgentRank rank;
  DRYDOCK_TRY(rank.rank, Number(value, "rank", UINT32_MAX));
  DRYDOCK_TRY(rank.node_id, Member(value, "node_id"));
  DRYDOCK_TRY(rank.host_name, Member(value, "host_name"));
  DRYDOCK_TRY(rank.address, Member(value, "address"));
  if (value.contains("note")) {
    DRYDOCK_TRY(rank.note, Member(value, "note"));
  }
  return rank;
}

}  // namespace

std::string AgentRankKey(std::uint32_t rank) {
  return std::string(sim::kJobRankPrefix) + std::to_string(rank);
}

std::string EncodeAgentRank(const AgentRank& rank) {
  return Text(ToJson(rank));
}

Result<AgentRank> DecodeAgentRank(std::string_view text) {
  return FromJson(Json::parse(text, nullptr, false));
}

std::string EncodeAgentJob(const AgentJob& job) {
  Json ranks = Json::array();
  for (const AgentRank& rank : job.ranks) {
    ranks.push_back(ToJson(rank));
  }
  return Text(
      {{"ranks", ranks}, {"master_address", job.master.address}, {"master_port", job.master.port}});
}

Result<AgentJob> DecodeAgentJob(std::string_view text, std::uint32_t worker_num) {
  const Json value = Json::parse(text, nullptr, false);
  if (!value.is_object()) {
    return FailTable("job");
  }
  AgentJob job;
  DRYDOCK_TRY(job.master.address, Member(value, "master_address"));
  DRYDOCK_TRY(const std::uint32_t port, Number(value, "master_port", UINT16_MAX));
  job.master.port = static_cast<std::uint16_t>(port);
  const auto ranks = value.find("ranks");
  if (ranks == value.end() || !ranks->is_array() || ranks->size() != worker_num) {
    return FailTable("list of all ranks");
  }
  for (const Json& each : *ranks) {
    DRYDOCK_TRY(AgentRank rank, FromJson(each));
    if (rank.rank != job.ranks.size()) {
      return FailTable("list of ranks in order");
    }
    job.ranks.push_back(std::move(rank));
  }
  return job;
}

}  // namespace drydock::launcher
