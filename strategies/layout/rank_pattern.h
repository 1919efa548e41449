#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drydock::strategies {

/// One mixed-radix digit of a rank's position in its stage: (position / stride) % extent.
///
/// Axis `a` of device matrix D is the digit {stride = product(D[a+1:]), extent = D[a]}.
struct RankDigit {
  std::int64_t stride = 1;
  std::int64_t extent = 1;
  friend auto operator<=>(const RankDigit&, const RankDigit&) = default;
};

/// Which ranks of a stage work together: those that differ from each other only in `digits`.
///
/// One value describes the groups of all ranks at once. Canonical form: digits by descending
/// stride, extents > 1, neighbours merged where {s*e, f}{s, e} equals {s, e*f}. Members are listed
/// by ascending rank. No digits: every rank alone. Example: device matrix {2, 4}, axis 1 ->
/// {{stride 1, extent 4}}: groups {0,1,2,3} and {4,5,6,7}.
struct GroupPattern {
  std::vector<RankDigit> digits = {};
  /// Digits are those of the rank in the job, not of its position in its stage: the group spans
  /// pipeline stages.
  bool of_job = false;
  friend auto operator<=>(const GroupPattern&, const GroupPattern&) = default;
};

/// Integer that depends on the rank: constant + sum of scale * digit(position).
///
/// Example: rows of rank r in a cut of 16 rows over digit {4, 2}: begin = 0 + 8 * digit.
struct RankExpr {
  struct Term {
    RankDigit digit = {};
    std::int64_t scale = 0;
    friend auto operator<=>(const Term&, const Term&) = default;
  };
  std::int64_t constant = 0;
  std::vector<Term> terms = {};
  friend auto operator<=>(const RankExpr&, const RankExpr&) = default;
};

/// Value of the digit at `position` (0-based in the stage).
[[nodiscard]] std::int64_t DigitAt(const RankDigit& digit, std::int64_t position);

/// Value of the expression at `position`.
[[nodiscard]] std::int64_t ValueAt(const RankExpr& expr, std::int64_t position);

/// factor * digit.
[[nodiscard]] RankExpr DigitTimes(const RankDigit& digit, std::int64_t factor);

/// a + b, and a * factor; terms of equal digits are merged, zero terms dropped, the largest stride
/// comes first.
[[nodiscard]] RankExpr Plus(const RankExpr& a, const RankExpr& b);
[[nodiscard]] RankExpr Times(const RankExpr& a, std::int64_t factor);

/// The same function with neighbouring terms {s*e, f} * k*e + {s, e} * k merged into {s, e*f} * k.
///
/// Two expressions whose digits do not overlap are equal functions of the rank iff their canonical
/// forms are equal.
[[nodiscard]] RankExpr Canonical(const RankExpr& expr);

/// Canonical pattern of a set of digits (any order, extents of 1 and repetitions dropped).
[[nodiscard]] GroupPattern MakeGroupPattern(std::vector<RankDigit> digits);

/// Number of ranks in each group: product of the extents, 1 for no digits.
[[nodiscard]] std::int64_t GroupSize(const GroupPattern& pattern);

/// Where the digits of a pattern are read: a position, counted from `begin`.
struct GroupPlace {
  std::int64_t position = 0;
  std::int64_t begin = 0;
};

/// The place of a rank of the job; a stage has `stage_devices` ranks.
[[nodiscard]] GroupPlace PlaceIn(const GroupPattern& pattern, std::int64_t rank,
                                 std::int64_t stage_devices);

/// All `world_size` ranks of the job, of all stages.
[[nodiscard]] GroupPattern WholeJob(std::int64_t world_size);

/// Global ranks of the group of `position`, ascending; `stage_begin` is the stage's first rank.
[[nodiscard]] std::vector<std::int64_t> GroupRanks(const GroupPattern& pattern,
                                                   std::int64_t position, std::int64_t stage_begin);

/// Smallest member's position: two positions are in one group iff this is equal for both.
[[nodiscard]] std::int64_t GroupLeader(const GroupPattern& pattern, std::int64_t position);

/// Index of `position` among the members of its group.
[[nodiscard]] std::int64_t IndexInGroup(const GroupPattern& pattern, std::int64_t position);

/// The same index for all positions at once.
[[nodiscard]] RankExpr IndexExpr(const GroupPattern& pattern);

/// The digit of axis `axis` (counted from the left) of a device matrix.
[[nodiscard]] RankDigit AxisDigit(const std::vector<std::int64_t>& device_matrix, std::size_t axis);

}  // namespace drydock::strategies
