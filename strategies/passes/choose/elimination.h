#pragma once

#include "strategies/passes/choose/best_choice.h"

namespace drydock::strategies {

/// The choice that variable elimination finds, and what no choice can undercut.
struct Eliminated {
  Choice chosen = {};
  double lower_bound = 0;  ///< Of cost + price * bytes; infinite: nothing goes together.
};

/// Makes cost + price * bytes least. See the source.
[[nodiscard]] Eliminated Eliminate(const ChoiceGraph& graph, double price,
                                   const ChoiceEffort& effort);

}  // namespace drydock::strategies
