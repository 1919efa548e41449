// Rank tables: any text is refused or gives a table by which members get ranks that are all
// different, or none at all.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/ranking.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using drydock::sim::RankingInput;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = drydock::sim::ParseRankTable(text);
  if (!table) {
    return 0;
  }
  std::vector<RankingInput> members;
  for (const auto& [host, ranks] : *table) {
    for (std::uint32_t device = 0; device < ranks.size() && members.size() < 64; ++device) {
      members.push_back({.node_id = "n", .host_ip = host, .device_id = device});
    }
  }
  const auto ranks = drydock::sim::RanksByTable(members, *table);
  if (ranks && std::set<std::uint32_t>(ranks->begin(), ranks->end()).size() != members.size()) {
    std::abort();
  }
  return 0;
}
