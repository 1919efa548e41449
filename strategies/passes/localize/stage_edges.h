#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// What stood for an operand before its stage was entered.
struct BeforeStage {
  ValueId operand = kNoValue;  ///< Traced value.
  ValueId id = kNoValue;
  std::vector<ValueId> copies = {};  ///< Of an interleaved layout: it arrives joined.
  ValueId mirrored = kNoValue;
};

/// Step: operands that another stage has pass to the stage of a node and stand for the traced ones
/// until LeaveStage. See stage_edges.cc.
[[nodiscard]] Result<std::vector<BeforeStage>> EnterStage(LocalDraft& draft, NodeId id);

void LeaveStage(LocalDraft& draft, NodeId id, const std::vector<BeforeStage>& before);

}  // namespace drydock::strategies
