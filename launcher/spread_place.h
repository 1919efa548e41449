#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace drydock::launcher {

struct MsrunOptions;

/// Which virtual ranks of a dry run a host plays: `rank_count` of them from `first_rank` on.
///
/// Hosts get neighbours, as many each as the others, the first ones one more where it does not
/// divide: 10 ranks on 4 hosts are 0-2, 3-5, 6-7, 8-9.
struct SpreadPlace {
  std::int64_t hosts = 1;
  std::int64_t host = 0;
  std::int64_t first_rank = 0;
  std::int64_t rank_count = 0;
  friend bool operator==(const SpreadPlace&, const SpreadPlace&) = default;
};

/// The share of one host.
[[nodiscard]] SpreadPlace ShareOf(std::int64_t host, std::int64_t hosts, std::int64_t ranks);

/// The host that plays a rank.
[[nodiscard]] std::int64_t HostOfRank(std::int64_t rank, std::int64_t hosts, std::int64_t ranks);

/// This host's share: by the job of processes that started us, else by --node_rank, --worker_num
/// and --local_worker_num, as a real job has its nodes.
/// @error USAGE  no --node_rank among several hosts, or more hosts than ranks
[[nodiscard]] Result<SpreadPlace> SpreadPlaceOf(const MsrunOptions& options);

/// What a host tells the others of its run before it registers: facts by name, in the order in
/// which they are compared. "digest of the script" comes before "result", which differs if it does.
using SpreadFacts = std::vector<std::pair<std::string, std::string>>;

/// The facts as a text, a line each: "digest of the script: 3fab...".
[[nodiscard]] std::string SpreadNote(const SpreadFacts& facts);

/// A host as the others see it.
struct SpreadHost {
  std::string name = {};
  std::string address = {};
  std::string note = {};
};

/// Whether all hosts play the same job: their notes are equal.
/// @error HOSTS_DIFFER  the first host that differs from host 0, in what, and what helps
[[nodiscard]] Status CompareHosts(const std::vector<SpreadHost>& hosts);

}  // namespace drydock::launcher
