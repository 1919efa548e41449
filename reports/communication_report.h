#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "reports/group_report.h"
#include "reports/job_traffic.h"
#include "reports/place.h"
#include "reports/run_report.h"
#include "reports/traffic_causes.h"
#include "strategies/program/agreement.h"
#include "strategies/program/collectives.h"

/// What is sent in one step, between whom and why: schema `drydock.communication/1`. The members of
/// each struct are described by its `Fields` table (reports/field_table.h).
namespace drydock::reports {

struct CollectiveReport {
  std::int64_t index = 0;
  std::string kind = {};
  std::string name = {};
  std::int64_t group = 0;
  std::int64_t group_size = 1;
  std::string exchange = {};
  std::optional<std::int64_t> distance = {};
  std::string reduce = {};
  std::string tensor = {};
  std::int64_t payload_bytes = 0;
  std::int64_t sent_bytes = 0;
  std::int64_t least_sent_bytes = 0;
  std::int64_t inter_node_bytes = 0;
  std::string phase = {};
  std::string reason = {};
  std::string why = {};
  std::string operator_name = {};
  std::optional<PlaceReport> place = {};
  std::optional<std::string> ranks = {};

  static constexpr std::string_view kTypeName = "Collective";
  static constexpr std::string_view kMeaning = "One communication operator of the step.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("index", &CollectiveReport::index,
          "Position in the order every rank issues them, from 0.");
    field("kind", &CollectiveReport::kind,
          "Operator: AllReduce, AllGather, ReduceScatter, AlltoAll, Broadcast, Send, Receive, "
          "NeighborExchange(V2).");
    field("name", &CollectiveReport::name, "Full name of the node in the program of a rank.");
    field("group", &CollectiveReport::group, "`id` of the group pattern.");
    field("group_size", &CollectiveReport::group_size, "Ranks that take part.");
    field("exchange", &CollectiveReport::exchange,
          "Who sends to whom: each member to the next one of a `ring` or of its `neighbours`, each "
          "to `all` others, or one `message` between two ranks.",
          {"ring", "neighbours", "all", "message"});
    field("distance", &CollectiveReport::distance,
          "Of a message that is sent: ranks from the sender to the receiver.");
    field("reduce", &CollectiveReport::reduce, "Reduction: sum, max, min or prod; empty if none.");
    field("tensor", &CollectiveReport::tensor, "Type and shape of each rank's input.");
    field("payload_bytes", &CollectiveReport::payload_bytes, "Bytes of each rank's input.");
    field("sent_bytes", &CollectiveReport::sent_bytes,
          "Bytes each rank sends in a ring algorithm, rounded up; of an exchange of border rows, "
          "the rank that sends most.");
    field("least_sent_bytes", &CollectiveReport::least_sent_bytes,
          "Bytes of the rank that sends least: less only for exchanges of border rows, where edge "
          "ranks have fewer neighbours.");
    field("inter_node_bytes", &CollectiveReport::inter_node_bytes,
          "Bytes that all ranks which issue it together send to other nodes.");
    field("phase", &CollectiveReport::phase, "Part of the step.",
          {"forward", "backward", "optimizer"});
    field("reason", &CollectiveReport::reason, "Why it exists, for programs.",
          {"none", "user", "partial-sum", "redistribution", "parameter-gradient",
           "backward-of-forward", "stage-border", "data-parallel-reducer", "optimizer-shard"});
    field("why", &CollectiveReport::why, "Why it exists, for people.");
    field("operator", &CollectiveReport::operator_name,
          "Full name of the script's operator it belongs to; empty if none.");
    field("place", &CollectiveReport::place, "Line of the script that applies this operator.");
    field("ranks", &CollectiveReport::ranks,
          "Ranks that issue it, if not all run this program: those of other pipeline stages come "
          "behind, as long as there are not more than 4096 collectives.");
  }
};

struct CommunicationTotal {
  std::string key = {};
  std::int64_t count = 0;
  std::int64_t payload_bytes = 0;
  std::int64_t sent_bytes = 0;
  friend bool operator==(const CommunicationTotal&, const CommunicationTotal&) = default;

  static constexpr std::string_view kTypeName = "Total";
  static constexpr std::string_view kMeaning = "Sum over the collectives of one rank and one step.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("key", &CommunicationTotal::key, "What is summed: a kind, a phase or an axis.");
    field("count", &CommunicationTotal::count, "Collectives.");
    field("payload_bytes", &CommunicationTotal::payload_bytes, "Bytes of the rank's inputs.");
    field("sent_bytes", &CommunicationTotal::sent_bytes, "Bytes the rank sends.");
  }
};

struct AgreementReport {
  bool holds = true;
  std::int64_t groups_checked = 0;
  std::int64_t collectives_checked = 0;
  std::string first_conflict = {};

  static constexpr std::string_view kTypeName = "Agreement";
  static constexpr std::string_view kMeaning =
      "Whether all members of every group issue the same collectives in the same order with equal "
      "sizes "
      "and types.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("holds", &AgreementReport::holds, "The verdict.");
    field("groups_checked", &AgreementReport::groups_checked, "Groups compared.");
    field("collectives_checked", &AgreementReport::collectives_checked,
          "Collectives compared, counted per group.");
    field("first_conflict", &AgreementReport::first_conflict,
          "Ranks, group and operators of the first disagreement; empty if there is none.");
  }
};

struct CommunicationReport {
  std::string schema = "drydock.communication/1";
  RunReport run = {};
  std::int64_t world_size = 1;
  std::int64_t pipeline_stages = 1;
  AgreementReport agreement = {};
  JobTrafficReport job = {};
  CommunicationTotal total = {};
  std::vector<CommunicationTotal> by_kind = {};
  std::vector<CommunicationTotal> by_phase = {};
  std::vector<CommunicationTotal> by_axis = {};
  std::vector<GroupPatternReport> group_patterns = {};
  std::vector<CauseReport> causes = {};
  std::vector<CollectiveReport> collectives = {};
  std::optional<RankMembershipReport> rank = {};

  static constexpr std::string_view kTypeName = "CommunicationReport";
  static constexpr std::string_view kMeaning = "What every rank sends in one step, and why.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("schema", &CommunicationReport::schema, "Format of this document.",
          {"drydock.communication/1"});
    field("run", &CommunicationReport::run, "Which run this belongs to.");
    field("world_size", &CommunicationReport::world_size, "Ranks of the job.");
    field("pipeline_stages", &CommunicationReport::pipeline_stages, "Pipeline stages of the job.");
    field("agreement", &CommunicationReport::agreement, "Do the ranks fit together?");
    field("job", &CommunicationReport::job, "What all ranks together send.");
    field("total", &CommunicationReport::total, "All collectives of one rank; key `all`.");
    field("by_kind", &CommunicationReport::by_kind, "Totals per operator, by name.");
    field("by_phase", &CommunicationReport::by_phase, "Totals per phase, in the order of a step.");
    field("by_axis", &CommunicationReport::by_axis,
          "Totals per group pattern, in the order of `id`.");
    field("group_patterns", &CommunicationReport::group_patterns, "Who communicates with whom.");
    field(
        "causes", &CommunicationReport::causes,
        "Why something is sent, of every program of the job, however many collectives there are.");
    field("collectives", &CommunicationReport::collectives, "Every collective, in issue order.");
    field("rank", &CommunicationReport::rank, "Groups of one rank, if one was chosen.");
  }
};

/// A program that other ranks run.
struct OtherProgram {
  const strategies::LocalProgram* program = nullptr;
  std::string ranks = {};
};

/// What is known of the whole job.
struct CommunicationContext {
  RunReport run = {};
  const strategies::JobProgram* job = nullptr;  ///< Null: nothing is said about nodes.
  std::int64_t devices_per_node = 8;
};

/// What a compiled program sends.
///
/// @param agreement  verdict of the agreement check
/// @param rank       rank whose groups are written out, 0 <= rank < world size
/// @param others     all programs of a job with stages, this one among them; else none
[[nodiscard]] CommunicationReport BuildCommunicationReport(
    const strategies::LocalProgram& program, const strategies::Agreement& agreement,
    std::optional<RankId> rank, const std::vector<OtherProgram>& others = {},
    const CommunicationContext& context = {});

/// "partial-sum": the reason as reports spell it.
/// Who sends to whom: "ring", "neighbours", "all" or "message".
[[nodiscard]] std::string_view ExchangeName(const strategies::Node& node);

[[nodiscard]] std::string_view CommReasonName(strategies::CommReason reason);

/// "forward", "backward" or "optimizer".
[[nodiscard]] std::string_view PhaseName(strategies::Phase phase);

}  // namespace drydock::reports
