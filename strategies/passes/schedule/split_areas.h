#pragma once

#include <vector>

#include "strategies/operators/basic_program.h"

namespace drydock::strategies {

/// Operations that become one kernel, in order.
struct BasicArea {
  std::vector<std::size_t> ops = {};
  bool basic = false;  ///< Its operations are kernels of their own names.
};

/// Which operations of a fused kernel can really be one.
[[nodiscard]] std::vector<BasicArea> SplitAreas(const BasicProgram& program);

}  // namespace drydock::strategies
