#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Step: operands of a node that makes a loss, each behind a virtual division where the loss is
/// computed by several ranks alike. See loss_division.cc.
[[nodiscard]] Result<std::vector<ValueId>> DivideLoss(LocalDraft& draft, NodeId id,
                                                      const OpSharding& sharding,
                                                      std::vector<ValueId> operands);

}  // namespace drydock::strategies
