#pragma once

#include <cstdint>

namespace drydock::sim {

/// Consecutive ranks, both ends included.
struct RankRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const RankRange&, const RankRange&) = default;
};

}  // namespace drydock::sim
