#include "strategies/layout/rank_pattern.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace drydock::strategies {
namespace {

bool LargerStrideFirst(const RankDigit& a, const RankDigit& b) {
  return b < a;
}

/// Sorts the terms and merges those of equal digits.
void NormalizeTerms(std::vector<RankExpr::Term>* terms) {
  std::sort(terms->begin(), terms->end(), [](const RankExpr::Term& a, const RankExpr::Term& b) {
    return LargerStrideFirst(a.digit, b.digit);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms->size(); ++i) {
    const RankExpr::Term term = (*terms)[i];
    if (kept > 0 && (*terms)[kept - 1].digit == term.digit) {
      (*terms)[kept - 1].scale += term.scale;
    } else {
      (*terms)[kept++] = term;
    }
  }
  terms->resize(kept);
  std::erase_if(
      *terms, [](const RankExpr::Term& term) { return term.scale == 0 || term.digit.extent == 1; });
}

}  // namespace

std::int64_t DigitAt(const RankDigit& digit, std::int64_t position) {
  return position / digit.stride % digit.extent;
}

std::int64_t ValueAt(const RankExpr& expr, std::int64_t position) {
  std::int64_t value = expr.constant;
  for (const RankExpr::Term& term : expr.terms) {
    value += term.scale * DigitAt(term.digit, position);
  }
  return value;
}

RankExpr DigitTimes(const RankDigit& digit, std::int64_t factor) {
  RankExpr expr;
  if (factor != 0 && digit.extent != 1) {
    expr.terms.push_back({.digit = digit, .scale = factor});
  }
  return expr;
}

RankExpr Plus(const RankExpr& a, const RankExpr& b) {
  RankExpr sum = a;
  sum.constant += b.constant;
  if (!b.terms.empty()) {
    sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
    NormalizeTerms(&sum.terms);
  }
  return sum;
}

RankExpr Times(const RankExpr& a, std::int64_t factor) {
  RankExpr product = a;
  product.constant *= factor;
  for (RankExpr::Term& term : product.terms) {
    term.scale *= factor;
  }
  if (factor == 0) {
    product.terms.clear();
  }
  return product;
}

RankExpr Canonical(const RankExpr& expr) {
  RankExpr sorted = expr;
  NormalizeTerms(&sorted.terms);
  RankExpr result{.constant = expr.constant};
  for (const RankExpr::Term& term : sorted.terms) {
    if (!result.terms.empty()) {
      RankExpr::Term& outer = result.terms.back();
      if (outer.digit.stride == term.digit.stride * term.digit.extent &&
          outer.scale == term.scale * term.digit.extent) {
        outer = {.digit = {.stride = term.digit.stride,
                           .extent = term.digit.extent * outer.digit.extent},
                 .scale = term.scale};
        continue;
      }
    }
    result.terms.push_back(term);
  }
  return result;
}

GroupPattern MakeGroupPattern(std::vector<RankDigit> digits) {
  std::erase_if(digits, [](const RankDigit& digit) { return digit.extent <= 1; });
  std::sort(digits.begin(), digits.end(), LargerStrideFirst);
  digits.erase(std::unique(digits.begin(), digits.end()), digits.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const RankDigit digit = digits[i];
    if (kept > 0 && digits[kept - 1].stride == digit.stride * digit.extent) {
      digits[kept - 1] = {.stride = digit.stride, .extent = digit.extent * digits[kept - 1].extent};
    } else {
      digits[kept++] = digit;
    }
  }
  digits.resize(kept);
  return {.digits = std::move(digits)};
}

std::int64_t GroupSize(const GroupPattern& pattern) {
  std::int64_t members = 1;
  for (const RankDigit& digit : pattern.digits) {
    members *= digit.extent;
  }
  return members;
}

GroupPlace PlaceIn(const GroupPattern& pattern, std::int64_t rank, std::int64_t stage_devices) {
  const std::int64_t begin = pattern.of_job ? 0 : rank / stage_devices * stage_devices;
  return {.position = rank - begin, .begin = begin};
}

GroupPattern WholeJob(std::int64_t world_size) {
  GroupPattern pattern = MakeGroupPattern({RankDigit{.stride = 1, .extent = world_size}});
  pattern.of_job = true;
  return pattern;
}

std::vector<std::int64_t> GroupRanks(const GroupPattern& pattern, std::int64_t position,
                                     std::int64_t stage_begin) {
  std::vector<std::int64_t> ranks = {stage_begin + GroupLeader(pattern, position)};
  ranks.reserve(static_cast<std::size_t>(GroupSize(pattern)));
  // Innermost digit first: each further digit repeats what is there at a larger stride.
  for (std::size_t d = pattern.digits.size(); d-- > 0;) {
    const RankDigit& digit = pattern.digits[d];
    const std::size_t block = ranks.size();
    for (std::int64_t k = 1; k < digit.extent; ++k) {
      for (std::size_t i = 0; i < block; ++i) {
        ranks.push_back(ranks[i] + k * digit.stride);
      }
    }
  }
  return ranks;
}

std::int64_t GroupLeader(const GroupPattern& pattern, std::int64_t position) {
  std::int64_t leader = position;
  for (const RankDigit& digit : pattern.digits) {
    leader -= DigitAt(digit, position) * digit.stride;
  }
  return leader;
}

std::int64_t IndexInGroup(const GroupPattern& pattern, std::int64_t position) {
  std::int64_t index = 0;
  for (const RankDigit& digit : pattern.digits) {
    index = index * digit.extent + DigitAt(digit, position);
  }
  return index;
}

RankExpr IndexExpr(const GroupPattern& pattern) {
  RankExpr index;
  for (const RankDigit& digit : pattern.digits) {
    index = Plus(Times(index, digit.extent), DigitTimes(digit, 1));
  }
  return index;
}

RankDigit AxisDigit(const std::vector<std::int64_t>& device_matrix, std::size_t axis) {
  RankDigit digit{.stride = 1, .extent = device_matrix[axis]};
  for (std::size_t a = axis + 1; a < device_matrix.size(); ++a) {
    digit.stride *= device_matrix[a];
  }
  return digit;
}

}  // namespace drydock::strategies
