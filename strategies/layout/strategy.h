#pragma once

#include <cstdint>
#include <vector>

namespace drydock::strategies {

/// How an operator is cut: for each tensor input the number of parts of each dimension.
///
/// Example: MatMul cut ((2, 4), (4, 1)) in the first pipeline stage: {.stage = 0,
/// .cuts = {{2, 4}, {4, 1}}}. Two strategies are equal if stage and cuts are.
/// Source: spec layout-and-redistribution section 3.
struct Strategy {
  std::int64_t stage = 0;
  std::vector<std::vector<std::int64_t>> cuts = {};
  friend bool operator==(const Strategy&, const Strategy&) = default;
};

}  // namespace drydock::strategies
