#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/job_traffic.h"
#include "reports/place.h"
#include "strategies/program/job_program.h"
#include "strategies/program/rank_set.h"

/// Collectives that one thing is the cause of, for every program of a job. The members of the
/// struct are described by its `Fields` table (reports/field_table.h).
namespace drydock::reports {

struct CauseReport {
  std::string kind = {};
  std::string reason = {};
  std::string phase = {};
  std::string why = {};
  std::int64_t group = 0;
  std::int64_t group_size = 1;
  std::string exchange = {};
  std::optional<std::int64_t> distance = {};
  std::int64_t rank_count = 0;
  std::int64_t count = 0;
  std::int64_t sent_bytes = 0;
  std::int64_t inter_node_bytes = 0;
  std::optional<PlaceReport> place = {};
  std::optional<std::string> ranks = {};

  static constexpr std::string_view kTypeName = "Cause";
  static constexpr std::string_view kMeaning =
      "Collectives of one program with the same operator, reason, phase, line and groups.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("kind", &CauseReport::kind, "Operator, as in `collectives`.");
    field("reason", &CauseReport::reason, "Why they exist, for programs, as in `collectives`.");
    field("phase", &CauseReport::phase, "Part of the step.", {"forward", "backward", "optimizer"});
    field("why", &CauseReport::why, "Why the first of them exists, for people.");
    field("group", &CauseReport::group, "`id` of the group pattern.");
    field("group_size", &CauseReport::group_size, "Ranks that take part.");
    field("exchange", &CauseReport::exchange, "Who sends to whom, as in `collectives`.",
          {"ring", "neighbours", "all", "message"});
    field("distance", &CauseReport::distance,
          "Of messages that are sent: ranks from the sender to the receiver.");
    field("rank_count", &CauseReport::rank_count, "How many ranks issue them.");
    field("count", &CauseReport::count, "How many each of these ranks issues in a step.");
    field("sent_bytes", &CauseReport::sent_bytes, "Bytes each of these ranks sends in a step.");
    field("inter_node_bytes", &CauseReport::inter_node_bytes,
          "Bytes that all these ranks together send to other nodes.");
    field("place", &CauseReport::place, "Line of the script.");
    field("ranks", &CauseReport::ranks, "Ranks that issue them, if not all run this program.");
  }
};

/// The causes of a program's collectives, in the order of their first collective.
class CauseFinder {
 public:
  /// @param ranks  those that run the program
  CauseFinder(const strategies::LocalProgram& program, strategies::RankSet ranks,
              std::int64_t devices_per_node)
      : program_(program),
        ranks_(std::move(ranks)),
        traffic_(program.from->config, devices_per_node) {}

  /// @param group  `id` of the pattern of `use`
  void Add(const strategies::CollectiveUse& use, std::int64_t group);
  /// @param ranks_text  as CauseReport::ranks
  [[nodiscard]] std::vector<CauseReport> Take(const std::optional<std::string>& ranks_text) &&;

 private:
  /// What is cheap to compare. Lines are compared when all is added up: one line has a stack for
  /// each way that leads to it.
  struct Key {
    std::string_view op = {};
    strategies::CommReason reason = {};
    strategies::Phase phase = {};
    std::int64_t group = 0;
    std::int64_t distance = 0;
    std::int32_t place = -1;
    std::int32_t traced_place = -1;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  [[nodiscard]] CauseReport Begin(const strategies::CollectiveUse& use,
                                  const strategies::Node& node, const Key& key) const;

  const strategies::LocalProgram& program_;
  strategies::RankSet ranks_;
  NodeTraffic traffic_;
  std::map<Key, std::size_t> slots_ = {};
  std::vector<CauseReport> causes_ = {};
};

}  // namespace drydock::reports
