#include "strategies/program/rank_set.h"

#include <algorithm>

namespace drydock::strategies {

RankSet AllRanks(std::int64_t count) {
  return count < 1 ? RankSet() : RankSet{.ranges = {{.first = 0, .last = count - 1}}};
}

RankSet RanksOf(std::vector<RankRange> ranges) {
  std::erase_if(ranges, [](const RankRange& range) { return range.last < range.first; });
  std::ranges::sort(ranges, {}, &RankRange::first);
  RankSet set;
  for (const RankRange& range : ranges) {
    if (!set.ranges.empty() && range.first <= set.ranges.back().last + 1) {
      set.ranges.back().last = std::max(set.ranges.back().last, range.last);
    } else {
      set.ranges.push_back(range);
    }
  }
  return set;
}

void AddHighest(RankSet& set, std::int64_t rank) {
  if (!set.ranges.empty() && set.ranges.back().last + 1 == rank) {
    set.ranges.back().last = rank;
  } else {
    set.ranges.push_back({.first = rank, .last = rank});
  }
}

std::int64_t CountRanks(const RankSet& set) {
  std::int64_t count = 0;
  for (const RankRange& range : set.ranges) {
    count += range.last - range.first + 1;
  }
  return count;
}

bool Contains(const RankSet& set, std::int64_t rank) {
  return std::ranges::any_of(set.ranges, [rank](const RankRange& range) {
    return range.first <= rank && rank <= range.last;
  });
}

RankSet Merge(const RankSet& a, const RankSet& b) {
  std::vector<RankRange> both = a.ranges;
  both.insert(both.end(), b.ranges.begin(), b.ranges.end());
  return RanksOf(std::move(both));
}

RankSet Common(const RankSet& a, const RankSet& b) {
  RankSet common;
  auto x = a.ranges.begin();
  auto y = b.ranges.begin();
  while (x != a.ranges.end() && y != b.ranges.end()) {
    const RankRange shared{.first = std::max(x->first, y->first),
                           .last = std::min(x->last, y->last)};
    if (shared.first <= shared.last) {
      common.ranges.push_back(shared);
    }
    (x->last < y->last ? x : y)++;
  }
  return common;
}

RankSet Take(RankSet& set, const RankSet& wanted) {
  RankSet taken = Common(set, wanted);
  RankSet left;
  auto gone = taken.ranges.begin();
  for (const RankRange& range : set.ranges) {
    std::int64_t next = range.first;
    for (; gone != taken.ranges.end() && gone->last <= range.last; ++gone) {
      if (next < gone->first) {
        left.ranges.push_back({.first = next, .last = gone->first - 1});
      }
      next = gone->last + 1;
    }
    if (next <= range.last) {
      left.ranges.push_back({.first = next, .last = range.last});
    }
  }
  set = std::move(left);
  return taken;
}

std::string RankSetText(const RankSet& set) {
  std::string text;
  for (const RankRange& range : set.ranges) {
    text += (text.empty() ? "" : ",") + std::to_string(range.first);
    if (range.last > range.first) {
      text += "-" + std::to_string(range.last);
    }
  }
  return text;
}

std::string SteppedRanksText(std::span<const std::int64_t> ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size();) {
    const std::int64_t step = i + 1 < ascending.size() ? ascending[i + 1] - ascending[i] : 0;
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] - ascending[last] == step) {
      ++last;
    }
    if (last == i + 1 && step != 1) {
      last = i;  // Two numbers far apart are clearer one by one.
    }
    text += (text.empty() ? "" : ",") + std::to_string(ascending[i]);
    if (last > i) {
      text += "-" + std::to_string(ascending[last]);
      text += step > 1 ? ":" + std::to_string(step) : std::string();
    }
    i = last + 1;
  }
  return text;
}

}  // namespace drydock::strategies
