#pragma once

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Step: gathers the parameters that an integrated checkpoint saves. See checkpoint.cc.
[[nodiscard]] Status GatherForCheckpoint(LocalDraft& draft, NodeId id);

}  // namespace drydock::strategies
