#include "strategies/program/agreement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/program/collectives.h"
#include "strategies/program/rendezvous.h"

/// Do all members of every group issue the same collectives in the same order?
///
/// Ranks that run the same program share a sequence, so the work is: per sequence, the collectives
/// on each distinct group pattern in order; per rank and pattern, find the group (its leader) and
/// compare with what the leader issues on that group. Groups are compared as sets of ranks: a
/// member must use a pattern that yields exactly the same ranks. Patterns are relative to the first
/// rank of a stage. Behind a program that is not modelled a sequence is open: only what both ranks
/// are known to issue is compared. Cost: ranks x patterns, not ranks x collectives.
namespace drydock::strategies {
namespace {

/// What one program issues on one pattern: indices into its sequence.
using PatternUses = std::map<GroupPattern, std::vector<std::size_t>>;

PatternUses UsesByPattern(const CollectiveSequence& sequence) {
  PatternUses uses;
  for (std::size_t i = 0; i < sequence.collectives.size(); ++i) {
    const GroupPattern& group = sequence.collectives[i].group;
    if (GroupSize(group) > 1 && sequence.collectives[i].half == PointToPoint::kNone) {
      uses[group].push_back(i);
    }
  }
  return uses;
}

bool SameCollective(const RankCollective& a, const RankCollective& b) {
  return a.kind == b.kind && a.reduce_op == b.reduce_op && a.dtype == b.dtype &&
         a.payload_bytes == b.payload_bytes;
}

std::string Describe(const RankCollective& collective) {
  return std::string(collective.kind) + " of " + std::to_string(collective.payload_bytes) + " B " +
         std::string(DTypeName(collective.dtype));
}

/// First difference between two programs' uses of one group, empty if there is none.
std::string Difference(const CollectiveSequence& a, const std::vector<std::size_t>& uses_a,
                       const CollectiveSequence& b, const std::vector<std::size_t>& uses_b) {
  for (std::size_t i = 0; i < std::min(uses_a.size(), uses_b.size()); ++i) {
    const RankCollective& one = a.collectives[uses_a[i]];
    const RankCollective& other = b.collectives[uses_b[i]];
    if (!SameCollective(one, other)) {
      return "at position " + std::to_string(i) + " one issues " + Describe(one) + ", the other " +
             Describe(other);
    }
  }
  const bool shorter_is_open = uses_a.size() < uses_b.size() ? a.open : b.open;
  if (uses_a.size() != uses_b.size() && !shorter_is_open) {
    return "one issues " + std::to_string(uses_a.size()) + " collectives, the other " +
           std::to_string(uses_b.size());
  }
  return {};
}

class Checker {
 public:
  Checker(const std::vector<CollectiveSequence>& sequences,
          const std::vector<std::int32_t>& sequence_of_rank, std::int64_t stage_devices)
      : sequences_(sequences), sequence_of_rank_(sequence_of_rank), stage_devices_(stage_devices) {
    for (const CollectiveSequence& sequence : sequences) {
      uses_.push_back(UsesByPattern(sequence));
    }
  }

  Agreement Run() {
    for (std::size_t rank = 0; rank < sequence_of_rank_.size() && result_.holds; ++rank) {
      CheckRank(static_cast<std::int64_t>(rank));
    }
    return std::move(result_);
  }

 private:
  void CheckRank(std::int64_t rank) {
    const PatternUses& mine = uses_[Sequence(rank)];
    for (const auto& [pattern, positions] : mine) {
      const GroupPlace place = PlaceIn(pattern, rank, stage_devices_);
      const std::int64_t leader = place.begin + GroupLeader(pattern, place.position);
      if (leader == rank) {
        ++result_.groups_checked;
        result_.collectives_checked += std::ssize(positions);
        CheckMembers(pattern, rank);
      }
      if (!result_.holds) {
        return;
      }
      CheckAgainst(pattern, positions, rank, leader);
    }
  }

  /// The leader looks at the members whose program is not its own: they might not use the group.
  void CheckMembers(const GroupPattern& pattern, std::int64_t leader) {
    if (sequences_.size() <= 1) {
      return;
    }
    for (const std::int64_t member : MembersOf(pattern, leader)) {
      if (member >= std::ssize(sequence_of_rank_)) {
        Conflict(leader, member, pattern, "the job has no such rank");
        return;
      }
      if (Sequence(member) != Sequence(leader)) {
        CheckAgainst(pattern, uses_[Sequence(leader)].at(pattern), leader, member);
      }
    }
  }

  void CheckAgainst(const GroupPattern& pattern, const std::vector<std::size_t>& positions,
                    std::int64_t rank, std::int64_t other) {
    if (Sequence(rank) == Sequence(other)) {
      return;
    }
    const PatternUses& theirs = uses_[Sequence(other)];
    const auto it = theirs.find(pattern);
    if (it == theirs.end()) {
      if (sequences_[Sequence(other)].open) {
        return;
      }
      Conflict(rank, other, pattern, "the second one never uses this group");
      return;
    }
    const std::string difference =
        Difference(sequences_[Sequence(rank)], positions, sequences_[Sequence(other)], it->second);
    if (!difference.empty()) {
      Conflict(rank, other, pattern, difference);
    }
  }

  void Conflict(std::int64_t rank, std::int64_t other, const GroupPattern& pattern,
                const std::string& what) {
    if (!result_.holds) {
      return;
    }
    result_.holds = false;
    result_.first_conflict = "ranks " + std::to_string(rank) + " and " + std::to_string(other) +
                             " disagree on group " + JoinText(MembersOf(pattern, rank), "-") +
                             ": " + what;
  }

  [[nodiscard]] std::vector<std::int64_t> MembersOf(const GroupPattern& pattern,
                                                    std::int64_t rank) const {
    const GroupPlace place = PlaceIn(pattern, rank, stage_devices_);
    return GroupRanks(pattern, place.position, place.begin);
  }

  [[nodiscard]] std::size_t Sequence(std::int64_t rank) const {
    return static_cast<std::size_t>(sequence_of_rank_[static_cast<std::size_t>(rank)]);
  }

  const std::vector<CollectiveSequence>& sequences_;
  const std::vector<std::int32_t>& sequence_of_rank_;
  std::int64_t stage_devices_;
  std::vector<PatternUses> uses_;
  Agreement result_;
};

void DescribeTransfer(const Graph& graph, const Node& node, RankCollective& transfer) {
  if (transfer.half == PointToPoint::kReceives) {
    transfer.dtype = graph.at(node.outputs.front()).type.dtype;
  }
  transfer.of_pipeline = node.reason == CommReason::kStageBorder;
  transfer.rank_distance = IntAttr(node.attrs, kRankDistance, 0).value_or(0);
  transfer.tag = IntAttr(node.attrs, kTransferTag, 0).value_or(0);
  if (const std::optional<SourcePlace> place = PlaceOf(graph, node)) {
    transfer.line = place->file + ":" + std::to_string(place->line);
  }
}

}  // namespace

Agreement CheckAgreement(const std::vector<CollectiveSequence>& sequences,
                         const std::vector<std::int32_t>& sequence_of_rank,
                         std::int64_t stage_devices) {
  Agreement agreement = Checker(sequences, sequence_of_rank, stage_devices).Run();
  if (agreement.holds) {
    Rendezvous met = MeetTransfers(sequences, sequence_of_rank, stage_devices);
    agreement.collectives_checked += met.transfers;
    agreement.holds = met.first_conflict.empty();
    agreement.first_conflict = std::move(met.first_conflict);
    agreement.first_wait = std::move(met.first_wait);
  }
  return agreement;
}

Agreement CheckAgreement(const JobProgram& job) {
  std::vector<CollectiveSequence> of_program;
  for (const LocalProgram& program : job.programs) {
    of_program.push_back(SequenceOf(program));
  }
  std::vector<CollectiveSequence> of_class;
  for (const RankClass& item : job.classes) {
    CollectiveSequence& whole = of_class.emplace_back();
    for (const std::optional<ProgramIndex>& program : item.runs) {
      if (!program) {
        whole.open = true;
        break;
      }
      const std::vector<RankCollective>& part = of_program[*program].collectives;
      whole.collectives.insert(whole.collectives.end(), part.begin(), part.end());
    }
  }
  return CheckAgreement(of_class, ClassOfEachRank(job), StageDevices(job.config));
}

CollectiveSequence SequenceOf(const LocalProgram& program) {
  CollectiveSequence sequence;
  for (const CollectiveUse& use : CollectivesOf(program)) {
    const Node& node = program.local.at(use.node);
    const auto reduce_op = node.attrs.find("op");
    const auto* text = reduce_op == node.attrs.end()
                           ? nullptr
                           : std::get_if<std::string>(&reduce_op->second.value);
    sequence.collectives.push_back(
        {.kind = node.op,
         .reduce_op = text == nullptr ? std::string_view() : std::string_view(*text),
         .dtype = program.local.at(node.inputs.front()).type.dtype,
         .payload_bytes = use.payload_bytes,
         .group = use.group,
         .half = PointToPointOf(node)});
    if (sequence.collectives.back().half != PointToPoint::kNone) {
      DescribeTransfer(program.local, node, sequence.collectives.back());
    }
  }
  return sequence;
}

}  // namespace drydock::strategies
