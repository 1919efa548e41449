#pragma once

#include "strategies/graph/graph.h"
#include "strategies/passes/backward/simplify.h"

namespace drydock::strategies {

/// What is added to a mean over ranks is added before it. See sum_decayed.cc.
[[nodiscard]] Graph SumDecayedGradients(Graph local, ConstantWork work = ConstantWork::kAll);

}  // namespace drydock::strategies
