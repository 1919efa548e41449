#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "strategies/program/program.h"

/// Do all members of every group issue the same collectives in the same order?
///
/// Ranks that run the same program share a sequence, so the work is: per sequence, the collectives
/// on each distinct group pattern in order; per rank and pattern, find the group (its leader) and
/// compare with what the leader issues on that group. Groups are compared as sets of ranks: a
/// member must use a pattern that yields exactly the same ranks. Cost: ranks x patterns, not ranks
/// x collectives.
namespace drydock::strategies {
namespace {

/// What one program issues on one pattern: indices into its sequence.
using PatternUses = std::map<GroupPattern, std::vector<std::size_t>>;

PatternUses UsesByPattern(const CollectiveSequence& sequence) {
  PatternUses uses;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    if (GroupSize(sequence[i].group) > 1) {
      uses[sequence[i].group].push_back(i);
    }
  }
  return uses;
}

bool SameCollective(const RankCollective& a, const RankCollective& b) {
  return a.op == b.op && a.reduce_op == b.reduce_op && a.dtype == b.dtype &&
         a.payload_bytes == b.payload_bytes;
}

std::string Describe(const RankCollective& collective) {
  return std::string(collective.op) + " of " + std::to_string(collective.payload_bytes) + " B " +
         std::string(DTypeName(collective.dtype));
}

/// First difference between two programs' uses of one group, empty if there is none.
std::string Difference(const CollectiveSequence& a, const std::vector<std::size_t>& uses_a,
                       const CollectiveSequence& b, const std::vector<std::size_t>& uses_b) {
  for (std::size_t i = 0; i < std::min(uses_a.size(), uses_b.size()); ++i) {
    if (!SameCollective(a[uses_a[i]], b[uses_b[i]])) {
      return "at position " + std::to_string(i) + " one issues " + Describe(a[uses_a[i]]) +
             ", the other " + Describe(b[uses_b[i]]);
    }
  }
  if (uses_a.size() != uses_b.size()) {
    return "one issues " + std::to_string(uses_a.size()) + " collectives, the other " +
           std::to_string(uses_b.size());
  }
  return {};
}

class Checker {
 public:
  Checker(const std::vector<CollectiveSequence>& sequences,
          const std::vector<std::int32_t>& sequence_of_rank)
      : sequences_(sequences), sequence_of_rank_(sequence_of_rank) {
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
    const PatternUses& mine = uses_[Program(rank)];
    for (const auto& [pattern, positions] : mine) {
      const std::int64_t leader = GroupLeader(pattern, rank);
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
    for (const std::int64_t member : GroupRanks(pattern, leader, 0)) {
      if (member >= std::ssize(sequence_of_rank_)) {
        Conflict(leader, member, pattern, "the job has no such rank");
        return;
      }
      if (Program(member) != Program(leader)) {
        CheckAgainst(pattern, uses_[Program(leader)].at(pattern), leader, member);
      }
    }
  }

  void CheckAgainst(const GroupPattern& pattern, const std::vector<std::size_t>& positions,
                    std::int64_t rank, std::int64_t other) {
    if (Program(rank) == Program(other)) {
      return;
    }
    const PatternUses& theirs = uses_[Program(other)];
    const auto it = theirs.find(pattern);
    if (it == theirs.end()) {
      Conflict(rank, other, pattern, "the second one never uses this group");
      return;
    }
    const std::string difference =
        Difference(sequences_[Program(rank)], positions, sequences_[Program(other)], it->second);
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
                             " disagree on group " + JoinText(GroupRanks(pattern, rank, 0), "-") +
                             ": " + what;
  }

  [[nodiscard]] std::size_t Program(std::int64_t rank) const {
    return static_cast<std::size_t>(sequence_of_rank_[static_cast<std::size_t>(rank)]);
  }

  const std::vector<CollectiveSequence>& sequences_;
  const std::vector<std::int32_t>& sequence_of_rank_;
  std::vector<PatternUses> uses_;
  Agreement result_;
};

}  // namespace

Agreement CheckAgreement(const std::vector<CollectiveSequence>& sequences,
                         const std::vector<std::int32_t>& sequence_of_rank) {
  return Checker(sequences, sequence_of_rank).Run();
}

}  // namespace drydock::strategies
