#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/program/collectives.h"
#include "strategies/program/job_program.h"

/// What all ranks together send, and how much of it leaves a node. The members of the struct are
/// described by its `Fields` table (reports/field_table.h).
namespace drydock::reports {

struct JobTrafficReport {
  std::int64_t devices_per_node = 1;
  std::int64_t nodes = 1;
  std::int64_t collectives = 0;
  std::int64_t sent_bytes = 0;
  std::int64_t intra_node_bytes = 0;
  std::int64_t inter_node_bytes = 0;

  static constexpr std::string_view kTypeName = "JobTraffic";
  static constexpr std::string_view kMeaning =
      "What all ranks of the job together send in one step. Rank r is on node r / "
      "devices_per_node.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("devices_per_node", &JobTrafficReport::devices_per_node,
          "Devices of a node: --devices_per_node, else --local_worker_num.");
    field("nodes", &JobTrafficReport::nodes, "Nodes of the job.");
    field("collectives", &JobTrafficReport::collectives, "Collectives, counted per rank.");
    field("sent_bytes", &JobTrafficReport::sent_bytes,
          "Bytes sent; where ranks at an edge send less, each counts as the one that sends most.");
    field("intra_node_bytes", &JobTrafficReport::intra_node_bytes,
          "Of that, between devices of one node.");
    field("inter_node_bytes", &JobTrafficReport::inter_node_bytes, "Of that, between nodes.");
  }
};

/// How bytes of a collective are spread over links, for the ranks of one class.
class NodeTraffic {
 public:
  NodeTraffic(const strategies::JobConfig& config, std::int64_t devices_per_node)
      : config_(config), devices_per_node_(devices_per_node) {}

  /// Bytes that `ranks` send to other nodes in this use of a collective.
  [[nodiscard]] std::int64_t InterNodeBytes(const strategies::CollectiveUse& use,
                                            const strategies::Node& node,
                                            const strategies::RankSet& ranks);

 private:
  /// Who sends to whom: members of groups to the next one or to all others, or each rank to the one
  /// that is `distance` further.
  struct Exchange {
    strategies::GroupPattern pattern = {};
    bool to_all = false;
    std::int64_t distance = 0;  ///< 0: within groups.
    std::int64_t first_rank = 0;
    friend auto operator<=>(const Exchange&, const Exchange&) = default;
  };
  [[nodiscard]] std::int64_t Crossing(const Exchange& exchange,
                                      const strategies::RankSet& ranks) const;

  const strategies::JobConfig& config_;
  std::int64_t devices_per_node_ = 1;
  std::map<Exchange, std::int64_t> known_ = {};  ///< Messages to other nodes.
};

/// Ranks from the sender of a message to its receiver; 0 for what is no message.
[[nodiscard]] std::int64_t MessageDistance(const strategies::Node& node);

/// Collectives of programs, each looked for once: a stage with many micro batches launches a
/// hundred thousand kernels.
class KnownUses {
 public:
  [[nodiscard]] const std::vector<strategies::CollectiveUse>& Of(
      const strategies::LocalProgram& program) {
    const auto [found, added] = known_.try_emplace(&program);
    if (added) {
      found->second = strategies::CollectivesOf(program);
    }
    return found->second;
  }

 private:
  std::map<const strategies::LocalProgram*, std::vector<strategies::CollectiveUse>> known_ = {};
};

/// The sum over all ranks of a job.
[[nodiscard]] JobTrafficReport BuildJobTraffic(const strategies::JobProgram& job,
                                               std::int64_t devices_per_node, KnownUses& uses);

}  // namespace drydock::reports
