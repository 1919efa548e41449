#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Sets of ranks. Ranks that behave alike are often neighbours, so a set is a list of ranges:
/// ascending, apart from each other. {0-3, 8} is {{0, 3}, {8, 8}}.
namespace drydock::strategies {

/// Consecutive ranks, both ends included.
struct RankRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const RankRange&, const RankRange&) = default;
};

struct RankSet {
  std::vector<RankRange> ranges = {};  ///< Ascending, neighbours joined.
  friend bool operator==(const RankSet&, const RankSet&) = default;
};

/// Ranks 0 to `count` - 1.
[[nodiscard]] RankSet AllRanks(std::int64_t count);

/// A set of the ranges in any order, which may overlap or be empty.
[[nodiscard]] RankSet RanksOf(std::vector<RankRange> ranges);

/// Adds a rank above all that are there.
void AddHighest(RankSet& set, std::int64_t rank);

[[nodiscard]] std::int64_t CountRanks(const RankSet& set);
[[nodiscard]] bool Contains(const RankSet& set, std::int64_t rank);

/// Ranks that are in one of them, or in both.
[[nodiscard]] RankSet Merge(const RankSet& a, const RankSet& b);

/// Ranks that are in both.
[[nodiscard]] RankSet Common(const RankSet& a, const RankSet& b);

/// Takes the ranks of `wanted` that are in `set` out of it and returns them.
[[nodiscard]] RankSet Take(RankSet& set, const RankSet& wanted);

/// "0-3,8".
[[nodiscard]] std::string RankSetText(const RankSet& set);

/// Ascending ranks with equal steps folded: "0-12:4", "0-1,8-9".
[[nodiscard]] std::string SteppedRanksText(std::span<const std::int64_t> ascending);

}  // namespace drydock::strategies
