#pragma once

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Step: the operands of a node behind the gradients that takes part in a global norm, in the modes
/// that cut operators; `spec` has them as they are on the rank. See global_norm.cc.
[[nodiscard]] Status JoinGlobalNorm(LocalDraft& draft, NodeId id, NodeSpec& spec);

}  // namespace drydock::strategies
