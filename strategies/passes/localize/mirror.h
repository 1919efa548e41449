#pragma once

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Step: the weight behind its mirror, if its gradient has to be summed over ranks that hold the
/// same slice; else the weight itself. See mirror.cc.
[[nodiscard]] Result<ValueId> MirroredWeight(LocalDraft& draft, NodeId user, std::size_t operand);

}  // namespace drydock::strategies
