#pragma once

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Step: a Reshape and the redistribution around it, in one chain. See reshape.cc.
[[nodiscard]] Status LocalizeReshape(LocalDraft& draft, NodeId id);

}  // namespace drydock::strategies
