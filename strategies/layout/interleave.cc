#include "strategies/layout/interleave.h"

#include <algorithm>

namespace drydock::strategies {
namespace {

/// A digit of the virtual rank, taken apart where the copies end.
struct Parts {
  RankDigit across = {};  ///< Digit of the real rank; extent 1 if there is none.
  RankDigit within = {};  ///< Digit of the copy number; extent 1 if there is none.
};

/// Digits never begin or end in the middle of the copies' axis: it is an axis of every device
/// matrix the digit may come from.
Parts PartsOf(const RankDigit& digit, std::int64_t copies) {
  if (digit.stride >= copies) {
    return {.across = {.stride = digit.stride / copies, .extent = digit.extent}};
  }
  const std::int64_t inner = std::min(digit.extent, copies / digit.stride);
  return {.across = {.stride = 1, .extent = digit.extent / inner},
          .within = {.stride = digit.stride, .extent = inner}};
}

}  // namespace

RankExpr OfCopy(const RankExpr& expr, std::int64_t copies, std::int64_t copy) {
  RankExpr result{.constant = expr.constant};
  for (const RankExpr::Term& term : expr.terms) {
    const Parts parts = PartsOf(term.digit, copies);
    result.constant += DigitAt(parts.within, copy) * term.scale;
    if (parts.across.extent > 1) {
      result = Plus(result, DigitTimes(parts.across, term.scale * parts.within.extent));
    }
  }
  return result;
}

GroupPattern AcrossRanks(const GroupPattern& pattern, std::int64_t copies) {
  std::vector<RankDigit> digits;
  for (const RankDigit& digit : pattern.digits) {
    digits.push_back(PartsOf(digit, copies).across);
  }
  return MakeGroupPattern(std::move(digits));
}

GroupPattern WithinRank(const GroupPattern& pattern, std::int64_t copies) {
  std::vector<RankDigit> digits;
  for (const RankDigit& digit : pattern.digits) {
    digits.push_back(PartsOf(digit, copies).within);
  }
  return MakeGroupPattern(std::move(digits));
}

bool CopiesDiffer(const TensorLayout& layout) {
  return layout.interleave > 1 && std::ranges::any_of(layout.tensor_map, [](const auto& axes) {
           return std::ranges::find(axes, 0) != axes.end();
         });
}

TensorLayout WithoutCopies(const TensorLayout& layout) {
  TensorLayout plain = layout;
  if (layout.interleave == 1) {
    return plain;
  }
  plain.interleave = 1;
  plain.device_matrix.back() = 1;
  return plain;
}

TensorLayout WithCopies(const TensorLayout& layout, std::int64_t copies) {
  TensorLayout virtual_ranks = layout;
  virtual_ranks.interleave = copies;
  virtual_ranks.device_matrix.push_back(copies);
  for (auto& axes : virtual_ranks.tensor_map) {
    for (std::int64_t& axis : axes) {
      ++axis;
    }
  }
  return virtual_ranks;
}

}  // namespace drydock::strategies
